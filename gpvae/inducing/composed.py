"""A family composed of several, for instance for the whole past in outline and the recent past in detail."""

from collections.abc import Sequence

import torch
from gpytorch.kernels import Kernel
from torch import Tensor, nn

from gpvae.inducing.base import Functionals, InducingVariables


class Composed(Functionals):
    """The variables of several families side by side, as in `CosS(100) + LegT(50, window=48)`.

    All parts are combinations of function values. So their nodes are concatenated, and covariances between families are
    computed like those within one.

    Args:
        parts: The families: points, or HiPPO over time.
    """

    parts: Sequence[Functionals]  # a ModuleList

    def __init__(self, *parts: Functionals) -> None:
        for part in parts:
            if not isinstance(part, Functionals):
                raise TypeError(
                    f"{type(part).__name__} cannot be composed with others: only families of function values can "
                    "(points, HiPPO over time)"
                )
        flat = [member for part in parts for member in (part.parts if isinstance(part, Composed) else [part])]
        super().__init__(sum(part.num_inducing for part in flat))
        self.parts = nn.ModuleList(flat)  # type: ignore[assignment]
        self.forgets = all(part.forgets for part in flat)
        self.follows_kernel = all(part.follows_kernel for part in flat)

    @property
    def configuration(self) -> str:
        """The configurations of the parts."""
        return " + ".join(part.configuration for part in self.parts)

    @property
    def title(self) -> str:
        """The titles of the parts."""
        return " + ".join(part.title for part in self.parts)

    @property
    def nodes(self) -> Tensor:
        """The nodes of all parts, one after the other, `[*L, Q, D]`."""
        return _joined([part.nodes for part in self.parts])

    @property
    def landmarks(self) -> Tensor:
        """The landmarks of all parts."""
        return _joined([part.landmarks for part in self.parts])

    def combine(self, K: Tensor) -> Tensor:
        """Wᵀ K, part by part."""
        blocks = K.split([part.nodes.shape[-2] for part in self.parts], -2)
        return _joined([part.combine(block) for part, block in zip(self.parts, blocks, strict=True)])

    def is_same_as(self, old: InducingVariables) -> bool:
        """Whether all parts are the same as in an older state."""
        return (
            isinstance(old, Composed)
            and len(self.parts) == len(old.parts)
            and all(part.is_same_as(other) for part, other in zip(self.parts, old.parts, strict=True))
        )

    def check_inputs(self, x: Tensor) -> None:
        """Raise unless all parts can advance to these inputs."""
        for part in self.parts:
            part.check_inputs(x)

    def _advance(self, kernel: Kernel, x: Tensor) -> None:
        for part in self.parts:
            part.advance(kernel, x)

    @torch.no_grad()
    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Adapt all parts."""
        for part in self.parts:
            part.adapt_to_kernel(kernel)


def _joined(parts: list[Tensor]) -> Tensor:
    """Concatenate along the last axis but one, after broadcasting the axes before it."""
    batch = torch.broadcast_shapes(*(part.shape[:-2] for part in parts))
    return torch.cat([part.expand(*batch, *part.shape[-2:]) for part in parts], -2)
