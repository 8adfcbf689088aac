"""A linear map between variables and latents: each variable a latent, or empirical orthogonal functions (EOFs)."""

import torch
from torch import Tensor

from gpvae.utils.resizable import Resizable, assign

#: Ridge of the least squares by which latents are found from some of the variables, relative to their noise.
RIDGE = 1e-3
#: Minimum standard deviation of an EOF, relative to the largest.
MIN_SCALE = 1e-6


class LinearMap(Resizable):
    """y = W f + remainder, with the leading EOFs of the first task, each scaled to variance one, as columns of W.

    Args:
        num_eofs: Number of EOFs; each variable is a latent itself if not given.
    """

    weights: Tensor
    scale: Tensor
    remainder: Tensor

    def __init__(self, num_eofs: int | None = None) -> None:
        super().__init__()
        self.num_eofs = num_eofs
        for name in ("weights", "scale", "remainder"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.float64))

    @property
    def configuration(self) -> str:
        """The number of EOFs."""
        return f"LinearMap(num_eofs={self.num_eofs})"

    @torch.no_grad()
    def fit(self, y: Tensor, mask: Tensor) -> None:
        """Find the EOFs of observations `[B, T, D]`; missing ones count as zero, their mean."""
        if self.num_eofs is None:
            return
        values = torch.where(mask, y, 0.0).double().flatten(0, 1)
        if min(values.shape) < self.num_eofs:
            raise ValueError(
                f"{self.num_eofs} EOFs cannot be found from {values.shape[0]} times of {values.shape[1]} variables: "
                "lower num_eofs, or use a longer first task"
            )
        _, sizes, rows = torch.linalg.svd(values, full_matrices=False)
        eofs = rows[: self.num_eofs].mT
        eofs = eofs * eofs.gather(0, eofs.abs().argmax(0, keepdim=True)).sign()  # the sign of an EOF is arbitrary
        assign(self.weights, eofs)
        scale = sizes[: self.num_eofs] / len(values) ** 0.5
        assign(self.scale, scale.clamp_min(MIN_SCALE * float(scale[0]) or 1.0))
        seen = mask.flatten(0, 1)
        squares = torch.where(seen, values - values @ eofs @ eofs.mT, 0.0).square().sum(0)
        count = seen.sum(0)  # of a variable that is never observed, only its variance of one is known
        assign(self.remainder, torch.where(count > 0, squares / count.clamp_min(1), 1.0))

    def encode(self, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Latents `[B, L, T]` by least squares, and their precision relative to that with all variables observed.

        Args:
            y: Observations `[B, T, D]`.
            mask: Which of them are observed.
        """
        y, seen = torch.where(mask, y, 0.0).double(), mask.double()
        if self.num_eofs is None:
            return y.mT, seen.mT
        projected = y @ self.weights
        if bool(mask.all()):
            return (projected / self.scale).mT, torch.ones_like(projected[:1]).mT
        eye = torch.eye(self.num_eofs, dtype=y.dtype, device=y.device)
        inverse = torch.linalg.inv(torch.einsum("btd,dk,dl->btkl", seen, self.weights, self.weights) + RIDGE * eye)
        latents = (inverse @ projected[..., None])[..., 0] / self.scale
        return latents.mT, (1 / inverse.diagonal(dim1=-2, dim2=-1) - RIDGE).clamp_min(0).mT

    def decode(self, mean: Tensor, var: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and variance of the variables, `[B, T, D]`, given those of the latents, `[B, L, T]`.

        Args:
            mean: Means of the latents.
            var: Their variances, noise included.
            rows: Variables to compute; all if not given.
        """
        if self.num_eofs is None:
            return mean.mT, var.mT
        weights, remainder = self.weights * self.scale, self.remainder
        if rows is not None:
            weights, remainder = weights[rows], remainder[rows]
        return mean.mT @ weights.mT, var.mT @ weights.square().mT + remainder
