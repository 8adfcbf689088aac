"""What needs no variational memory: a climatology, and values that are kept, interpolated or by exact GPs."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor
from torch.distributions import Normal

from datamodules import ERA5
from gpvae.kernels import covariance
from gpvae.methods import KernelName
from gpvae.utils.linalg import cholesky, solve_lower
from gpvae.vae.kernel_fit import fit_series
from gpvae.vae.wave_kernel import WaveKernel

#: Smallest standard deviation that is predicted.
MIN_SCALE = 1e-2


class Climatology:
    """Running mean and variance of every hour of the day, for each location and variable."""

    def learn(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        values, seen = y.double(), mask.double()
        sums = torch.stack([seen, seen * values, seen * values**2])
        added = sums.new_zeros(3, len(y), 24, y.shape[-1]).index_add_(2, times.long() % 24, sums)
        self.sums = added + getattr(self, "sums", 0.0)

    def predict(self, times: Tensor) -> Normal:
        count, total, squares = self.sums
        pooled = total.sum((0, 1)) / count.sum((0, 1)).clamp_min(1)
        mean = torch.where(count > 0, total / count.clamp_min(1), pooled)
        scale = (squares / count.clamp_min(1) - mean**2).clamp_min(MIN_SCALE**2).sqrt()
        hours = times.long() % 24
        return Normal(mean[:, hours], torch.where(count > 1, scale, 1.0)[:, hours])

    def numbers(self) -> dict[str, float]:
        return {
            "means": self.sums[1].numel() / len(self.sums[0]),
            "precisions": self.sums[2].numel() / len(self.sums[0]),
        }


class Values:
    """Keeps the values of one training hour in `every`: of all of them, if that is 1."""

    def __init__(self, every: int = 1) -> None:
        self.every = every

    def learn(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        kept = slice(None, None, self.every)
        parts = times[kept], y[:, kept].double(), mask[:, kept]
        before = getattr(self, "data", (times[:0], y.double()[:, :0], mask[:, :0]))
        self.data = (
            torch.cat([before[0], parts[0]]),
            *(torch.cat(pair, 1) for pair in zip(before[1:], parts[1:], strict=True)),
        )

    def numbers(self) -> dict[str, float]:
        return {"means": self.data[1][0].numel()}


class Interpolation(Values):
    """Linear between the values before and after; the spread of leaving each value out, by location and variable."""

    def predict(self, times: Tensor) -> Normal:
        known, y, mask = self.data
        mean = y.new_zeros(len(y), len(times), y.shape[-1])
        scale = torch.ones_like(mean[:, :1])
        for b in range(len(y)):
            for v in range(y.shape[-1]):
                seen = mask[b, :, v]
                if seen.sum() < 3:
                    continue
                t, values = known[seen], y[b, seen, v]
                mean[b, :, v] = between(t, values, times)
                inner = values[:-2] + (values[2:] - values[:-2]) * (t[1:-1] - t[:-2]) / (t[2:] - t[:-2])
                scale[b, 0, v] = (values[1:-1] - inner).square().mean().sqrt().clamp_min(MIN_SCALE)
        return Normal(mean, scale.expand_as(mean))


def between(t: Tensor, values: Tensor, at: Tensor) -> Tensor:
    """Linear interpolation; constant beyond the ends."""
    right = torch.searchsorted(t, at).clamp(1, len(t) - 1)
    share = ((at - t[right - 1]) / (t[right] - t[right - 1])).clamp(0, 1)
    return values[right - 1] + share * (values[right] - values[right - 1])


class ExactGP(Values):
    """A GP for each variable on the values, its kernel fitted to the first task, its variance scaled by leaving out.

    Args:
        every: One training hour in so many is kept.
        kernel: Name of the kernel.
        periods: Periods of waves that are added to it.
    """

    def __init__(self, every: int = 1, kernel: KernelName = "matern32", periods: tuple[float, ...] = ()) -> None:
        super().__init__(every)
        self.options = kernel, periods

    def learn(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        if not hasattr(self, "kernel"):
            name, periods = self.options
            self.kernel = WaveKernel(name, y.shape[-1], periods)
            self.likelihood = GaussianLikelihood(batch_shape=self.kernel.batch_shape).double()
            fit_series(self.kernel, self.likelihood, times, y.mT.double(), mask.mT.double())
        super().learn(times, y, mask)

    @torch.no_grad()
    def predict(self, times: Tensor) -> Normal:
        known, y, mask = self.data
        mean = y.new_zeros(len(y), len(times), y.shape[-1])
        var = torch.ones_like(mean)
        kernel = self.kernel
        parts = covariance(kernel, known[:, None], known[:, None]), covariance(kernel, known[:, None], times[:, None])
        for v, (kff, kfs) in enumerate(zip(*parts, strict=True)):
            patterns, group = mask[..., v].unique(dim=0, return_inverse=True)
            for number, seen in enumerate(patterns):
                if not bool(seen.any()):
                    continue
                series = torch.nonzero(group == number)[:, 0]
                noise = float(self.likelihood.noise[v])
                L = cholesky(kff[seen][:, seen] + noise * torch.eye(int(seen.sum()), dtype=y.dtype), jitter=0.0)
                half, weights = solve_lower(L, kfs[seen]), torch.cholesky_solve(y[series][:, seen, v].mT, L)
                precision = torch.cholesky_inverse(L).diagonal()
                factor = (weights.square() / precision[:, None]).mean()
                mean[series, :, v] = (kfs[seen].mT @ weights).mT
                prior = float(kernel.outputscale[v].sum()) + noise
                var[series, :, v] = factor * (prior - half.square().sum(0)).clamp_min(MIN_SCALE**2)
        return Normal(mean, var.sqrt())


#: One training hour in so many is kept.
EVERY = (2, 3, 5, 10)
#: The kernel of `SeriesGP`, which serves fewer hours better than the Matérn-3/2 kernel does.
WAVES: dict[str, Any] = {"kernel": "matern12", "periods": (24.0, 12.0, 8.0, 6.0)}
SIMPLE: dict[str, dict[str, Callable[[], Climatology | Interpolation | ExactGP]]] = {
    "climatology": {"all": Climatology},
    "interpolation": {"all": Interpolation},
    "exact GP": {"all": ExactGP},
    "exact GP, fewer hours": {f"1 in {every}": partial(ExactGP, every, **WAVES) for every in EVERY},
}


def num_raw(data: ERA5) -> float:
    """Number of training values a location."""
    return sum(math.prod(data.task_data(task).y.shape[1:]) for task in range(data.num_tasks))
