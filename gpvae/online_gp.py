"""Online Gaussian process regression and classification in plain Python."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from linear_operator import to_linear_operator
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from gpvae import hyperparameters
from gpvae.batches import Batch
from gpvae.bounds import CHUNK_SIZE
from gpvae.diagnostics import warn_misfit, warn_unresolved
from gpvae.inducing import InducingVariables
from gpvae.inducing.auto import as_families
from gpvae.inference import Training, absorb, best_bound
from gpvae.kernels import covariance, variance
from gpvae.likelihoods import PointLikelihood, check_likelihood, check_targets, is_gaussian, predictive
from gpvae.means import PriorMean
from gpvae.streaming import StreamingPosterior
from gpvae.utils import checks
from gpvae.utils.linalg import cholesky, matvec
from gpvae.utils.resizable import rename_former_children
from gpvae.utils.transactional import Transactional

Arrays = ArrayLike | Tensor


class OnlineGP(Transactional):
    """A Gaussian process that learns from a stream, batch by batch, at constant cost, and keeps none of the data.

    Predictions carry no gradients.

    Args:
        inducing: A family of inducing variables; several, which are all updated, while the one with the highest bound
            predicts; or `"auto"` for LegS and CosS.
        kernel: A gpytorch kernel, converted to double precision. Its batch shape `*L` gives independent outputs.
        likelihood: A gpytorch likelihood: Gaussian, Bernoulli, negative binomial or Poisson.
        mean: A gpytorch mean. Its parameters are fitted to the first batch (Gaussian likelihood only) and stay. Not
            given: a constant for each output if the likelihood is Gaussian, else zero.
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
        mean: Mean | None = None,
        num_inducing: int | None = None,
        power: float = 0.0,
    ) -> None:
        super().__init__()
        check_likelihood(likelihood)
        if power and not is_gaussian(likelihood):
            raise ValueError(f"power={power} requires a Gaussian likelihood, got {type(likelihood).__name__}")
        self.kernel = kernel.double()
        self.likelihood = likelihood.double()
        if mean is None:
            mean = ConstantMean(batch_shape=kernel.batch_shape) if is_gaussian(likelihood) else ZeroMean()
        self.mean = PriorMean(mean, kernel.batch_shape, fitted=not is_gaussian(likelihood))
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
        noise: Arrays | float | None = None,
        max_exact: int = 2000,
        shortest: float | None = None,
    ) -> "OnlineGP":
        """Fit the hyperparameters of kernel, likelihood and mean to one batch, without absorbing it.

        L-BFGS from several starts, within bounds, on the evidence of an exact GP, or on the sparse bound if there are
        more than `max_exact` points or the likelihood is not Gaussian.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            y: Targets `[*L, N]`; points at which one is NaN are left out.
            noise: Known noise variances of the points, `[N]` or `[*L, N]`.
            max_exact: Maximum number of points for an exact GP.
            shortest: Shortest lengthscale allowed, relative to the extent of the inputs; see `hyperparameters.fit`.
        """
        batch = self._batch(x, y, noise=noise).complete()
        with self.all_or_nothing():
            self._fit_mean(batch, by_kernel=False)
            x, (y, likelihood) = batch.x, batch.centred(self.likelihood, self.mean(batch.x))
            exact = is_gaussian(self.likelihood) and len(x) <= max_exact
            objective = None if exact else lambda: self._trial_bound(x, y, likelihood)
            hyperparameters.fit(self.kernel, likelihood, x, y, make_objective=objective, shortest=shortest)
            self._fit_mean(batch)
        return self

    def _fit_mean(self, batch: Batch, *, by_kernel: bool = True) -> None:
        """Fit the prior mean to Gaussian targets of the first batch, by generalised or ordinary least squares."""
        if is_gaussian(self.likelihood) and self.mean.can_be_fitted and not self.posterior.started:
            noise = self.likelihood.noise if batch.noise is None else batch.noise
            self.mean.fit(batch.x, batch.y, *((self.kernel, noise) if by_kernel else ()))

    def update(
        self,
        x: Arrays,
        y: Arrays,
        *,
        noise: Arrays | float | None = None,
        weights: Arrays | None = None,
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
            y: Targets `[*L, N]`; NaN are missing values.
            noise: Known noise variances of Gaussian targets, `[N]` or `[*L, N]`, in place of that of the likelihood.
            weights: Weights, `[N]` or `[*L, N]`: a point of weight w counts like w points.
            steps: Steps of Adam, if there are parameters to train; 1,000 if not given.
            lr: Learning rate of Adam, 0.01 if not given.
            train_hyperparameters: Also train kernel and likelihood; the site of the past is not changed.
            batch_size: Minibatch size for likelihoods other than Gaussian; all points if not given.
            progress: Show a progress bar.
        """
        batch = self._batch(x, y, noise=noise, weights=weights)
        training = Training(steps, lr, train_hyperparameters, batch_size, progress)
        with self.all_or_nothing():
            if self.mean.awaits_data:
                self._fit_mean(batch.complete())
            x, (y, likelihood) = batch.x, batch.centred(self.likelihood, self.mean(batch.x))
            leader = int(self.best)
            for posterior in (self.posterior, *(s for i, s in enumerate(self.posteriors) if i != leader)):
                posterior.begin(self.kernel, x)
                absorb(posterior, self.kernel, likelihood, x, y, training)
                training = replace(training, train_hyperparameters=False)  # only once, with the first posterior
            self.conclude(x, y, likelihood)
        return self

    def conclude(self, x: Tensor, y: Tensor, likelihood: Likelihood | None = None, at_optimum: bool = True) -> None:
        """Select the posterior with the highest bound after a task, and warn if the model does not suit the data.

        Args:
            x: Inputs of the task, `[N, D]`.
            y: Targets, centred, `[*L, N]`.
            likelihood: Their likelihood; that of the model if not given.
            at_optimum: Whether q(u) is at its optimum, so that a misfit is due to the model.
        """
        if len(self.posteriors) > 1:
            bounds = [float(posterior.site.log_evidence().sum()) for posterior in self.posteriors]
            self.best.fill_(bounds.index(max(bounds)))
        self.input_dim.fill_(x.shape[-1])
        too_few = warn_unresolved(self.inducing, self.kernel, stacklevel=4)
        if not too_few and at_optimum and is_gaussian(self.likelihood):
            warn_misfit(self.posterior, self.kernel, likelihood or self.likelihood, x, y, stacklevel=5)

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
        prior_mean = self.mean(x)
        if not self.posterior.started:
            if joint:
                return MultivariateNormal(prior_mean, to_linear_operator(covariance(self.kernel, x, x)))
            return Normal(prior_mean, variance(self.kernel, x).sqrt())
        frame, q = self.posterior.q(self.kernel)
        if joint:
            a, prior = frame.features(x)
            mean, _ = q.marginals(a, prior)
            return MultivariateNormal(
                prior_mean + mean, to_linear_operator(q.covariance(a, frame.inducing.kff(self.kernel, x)))
            )
        parts = [q.marginals(*frame.features(part)) for part in x.split(CHUNK_SIZE)]
        mean, var = (torch.cat(values, -1) for values in zip(*parts, strict=True))
        return Normal(prior_mean + mean, var.clamp_min(torch.finfo(var.dtype).tiny).sqrt())

    @torch.no_grad()
    def predict(self, x: Arrays, *, noise: Arrays | float | None = None, joint: bool = False) -> Distribution:
        """The predictive distribution of y at each input.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            noise: Known noise variances of Gaussian targets, `[N]` or `[*L, N]`, in place of that of the likelihood.
            joint: Return the joint distribution of all y, a multivariate normal; for a Gaussian likelihood.
        """
        gaussian = is_gaussian(self.likelihood)
        if (joint or noise is not None) and not gaussian:
            raise ValueError(f"joint and noise are for a Gaussian likelihood, not {type(self.likelihood).__name__}")
        f, likelihood = self.latent(x, joint=joint), self.likelihood
        if noise is not None:
            likelihood = PointLikelihood(likelihood, noise=checks.per_point("noise", noise, f.mean, positive=True))
        if isinstance(f, MultivariateNormal):
            added = torch.diag_embed(likelihood.noise.expand(f.mean.shape))
            return MultivariateNormal(f.mean, to_linear_operator(f.covariance_matrix + added))
        return predictive(likelihood, f.mean, f.variance)

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
        return Normal(self.mean(x) + matvec(half, q.mean), spread)

    def check(self, x: Arrays, y: Arrays) -> tuple[Tensor, Tensor]:
        """Convert inputs to `[N, D]` and targets to `[*L, N]`; raise if they are not valid."""
        x = self._checked_inputs(x)
        y = checks.targets(y, x, self.kernel.batch_shape)
        check_targets(self.likelihood, y)
        return x, y

    def _batch(self, x: Arrays, y: Arrays, **options: Any) -> Batch:
        """A batch of points, checked."""
        return Batch.of(self.likelihood, self._checked_inputs(x), y, self.kernel.batch_shape, **options)

    def _checked_inputs(self, x: Arrays) -> Tensor:
        x = checks.inputs(x, self.posterior.h)
        if self.input_dim > 0 and x.shape[-1] != self.input_dim:
            raise ValueError(f"x has {x.shape[-1]} input dimension(s), but the stream so far has {int(self.input_dim)}")
        return x

    def _trial_bound(self, x: Tensor, y: Tensor, likelihood: Likelihood) -> Callable[[], Tensor]:
        """The bound of a posterior that starts with x, as a function of the hyperparameters."""
        trial = StreamingPosterior(copy.deepcopy(self.inducing))
        trial.begin(self.kernel, x)
        return best_bound(trial, self.kernel, likelihood, x, y)
