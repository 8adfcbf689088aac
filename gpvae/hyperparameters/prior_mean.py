"""Prior means: gpytorch mean modules, fitted to one batch by generalised least squares."""

from typing import Any

import torch
from gpytorch.kernels import Kernel
from gpytorch.means import Mean
from torch import Tensor, nn
from torch.func import functional_call, jacfwd, jacrev

from gpvae.kernels import covariance
from gpvae.utils.linalg import cholesky, common_rows, solve_by_columns, solve_lower

#: Maximum number of points that a mean is fitted to, spread evenly over the batch.
MAX_POINTS = 1000
#: Gauss-Newton steps; one is exact for means that are linear in their parameters.
MAX_STEPS = 10
#: Steps end when no parameter changes by more than this share.
TOLERANCE = 1e-10


class PriorMean(nn.Module):
    """A mean with a shape for every output, which is fitted once.

    Args:
        mean: A gpytorch mean.
        batch_shape: `*L` of the kernel.
        fitted: Whether its parameters are to be kept as they are.
    """

    fitted: Tensor

    def __init__(self, mean: Mean, batch_shape: torch.Size, *, fitted: bool) -> None:
        super().__init__()
        self.mean, self.batch_shape = mean.double(), batch_shape
        if any(p.requires_grad for p in mean.parameters()):
            self.register_buffer("fitted", torch.tensor(fitted))
        self.register_load_state_dict_pre_hook(_add_zero_mean)  # type: ignore[no-untyped-call]

    @property
    def can_be_fitted(self) -> bool:
        """Whether there are parameters to fit."""
        return "fitted" in self._buffers

    @property
    def awaits_data(self) -> bool:
        """Whether there are parameters that have not been fitted yet."""
        return self.can_be_fitted and not bool(self.fitted)

    def fit(self, x: Tensor, y: Tensor, kernel: Kernel | None = None, noise: Tensor | None = None) -> None:
        """Fit the parameters to a batch; see `fit_mean`."""
        fit_mean(self.mean, x, y, kernel, noise)
        self.fitted.fill_(True)

    def forward(self, x: Tensor) -> Tensor:
        """The mean at inputs `[..., N, D]`, `[..., *L, N]`, as a function of the inputs alone."""
        value = functional_call(self.mean, {name: p.detach() for name, p in self.mean.named_parameters()}, (x,))
        return value.expand(torch.broadcast_shapes(value.shape, (*self.batch_shape, 1)))


def _add_zero_mean(mean: PriorMean, state_dict: dict[str, Any], prefix: str, *_: object) -> None:
    """Complete a state that was saved when every prior mean was zero; a `load_state_dict` pre-hook."""
    for name, value in mean.state_dict().items() if not any(key.startswith(prefix) for key in state_dict) else ():
        state_dict[prefix + name] = torch.ones_like(value) if name == "fitted" else torch.zeros_like(value)


@torch.no_grad()
def fit_mean(mean: Mean, x: Tensor, y: Tensor, kernel: Kernel | None = None, noise: Tensor | None = None) -> None:
    """Set the parameters θ of a mean to the minimum of (y - m_θ(x))ᵀ K⁻¹ (y - m_θ(x)), K = k(x, x) + noise I.

    Args:
        mean: The mean; its parameters that require no gradients stay as they are.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        kernel: The kernel; ordinary least squares, K = I, if not given.
        noise: Noise variances, broadcast to `[*L, N]`.
    """
    parameters = {name: p for name, p in mean.named_parameters() if p.requires_grad}
    if not parameters:
        return
    some = torch.linspace(0, len(x) - 1, min(len(x), MAX_POINTS), device=x.device).round().long()
    x, y = x[some], y[..., some]
    root = None
    if kernel is not None and noise is not None:
        noise = noise if noise.shape[-1] == 1 else noise[..., some]
        K = covariance(kernel, x, x)
        noise = common_rows(noise, K)
        noise = noise.expand(torch.broadcast_shapes(noise.shape, K.shape[:-1]))
        root = cholesky(K + torch.diag_embed(noise), jitter=0.0)

    def residuals(values: dict[str, Tensor]) -> Tensor:
        r = y - functional_call(mean, values, (x,))
        return r.reshape(-1) if root is None else solve_by_columns(solve_lower, root, r).reshape(-1)

    differentiate = jacrev if y.ndim == 1 else jacfwd  # several outputs have many residuals, and few parameters
    for _ in range(MAX_STEPS):
        jacobian = differentiate(residuals)(parameters)
        J = torch.cat([part.reshape(y.numel(), -1) for part in jacobian.values()], -1)
        step = torch.linalg.lstsq(J, residuals(parameters), driver="gelsd" if J.device.type == "cpu" else None).solution
        before = torch.cat([p.reshape(-1) for p in parameters.values()])
        for p, change in zip(parameters.values(), step.split([p.numel() for p in parameters.values()]), strict=True):
            p -= change.reshape(p.shape)
        if bool((step.abs() <= TOLERANCE * before.abs()).all()):
            break
