"""A Gaussian process over a stream as a function to query: posterior, predictions, samples."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from gpvae.bounds import CHUNK_SIZE
from gpvae.hyperparameters.prior_mean import PriorMean
from gpvae.inducing import InducingVariables
from gpvae.inducing.auto import as_families
from gpvae.kernels import check_input_dim, check_kernel
from gpvae.likelihoods import PointLikelihood, check_likelihood, is_gaussian, predictive
from gpvae.methods import build_kernel
from gpvae.observations.conditioning import ConditionedProcess, MemoryProcess
from gpvae.observations.outputs import Outputs
from gpvae.observations.recent_points import RecentPoints
from gpvae.streaming import StreamingPosterior
from gpvae.utils import checks
from gpvae.utils.linalg import cholesky, matvec
from gpvae.utils.resizable import rename_former_children
from gpvae.utils.stream_inputs import StreamInputs
from gpvae.utils.threads import one_at_a_time
from gpvae.utils.transactional import Transactional

Arrays = ArrayLike | Tensor


class PredictiveGP(Transactional):
    """The state of an `OnlineGP` and its predictions; the arguments are described there."""

    former_children: ClassVar = {"streams": "posteriors"}
    posteriors: Sequence[StreamingPosterior]  # a ModuleList
    best: Tensor
    input_dim: Tensor
    unfitted: Tensor
    #: Number of inputs that the default kernel was built for; None if a kernel was given.
    expected_dim: int | None = None

    def __init__(
        self,
        inducing: InducingVariables | Sequence[InducingVariables] | str | None = None,
        kernel: Kernel | None = None,
        likelihood: Likelihood | None = None,
        *,
        mean: Mean | None = None,
        num_inducing: int | None = None,
        num_outputs: int | None = None,
        input_dim: int = 1,
        power: float = 0.0,
        time_unit: str = "h",
        buffer_size: int = 64,
    ) -> None:
        super().__init__()
        self.inputs = StreamInputs(time_unit)
        if kernel is None:
            self.register_buffer("unfitted", torch.tensor(True))
            kernel, self.expected_dim = build_kernel("matern52", input_dim), input_dim
        likelihood = GaussianLikelihood() if likelihood is None else likelihood
        check_likelihood(likelihood)
        if power and not is_gaussian(likelihood):
            raise ValueError(f"power={power} requires a Gaussian likelihood, got {type(likelihood).__name__}")
        check_kernel(kernel)
        self.kernel = kernel.double()
        self.likelihood = likelihood.double()
        self.outputs = Outputs.of(kernel, likelihood, num_outputs)
        if mean is None:
            mean = ConstantMean(batch_shape=self.outputs.shape) if is_gaussian(likelihood) else ZeroMean()
        self.mean = PriorMean(mean, self.outputs.shape, fitted=not is_gaussian(likelihood))
        posteriors = [StreamingPosterior(family, power) for family in as_families(inducing, num_inducing, input_dim)]
        self.posteriors = nn.ModuleList(posteriors)  # type: ignore[assignment]
        self.recent = RecentPoints(buffer_size)
        self.register_load_state_dict_pre_hook(rename_former_children)  # type: ignore[no-untyped-call]
        self.register_buffer("best", torch.zeros((), dtype=torch.int64))
        self.register_buffer("input_dim", torch.zeros((), dtype=torch.int64))

    @property
    def num_outputs(self) -> int | None:
        """Number of outputs that share a kernel; None if outputs are independent."""
        return self.outputs.shape[0] if self.outputs.shared else None

    @property
    def posterior(self) -> StreamingPosterior:
        """The streaming posterior with the highest bound."""
        return self.posteriors[int(self.best)]

    @property
    def inducing(self) -> InducingVariables:
        """The family of inducing variables with the highest bound."""
        return self.posterior.inducing

    @one_at_a_time
    @torch.no_grad()
    def bound(self) -> Tensor:
        """The bound on the log evidence of all data so far, `[*L]`, if kernel and noise have not changed."""
        memory = self.posterior.c.expand(torch.broadcast_shapes(self.kernel.batch_shape, self.mean.batch_shape))
        if self.posterior.started:
            memory = self.posterior.present(self.kernel)[1].log_evidence()
        process = self._process()
        return memory + process.log_evidence if isinstance(process, ConditionedProcess) else memory

    @one_at_a_time
    def latent(self, x: Arrays, joint: bool = False) -> Distribution:
        """The posterior of f, `[*L, N]`, or `[N, K]` for `num_outputs=K`: marginals, or their joint distribution.

        Args:
            x: Inputs `[N]` or `[N, D]`, or a batch `[*B, N, D]` of them, for which the result is `[*B, *L, N]`. If they
                are a tensor that requires gradients, so does the result.
            joint: Return a multivariate normal with the full covariance.
        """
        with _gradients_of(x):
            if joint:
                return self.outputs.joint(*self._joint_moments(x))
            return self._marginals(self._query(x))

    def forward(self, x: Arrays) -> Distribution:
        """The joint posterior of f: `gp(x)`, and with it `gp.likelihood(gp(x))`, as for a model of gpytorch.

        Args:
            x: Inputs, see `latent`.
        """
        return self.latent(x, joint=True)

    def _marginals(self, x: Tensor) -> Normal:
        """The marginals of f at inputs that have been checked."""
        process = self._process()
        parts = [process.marginals(process.at(part)) for part in x.split(CHUNK_SIZE, -2)]
        mean, var = (torch.cat(values, -1) for values in zip(*parts, strict=True))
        mean, stddev = self.mean(x) + mean, var.clamp_min(torch.finfo(var.dtype).tiny).sqrt()
        return Normal(self.outputs.layout(mean), self.outputs.layout(stddev.expand(mean.shape)))

    def _query(self, x: Arrays) -> Tensor:
        """Inputs to predict at, with axes of size one for outputs if they are a batch."""
        x = self._checked_inputs(x, batched=True)
        num = max(len(self.kernel.batch_shape), len(self.mean.batch_shape))
        return x if x.ndim == 2 else x.reshape(*x.shape[:-2], *[1] * num, *x.shape[-2:])

    def _joint_moments(self, x: Arrays) -> tuple[Tensor, Tensor]:
        """Means `[*L, N]` and covariances `[*L, N, N]` of f; outputs that share a kernel may share the latter."""
        x = self._query(x)
        process = self._process()
        f = process.at(x)
        return self.mean(x) + process.marginals(f)[0], process.covariance(f)

    @torch.no_grad()
    def _process(self) -> MemoryProcess | ConditionedProcess:
        """f, less its prior mean, given the memory and the recent points."""
        memory = MemoryProcess.of(self.posterior, self.kernel)
        if not len(self.recent):
            return memory
        points = self.recent.observations(self._noise)
        y, likelihood = points.centred(self.likelihood, self.mean(points.x))
        return ConditionedProcess.of(memory, likelihood, points.x, y)

    @property
    def _noise(self) -> Tensor | None:
        """The noise variance of a Gaussian likelihood."""
        return self.likelihood.noise if is_gaussian(self.likelihood) else None

    @one_at_a_time
    def predict(self, x: Arrays, *, noise: Arrays | float | None = None, joint: bool = False) -> Distribution:
        """The predictive distribution of y at each input.

        Args:
            x: Inputs `[N]`, `[N, D]` or a batch `[*B, N, D]`; see `latent`.
            noise: Known noise variances of Gaussian targets, `[N]` or `[*L, N]`, in place of that of the likelihood.
            joint: Return the joint distribution of all y, a multivariate normal; for a Gaussian likelihood.
        """
        gaussian = is_gaussian(self.likelihood)
        if (joint or noise is not None) and not gaussian:
            raise ValueError(f"joint and noise are for a Gaussian likelihood, not {type(self.likelihood).__name__}")
        with _gradients_of(x):
            if joint:
                mean, covariance = self._joint_moments(x)
                added = self.likelihood.noise if noise is None else self._known_noise(noise, mean)
                return self.outputs.joint(mean, covariance + torch.diag_embed(added.expand(mean.shape)))
            f, likelihood = self.latent(x), self.likelihood
            if noise is not None:
                known = self._known_noise(noise, self.outputs.layout(f.mean))
                likelihood = PointLikelihood(likelihood, noise=self.outputs.layout(known))
            return predictive(likelihood, f.mean, f.variance)

    def _known_noise(self, noise: Arrays | float, mean: Tensor) -> Tensor:
        """Noise variances of targets with means `[*L, N]`, checked."""
        return checks.per_point("noise", noise, mean, positive=True, columns=self.outputs.shared)

    @one_at_a_time
    @torch.no_grad()
    def sample(self, x: Arrays, num_samples: int = 1, seed: int | None = None) -> Tensor:
        """Draw functions f from the posterior, jointly over the inputs, `[num_samples, *L, N]`.

        Args:
            x: Inputs `[N]`, `[N, D]` or a batch `[*B, N, D]`.
            num_samples: Number of functions.
            seed: Seed; the global random state if not given.
        """
        mean, covariance = self._joint_moments(x)
        L = cholesky(covariance)
        rng = None if seed is None else torch.Generator(L.device).manual_seed(seed)
        z = torch.randn(num_samples, *mean.shape, dtype=L.dtype, device=L.device, generator=rng)
        return self.outputs.layout(mean + matvec(L, z))

    @one_at_a_time
    @torch.no_grad()
    def sample_targets(self, x: Arrays, num_samples: int = 1) -> Tensor:
        """Draw observations y from the posterior, jointly over the inputs, `[num_samples, *L, N]`.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            num_samples: Number of draws.
        """
        f = self.sample(x, num_samples)
        y = Normal(f, self.likelihood.noise.sqrt()) if is_gaussian(self.likelihood) else self.likelihood(f)
        return y.sample()

    @one_at_a_time
    @torch.no_grad()
    def reconstruct(self, x: Arrays) -> Normal:
        """The finite-basis reconstruction f ≈ Σ u_m g_m(x), u ~ q(u) (section 3.2 and appendix C).

        Args:
            x: Inputs `[N]` or `[N, D]`.
        """
        x = self._checked_inputs(x)
        process = self._process()
        frame, q = process.inducing
        if frame is None:
            raise RuntimeError("cannot reconstruct before the first update, or before single points are consolidated")
        half = frame.inducing.basis(x) @ frame.L  # g(x)ᵀ L
        spread = (half @ q.root).norm(dim=-1).clamp_min(torch.finfo(half.dtype).tiny)
        mean = self.mean(x) + matvec(half, q.mean)
        return Normal(self.outputs.layout(mean), self.outputs.layout(spread.expand(mean.shape)))

    def check_state(self) -> None:
        """Raise ValueError if a state that has been loaded contradicts itself, or does not predict."""
        super().check_state()
        if not 0 <= int(self.best) < len(self.posteriors):
            raise ValueError(f"the state says that family {int(self.best)} of {len(self.posteriors)} predicts")
        try:
            for posterior in self.posteriors:
                posterior.check_state(self.kernel, self.outputs.shape)
            self.recent.check_state()
            self.check_predictions()
        except Exception as error:  # a state made by hand can fail anywhere
            reason = " ".join(str(error).split())
            raise ValueError(f"the state cannot be used: {reason}") from error

    @torch.no_grad()
    def check_predictions(self) -> None:
        """Raise unless a prediction at the last input is finite."""
        if not self.posterior.started:
            return
        last = self.inputs.high.nan_to_num(neginf=0.0)  # early versions did not count inputs
        x = last.expand(1, max(1, int(self.input_dim)))
        y = self.predict(self.inputs.times(last.cpu()[None].numpy()) if self.inputs.are_times else x)
        numbers = torch.cat([y.mean, y.variance.log()] if is_gaussian(self.likelihood) else [y.mean])
        if not bool(torch.isfinite(numbers).all()):
            raise ValueError("predictions are not finite")

    def _checked_inputs(self, x: Arrays, *, learn: bool = False, batched: bool = False) -> Tensor:
        x = self.inputs.convert(x, self.posterior.h, learn=learn, batched=batched)
        dim = self.recent.x.shape[-1] or int(self.input_dim)
        if self.expected_dim not in (None, x.shape[-1]):
            raise ValueError(f"x has {x.shape[-1]} input dimension(s); build the model with input_dim={x.shape[-1]}")
        if dim == 0:
            check_input_dim(self.kernel, x.shape[-1])
        elif x.shape[-1] != dim:
            raise ValueError(f"x has {x.shape[-1]} input dimension(s), but the stream so far has {dim}")
        return x


def _gradients_of(x: object) -> torch.set_grad_enabled:
    """Within the block, gradients are recorded only if x requires them."""
    wanted = isinstance(x, Tensor) and x.requires_grad
    return torch.set_grad_enabled(wanted and torch.is_grad_enabled())
