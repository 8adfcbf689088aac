"""Online variational conditioning with gpytorch alone (Maddox et al. 2021): `ApproximateGP.get_fantasy_model`.

An SVGP has q(u) at its optimum for the first task. `get_fantasy_model` turns it into an `ExactGP` over M
pseudo-points that give the same posterior, conditions that on a new task, and returns it. There are two ways to
continue:

* `GrowingOVC` calls `get_fantasy_model` of the returned model for every task, which is what gpytorch offers. The model
  grows by every point, so it is an exact GP on all tasks but the first, at unbounded cost.
* `SparseOVC` returns to M inducing points after every task, as in Maddox et al., which keeps its size constant: pivoted
  Cholesky selects them from the old ones and the new inputs, and the joint posterior of the `ExactGP` there becomes
  q(u) of a new SVGP.

Both run within `correct_fantasies`, because `get_fantasy_model` otherwise ignores the covariance of the pseudo-points.

With more inducing points than data, gpytorch's pseudo-points are singular; so if the first task has fewer points than
M, its inputs are the inducing points. Jitter is gpytorch's default.
"""

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch.settings import variational_cholesky_jitter
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor
from torch.distributions import Normal

from benchmarks.gpytorch_caches import correct_fantasies
from gpvae.inducing.pivoted import greedy_points


class SVGP(ApproximateGP):
    """A sparse GP with inducing points Z and q(u) = N(mean, covariance)."""

    def __init__(self, Z: Tensor, kernel: Kernel, likelihood: GaussianLikelihood) -> None:
        distribution = CholeskyVariationalDistribution(len(Z)).to(Z)
        super().__init__(VariationalStrategy(self, Z, distribution, learn_inducing_locations=False))
        self.mean_module, self.covar_module, self.likelihood = ZeroMean(), kernel, likelihood

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))

    def set_whitened(self, mean: Tensor, root: Tensor) -> None:
        """Set q(L⁻¹ u) = N(mean, root rootᵀ)."""
        q = self.variational_strategy._variational_distribution
        q.variational_mean.data, q.chol_variational_covar.data = mean, root
        self.variational_strategy.variational_params_initialized.fill_(1)


class GrowingOVC:
    """Successive `get_fantasy_model` calls."""

    def __init__(self, num_inducing: int, kernel: Kernel, likelihood: GaussianLikelihood) -> None:
        self.num_inducing, self.kernel, self.likelihood = num_inducing, kernel, likelihood
        self.model: SVGP | ExactGP | None = None

    def update(self, x: Tensor, y: Tensor) -> None:
        """Condition on a task."""
        if self.model is None:
            self.model = self._first(x, y)
        else:
            with correct_fantasies():
                self.model = self.model.get_fantasy_model(x, y).eval()

    @torch.no_grad()
    def predict(self, x: Tensor) -> Normal:
        """Predictive marginals of y."""
        assert self.model is not None
        with correct_fantasies():
            y = self.likelihood(self.model(x))
        return Normal(y.mean, y.variance.sqrt())

    def _first(self, x: Tensor, y: Tensor) -> SVGP:
        """The optimal SVGP of one task: v ~ N(P⁻¹ a y / noise, P⁻¹), P = I + a aᵀ / noise, a = L⁻¹ kuf."""
        with torch.no_grad():
            Z = x[greedy_points(self.kernel, x, min(self.num_inducing, len(x)), shared=True)]
            L, noise = self._root(Z), self.likelihood.noise
            a = torch.linalg.solve_triangular(L, self.kernel(Z, x).to_dense(), upper=False)
            P = a @ a.mT / noise + torch.eye(len(Z), dtype=Z.dtype)
            covariance = torch.cholesky_inverse(torch.linalg.cholesky(P))
            return self._svgp(Z, covariance @ (a @ y) / noise, covariance)

    def _svgp(self, Z: Tensor, mean: Tensor, covariance: Tensor) -> SVGP:
        model = SVGP(Z, self.kernel, self.likelihood)
        model.set_whitened(mean, psd_safe_cholesky(covariance))
        return model.eval()

    def _root(self, Z: Tensor) -> Tensor:
        jitter = variational_cholesky_jitter.value(Z.dtype) * torch.eye(len(Z), dtype=Z.dtype)
        return torch.linalg.cholesky(self.kernel(Z).to_dense() + jitter)


class SparseOVC(GrowingOVC):
    """Returns to M inducing points after every task."""

    def update(self, x: Tensor, y: Tensor) -> None:
        """Condition on a task, and select inducing points anew."""
        super().update(x, y)
        if isinstance(self.model, ExactGP):
            self.model = self._sparse(self.model, x)

    @torch.no_grad()
    def _sparse(self, exact: ExactGP, x: Tensor) -> SVGP:
        candidates = torch.cat([exact.train_inputs[0][: -len(x)], x])
        Z = candidates[greedy_points(self.kernel, candidates, min(self.num_inducing, len(candidates)), shared=True)]
        with correct_fantasies():
            u = exact(Z)
            u_mean, u_covariance = u.mean, u.covariance_matrix
        L = self._root(Z)
        mean = torch.linalg.solve_triangular(L, u_mean[:, None], upper=False)[:, 0]
        half = torch.linalg.solve_triangular(L, u_covariance, upper=False)
        covariance = torch.linalg.solve_triangular(L, half.mT, upper=False)
        jitter = variational_cholesky_jitter.value(Z.dtype) * torch.eye(len(Z), dtype=Z.dtype)
        return self._svgp(Z, mean, 0.5 * (covariance + covariance.mT) + jitter)
