"""Calibrated intervals of forecasts: how much wider predictions become beyond the last time learnt.

Beyond the data the latents return to their prior. What the decoder makes of it need not be as wide as the weather that
comes, because the latents of the past need not look like draws from the prior, and because the stream drifts. So the
width is learnt from the stream: every task is predicted before it is learnt, and where fewer values than promised are
in the intervals, the next forecast is wider (adaptive conformal inference, Gibbs and Candès 2021).
"""

from typing import Any

import torch
from torch import Tensor, nn

from gpvae.metrics import Coverage
from gpvae.utils.lead_times import GROUPS
from gpvae.utils.resizable import assign

#: Lead times at which each group has its own factor; in between it is interpolated, from 1 at a lead time of 0.
KNOTS = (0.0, 3.0, 15.0, 48.0, 120.0)
#: Logarithm of the factor before any task has been foreseen: the model has not met anything new yet.
START = 0.15
#: Change of the logarithm for a coverage that is wrong by one.
RATE = 2.0


class Widening(nn.Module):
    """A factor for the width of predictions, at least 1, for each group of lead times and each variable.

    Predictions up to the last time learnt are not changed.

    Attributes:
        end: The last time learnt; infinite before the first task has ended.
        log_factor: Logarithms of the factors `[G, V]`; one for all variables, `[G, 1]`, until a task was foreseen.
    """

    end: Tensor
    log_factor: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("end", torch.tensor(torch.inf, dtype=torch.float64))
        self.register_buffer("log_factor", torch.full((len(GROUPS), 1), START, dtype=torch.float64))

    def lead_time(self, times: Tensor, mask: Tensor) -> Tensor | None:
        """The lead time of each observed value, from times `[T]` and mask `[B, T, V]`; None before the first task.

        It is also unknown to a state that was saved before there was a widening, until the next task has ended.
        """
        return (times - self.end)[:, None].expand_as(mask)[mask] if bool(self.end.isfinite()) else None

    def factors(self, times: Tensor) -> Tensor:
        """The factors at times `[T]`, `[T, V]` or `[T, 1]`."""
        knots = torch.tensor(KNOTS, dtype=torch.float64, device=times.device)
        values = torch.cat([torch.zeros_like(self.log_factor[:1]), self.log_factor])
        lead = (times - self.end).clamp(0.0, KNOTS[-1])
        after = torch.bucketize(lead, knots).clamp(1, len(KNOTS) - 1)
        share = ((lead - knots[after - 1]) / (knots[after] - knots[after - 1]))[:, None]
        return torch.lerp(values[after - 1], values[after], share).exp()

    def forward(self, times: Tensor, mean: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Widen equal mixtures of normals about their means.

        Args:
            times: `[T]`.
            mean: Means of the components `[B, T, V, S]`.
            scale: Their standard deviations `[B, T, V, S]`.
        """
        if not bool((times > self.end).any()):
            return mean, scale
        factor = self.factors(times).to(mean)[..., None]
        centre = mean.mean(-1, keepdim=True)
        # Where the factor is 1, means stay as they are to the last bit.
        return torch.where(factor == 1, mean, centre + factor * (mean - centre)), factor * scale

    @torch.no_grad()
    def learn(self, coverage: Tensor) -> None:
        """Learn from the coverage of the intervals of a task that was foreseen.

        A variable learns half from its own coverage and half from that of all variables, which is less noisy.

        Args:
            coverage: Fraction of values in 90 % intervals `[G, V]`; NaN where there are none.
        """
        both = (coverage + coverage.nanmean(-1, keepdim=True)) / 2
        learnt = (self.log_factor + RATE * (Coverage.level - both)).clamp_min(0.0)
        assign(self.log_factor, torch.where(both.isnan(), self.log_factor, learnt))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        for name, buffer in (("end", self.end), ("log_factor", self.log_factor)):
            saved = state_dict.setdefault(prefix + name, buffer)  # states saved before there was a widening lack them
            buffer.data = buffer.new_empty(saved.shape) if saved.shape != buffer.shape else buffer.data
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
