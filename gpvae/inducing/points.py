"""Inducing points u = f(Z): OSGPR and OSVGP (Bui et al. 2017)."""

import torch
from gpytorch.kernels import Kernel
from torch import Tensor, nn

from gpvae.inducing.base import Functionals
from gpvae.utils.resizable import assign


class Points(Functionals):
    """Function values at points, sampled for each task from the old points and the new inputs.

    Args:
        num_inducing: Number of points M.
        trainable: Optimise the points together with other trained parameters.
        keep: Share of the old points that are kept when a new task begins; more if the task has few inputs.
        input_dim: Input dimension; needed in advance only if shapes must not change later (DDP).
        seed: Seed of the sampling.
    """

    Z: Tensor

    def __init__(
        self, num_inducing: int, trainable: bool = True, keep: float = 0.7, input_dim: int = 1, seed: int = 0
    ) -> None:
        super().__init__(num_inducing)
        if not 0 <= keep <= 1:
            raise ValueError(f"keep must be between 0 and 1, got {keep}")
        self.keep = keep
        self.seed = seed
        Z = torch.zeros(num_inducing, input_dim, dtype=torch.float64)
        if trainable:
            self.Z = nn.Parameter(Z)
        else:
            self.register_buffer("Z", Z)

    @property
    def trainable(self) -> bool:
        """Whether the points are optimised."""
        return isinstance(self.Z, nn.Parameter)

    @property
    def input_dim(self) -> int:
        """Input dimension."""
        return self.Z.shape[-1]

    @property
    def nodes(self) -> Tensor:
        """Z."""
        return self.Z

    @property
    def points(self) -> Tensor:
        """Z, without its gradient."""
        return self.Z.detach()

    def _advance(self, kernel: Kernel, x: Tensor) -> None:
        """Choose new points for the inputs of a new task."""
        assign(self.Z, self.choose(kernel, x))

    def choose(self, kernel: Kernel, x: Tensor) -> Tensor:
        """A random share `keep` of the old points, and new inputs for the rest."""
        rng = self._rng()
        kept = max(round(self.keep * self.num_inducing), self.num_inducing - len(x)) if self.started else 0
        old = self.Z[torch.randperm(self.num_inducing, generator=rng)[:kept].to(self.Z.device)]
        new = x[torch.randperm(len(x), generator=rng)[: self.num_inducing - kept].to(x.device)]
        return self._add_random_points(torch.cat([old.to(x), new]) if kept else new, x, rng)

    def _rng(self) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed + self.num_advances)

    def _add_random_points(self, Z: Tensor, x: Tensor, rng: torch.Generator) -> Tensor:
        """If there are fewer inputs than points, draw the missing points from the bounding box of the inputs."""
        missing = self.num_inducing - Z.shape[-2]
        if missing <= 0:
            return Z
        low, high = x.amin(0), x.amax(0)
        extra = torch.rand(missing, x.shape[-1], generator=rng, dtype=torch.float64).to(x)
        extra = low + (high - low) * extra
        return torch.cat([Z, extra.expand(*Z.shape[:-2], *extra.shape)], -2)
