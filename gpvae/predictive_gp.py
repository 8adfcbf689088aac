"""A Gaussian process over a stream as a function to query: posterior, predictions, samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from linear_operator import to_linear_operator
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from gpvae.bounds import CHUNK_SIZE
from gpvae.hyperparameters.prior_mean import PriorMean
from gpvae.inducing import InducingVariables
from gpvae.inducing.auto import as_families
from gpvae.kernels import check_input_dim, check_kernel
from gpvae.likelihoods import PointLikelihood, check_likelihood, is_gaussian, predictive
from gpvae.observations.conditioning import ConditionedProcess, MemoryProcess
from gpvae.observations.recent_points import RecentPoints
from gpvae.streaming import StreamingPosterior
from gpvae.utils import checks, labelled
from gpvae.utils.describe import describe
from gpvae.utils.linalg import cholesky, matvec
from gpvae.utils.resizable import rename_former_children
from gpvae.utils.stream_inputs import StreamInputs
from gpvae.utils.threads import one_at_a_time
from gpvae.utils.transactional import Transactional

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Arrays = ArrayLike | Tensor


class PredictiveGP(Transactional):
    """The state of an `OnlineGP` and its predictions; the arguments are described there."""

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
        time_unit: str = "h",
        buffer_size: int = 64,
    ) -> None:
        super().__init__()
        self.inputs = StreamInputs(time_unit)
        check_likelihood(likelihood)
        if power and not is_gaussian(likelihood):
            raise ValueError(f"power={power} requires a Gaussian likelihood, got {type(likelihood).__name__}")
        check_kernel(kernel)
        self.kernel = kernel.double()
        self.likelihood = likelihood.double()
        if mean is None:
            mean = ConstantMean(batch_shape=kernel.batch_shape) if is_gaussian(likelihood) else ZeroMean()
        self.mean = PriorMean(mean, kernel.batch_shape, fitted=not is_gaussian(likelihood))
        posteriors = [StreamingPosterior(family, power) for family in as_families(inducing, num_inducing)]
        self.posteriors = nn.ModuleList(posteriors)  # type: ignore[assignment]
        self.recent = RecentPoints(buffer_size)
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

    @one_at_a_time
    @torch.no_grad()
    def bound(self) -> Tensor:
        """The bound on the log evidence of all data so far, `[*L]`, if kernel and noise have not changed."""
        memory = self.posterior.c.expand(self.kernel.batch_shape)
        if self.posterior.started:
            memory = self.posterior.present(self.kernel)[1].log_evidence()
        process = self._process()
        return memory + process.log_evidence if isinstance(process, ConditionedProcess) else memory

    @one_at_a_time
    def latent(self, x: Arrays, joint: bool = False) -> Distribution:
        """The posterior of f: marginals `[*L, N]`, or their joint distribution.

        Args:
            x: Inputs `[N]` or `[N, D]`, or a batch `[*B, N, D]` of them, for which the result is `[*B, *L, N]`. If they
                are a tensor that requires gradients, so does the result.
            joint: Return a multivariate normal with the full covariance.
        """
        with _gradients_of(x):
            x = self._checked_inputs(x, batched=True)
            if x.ndim > 2:
                x = x.reshape(*x.shape[:-2], *(1 for _ in self.kernel.batch_shape), *x.shape[-2:])
            return self._latent(x, joint)

    def _latent(self, x: Tensor, joint: bool) -> Distribution:
        prior_mean = self.mean(x)
        process = self._process()
        if joint:
            f = process.at(x)
            mean, _ = process.marginals(f)
            return MultivariateNormal(prior_mean + mean, to_linear_operator(process.covariance(f)))
        parts = [process.marginals(process.at(part)) for part in x.split(CHUNK_SIZE, -2)]
        mean, var = (torch.cat(values, -1) for values in zip(*parts, strict=True))
        return Normal(prior_mean + mean, var.clamp_min(torch.finfo(var.dtype).tiny).sqrt())

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
        f, likelihood = self.latent(x, joint=joint), self.likelihood
        if noise is not None:
            likelihood = PointLikelihood(likelihood, noise=checks.per_point("noise", noise, f.mean, positive=True))
        with _gradients_of(x):
            if isinstance(f, MultivariateNormal):
                added = torch.diag_embed(likelihood.noise.expand(f.mean.shape))
                return MultivariateNormal(f.mean, to_linear_operator(f.covariance_matrix + added))
            return predictive(likelihood, f.mean, f.variance)

    @torch.no_grad()
    def predict_table(self, x: Arrays, quantiles: Sequence[float] = (0.05, 0.95)) -> "DataFrame":
        """Predictions as a pandas table: mean, standard deviation and quantiles, labelled like the inputs.

        Args:
            x: Inputs `[N]` or `[N, D]`: an index, series, table or coordinate of pandas or xarray, or numbers.
            quantiles: Probabilities.
        """
        return labelled.table(x, self.predict(x), quantiles)

    @one_at_a_time
    @torch.no_grad()
    def sample(self, x: Arrays, num_samples: int = 1, seed: int | None = None) -> Tensor:
        """Draw functions f from the posterior, jointly over the inputs, `[num_samples, *L, N]`.

        Args:
            x: Inputs `[N]`, `[N, D]` or a batch `[*B, N, D]`.
            num_samples: Number of functions.
            seed: Seed; the global random state if not given.
        """
        f = self.latent(x, joint=True)
        assert isinstance(f, MultivariateNormal)
        L = cholesky(f.covariance_matrix)
        rng = None if seed is None else torch.Generator(L.device).manual_seed(seed)
        z = torch.randn(num_samples, *f.mean.shape, dtype=L.dtype, device=L.device, generator=rng)
        return f.mean + matvec(L, z)

    @one_at_a_time
    @torch.no_grad()
    def sample_targets(self, x: Arrays, num_samples: int = 1) -> Tensor:
        """Draw observations y from the posterior, jointly over the inputs, `[num_samples, *L, N]`.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            num_samples: Number of draws.
        """
        f = self.sample(x, num_samples)
        y = Normal(f, self.likelihood.noise.sqrt()) if hasattr(self.likelihood, "noise") else self.likelihood(f)
        return y.sample()

    def plot(self, x: Arrays | None = None, *, num_points: int = 500) -> "Figure":
        """Draw the predictive mean and the central 95 % of the predictive distribution over one input.

        Args:
            x: Inputs `[N]`, in order; from the first input learnt to the last if not given.
            num_points: Number of inputs, if they are not given.
        """
        from matplotlib.figure import Figure  # imported only if needed

        if x is None:
            if not bool(torch.isfinite(self.inputs.low)):
                raise RuntimeError("nothing has been learnt yet: give the inputs to draw")
            numbers = torch.linspace(float(self.inputs.low), float(self.inputs.high), num_points, dtype=torch.float64)
            x = self.inputs.times(numbers.numpy()) if self.inputs.are_times else numbers
        if self._checked_inputs(x).shape[-1] != 1:
            raise ValueError("only functions of one input are drawn; predict(x) has the values of others")
        predicted = self.predict(x)
        mean, spread = (v.reshape(-1, v.shape[-1]).numpy() for v in (predicted.mean, 1.96 * predicted.variance.sqrt()))
        at = np.asarray(x).reshape(-1)
        figure = Figure(figsize=(8, 3), layout="constrained")
        axes = figure.subplots()
        for i, (centre, half) in enumerate(zip(mean, spread, strict=True)):
            axes.fill_between(at, centre - half, centre + half, alpha=0.25, color=f"C{i}", linewidth=0)
            axes.plot(at, centre, color=f"C{i}")
        axes.set_title(repr(self), fontsize="small", loc="left", wrap=True)
        return figure

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
        return Normal(self.mean(x) + matvec(half, q.mean), spread)

    def check_state(self) -> None:
        """Raise ValueError if a state that has been loaded contradicts itself, or does not predict."""
        super().check_state()
        if not 0 <= int(self.best) < len(self.posteriors):
            raise ValueError(f"the state says that family {int(self.best)} of {len(self.posteriors)} predicts")
        try:
            for posterior in self.posteriors:
                posterior.check_state(self.kernel)
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
        if dim == 0:
            check_input_dim(self.kernel, x.shape[-1])
        elif x.shape[-1] != dim:
            raise ValueError(f"x has {x.shape[-1]} input dimension(s), but the stream so far has {dim}")
        return x

    def __repr__(self) -> str:
        """Family, kernel, noise, mean and number of points."""
        families = [posterior.inducing.title for posterior in self.posteriors]
        parts = [families[0] if len(families) == 1 else f"[{', '.join(families)}]"]
        parts += [describe(self.kernel), describe(self.likelihood)]
        if self.mean.can_be_fitted:
            parts.append("mean not fitted yet" if self.mean.awaits_data else describe(self.mean.mean))
        return f"{type(self).__name__}({', '.join(parts)}; {int(self.inputs.num_points):,} points learnt)"


def _gradients_of(x: object) -> torch.set_grad_enabled:
    """Within the block, gradients are recorded only if x requires them."""
    wanted = isinstance(x, Tensor) and x.requires_grad
    return torch.set_grad_enabled(wanted and torch.is_grad_enabled())
