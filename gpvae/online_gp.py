"""Online Gaussian process regression and classification in plain Python."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from linear_operator import to_linear_operator
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from gpvae import hyperparameters
from gpvae.bounds import CHUNK_SIZE
from gpvae.diagnostics import warn_misfit, warn_unresolved
from gpvae.inducing import InducingVariables
from gpvae.inducing.auto import as_families
from gpvae.inference import Training, absorb, best_bound
from gpvae.kernels import covariance, variance
from gpvae.likelihoods import check_likelihood, check_targets, is_gaussian, predictive
from gpvae.streaming import StreamingPosterior
from gpvae.utils import checks
from gpvae.utils.linalg import cholesky, matvec
from gpvae.utils.resizable import rename_former_children

Arrays = ArrayLike | Tensor


class OnlineGP(nn.Module):
    """A Gaussian process that learns from a stream, batch by batch, at constant cost, and keeps none of the data.

    Its prior mean is zero: centre the targets. Predictions carry no gradients.

    Args:
        inducing: A family of inducing variables; several, which are all updated, while the one with the highest bound
            predicts; or `"auto"` for LegS and CosS.
        kernel: A gpytorch kernel, converted to double precision. Its batch shape `*L` gives independent outputs.
        likelihood: A gpytorch likelihood: Gaussian, Bernoulli, negative binomial or Poisson.
        num_inducing: Number of inducing variables for `inducing="auto"`.
        power: 0 for the variational bound; above 0 for power expectation propagation (Gaussian likelihood only).
    """

    former_children: ClassVar = {"streams": "posteriors"}
    posteriors: Sequence[StreamingPosterior]  # a ModuleList
    best: Tensor
    input_dim: Tensor

    def __init__(
        self,
        inducing: InducingVariables | Sequence[InducingVariables] | str,
        kernel: Kernel,
        likelihood: Likelihood,
        *,
        num_inducing: int | None = None,
        power: float = 0.0,
    ) -> None:
        super().__init__()
        check_likelihood(likelihood)
        if power and not is_gaussian(likelihood):
            raise ValueError(f"power={power} requires a Gaussian likelihood, got {type(likelihood).__name__}")
        self.kernel = kernel.double()
        self.likelihood = likelihood.double()
        posteriors = [StreamingPosterior(family, power) for family in as_families(inducing, num_inducing)]
        self.posteriors = nn.ModuleList(posteriors)  # type: ignore[assignment]
        self.register_load_state_dict_pre_hook(rename_former_children)  # type: ignore[no-untyped-call]
        self.register_buffer("best", torch.zeros((), dtype=torch.int64))
        self.register_buffer("input_dim", torch.zeros((), dtype=torch.int64))

    @property
    def posterior(self) -> StreamingPosterior:
        """The streaming posterior with the highest bound."""
        return self.posteriors[int(self.best)]

    @property
    def inducing(self) -> InducingVariables:
        """The family of inducing variables with the highest bound."""
        return self.posterior.inducing

    @torch.no_grad()
    def bound(self) -> Tensor:
        """The bound on the log evidence of all data so far, `[*L]`, if kernel and noise have not changed."""
        if not self.posterior.started:
            return self.posterior.c.expand(self.kernel.batch_shape)
        return self.posterior.present(self.kernel)[1].log_evidence()

    def fit_hyperparameters(
        self,
        x: Arrays,
        y: Arrays,
        *,
        max_exact: int = 2000,
        shortest: float | None = None,
    ) -> "OnlineGP":
        """Fit the hyperparameters of kernel and likelihood to one batch, without absorbing it.

        L-BFGS from several starts, within bounds, on the evidence of an exact GP, or on the sparse bound if there are
        more than `max_exact` points or the likelihood is not Gaussian.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            y: Targets `[*L, N]`.
            max_exact: Maximum number of points for an exact GP.
            shortest: Shortest lengthscale allowed, relative to the extent of the inputs; see `hyperparameters.fit`.
        """
        x, y = self.check(x, y)
        with self._all_or_nothing():
            exact = is_gaussian(self.likelihood) and len(x) <= max_exact
            objective = None if exact else lambda: self._trial_bound(x, y)
            hyperparameters.fit(self.kernel, self.likelihood, x, y, make_objective=objective, shortest=shortest)
        return self

    def update(
        self,
        x: Arrays,
        y: Arrays,
        *,
        steps: int | None = None,
        lr: float | None = None,
        train_hyperparameters: bool = False,
        batch_size: int | None = None,
        progress: bool = False,
    ) -> "OnlineGP":
        """Absorb a batch. On any error the model stays as it was.

        With a Gaussian likelihood the posterior has a closed form, and gradient steps are taken only to train inducing
        points or hyperparameters. With other likelihoods q(u) is found by natural gradients in a few dozen steps, or by
        Adam if `steps`, `lr` or `batch_size` are given or other parameters are trained.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            y: Targets `[*L, N]`.
            steps: Steps of Adam, if there are parameters to train; 1,000 if not given.
            lr: Learning rate of Adam, 0.01 if not given.
            train_hyperparameters: Also train kernel and likelihood; the site of the past is not changed.
            batch_size: Minibatch size for likelihoods other than Gaussian; all points if not given.
            progress: Show a progress bar.
        """
        x, y = self.check(x, y)
        training = Training(steps, lr, train_hyperparameters, batch_size, progress)
        with self._all_or_nothing():
            leader = int(self.best)
            for posterior in (self.posterior, *(s for i, s in enumerate(self.posteriors) if i != leader)):
                posterior.begin(self.kernel, x)
                absorb(posterior, self.kernel, self.likelihood, x, y, training)
                training = replace(training, train_hyperparameters=False)  # only once, with the first posterior
            self.conclude(x, y)
        return self

    def conclude(self, x: Tensor, y: Tensor, at_optimum: bool = True) -> None:
        """Select the posterior with the highest bound after a task, and warn if the model does not suit the data.

        Args:
            x: Inputs of the task, `[N, D]`.
            y: Targets, `[*L, N]`.
            at_optimum: Whether q(u) is at its optimum, so that a misfit is due to the model.
        """
        if len(self.posteriors) > 1:
            bounds = [float(posterior.site.log_evidence().sum()) for posterior in self.posteriors]
            self.best.fill_(bounds.index(max(bounds)))
        self.input_dim.fill_(x.shape[-1])
        too_few = warn_unresolved(self.inducing, self.kernel, stacklevel=4)
        if not too_few and at_optimum and is_gaussian(self.likelihood):
            warn_misfit(self.posterior, self.kernel, self.likelihood, x, y, stacklevel=5)

    def replace_inducing(self, inducing: InducingVariables) -> "OnlineGP":
        """Continue with another family, or more variables of the same, keeping what has been learnt.

        Args:
            inducing: The new family, for instance `LegS(300)` after a warning that 150 are too few.
        """
        (family,) = as_families([inducing])
        posterior = copy.deepcopy(self.posterior)
        posterior.replace(self.kernel, family)
        self.posteriors = nn.ModuleList([posterior])  # type: ignore[assignment]
        self.best.zero_()
        warn_unresolved(self.inducing, self.kernel, stacklevel=3)
        return self

    @torch.no_grad()
    def latent(self, x: Arrays, joint: bool = False) -> Distribution:
        """The posterior of f: marginals `[*L, N]`, or their joint distribution.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            joint: Return a multivariate normal with the full covariance.
        """
        x = self._checked_inputs(x)
        if not self.posterior.started:
            mean = x.new_zeros(*self.kernel.batch_shape, len(x))
            if joint:
                return MultivariateNormal(mean, to_linear_operator(covariance(self.kernel, x, x)))
            return Normal(mean, variance(self.kernel, x).sqrt())
        frame, q = self.posterior.q(self.kernel)
        if joint:
            a, prior = frame.features(x)
            mean, _ = q.marginals(a, prior)
            return MultivariateNormal(mean, to_linear_operator(q.covariance(a, frame.inducing.kff(self.kernel, x))))
        parts = [q.marginals(*frame.features(part)) for part in x.split(CHUNK_SIZE)]
        mean, var = (torch.cat(values, -1) for values in zip(*parts, strict=True))
        return Normal(mean, var.clamp_min(torch.finfo(var.dtype).tiny).sqrt())

    def predict(self, x: Arrays) -> Distribution:
        """The marginal predictive distribution of y at each input.

        Args:
            x: Inputs `[N]` or `[N, D]`.
        """
        f = self.latent(x)
        with torch.no_grad():
            return predictive(self.likelihood, f.mean, f.variance)

    @torch.no_grad()
    def sample(self, x: Arrays, num_samples: int = 1, seed: int | None = None) -> Tensor:
        """Draw functions f from the posterior, jointly over the inputs, `[num_samples, *L, N]`.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            num_samples: Number of functions.
            seed: Seed; the global random state if not given.
        """
        f = self.latent(x, joint=True)
        assert isinstance(f, MultivariateNormal)
        L = cholesky(f.covariance_matrix)
        rng = None if seed is None else torch.Generator(L.device).manual_seed(seed)
        z = torch.randn(num_samples, *f.mean.shape, dtype=L.dtype, device=L.device, generator=rng)
        return f.mean + matvec(L, z)

    @torch.no_grad()
    def reconstruct(self, x: Arrays) -> Normal:
        """The finite-basis reconstruction f ≈ Σ u_m g_m(x), u ~ q(u) (section 3.2 and appendix C).

        Args:
            x: Inputs `[N]` or `[N, D]`.
        """
        x = self._checked_inputs(x)
        if not self.posterior.started:
            raise RuntimeError("cannot reconstruct before the first update")
        frame, q = self.posterior.q(self.kernel)
        half = frame.inducing.basis(x) @ frame.L  # g(x)ᵀ L
        spread = (half @ q.root).norm(dim=-1).clamp_min(torch.finfo(half.dtype).tiny)
        return Normal(matvec(half, q.mean), spread)

    def check(self, x: Arrays, y: Arrays) -> tuple[Tensor, Tensor]:
        """Convert inputs to `[N, D]` and targets to `[*L, N]`; raise if they are not valid."""
        x = self._checked_inputs(x)
        y = checks.targets(y, x, self.kernel.batch_shape)
        check_targets(self.likelihood, y)
        return x, y

    def _checked_inputs(self, x: Arrays) -> Tensor:
        x = checks.inputs(x, self.posterior.h)
        if self.input_dim > 0 and x.shape[-1] != self.input_dim:
            raise ValueError(f"x has {x.shape[-1]} input dimension(s), but the stream so far has {int(self.input_dim)}")
        return x

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = {name: value.clone() for name, value in self.state_dict().items()}
        try:
            yield
        except BaseException:
            super().load_state_dict(before)
            raise

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Load the state of a model built in the same way; on any error this model stays as it was."""
        with self._all_or_nothing():
            return super().load_state_dict(state_dict, *args, **kwargs)

    def _trial_bound(self, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
        """The bound of a posterior that starts with x, as a function of the hyperparameters."""
        trial = StreamingPosterior(copy.deepcopy(self.inducing))
        trial.begin(self.kernel, x)
        return best_bound(trial, self.kernel, self.likelihood, x, y)
