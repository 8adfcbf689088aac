"""One precision for all series: when series are observed alike, and what is kept of it."""

import torch
from torch import Tensor

from gpvae.utils.distributed import sum_over_processes
from gpvae.utils.row_store import select_rows

#: Number of series whose observations are counted at a time.
CHUNK_SIZE = 1024
#: A series with less than this share of the mean number of observations is observed less than others.
MIN_SHARE = 0.9


def observed_alike(mask: Tensor, series: Tensor) -> bool:
    """Whether no series has much fewer observations than the others, of any process.

    Args:
        mask: Which values of all series are observed, `[S, T, V]`.
        series: The series of this process.
    """
    counts = torch.cat([select_rows(mask, some).sum((1, 2)) for some in series.split(CHUNK_SIZE)]).double()
    total, number = sum_over_processes(torch.stack([counts.sum(), torch.full_like(counts[0], len(counts))]))
    return not bool(sum_over_processes((counts < MIN_SHARE * total / number).sum()))


def common_shape(G: Tensor, L: Tensor) -> tuple[Tensor, Tensor]:
    """Precisions of latents as one matrix, and a factor for each latent.

    G = Σ a aᵀ/ṽ: with the same kernel the features a of all latents are the same, and their ṽ differ by little more
    than a factor.

    Args:
        G: The precisions, `[1, L, M, M]`.
        L: Cholesky factors of kuu, `[L, M, M]`.

    Returns:
        The matrix `[1, 1, M, M]` and the factors `[1, L, 1, 1]`; G itself and ones if kernels differ.
    """
    if not torch.equal(L, L[:1].expand_as(L)):
        return G, torch.ones_like(G[..., :1, :1])
    scale = G.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None].clamp_min(torch.finfo(G.dtype).tiny)
    return (G / scale).mean(1, keepdim=True), scale
