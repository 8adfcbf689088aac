"""HiPPO-LegS along a path through several input dimensions (paper, section 3.3), with a memory of constant size.

Point i of the stream occupies [i, i+1)·Δt of a path x(s), and u_m = ∫ f(x(s)) φ_m(s) ds. With random Fourier
features H(x) the memory is Z = ∫ H(x(s)) φ(s) ds, `[M, 2R]`, updated a whole task at a time.

`memory` is Z at the end of previous tasks, after `elapsed` time, `path` the inputs of the present task, and `state` Z
at the end of the path, for the frequencies `omega`. In the first task, when `memory` is empty, Z can be rebuilt for
other lengthscales; later it cannot.
"""

from typing import Literal, get_args

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.hippo import ScaledLegendre, absorb_path, evolve
from gpvae.inducing.base import InducingVariables, check_dim
from gpvae.inducing.ordering import Ordering, order
from gpvae.inducing.spectral import Sampling, amplitudes, draw_frequencies, features, frequencies
from gpvae.kernels import covariance
from gpvae.utils import checks
from gpvae.utils.resizable import assign, same

Evolution = Literal["closed_form", "euler", "bilinear"]
Pairing = Literal["features", "paper"]


class LegSPath(InducingVariables):
    """LegS projections of f along the path through the inputs of the stream.

    Args:
        num_inducing: Number of polynomials M.
        num_frequencies: Number of random frequencies R; powers of two suit `qmc`.
        sampling: How the frequencies are drawn: `qmc`, `orthogonal` or `plain`.
        ordering: Order of the points of a task on the path, see `gpvae.inducing.ordering`.
        dt: Time Δt that a point takes on the path. LegS stretches with time, so the unit does not matter.
        stride: Use only every n-th point, each for n times as long.
        evolution: `closed_form`, or the paper's recurrence by `bilinear` or `euler` steps.
        pairing: `features` uses the random features in kuu and kuf alike. `paper` pairs kuu from features with
            kuf from the exact kernel: it keeps all past inputs, and its variances can be negative.
        seed: Seed of frequencies and random order.

    The features approximate the kernel in all covariances. Covariances with older variables of the exact kernel, as
    when this family replaces another in mid-stream, keep this Monte-Carlo error.
    """

    follows_kernel = False
    base: Tensor
    omega: Tensor
    memory: Tensor
    state: Tensor
    elapsed: Tensor
    path: Tensor
    history: Tensor

    def __init__(
        self,
        num_inducing: int,
        num_frequencies: int = 1024,
        *,
        sampling: Sampling = "qmc",
        ordering: Ordering = "given",
        dt: float = 1.0,
        stride: int = 1,
        evolution: Evolution = "closed_form",
        pairing: Pairing = "features",
        seed: int = 0,
    ) -> None:
        super().__init__(num_inducing)
        checks.choice("ordering", ordering, get_args(Ordering))
        checks.choice("evolution", evolution, get_args(Evolution))
        checks.choice("pairing", pairing, get_args(Pairing))
        if dt <= 0 or stride < 1 or num_frequencies < 1:
            raise ValueError(
                f"dt must be positive, stride and num_frequencies at least 1; got {dt=}, {stride=}, {num_frequencies=}"
            )
        self.num_frequencies, self.sampling, self.ordering = num_frequencies, sampling, ordering
        self.dt, self.stride, self.seed = dt, stride, seed
        self.evolution, self.pairing = evolution, pairing
        self.measure = ScaledLegendre(num_inducing)
        empty = torch.zeros(0, dtype=torch.float64)
        self.register_buffer("base", empty.clone())  # frequencies at unit lengthscale [R, D]
        self.register_buffer("omega", empty.clone())  # frequencies that `state` was built with [*L, R, D]
        self.register_buffer("memory", torch.zeros(num_inducing, 2 * num_frequencies, dtype=torch.float64))
        self.register_buffer("elapsed", torch.zeros((), dtype=torch.float64))  # time that `memory` holds
        self.register_buffer("path", empty.clone())  # inputs since then, in order [K, D]
        self.register_buffer("history", empty.clone())  # inputs before, kept for the paper's pairing only
        self.register_buffer("state", self.memory.clone())  # memory and path together

    @property
    def configuration(self) -> str:
        """All options that the memory depends on; its checksum is in saved states, so the wording stays."""
        return (
            f"{type(self).__name__}(num_inducing={self.num_inducing}, num_frequencies={self.num_frequencies}, "
            f"dt={self.dt}, stride={self.stride}, evolution={self.evolution}, pairing={self.pairing})"
        )

    def kuu(self, kernel: Kernel) -> Tensor:
        """Z diag(a) Zᵀ."""
        return self.kuv(kernel, self)

    def kuf(self, kernel: Kernel, x: Tensor) -> Tensor:
        """Z diag(a) H(x)ᵀ; with the paper's pairing ∫ k(x(s), x) φ(s) ds."""
        self.require_started()
        check_dim(self, x, self.path.shape[-1])
        if self.pairing == "paper":
            signal = covariance(kernel, self._inputs, x)
            nothing = signal.new_zeros(*signal.shape[:-2], self.num_inducing, signal.shape[-1])
            return self._continue(nothing, torch.zeros_like(self.elapsed), signal)
        return self._weighted(kernel) @ features(frequencies(kernel, self.base), x).mT

    def kff(self, kernel: Kernel, x: Tensor, other: Tensor | None = None) -> Tensor:
        """H(x) diag(a) H(x')ᵀ; with the paper's pairing the kernel itself."""
        if self.pairing == "paper":
            return super().kff(kernel, x, other)
        omega = frequencies(kernel, self.base)
        H = features(omega, x)
        return (H * self._amplitudes(kernel)) @ (H if other is None else features(omega, other)).mT

    def kuv(self, kernel: Kernel, old: InducingVariables) -> Tensor:
        """Z diag(a) Z_oldᵀ."""
        if not isinstance(old, LegSPath):
            return super().kuv(kernel, old)
        if not torch.equal(self.base, old.base):
            raise ValueError("the covariance of path memories with different random frequencies is not known")
        return self._weighted(kernel) @ old._projection(kernel).mT

    def _advance(self, kernel: Kernel, x: Tensor) -> None:
        """Extend the path by the inputs of a new task."""
        if not self.started:
            base = draw_frequencies(kernel, x.shape[-1], self.num_frequencies, self.sampling, self.seed)
            assign(self.base, base)
        block = self._block(kernel, x)
        if len(block) == 0:
            return
        if self.started:
            assign(self.memory, self._projection(kernel))
            self.elapsed += self.dt * self.stride * len(self.path)
            if self.pairing == "paper":
                assign(self.history, self._inputs)
        assign(self.path, block)
        assign(self.omega, frequencies(kernel, self.base))
        assign(self.state, self._build(self.omega))

    @torch.no_grad()
    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Rebuild the memory with the lengthscales learnt in the task."""
        assign(self.state, self._projection(kernel))
        assign(self.omega, frequencies(kernel, self.base))

    def _block(self, kernel: Kernel, x: Tensor) -> Tensor:
        """The new stretch of the path, `[K, D]`."""
        previous = self.path[-1] if self.started else None
        return x[order(self.ordering, kernel, x, previous, self.seed + self.num_advances)][:: self.stride]

    @property
    def _inputs(self) -> Tensor:
        """All inputs that are kept, in order."""
        return torch.cat([self.history.reshape(-1, self.path.shape[-1]), self.path])

    def _continue(self, memory: Tensor, elapsed: Tensor, signal: Tensor) -> Tensor:
        """The memory of `elapsed` time, continued by a stretch of the path with the signals `[*L, K, F]`."""
        step = torch.full_like(self.elapsed, self.dt * self.stride)
        if self.evolution == "closed_form":
            return absorb_path(self.measure, memory, elapsed, signal, step)
        return evolve(self.measure, memory, elapsed, signal, step, self.evolution)

    def _build(self, omega: Tensor) -> Tensor:
        signal = features(omega, self.path)
        memory = self.memory.expand(*signal.shape[:-2], *self.memory.shape[-2:])
        return self._continue(memory, self.elapsed, signal)

    def _projection(self, kernel: Kernel) -> Tensor:
        """Z `[*L, M, 2R]`, in the first task, when all inputs are available, as a function of the lengthscales."""
        self.require_started()
        omega = frequencies(kernel, self.base)
        first_task = bool(self.elapsed == 0)
        trained = omega.requires_grad and torch.is_grad_enabled()
        if same(omega, self.omega) and not (trained and first_task):
            return self.state
        if not first_task:
            raise ValueError(
                "the lengthscale of a path memory cannot change after the first task, because the memory holds the "
                "features of past inputs, not the inputs; freeze the kernel (or use points, which keep inputs)"
            )
        return self._build(omega)

    def _amplitudes(self, kernel: Kernel) -> Tensor:
        a = amplitudes(kernel, self.num_frequencies)
        return torch.cat([a, a], -1)[..., None, :]

    def _weighted(self, kernel: Kernel) -> Tensor:
        """Z diag(a)."""
        return self._projection(kernel) * self._amplitudes(kernel)
