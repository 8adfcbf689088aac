"""The interface of families of inducing variables; posteriors and bounds depend on nothing else.

Shapes: `*L` batch of latent dimensions (the kernel's batch shape), M inducing variables, N inputs, D input dims.
"""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.kernels import covariance, variance
from gpvae.utils.counters import Counters
from gpvae.utils.linalg import solve_lower
from gpvae.utils.resizable import Resizable


def check_dim(inducing: "InducingVariables", x: Tensor, dim: int) -> None:
    """Raise unless the inputs have `dim` dimensions."""
    if x.shape[-1] != dim:
        expected = "one dimension" if dim == 1 else f"{dim} dimensions"
        hint = "; use LegSPath or points for inputs of several dimensions" if dim == 1 else ""
        name, shape = type(inducing).__name__, tuple(x.shape)
        raise ValueError(f"{name} expects inputs of {expected}, got x of shape {shape}{hint}")


class InducingVariables(Counters, Resizable, ABC):
    """Random variables u, linear in the function f, that summarise it.

    Args:
        num_inducing: Number of inducing variables M.
    """

    #: Whether hyperparameters may change after the first task.
    follows_kernel = True
    #: Whether the older past is forgotten by intention.
    forgets = False

    counters = ("num_advances",)
    num_advances: int
    num_inducing: int

    def __init__(self, num_inducing: int) -> None:
        super().__init__()
        if not isinstance(num_inducing, int | np.integer) or num_inducing < 1:
            raise ValueError(f"num_inducing must be a whole number of at least 1, got {num_inducing!r}")
        self.num_inducing = int(num_inducing)
        self._start_counters()

    @property
    def configuration(self) -> str:
        """The family and its number of variables."""
        return f"{type(self).__name__}(num_inducing={self.num_inducing})"

    @property
    def title(self) -> str:
        """The family and its number of variables, for messages."""
        return f"{type(self).__name__}({self.num_inducing})"

    @abstractmethod
    def kuu(self, kernel: Kernel) -> Tensor:
        """cov(u, u), `[*L, M, M]`."""

    @abstractmethod
    def kuf(self, kernel: Kernel, x: Tensor) -> Tensor:
        """cov(u, f(x)), `[*L, M, N]`."""

    @abstractmethod
    def _advance(self, kernel: Kernel, x: Tensor) -> None:
        """Advance to the inputs of a new task, `[N, D]`."""

    def kff(self, kernel: Kernel, x: Tensor, other: Tensor | None = None) -> Tensor:
        """cov(f(x), f(x')), `[*L, N, N']`: the kernel, or the approximation that the family's kuf is made with.

        Args:
            kernel: The kernel.
            x: Inputs `[N, D]`.
            other: x', `[N', D]`; x itself if not given.
        """
        return covariance(kernel, x, x if other is None else other)

    def features(self, kernel: Kernel, L: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Whitened features L⁻¹ kuf `[*L, M, N]` and prior variances `[*L, N]` of f, with L the factor of kuu."""
        return solve_lower(L, self.kuf(kernel, x)), variance(kernel, x)

    def kuv(self, kernel: Kernel, old: "InducingVariables") -> Tensor:
        """cov(u, v) with the variables v of an older state, of this family or another, `[*L, M, M_old]`."""
        if isinstance(old, Functionals):
            return old.combine(self.kuf(kernel, old.nodes).mT).mT
        raise TypeError(
            f"the covariance between {type(self).__name__} and older {type(old).__name__} is not known; "
            "a stream can change its family only if the older one is made of function values (points, HiPPO over time)"
        )

    def is_same_as(self, old: "InducingVariables") -> bool:
        """Whether these are known to be the variables of an older state, so that its sites need no transport."""
        return False

    @torch.no_grad()
    def advance(self, kernel: Kernel, x: Tensor) -> Self:
        """Advance to the inputs of a new task, `[N, D]`; the previous state is lost unless the caller has copied it."""
        self._advance(kernel, x)
        self.num_advances += 1
        return self

    @torch.no_grad()
    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Adapt to the kernel of the task, once its training is done; for families that depend on it."""
        return

    def check_inputs(self, x: Tensor) -> None:
        """Raise unless the family, which has seen inputs, can advance to these, `[N, D]`."""
        return

    @property
    def started(self) -> bool:
        """Whether any input has been seen."""
        return self.num_advances > 0

    def require_started(self) -> None:
        """Raise unless `advance` has been called."""
        if not self.started:
            raise RuntimeError(f"{type(self).__name__} has seen no inputs yet; call advance(kernel, x) first")

    @property
    def points(self) -> Tensor | None:
        """Inducing inputs `[*L, M, D]`, where the variables are function values at points."""
        return None

    def basis(self, x: Tensor) -> Tensor:
        """g_m(x) `[N, M]` of the finite-basis reconstruction f ≈ Σ u_m g_m (section 3.2), where there is one."""
        raise NotImplementedError(
            f"{type(self).__name__} has no finite basis to reconstruct from; "
            "HiPPO families over time have one (LegS, CosS, LegT, LagT, FouT)"
        )

    def num_needed(self, kernel: Kernel, share: float = 0.99) -> int | None:
        """Number of variables that resolve the frequencies of a share of the kernel's variance; None if unknown."""
        return None

    def resized(self, num_inducing: int, kernel: Kernel) -> Self | None:
        """The same family over the same stream with another number of variables; None if it depends on the inputs."""
        return None


class Functionals(InducingVariables):
    """Variables u = Wᵀ f(nodes), finite linear combinations of function values.

    For any nodes, kuu is positive semi-definite, kff - qff >= 0, and the bound is valid.
    """

    @property
    @abstractmethod
    def nodes(self) -> Tensor:
        """Inputs whose function values are combined, `[*L, Q, D]`."""

    @property
    def landmarks(self) -> Tensor:
        """Inputs `[*L, Q, D]` from which another family can start that covers the same past."""
        return self.nodes.detach()

    def combine(self, K: Tensor) -> Tensor:
        """Wᵀ K over the axis of the nodes: `[*L, Q, N]` to `[*L, M, N]`; the identity unless overridden."""
        return K

    def __add__(self, other: "Functionals") -> "Functionals":
        """Both families side by side; see `Composed`."""
        from gpvae.inducing.composed import Composed  # which is one of these

        return Composed(self, other)

    def kuu(self, kernel: Kernel) -> Tensor:
        """Wᵀ k(nodes, nodes) W."""
        return self.kuv(kernel, self)

    def kuf(self, kernel: Kernel, x: Tensor) -> Tensor:
        """Wᵀ k(nodes, x)."""
        self.require_started()
        nodes = self.nodes
        if nodes.ndim < 2:
            name = f"{type(self).__name__}.nodes"
            raise ValueError(f"{name} must have shape [Q, D], got {tuple(nodes.shape)}; add an axis by nodes[:, None]")
        check_dim(self, x, nodes.shape[-1])
        return self.combine(covariance(kernel, nodes, x))

    def kuv(self, kernel: Kernel, old: InducingVariables) -> Tensor:
        """Wᵀ k(nodes, nodes') W'."""
        self.require_started()
        if not isinstance(old, Functionals):
            return old.kuv(kernel, self).mT
        return self.combine(old.combine(covariance(kernel, old.nodes, self.nodes)).mT)
