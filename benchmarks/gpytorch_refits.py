"""Streams with gpytorch by fitting again after every task.

* `SVGPRefit`: a new SVGP with M points is fitted to all data so far, by Adam on its whitened q(u) and its inducing
  points. It keeps all data.
* `SVGPWarm`: one SVGP is fitted to each task alone, starting from the previous fit. It keeps no data, and forgets.
* `ExactRefit`: the exact GP on all data so far, by Cholesky.

The kernel is given and not trained, as for all contenders.
"""

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.mlls import VariationalELBO
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch.settings import max_cholesky_size
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy
from torch import Tensor
from torch.distributions import Normal

STEPS, RATE = 300, 0.05


class TrainedSVGP(ApproximateGP):
    """A sparse GP with trainable inducing points."""

    def __init__(self, Z: Tensor, kernel: Kernel) -> None:
        q = CholeskyVariationalDistribution(len(Z)).to(Z)
        super().__init__(VariationalStrategy(self, Z, q, learn_inducing_locations=True))
        self.mean_module, self.covar_module = ZeroMean(), kernel

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Conditioned(ExactGP):
    """An exact GP on some data."""

    def __init__(self, x: Tensor, y: Tensor, kernel: Kernel, likelihood: GaussianLikelihood) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module = ZeroMean(), kernel

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class SVGPRefit:
    """A new SVGP for all data so far, after every task."""

    def __init__(self, num_inducing: int, kernel: Kernel, likelihood: GaussianLikelihood, steps: int = STEPS) -> None:
        self.num_inducing, self.kernel, self.likelihood, self.steps = num_inducing, kernel, likelihood, steps
        self.kernel.requires_grad_(False)
        self.likelihood.requires_grad_(False)
        self.seen: tuple[Tensor, Tensor] | None = None
        self.model: ApproximateGP | ExactGP | None = None

    def keep(self, x: Tensor, y: Tensor) -> None:
        """Store the data of a task without fitting."""
        self.seen = (x, y) if self.seen is None else (torch.cat([self.seen[0], x]), torch.cat([self.seen[1], y]))

    def update(self, x: Tensor, y: Tensor) -> None:
        """Store the data of a task, and fit a new model to all data."""
        self.keep(x, y)
        assert self.seen is not None
        self.model = self._fit(self._fresh(self.seen[0]), *self.seen)

    @torch.no_grad()
    def predict(self, x: Tensor) -> Normal:
        """Predictive marginals of y."""
        assert self.model is not None
        with max_cholesky_size(10**6):
            y = self.likelihood(self.model(x))
            return Normal(y.mean, y.variance.sqrt())

    def _fresh(self, x: Tensor) -> TrainedSVGP:
        """An SVGP with inducing points evenly spaced over the inputs."""
        Z = torch.linspace(float(x.min()), float(x.max()), self.num_inducing, dtype=x.dtype)
        return TrainedSVGP(Z[:, None], self.kernel)

    def _fit(self, model: TrainedSVGP, x: Tensor, y: Tensor) -> TrainedSVGP:
        model.train()
        objective = VariationalELBO(self.likelihood, model, num_data=len(y))
        trained = [p for p in model.parameters() if p.requires_grad]
        optimiser = torch.optim.Adam(trained, lr=RATE)
        for _ in range(self.steps):
            optimiser.zero_grad()
            (-objective(model(x), y)).backward()
            optimiser.step()
        return model.eval()


class SVGPWarm(SVGPRefit):
    """One SVGP, fitted to each task alone."""

    def update(self, x: Tensor, y: Tensor) -> None:
        """Fit to a task, starting from the previous fit."""
        model = self._fresh(x) if self.model is None else self.model
        self.model = self._fit(model, x, y)


class ExactRefit(SVGPRefit):
    """The exact GP on all data so far, after every task."""

    def update(self, x: Tensor, y: Tensor) -> None:
        """Store the data of a task, and condition on all data."""
        self.keep(x, y)
        assert self.seen is not None
        self.model = Conditioned(*self.seen, self.kernel, self.likelihood).eval()
        self.predict(x[:1])  # gpytorch defers the work until the first prediction
