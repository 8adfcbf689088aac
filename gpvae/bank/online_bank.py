"""An online Gaussian process with a bank of kernels."""

import copy
import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, Self

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from torch import Tensor

from gpvae.bank.evidence import learn_gaussian
from gpvae.bank.members import (
    grid_shape,
    member_kernel,
    member_likelihood,
    repeated_kernel,
    repeated_likelihood,
    spread,
)
from gpvae.bank.predictive_bank import PredictiveBank
from gpvae.diagnostics import LeftOver, warn_unresolved
from gpvae.hyperparameters import HyperparameterWarning
from gpvae.hyperparameters.prior_mean import PriorMean
from gpvae.inducing import InducingVariables
from gpvae.inference import Training, absorb
from gpvae.kernels import variance
from gpvae.likelihoods import PointLikelihood, is_gaussian, weights_of
from gpvae.methods import build_kernel
from gpvae.observations import Observations
from gpvae.online_gp import OnlineGP
from gpvae.predictive_gp import Arrays
from gpvae.streaming import StreamingPosterior
from gpvae.utils.linalg import JitterWarning
from gpvae.utils.threads import one_at_a_time

#: Maximum number of members: 6 lengthscales at 4 noise levels.
DEFAULT_SIZE = 24
#: Degrees of freedom that the first guess of a scale counts for.
PRIOR_DOF = 4.0
#: Minimum number of points that a bank is built from.
MIN_POINTS = 5


class Bank(PredictiveBank):
    """An `OnlineGP` with many kernels, which are weighted by how well they predict the stream.

    The members of the bank form a grid of lengthscales, from the spacing of the inputs of the first batch to their
    extent, and noise levels. The kernel fitted to the first batch is one of them. All members learn in closed form,
    along a batch axis. Kernel and noise of each member have a common scale, which follows the stream in closed form.
    Before a member learns a batch, its weight is multiplied by the density that it predicts for the whole batch: the
    product of the densities of the points, each given all points before it. Predictions are mixtures.

    With other than Gaussian likelihoods, members differ in lengthscale and variance, nothing is scaled, and the gain in
    the bound replaces the log density.

    Args:
        inducing: A family of inducing variables; several, of which the best predictor is used; or `"auto"`.
        kernel: A gpytorch kernel; the defaults are those of `OnlineGP`. Hyperparameters that require no gradients are
            the same for all members. If `size` is None, its first batch axis gives the members.
        likelihood: A gpytorch likelihood. If `size` is None, it has the batch axis of the members too.
        size: Maximum number of members.
        mean: A gpytorch mean, one for all members; see `OnlineGP`.
        num_inducing: Number of inducing variables for `inducing="auto"`.
        power: 0 for the variational bound; above 0 for power expectation propagation (Gaussian likelihood only).
        time_unit: Unit in which times are counted.
        options: Further options of `OnlineGP`.

    Known noise variances of points are divided by the scale that each member has when it learns them.
    """

    def __init__(
        self,
        inducing: InducingVariables | Sequence[InducingVariables] | str | None = None,
        kernel: Kernel | None = None,
        likelihood: Likelihood | None = None,
        *,
        size: int | None = DEFAULT_SIZE,
        mean: Mean | None = None,
        **options: Any,
    ) -> None:
        kernel = build_kernel("matern52", options.get("input_dim", 1)) if kernel is None else kernel
        likelihood = GaussianLikelihood() if likelihood is None else likelihood
        if size is None and not kernel.batch_shape:
            raise ValueError("size=None needs a kernel whose first batch axis gives the members")
        if options.get("num_outputs") is not None:
            raise ValueError(
                "the outputs of a bank do not share kernels: leave num_outputs out, and give a kernel with "
                f"batch_shape=torch.Size([{options['num_outputs']}]) and targets [K, N]"
            )
        if size is not None and size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        outputs = kernel.batch_shape[1:] if size is None else kernel.batch_shape
        if size is not None:
            num_factors, num_levels = grid_shape(size)
            kernel = repeated_kernel(kernel, num_factors * num_levels)
            likelihood = repeated_likelihood(likelihood, num_factors * num_levels, len(outputs))
        gaussian = is_gaussian(likelihood)
        if mean is None:
            mean = ConstantMean(batch_shape=outputs) if gaussian else ZeroMean()
        super().__init__(
            inducing, kernel, likelihood, mean=mean, buffer_size=1, **options
        )  # weights follow each update
        self.size = size
        self.mean = PriorMean(mean, outputs, fitted=not gaussian)
        self.learns_scale = gaussian and all(p.requires_grad for p in likelihood.parameters())
        shape = (len(self.posteriors), *self.kernel.batch_shape)
        self.register_buffer("built", torch.tensor(size is None))
        self.register_buffer("log_weights", torch.full(shape, -math.log(shape[1]), dtype=torch.float64))
        self.register_buffer("dof", torch.full(shape, PRIOR_DOF, dtype=torch.float64))
        self.register_buffer("square", torch.full(shape, PRIOR_DOF - 2, dtype=torch.float64))

    def _fit(self, batch: Observations, *options: Any) -> None:
        """Build the bank: fit a kernel to a batch, and spread the members around it."""
        if self.posterior.started:
            raise ValueError("a bank is built once, before its first update")
        if self.size is None:
            raise ValueError("the members of this bank are given (size=None), so there is nothing to fit")
        if len(batch) < MIN_POINTS:
            raise ValueError(
                f"a bank is built from a batch of at least {MIN_POINTS} points, got {len(batch)}: gather more of them, "
                "or call fit_hyperparameters with earlier data"
            )
        kernel, likelihood = member_kernel(self.kernel, 0), member_likelihood(self.likelihood, 0)
        single = OnlineGP(copy.deepcopy(self.inducing), kernel, likelihood, mean=self.mean.mean).to(batch.x.device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HyperparameterWarning)  # it is one member of many
            single._fit(batch, *options)
        spread(self.kernel, self.likelihood, single.kernel, single.likelihood, batch.x, grid_shape(self.size))
        if self.mean.can_be_fitted:
            self.mean.fitted.fill_(True)
        if self.learns_scale:
            power = ((batch.y - self.mean(batch.x)) ** 2).mean(-1)  # [*L]
            total = variance(self.kernel, batch.x[:1])[..., 0].detach()
            total = total + self.likelihood.noise[..., 0].detach()
            scale = torch.where(power > 0, power / total, torch.ones_like(total))
            self.square.copy_((PRIOR_DOF - 2) * scale.expand_as(self.square))
        self.built.fill_(True)

    def _arguments(self) -> tuple[Kernel, Likelihood, dict[str, Any]]:
        """One member, of which the constructor makes a bank of the same size, or all of them if they were given."""
        kernel, likelihood, options = super()._arguments()
        del options["buffer_size"]
        if self.size is not None:
            kernel, likelihood = member_kernel(kernel, 0), member_likelihood(likelihood, 0)
        return kernel, likelihood, options | {"size": self.size}

    def _prepare(self, batch: Observations) -> None:
        if not self.built:
            self._fit(batch.complete())

    def update(self, x: Arrays, y: Arrays, *, train_hyperparameters: bool = False, **options: Any) -> Self:
        """Absorb a batch; see `OnlineGP.update`. The bank is built from the first one.

        Args:
            x: Inputs `[N]` or `[N, D]`, or times.
            y: Targets `[*L, N]`; NaN are missing values.
            train_hyperparameters: Must be False: the members of a bank have fixed kernels.
            options: `noise`, `weights` and others of `OnlineGP.update`.
        """
        if train_hyperparameters:
            raise ValueError("the kernels of a bank are not trained: their weights and scales follow the stream")
        begin = time.perf_counter()
        super().update(x, y, **options)
        self.seconds = time.perf_counter() - begin
        return self

    @torch.no_grad()
    def learn(
        self, posterior: StreamingPosterior, likelihood: Likelihood, x: Tensor, y: Tensor, training: Training
    ) -> None:
        """Weight the members by how well they predict a task, and learn it; see `OnlineGP.learn`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JitterWarning)  # from members that are too smooth, which get little weight
            self._learn(posterior, likelihood, x, y, training)

    def _learn(
        self, posterior: StreamingPosterior, likelihood: Likelihood, x: Tensor, y: Tensor, training: Training
    ) -> None:
        number = next(i for i, other in enumerate(self.posteriors) if other is posterior)
        log_weights, dof, square = self.log_weights[number], self.dof[number], self.square[number]
        y = y.expand(*self.kernel.batch_shape, len(x))
        likelihood = self._relative(likelihood, self._scales[number])
        posterior.begin(self.kernel, x)
        if is_gaussian(likelihood) and not any(p.requires_grad for p in posterior.inducing.parameters()):
            posterior.adapt_to_kernel(self.kernel)
            frame, past = posterior.task(self.kernel)
            noise, weights = likelihood.noise, weights_of(likelihood)
            site, evidence = learn_gaussian(frame, past, noise, x, y, posterior.power, weights)
            posterior.end(frame, site)
            if self.learns_scale:
                log_weights += evidence.log_density(dof, square)
                dof += evidence.num
                square += evidence.quadratic
            else:
                log_weights -= 0.5 * (evidence.log_det + evidence.quadratic)
        else:
            _, past = posterior.task(self.kernel)
            with torch.enable_grad():
                absorb(posterior, self.kernel, likelihood, x, y, training)
            log_weights += posterior.site.log_evidence() - past.log_evidence()

    def _relative(self, likelihood: Likelihood, scales: Tensor) -> Likelihood:
        """A likelihood whose known noise is relative to the scale of each member."""
        if not isinstance(likelihood, PointLikelihood) or likelihood.known_noise is None or not self.learns_scale:
            return likelihood
        noise = likelihood.known_noise / scales[..., None]
        return PointLikelihood(likelihood.base, noise=noise, weights=likelihood.weights, offset=likelihood.offset)

    def conclude(self, x: Tensor, y: Tensor, likelihood: Likelihood | None = None, at_optimum: bool = True) -> None:
        """Select the family that predicted best, and warn if its variables are too few for the strongest member."""
        self.best.fill_(int(self.log_weights.logsumexp(1).reshape(len(self.posteriors), -1).sum(-1).argmax()))
        self.input_dim.fill_(x.shape[-1])
        num_points = int(self.inputs.num_points)
        likelihood = likelihood or self.likelihood
        self.left_over = LeftOver.of(
            self.posterior, self.kernel, likelihood, x, num_points, member=self.strongest_member
        )
        warn_unresolved(self.inducing, self.strongest()[0], self.left_over, stacklevel=5)

    @one_at_a_time
    def replace_inducing(self, inducing: InducingVariables) -> Self:
        """Continue with another family, or more variables of the same, keeping what has been learnt."""
        kept = slice(int(self.best), int(self.best) + 1)
        for name in ("log_weights", "dof", "square"):
            setattr(self, name, getattr(self, name)[kept].clone())
        super().replace_inducing(inducing)
        return self
