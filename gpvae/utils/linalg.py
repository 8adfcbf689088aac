"""Dense linear algebra that succeeds on any finite input."""

import logging
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

logger = logging.getLogger(__name__)

#: Jitter tried first, relative to the mean of the diagonal, by floating point type.
INITIAL_JITTER = {torch.float64: 1e-9, torch.float32: 1e-5}
#: Jitter above this share of the diagonal changes results noticeably, and warns.
NOTICEABLE_JITTER = {torch.float64: 1e-6, torch.float32: 1e-3}


class JitterWarning(UserWarning):
    """A covariance needed so much jitter that results may differ noticeably."""


def cholesky(K: Tensor, jitter: float | None = None) -> Tensor:
    """Lower Cholesky factor of `K + jitter * mean(diag K) * I`.

    The jitter is relative, starts at `INITIAL_JITTER` unless given, and grows tenfold, only for the matrices of a
    batch that need it, until the factorisation succeeds. Every increase is logged; one above `NOTICEABLE_JITTER`
    warns.

    Args:
        K: Symmetric matrices, `[..., M, M]`.
        jitter: Initial jitter; 0 for matrices that are well conditioned by construction.

    Raises:
        ValueError: `K` has NaN or infinite values.
    """
    if K.dtype not in INITIAL_JITTER:
        raise TypeError(f"covariances are factorised in float64 or float32, got {K.dtype}; call .double() on the model")
    if K.shape[-1] == 0:
        return K
    scale = K.detach().diagonal(dim1=-2, dim2=-1).abs().mean(-1).clamp_min(torch.finfo(K.dtype).tiny)
    first = INITIAL_JITTER[K.dtype] if jitter is None else jitter
    share = torch.full_like(scale, first)
    identity = identity_like(K)
    tried = 0
    while True:
        jittered = torch.addcmul(K, (share * scale)[..., None, None], identity) if first or tried else K
        L, info = torch.linalg.cholesky_ex(jittered)
        failed = info > 0
        if not bool(failed.any()):
            break
        if not bool(torch.isfinite(K).all()):
            raise ValueError(
                f"a covariance of shape {tuple(K.shape)} has NaN or infinite values; "
                "check the inputs and the kernel's hyperparameters for extreme values"
            )
        if not tried:  # elements exceed the diagonal only if K is far from a covariance
            scale = torch.maximum(scale, 1e-12 * K.detach().abs().amax((-2, -1)))
        share = torch.where(failed, 10 * share.clamp_min(torch.finfo(K.dtype).eps), share)
        tried += 1
    most = float(share.max()) if tried else first
    if tried:
        logger.info("Cholesky of a %s covariance needed a relative jitter of %.0e", tuple(K.shape), most)
    if most > NOTICEABLE_JITTER[K.dtype]:
        warnings.warn(
            f"a covariance of shape {tuple(K.shape)} needed a relative jitter of {most:.0e} to factorise; "
            "predictions may be smoother than they should be (too many inducing variables for the kernel's "
            "lengthscale, or a kernel that is not positive definite here)",
            JitterWarning,
            stacklevel=2,
        )
    return L


def identity_like(K: Tensor) -> Tensor:
    """The identity of the size of the last axis of `K`, `[M, M]`."""
    return torch.eye(K.shape[-1], dtype=K.dtype, device=K.device)


def matvec(A: Tensor, v: Tensor) -> Tensor:
    """`A v` for matrices `[..., M, N]` and vectors `[..., N]`, over broadcast batch axes."""
    return (A @ v[..., None])[..., 0]


def solve_lower(L: Tensor, B: Tensor) -> Tensor:
    """`L^-1 B` for a lower triangular `L`, over broadcast batch axes."""
    return torch.linalg.solve_triangular(L, B, upper=False)


def common_rows(values: Tensor, A: Tensor) -> Tensor:
    """Values `[K, N]` of K outputs as `[N]`, if the outputs share matrices `[N, N]` and all rows are equal.

    Args:
        values: Values `[*B, N]`; returned as they are unless they have more axes than the matrices have batch axes.
        A: Matrices `[*L, N, N]`.
    """
    shared = values.ndim == A.ndim == 2
    return values[0] if shared and bool((values == values[:1]).all()) else values


def solve_by_columns(solve: Callable[[Tensor, Tensor], Tensor], A: Tensor, v: Tensor) -> Tensor:
    """Solve for vectors `[*L, N]`, or for `[K, N]`, which are the columns of one system if they share a matrix.

    Args:
        solve: Solves a system with matrices `[..., N, N]` for columns `[..., N, C]`.
        A: The matrices, `[*L, N, N]`.
        v: The vectors.
    """
    return solve(A, v.mT).mT if v.ndim == A.ndim == 2 else solve(A, v[..., None])[..., 0]


def log_det(L: Tensor) -> Tensor:
    """`log det(L Lᵀ)` from the Cholesky factor `L`."""
    return 2 * L.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def symmetric(K: Tensor) -> Tensor:
    """The symmetric part of `K`."""
    return 0.5 * (K + K.mT)
