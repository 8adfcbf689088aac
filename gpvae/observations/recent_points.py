"""Points that have arrived one by one and wait to be consolidated together."""

from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from gpvae.observations.batch import Observations
from gpvae.utils.resizable import Resizable, assign

NAMES = ("x", "y", "noise", "weights")


class RecentPoints(Resizable):
    """The points that are not in the memory yet, exactly as they were given.

    Noise is NaN for points without known noise, which have that of the likelihood. The state has no entries while there
    are no points.

    Args:
        capacity: As soon as there are this many points, they are consolidated.
    """

    x: Tensor
    y: Tensor
    noise: Tensor
    weights: Tensor

    def __init__(self, capacity: int) -> None:
        super().__init__()
        if capacity < 1:
            raise ValueError(f"buffer_size must be at least 1, got {capacity}")
        self.capacity = capacity
        for name in NAMES:
            self.register_buffer(name, torch.zeros(0, 0, dtype=torch.float64))

    def __len__(self) -> int:
        """Number of points."""
        return len(self.x)

    def check_state(self) -> None:
        """Raise ValueError unless all points are complete."""
        same = self.y.shape == self.noise.shape == self.weights.shape and self.y.shape[-1:] == self.x.shape[:1]
        if len(self) and not (same and all(bool(torch.isfinite(v).all()) for v in (self.x, self.y, self.weights))):
            raise ValueError("the state has recent points that are incomplete or not finite")

    def hold(self, points: Observations) -> None:
        """Replace the points."""
        noise = torch.full_like(points.y, torch.nan) if points.noise is None else points.noise
        weights = torch.ones_like(points.y) if points.weights is None else points.weights
        for name, value in zip(NAMES, (points.x, points.y, noise, weights), strict=True):
            assign(getattr(self, name), value)

    def clear(self) -> None:
        """Forget all points."""
        for name in NAMES:
            assign(getattr(self, name), self.x.new_zeros(0, 0))

    def observations(self, noise: Tensor | None) -> Observations:
        """The points. Those without known noise get that of the likelihood, if it has one."""
        unknown = self.noise.isnan()
        known = None if noise is None or bool(unknown.all()) else torch.where(unknown, noise, self.noise).detach()
        x, y, weights = (value.detach() for value in (self.x, self.y, self.weights))  # these outlive the buffer
        return Observations(x, y, known, weights).simplified()

    def joined(self, points: Observations, noise: Tensor | None) -> Observations:
        """The points followed by others."""
        return self.observations(noise).joined(points, noise) if len(self) else points

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        if len(self):
            super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *args: Any, **kwargs: Any) -> None:
        if not any(str(key).startswith(prefix) for key in state_dict):
            state_dict |= {prefix + name: self.x.new_zeros(0, 0) for name in NAMES}
            state_dict[f"{prefix}signature"] = torch.tensor(crc32(self.configuration.encode()))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
