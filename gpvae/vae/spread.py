"""A running calibration of predictive variances, along the stream and by the phase of a known period."""

import torch
from torch import Tensor, nn

from gpvae.utils.distributed import sum_over_processes

#: Number of phases of a period, and of spans of the horizon.
NUM_PHASES, NUM_SPANS = 24, 16
#: Number of imaginary observations with the mean spread of their variable in each phase and span.
PRIOR_COUNT = 8.0
#: Smallest factor.
MIN_FACTOR = 1e-6


class Spread(nn.Module):
    """The factor by which variances of variables are multiplied: the mean square of standardised residuals.

    Residuals are those of leaving each observation out. A kernel fitted to the first task does not know the season
    after it; nor does a noise that is the same at all hours know that there is no sun at night. So there is a factor
    for each span of the horizon, and one for each phase of a period; they are multiplied. Residuals are errors of
    interpolation, so that factors below 1 do not hold for forecasts, see `ClosedFormSeries.predict`.

    Args:
        num_variables: Number of variables V.
        period: A known period, whose phases have factors of their own.
    """

    origin: Tensor
    horizon: Tensor
    phases: Tensor
    spans: Tensor

    def __init__(self, num_variables: int, period: float | None = None) -> None:
        super().__init__()
        self.period = period
        for name in ("origin", "horizon"):
            self.register_buffer(name, torch.zeros((), dtype=torch.float64))
        for name, size in (("phases", 1 if period is None else NUM_PHASES), ("spans", NUM_SPANS)):
            self.register_buffer(name, torch.zeros(2, num_variables, size, dtype=torch.float64))  # squares, counts

    def forward(self, times: Tensor) -> Tensor:
        """The factors at times `[T]`, `[T, V]`; one before any task."""
        squares, counts = self.phases.sum(-1, keepdim=True) + PRIOR_COUNT
        pooled = squares / counts
        factors = pooled
        for sums, index in ((self.phases, self._phase(times)), (self.spans, self._span(times))):
            relative = (sums[0] / pooled + PRIOR_COUNT) / (sums[1] + PRIOR_COUNT)
            factors = factors * relative[:, index]
        return factors.clamp_min(MIN_FACTOR).mT

    def stretch(self, origin: Tensor, horizon: Tensor) -> None:
        """Follow the horizon: whenever it has doubled, two spans become one."""
        while bool(self.horizon > 0) and bool(horizon > 1.5 * self.horizon):
            pairs = self.spans.unflatten(-1, (-1, 2)).sum(-1)
            self.spans.copy_(torch.cat([pairs, torch.zeros_like(pairs)], -1))
            self.horizon.mul_(2)
        self.origin.copy_(origin)
        self.horizon.copy_(horizon)

    def add(self, times: Tensor, squares: Tensor, counts: Tensor, *, reduce: bool = True) -> None:
        """Add the squared standardised residuals of a task.

        Args:
            times: `[T]`.
            squares: Sums over the series of this process, `[T, V]`.
            counts: Their numbers, `[T, V]`.
            reduce: Sum over processes; False if each of them has all series.
        """
        values = torch.stack([squares, counts]).mT.to(self.phases)
        values = sum_over_processes(values) if reduce else values
        self.phases.index_add_(-1, self._phase(times), values)
        self.spans.index_add_(-1, self._span(times), values)

    def _phase(self, times: Tensor) -> Tensor:
        if self.period is None:
            return torch.zeros_like(times, dtype=torch.int64)
        return _bin(times.remainder(self.period) / self.period, NUM_PHASES)

    def _span(self, times: Tensor) -> Tensor:
        return _bin((times - self.origin) / self.horizon.clamp_min(torch.finfo(torch.float64).tiny), NUM_SPANS)


def _bin(share: Tensor, number: int) -> Tensor:
    """The bin of each share, from 0."""
    return (share * number).clamp(0, number - 1).long()
