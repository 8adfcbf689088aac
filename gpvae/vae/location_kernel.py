"""The kernel over locations, chosen by the marginal likelihood of the first task."""

import itertools
from dataclasses import dataclass

import torch
from gpytorch.kernels import MaternKernel
from torch import Tensor

from gpvae.kernels import covariance
from gpvae.utils.linalg import cholesky

#: Lengthscales on the sphere that are tried, in units of the spread of the locations.
LENGTHSCALES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
#: Lengthscales that are tried for inputs such as height, in their standard deviations; with the last, the input has no
#: effect.
INPUT_LENGTHSCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 1e6)
#: Nuggets that are tried: shares of the variance that are independent between locations.
NUGGETS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
#: Share of values that must be observed at a location for a variable to count there in the choice.
MIN_OBSERVED = 0.5


@dataclass(frozen=True)
class LocationKernel:
    """A Matérn kernel of smoothness 3/2 and variance one over positions, and a nugget.

    Attributes:
        scales: Lengthscale of each coordinate, `[P]`.
        nugget: Share of the variance that is independent between locations.
        amplitude: Variance of each variable, `[V]`, estimated from errors at locations that are left out one by one. It
            is at least the mean square of the values, which is the error far away from all locations.
    """

    scales: Tensor
    nugget: float
    amplitude: Tensor

    @classmethod
    def choose(cls, positions: Tensor, y: Tensor, mask: Tensor) -> "LocationKernel":
        """The kernel with the greatest marginal likelihood, of all variables and hours.

        Args:
            positions: `[N, P]`, the first three of them on the unit sphere.
            y: Values `[N, T, V]`.
            mask: Which of them are observed.
        """
        spread = (positions[:, :3] - positions[:, :3].mean(0)).square().sum(-1).mean().sqrt().clamp_min(1e-12)
        others = positions.shape[1] - 3
        fields = [_complete(y[..., v].double(), mask[..., v]) for v in range(y.shape[-1])]
        best, found = -torch.inf, None
        for length, other in itertools.product(LENGTHSCALES, INPUT_LENGTHSCALES if others else (1.0,)):
            scales = torch.cat([(length * spread).expand(3), positions.new_full((others,), other)])
            K = correlation(positions / scales, positions / scales)
            for nugget in NUGGETS:
                noisy = (1 - nugget) * K + nugget * torch.eye(len(K), dtype=K.dtype, device=K.device)
                evidence = sum(_log_evidence(noisy, rows, values) for rows, values in fields if len(rows))
                if evidence > best:
                    best, found = float(evidence), (scales, nugget, noisy)
        assert found is not None
        scales, nugget, noisy = found
        return cls(scales, nugget, torch.stack([_amplitude(noisy, rows, values) for rows, values in fields]))


def correlation(x1: Tensor, x2: Tensor) -> Tensor:
    """The kernel without its nugget, over scaled positions `[N, P]` and `[M, P]`."""
    kernel = MaternKernel(nu=1.5).to(x1)
    kernel.lengthscale = 1.0
    return covariance(kernel, x1, x2).detach()


def _complete(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Locations `[n]` at which a variable is observed often enough, and its values there, gaps filled by their mean."""
    rows = torch.nonzero(mask.double().mean(1) >= MIN_OBSERVED)[:, 0]
    values, mask = values[rows].where(mask[rows], 0.0), mask[rows]
    mean = values.sum(0) / mask.sum(0).clamp_min(1)
    return rows, values.where(mask, mean)


def _log_evidence(K: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """The log marginal likelihood of values `[n, T]` at its best amplitude, up to a constant."""
    L = cholesky(K[rows][:, rows])
    whitened = torch.linalg.solve_triangular(L, values, upper=False)
    amplitude = whitened.square().mean().clamp_min(torch.finfo(K.dtype).tiny)
    return -0.5 * values.numel() * amplitude.log() - values.shape[1] * L.diagonal().log().sum()


def _amplitude(K: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """The mean ratio of squared leave-one-out errors to their variance, or the mean square if that is larger."""
    if not len(rows):
        return torch.ones((), dtype=K.dtype, device=K.device)
    inverse = torch.cholesky_inverse(cholesky(K[rows][:, rows]))
    left_out = ((inverse @ values).square() / inverse.diagonal()[:, None]).mean()
    return torch.maximum(left_out, values.square().mean())
