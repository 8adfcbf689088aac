"""A batch of observations given by the user, with missing values, known noise and weights."""

from dataclasses import dataclass, replace

import torch
from gpytorch.likelihoods import Likelihood
from numpy.typing import ArrayLike
from torch import Tensor

from gpvae.likelihoods import PointLikelihood, check_targets, is_gaussian
from gpvae.utils import checks


@dataclass(frozen=True)
class Observations:
    """Points that are learnt together.

    Attributes:
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`, zero where they are missing.
        noise: Known noise variances `[*L, N]`; None if they are not known.
        weights: Weights `[*L, N]`, zero where targets are missing; None if all are one.
    """

    x: Tensor
    y: Tensor
    noise: Tensor | None = None
    weights: Tensor | None = None

    @classmethod
    def of(
        cls,
        likelihood: Likelihood,
        x: Tensor,
        y: ArrayLike | Tensor,
        batch_shape: torch.Size,
        *,
        noise: ArrayLike | Tensor | float | None = None,
        weights: ArrayLike | Tensor | None = None,
        columns: bool = False,
    ) -> "Observations":
        """Check and convert a batch; NaN targets are missing values.

        Args:
            likelihood: The likelihood.
            x: Inputs `[N, D]`, checked.
            y: Targets `[*L, N]`.
            batch_shape: `*L` of the kernel.
            noise: Known noise variances, one or `[N]` or `[*L, N]`.
            weights: Weights, `[N]` or `[*L, N]`.
            columns: Whether targets, noise and weights have a column for each output, `[N, K]`.
        """
        y = checks.targets(y, x, batch_shape, missing=True, columns=columns)
        observed = ~y.isnan()
        check_targets(likelihood, y[observed])
        if noise is not None and not is_gaussian(likelihood):
            raise ValueError(f"noise was given, but {type(likelihood).__name__} has none")
        batch = cls(
            x,
            torch.where(observed, y, 0.0),
            None if noise is None else checks.per_point("noise", noise, y, positive=True, columns=columns),
            None if weights is None else checks.per_point("weights", weights, y, positive=False, columns=columns),
        )
        if bool(observed.all()):
            return batch
        kept = observed.reshape(-1, len(x)).any(0)
        if not bool(kept.any()):
            raise ValueError(f"all {len(x)} targets of the batch are NaN, so there is nothing to learn from")
        weights = observed.to(y) if batch.weights is None else observed * batch.weights
        return replace(batch, weights=weights)[kept].simplified()

    def __len__(self) -> int:
        """Number of points N."""
        return len(self.x)

    def __getitem__(self, points: Tensor) -> "Observations":
        """Some of the points."""
        noise, weights = (None if part is None else part[..., points] for part in (self.noise, self.weights))
        return Observations(self.x[points], self.y[..., points], noise, weights)

    def joined(self, others: "Observations", noise: Tensor | None) -> "Observations":
        """These points followed by others.

        Args:
            others: The others.
            noise: Noise variance of points whose noise is not known, broadcast to `[*L, N]`.
        """

        def cat(name: str, default: Tensor | float | None) -> Tensor | None:
            parts = [getattr(points, name) for points in (self, others)]
            if parts[0] is None and parts[1] is None:
                return None
            fill = torch.as_tensor(default, dtype=self.y.dtype, device=self.y.device).detach()
            pairs = zip(parts, (self.y, others.y), strict=True)
            return torch.cat([fill.expand(y.shape) if part is None else part for part, y in pairs], -1)

        x, y = torch.cat([self.x, others.x]), torch.cat([self.y, others.y], -1)
        return Observations(x, y, cat("noise", noise), cat("weights", 1.0))

    def simplified(self) -> "Observations":
        """The batch without weights if all of them are one."""
        return replace(self, weights=None) if self.weights is not None and bool((self.weights == 1).all()) else self

    def complete(self) -> "Observations":
        """The points at which all targets have a weight above zero, without weights."""
        if self.weights is None:
            return self
        kept = (self.weights > 0).reshape(-1, len(self)).all(0)
        if not bool(kept.any()):
            raise ValueError(
                "no point of the batch has all its targets: hyperparameters are fitted to points at which every output "
                "is observed"
            )
        return replace(self[kept], weights=None)

    def centred(self, likelihood: Likelihood, mean: Tensor) -> tuple[Tensor, Likelihood]:
        """Targets and likelihood of a function whose prior mean has been subtracted.

        Args:
            likelihood: The likelihood.
            mean: The prior mean at the inputs, `[*L, N]`.
        """
        gaussian = is_gaussian(likelihood)
        offset = None if gaussian or not bool(mean.any()) else mean
        if (self.noise, self.weights, offset) != (None, None, None):
            likelihood = PointLikelihood(likelihood, noise=self.noise, weights=self.weights, offset=offset)
        return (self.y - mean if gaussian else self.y), likelihood
