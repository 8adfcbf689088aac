"""Cosines over a planned horizon, plain and modulated by known periods, of which each latent keeps those it needs."""

import math
from collections.abc import Sequence

import torch
from gpytorch.kernels import Kernel
from linear_operator import to_linear_operator
from torch import Tensor

from gpvae.hippo import measures
from gpvae.inducing.base import InducingVariables
from gpvae.inducing.time import TimeMemory
from gpvae.kernels import covariance, flat_parameters
from gpvae.utils import checks
from gpvae.utils.linalg import INITIAL_JITTER, identity_like
from gpvae.utils.resizable import assign

#: Number of cosines that modulate each period: its amplitude may change that many half waves over the horizon.
NUM_MODULATIONS = 16
#: Quadrature nodes that suffice for any horizon: any number of nodes gives a valid bound.
MAX_NODES = 1024


class ChosenCosines(TimeMemory):
    """Projections onto M cosines over a planned horizon, chosen for each latent by its kernel.

    The candidates are g_m(x) = sqrt(2) cos(π m x / horizon), m < M, and g_m(x) times the cosine and the sine of each
    known period. Of these, the kernel of each latent chooses the M of greatest variance given those chosen before
    (pivoted Cholesky): a slow latent keeps low frequencies, one with a daily cycle keeps the waves of a day.

    As long as the stream stays within the horizon, the variables remain the same: sites add, and nothing is lost by
    transport. A stream that outgrows the horizon doubles it.

    Args:
        num_inducing: Number of cosines M of each latent.
        origin: Where the stream begins; the first input seen if not given.
        horizon: Planned length of the stream; the length of the first task if not given.
        periods: Known periods, such as the 24 hours of a day.
    """

    measure_type = measures.ScaledCosine
    adapted = (*TimeMemory.adapted, "chosen", "chosen_by")
    horizon: Tensor
    chosen: Tensor
    chosen_by: Tensor

    def __init__(
        self,
        num_inducing: int,
        origin: float | None = None,
        horizon: float | None = None,
        periods: Sequence[float] = (),
    ) -> None:
        super().__init__(num_inducing, origin)
        checks.positive(horizon=horizon, **{f"periods[{i}]": period for i, period in enumerate(periods)})
        self.periods = tuple(float(period) for period in periods)
        known = math.nan if horizon is None else horizon
        self.register_buffer("horizon", torch.tensor(known, dtype=torch.float64))
        self.register_buffer("chosen", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("chosen_by", torch.zeros(0, dtype=torch.float64))

    @property
    def configuration(self) -> str:
        """The family, its number of variables and the periods."""
        return f"{super().configuration} with periods {list(self.periods)}"

    def plan(self, horizon: float) -> None:
        """Set the planned length of a stream that has not begun, unless it is given.

        Args:
            horizon: The length.
        """
        if not self.started and bool(self.horizon.isnan()):
            assign(self.horizon, torch.as_tensor(horizon, dtype=torch.float64))

    def _extend(self, origin: Tensor, last: Tensor) -> None:
        """Keep the horizon, or double it until it holds the last input; its cosines are then chosen again."""
        horizon = self.horizon_for(last, origin)
        if not bool(self.end == origin + horizon):
            assign(self.chosen, self.chosen.new_zeros(0))
        assign(self.horizon, horizon)
        assign(self.origin, origin)
        assign(self.end, origin + horizon)

    def horizon_for(self, last: Tensor, origin: Tensor | None = None) -> Tensor:
        """The horizon, doubled until it holds the last input.

        Args:
            last: The last input.
            origin: Where the stream begins; that of the stream so far if not given.
        """
        origin = self.origin if origin is None else origin
        horizon = last - origin if bool(self.horizon.isnan()) else self.horizon
        horizon = horizon.clamp_min(torch.finfo(horizon.dtype).tiny)
        while last > origin + horizon * (1 + 1e-9):
            horizon = 2 * horizon
        return horizon

    @torch.no_grad()
    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Choose the cosines: again if the horizon has changed, or the kernel by its training in the first task."""
        by = flat_parameters(kernel).to(self.chosen_by)
        if len(self.chosen) and (self.num_advances > 1 or torch.equal(by, self.chosen_by)):
            return
        assign(self.chosen_by, by)
        positions, candidates = self._candidates(self._num_nodes(kernel))
        assign(self.positions, positions)
        K = candidates.mT @ covariance(kernel, self.nodes, self.nodes) @ candidates
        assign(self.chosen, self._choose(K))
        assign(self.Phi, candidates.mT[self.chosen].mT)

    def _choose(self, K: Tensor) -> Tensor:
        """The candidates to keep, given their covariances `[*L, D, D]`."""
        return _pivots(K, self.num_inducing)

    def _candidates(self, num_nodes: int) -> tuple[Tensor, Tensor]:
        """Nodes s_q `[Q]`, and all candidates at them with the weights of the quadrature, `[Q, D]`."""
        positions, plain = self.measure.projection(num_nodes, self.end)
        return positions, self._with_waves(self.origin + self.length * positions, plain)

    def _with_waves(self, x: Tensor, plain: Tensor) -> Tensor:
        """Plain cosines `[N, M]` at times `[N]`, and the waves that they modulate, `[N, D]`."""
        parts = [plain]
        for period in self.periods:
            phase = 2 * math.pi * (x / period)[..., None]
            parts += [math.sqrt(2) * wave * plain[..., :NUM_MODULATIONS] for wave in (phase.cos(), phase.sin())]
        return torch.cat(parts, -1)

    def _num_nodes(self, kernel: Kernel) -> int:
        """Half as many nodes as the fastest candidate has radians, times itself, and a margin."""
        fastest = max((2 * math.pi * float(self.length) / period for period in self.periods), default=0.0)
        enough = max(super()._num_nodes(kernel), (fastest + NUM_MODULATIONS * math.pi) / 2 + 24 if fastest else 0)
        return 32 * math.ceil(min(enough, max(MAX_NODES, self.measure.max_nodes)) / 32)

    def is_same_as(self, old: InducingVariables) -> bool:
        """Whether the horizon and the choice are those of an older state."""
        return (
            isinstance(old, ChosenCosines)
            and torch.equal(self.end, old.end)
            and torch.equal(self.chosen, old.chosen)
            and torch.equal(self.positions, old.positions)
        )

    def basis(self, x: Tensor) -> Tensor:
        """Not given: the chosen cosines are not orthogonal."""
        return InducingVariables.basis(self, x)


def _pivots(K: Tensor, num: int) -> Tensor:
    """The first pivots of the Cholesky factorisation of covariances `[*L, D, D]`, in increasing order, `[*L, num]`."""
    jitter = INITIAL_JITTER[K.dtype] * K.diagonal(dim1=-2, dim2=-1).mean(-1)  # no remaining variance is negative
    operator = to_linear_operator(K + jitter[..., None, None] * identity_like(K))
    _, pivots = operator.pivoted_cholesky(rank=num, error_tol=0.0, return_pivots=True)
    return pivots[..., :num].sort(-1).values
