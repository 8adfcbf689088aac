"""HiPPO projections of a function of time as inducing variables (paper, section 3), in closed form.

u_m = ∫ f(x) g_m(x) ω(x) dx = Φᵀ f(x_q) by Gauss-Legendre quadrature. Φ does not depend on t; only the nodes move.
"""

import copy
import math
from typing import ClassVar, Self

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.hippo import measures
from gpvae.inducing.base import Functionals, check_dim
from gpvae.inducing.spectral import bandwidth
from gpvae.kernels import UnsupportedKernelError
from gpvae.utils import checks
from gpvae.utils.resizable import assign

#: Frequency in radians per lengthscale beyond which the heavy spectral tails of rough kernels are ignored.
MAX_RADIANS = 40.0


class TimeMemory(Functionals):
    """Projections of f onto an orthonormal basis over the whole past.

    Args:
        num_inducing: Number of basis functions M.
        origin: Where the past begins; the first input seen if not given.
    """

    measure_type: ClassVar[type[measures.Measure]]
    #: Buffers that `adapt_to_kernel` computes.
    adapted: ClassVar[tuple[str, ...]] = ("positions", "Phi")
    origin: Tensor
    end: Tensor
    positions: Tensor
    Phi: Tensor

    def __init__(self, num_inducing: int, origin: float | None = None) -> None:
        super().__init__(num_inducing)
        self.measure = self.measure_type(num_inducing)
        self.register_buffer("origin", _known_or_nan(origin))
        self.register_buffer("end", _known_or_nan(None))
        self.register_buffer("positions", torch.zeros(0, dtype=torch.float64))
        self.register_buffer("Phi", torch.zeros(0, num_inducing, dtype=torch.float64))

    @property
    def length(self) -> Tensor:
        """Length of the support."""
        return self.measure.length(self.end - self.origin)

    @property
    def nodes(self) -> Tensor:
        """x_q = end - length · (1 - s_q), `[Q, 1]`."""
        return (self.end - self.length * (1 - self.positions))[:, None]

    @property
    def landmarks(self) -> Tensor:
        """The nodes between the two ends of the stream so far."""
        inside = torch.maximum(self.nodes, self.origin)
        return torch.cat([self.origin.reshape(1, 1), inside, self.end.reshape(1, 1)])

    def combine(self, K: Tensor) -> Tensor:
        """Φᵀ K."""
        return self.Phi.mT @ K

    def check_inputs(self, x: Tensor) -> None:
        """Raise if time goes back before the origin."""
        check_dim(self, x, 1)
        first = x.min().to(self.end)
        if first < self.origin:
            raise ValueError(
                f"time goes back to {float(first):g}, before the origin {float(self.origin):g} of the memory; "
                f"pass the stream in order, or set {type(self).__name__}(..., origin=) at or before the first input"
            )

    def _advance(self, kernel: Kernel, x: Tensor) -> None:
        """Stretch or slide the measure so that it ends at the last input."""
        self.check_inputs(x)
        first, last = x.min().to(self.end), x.max().to(self.end)
        self._extend(first if bool(self.origin.isnan()) else self.origin, last)
        self.adapt_to_kernel(kernel)

    def _extend(self, origin: Tensor, last: Tensor) -> None:
        """Extend the stream from its origin to the last input."""
        assign(self.origin, origin)
        assign(self.end, torch.fmax(self.end, last))

    @torch.no_grad()
    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Set the number of nodes to what the kernel needs."""
        num_nodes = self._num_nodes(kernel)
        if num_nodes != len(self.positions):
            positions, Phi = self.measure.projection(num_nodes, self.end)
            assign(self.positions, positions)
            assign(self.Phi, Phi)

    def basis(self, x: Tensor) -> Tensor:
        """g_m(x), `[N, M]`, zero outside the support of the measure."""
        self.require_started()
        s = 1 - (self.end - x[..., 0]) / self.length.clamp_min(torch.finfo(self.length.dtype).tiny)
        inside = (s >= -1e-12) & (s <= 1 + 1e-12)
        return self.measure.basis(s.clamp(0, 1)) * inside[..., None]

    def num_needed(self, kernel: Kernel, share: float = 0.99) -> int | None:
        """Number of basis functions up to the angular frequency below which a share of the kernel's variance lies."""
        try:
            radians = bandwidth(kernel, tail=1 - share) * float(self.length)
        except UnsupportedKernelError:
            return None
        return math.ceil(self.measure.size_needed(radians)) + 1

    @torch.no_grad()
    def resized(self, num_inducing: int, kernel: Kernel) -> Self:
        """The same projections over the same stream, with another number of basis functions."""
        other = copy.deepcopy(self)
        other.num_inducing, other.measure = num_inducing, self.measure_type(num_inducing)
        for name in self.adapted:
            assign(other.get_buffer(name), torch.zeros(0))
        other.adapt_to_kernel(kernel)
        return other

    def _num_nodes(self, kernel: Kernel) -> int:
        """Enough nodes that twice as many would not change kuu: half the degree of basis times kernel, and a margin.

        The number is limited by that of the variables: if these do not resolve the signal, the nodes need not either,
        and any number of nodes gives a valid bound.
        """
        try:
            shortest = bandwidth(kernel, tail=0.3173)  # one over the shortest lengthscale, for RBF
            radians = min(bandwidth(kernel, tail=1e-17), MAX_RADIANS * shortest) * float(self.length)
        except UnsupportedKernelError:
            radians = 4 * self.measure.degree
        enough = (self.measure.degree + radians / 2) / 2 + 24
        return 32 * math.ceil(min(enough, self.measure.max_nodes) / 32)


class WindowedMemory(TimeMemory):
    """Projections of f onto an orthonormal basis under a measure that slides with time and forgets the older past.

    Args:
        num_inducing: Number of basis functions M.
        origin: Where the stream begins; the first input seen if not given.
        window: Length θ of the window; the length of the first task if not given.
    """

    forgets = True
    window: Tensor

    def __init__(self, num_inducing: int, origin: float | None = None, window: float | None = None) -> None:
        super().__init__(num_inducing, origin)
        checks.positive(window=window)
        self.register_buffer("window", _known_or_nan(window))

    @property
    def length(self) -> Tensor:
        """Length of the support."""
        return self.measure.length(self.end - self.origin, self.window)

    def _extend(self, origin: Tensor, last: Tensor) -> None:
        """If the length of the window is not given, take it from the first task."""
        if bool(self.window.isnan()):
            if not last > origin:
                raise ValueError(
                    f"all inputs of the first task equal {float(last):g}, so the length of the window cannot be "
                    f"taken from them; set {type(self).__name__}(..., window=)"
                )
            assign(self.window, last - origin)
        super()._extend(origin, last)


def _known_or_nan(value: float | None) -> Tensor:
    return torch.tensor(math.nan if value is None else value, dtype=torch.float64)


class LegS(TimeMemory):
    """Scaled Legendre polynomials over the whole past: OHSGPR and OHSVGP.

    Args:
        num_inducing: Number of polynomials M.
        origin: Where the past begins; the first input seen if not given.
    """

    measure_type = measures.ScaledLegendre


class CosS(TimeMemory):
    """Cosines over the whole past: reaches the exact GP with fewer variables than LegS once both resolve the signal.

    Args:
        num_inducing: Number of cosines M.
        origin: Where the past begins; the first input seen if not given.
    """

    measure_type = measures.ScaledCosine


class LegT(WindowedMemory):
    """Legendre polynomials over a sliding window; what has left the window is forgotten.

    Args:
        num_inducing: Number of polynomials M.
        origin: Where the stream begins; the first input seen if not given.
        window: Length of the window; the length of the first task if not given.
    """

    measure_type = measures.TranslatedLegendre


class LagT(WindowedMemory):
    """Laguerre polynomials under a measure that decays exponentially into the past.

    Args:
        num_inducing: Number of polynomials M.
        origin: Where the stream begins; the first input seen if not given.
        window: Time constant of the decay; the length of the first task if not given.
    """

    measure_type = measures.TranslatedLaguerre


class FouT(WindowedMemory):
    """Sines and cosines over a sliding window; what has left the window is forgotten.

    Args:
        num_inducing: Number of waves M, preferably odd.
        origin: Where the stream begins; the first input seen if not given.
        window: Length of the window; the length of the first task if not given.
    """

    measure_type = measures.TranslatedFourier
