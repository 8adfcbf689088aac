"""Calibration: whether predictive intervals contain as many targets as they should."""

import hashlib
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Distribution, MixtureSameFamily
from torchmetrics import Metric

from gpvae.metrics.description import MEASURED
from gpvae.metrics.pointwise import check_shapes


class ECE(Metric):
    """Expected calibration error of central intervals, as the paper's appendix on full results defines it.

    ECE = 1/K Σ_k |1/N Σ_i 1(y_i ∈ [q̂_{(1-c_k)/2}(x_i), q̂_{(1+c_k)/2}(x_i)]) - c_k|, with K levels
    c_k = 0.05, 0.15, ..., 0.95 and q̂_p the empirical p-quantile of S samples of the predictive distribution.

    Intervals between empirical quantiles are slightly too narrow: with S samples they contain a fraction
    c_k (S - 1) / (S + 1) of the targets of a calibrated forecast, which thus scores about 0.01 with S = 100.

    The samples of a batch are drawn with a seed derived from its targets, and do not affect the global random state.
    Targets are data: predictions that differ in their last bits, as on another number of threads, get the same noise.
    The result is the same for the same batches in any order and on any number of processes; for the same points in
    other batches it is the same up to Monte-Carlo noise.

    Args:
        num_levels: Number K of intervals.
        num_samples: Number S of samples for each point.
        seed: Seed of the samples.
        kwargs: Arguments of `torchmetrics.Metric`.

    Example:
        >>> import torch
        >>> from torch.distributions import Normal
        >>> ece = ECE()
        >>> ece.update(Normal(torch.zeros(100), torch.ones(100)), torch.full((100,), 9.0))
        >>> print(f"{ece.compute():.2f}")  # no interval contains a target
        0.50
    """

    description = MEASURED["ece"]
    higher_is_better = False
    is_differentiable = False
    full_state_update = False

    covered: Tensor
    count: Tensor

    def __init__(self, num_levels: int = 10, num_samples: int = 100, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if num_levels < 1 or num_samples < 2:
            raise ValueError(
                f"ECE needs at least one level and at least two samples; got num_levels={num_levels}, "
                f"num_samples={num_samples}"
            )
        self.num_levels, self.num_samples, self.seed = num_levels, num_samples, seed
        self.add_state("covered", torch.zeros(num_levels, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    @property
    def levels(self) -> Tensor:
        """The levels c_k, midpoints of K equal parts of [0, 1]."""
        return (torch.arange(self.num_levels, dtype=torch.float64, device=self.device) + 0.5) / self.num_levels

    def update(self, predictive: Distribution, target: Tensor) -> None:
        """Add test points.

        Args:
            predictive: Predictive distribution of each target.
            target: Targets, of the same shape.
        """
        check_shapes(predictive, target)
        samples = seeded_samples(predictive, self.num_samples, batch_seed(target, self.seed))
        lower, upper = empirical_quantiles(samples, torch.cat([1 - self.levels, 1 + self.levels]) / 2).chunk(2)
        inside = (lower <= target) & (target <= upper)
        self.covered = self.covered + inside.flatten(start_dim=1).sum(dim=1)
        self.count = self.count + target.numel()

    def compute(self) -> Tensor:
        """The error over all points so far; NaN if there are none."""
        return (self.covered / self.count.double() - self.levels).abs().mean()


def batch_seed(target: Tensor, seed: int) -> int:
    """A seed that depends on the targets and the given seed only, not on earlier draws or on how predictions round."""
    batch = target.detach().double().cpu().numpy().tobytes()
    return int.from_bytes(
        hashlib.blake2b(batch, digest_size=7, salt=seed.to_bytes(8, "big", signed=True)).digest(), "big"
    )


def seeded_samples(predictive: Distribution, num_samples: int, seed: int) -> Tensor:
    """Samples `[S, ...]`, drawn without changing the global random state, which distributions use."""
    device = predictive.mean.device
    accelerators = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(devices=accelerators, device_type=device.type):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed every device
        if accelerators:
            getattr(torch, device.type).manual_seed(seed)
        if isinstance(predictive, MixtureSameFamily):  # draws from every component: one sample at a time saves memory
            return torch.stack([predictive.sample() for _ in range(num_samples)])
        return predictive.sample(torch.Size([num_samples]))


def empirical_quantiles(samples: Tensor, probabilities: Tensor) -> Tensor:
    """Quantiles `[K, ...]` of samples `[S, ...]`, linear between order statistics; `torch.quantile` limits the size."""
    ordered = samples.sort(dim=0).values
    position = probabilities * (len(samples) - 1)
    below = position.floor().long().clamp(max=len(samples) - 2)
    weight = (position - below).to(samples.dtype).reshape(-1, *[1] * (samples.ndim - 1))
    return torch.lerp(ordered[below], ordered[below + 1], weight)
