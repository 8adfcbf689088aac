"""The outputs of a model: independent ones, or several that share kernel, noise and precision."""

from dataclasses import dataclass

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from linear_operator import to_linear_operator
from torch import Tensor

from gpvae.likelihoods import batch_shape


@dataclass(frozen=True)
class Outputs:
    """The shape of the outputs, and the layout of their values.

    Within the package values are `[*L, N]`. Users give and get values of outputs that share a kernel as `[N, K]`.

    Attributes:
        shape: `*L`, the batch shape of the kernel; `[K]` if K outputs share it.
        shared: Whether they share it.
    """

    shape: torch.Size
    shared: bool = False

    @classmethod
    def of(cls, kernel: Kernel, likelihood: Likelihood, num_outputs: int | None) -> "Outputs":
        """The outputs of a kernel, or `num_outputs` that share kernel and likelihood."""
        batch = batch_shape(likelihood)
        if num_outputs is None:
            if not _broadcasts(batch, kernel.batch_shape):
                raise ValueError(
                    f"{type(likelihood).__name__} has batch shape {list(batch)}, which does not broadcast to that of "
                    f"the kernel, {list(kernel.batch_shape)}: give both the same batch_shape"
                )
            return cls(kernel.batch_shape)
        if num_outputs < 1:
            raise ValueError(f"num_outputs must be at least 1, got {num_outputs}")
        if kernel.batch_shape or batch:
            raise ValueError(
                f"num_outputs={num_outputs} outputs share one kernel and one likelihood, but these have a batch shape; "
                "for independent outputs [L, N], leave num_outputs out"
            )
        return cls(torch.Size([num_outputs]), shared=True)

    def layout(self, values: Tensor) -> Tensor:
        """Values `[*L, N]` in the layout of the user, or back."""
        return values.mT if self.shared else values

    def joint(self, mean: Tensor, covariance: Tensor) -> MultivariateNormal:
        """A joint distribution in the layout of the user.

        Args:
            mean: `[*L, N]`.
            covariance: `[*L, N, N]`, or broadcast to it.
        """
        if not self.shared:
            return MultivariateNormal(mean, to_linear_operator(covariance))
        covariance = covariance.expand(*mean.shape, mean.shape[-1])
        return MultitaskMultivariateNormal.from_batch_mvn(MultivariateNormal(mean, to_linear_operator(covariance)))


def _broadcasts(shape: torch.Size, to: torch.Size) -> bool:
    """Whether a tensor of a shape can be expanded to another."""
    pairs = zip(reversed(shape), reversed(to), strict=False)
    return len(shape) <= len(to) and all(size in (1, other) for size, other in pairs)
