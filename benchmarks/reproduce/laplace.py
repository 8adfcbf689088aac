"""Where a density has its mode and how wide it is there: coordinates in which a sampler takes few steps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

#: How far apart gradients are taken for second derivatives.
STEP = 1e-4
#: Curvatures below this are taken for this: hardly any, and there is none that would be negative.
LEAST = 0.1
#: How often to look for the mode, each time in the coordinates of the time before.
ROUNDS = 4


@dataclass
class Coordinates:
    """x = mode + scale w.

    Args:
        log_density: The log of a density of x `[P]`.
        start: Where to look for its mode from.
    """

    log_density: Callable[[Tensor], Tensor]
    start: Tensor

    def __post_init__(self) -> None:
        self.mode, self.scale = self.start, torch.eye(len(self.start), dtype=self.start.dtype)
        for _ in range(ROUNDS):  # where a search is slow, the next one has better coordinates
            search = {"method": "L-BFGS-B", "options": {"maxiter": 300}}
            found = minimize(self._value_and_gradient, np.zeros(len(self.start)), jac=True, **search).x
            self.mode = self.back(torch.from_numpy(found))
            self._rescale()

    def _rescale(self) -> None:
        """Make the density as wide in all directions, at the mode."""
        rows = []
        for i in range(len(self.start)):
            step = np.zeros(len(self.start))
            step[i] = STEP
            up, down = (self._value_and_gradient(sign * step)[1] for sign in (1, -1))
            rows.append((up - down) / (2 * STEP))
        curvature = np.stack(rows)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        self.scale = self.scale @ torch.from_numpy(vectors / np.sqrt(values.clip(LEAST)))

    def back(self, w: Tensor) -> Tensor:
        """x at w `[..., P]`."""
        return self.mode + w @ self.scale.T

    def __call__(self, at: dict[str, Tensor]) -> Tensor:
        """Minus the log density at {"w": w}, up to a constant: what Pyro calls a potential."""
        return -self.log_density(self.back(at["w"]))

    def _value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.from_numpy(np.array(w)).requires_grad_()
        value = self({"w": point})
        (gradient,) = torch.autograd.grad(value, point)
        return float(value.detach()), gradient.numpy()
