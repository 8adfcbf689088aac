"""Coordinates centred at the mode of a density and scaled by its curvature, in which a sampler takes few steps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

#: Step of finite differences for second derivatives.
STEP = 1e-4
#: Lower bound of curvatures.
MIN_CURVATURE = 0.1
#: Number of searches for the mode, each in the coordinates of the previous one.
ROUNDS = 4


@dataclass
class Coordinates:
    """x = mode + scale w.

    Args:
        log_density: The log of a density of x `[P]`.
        start: Start of the search for its mode.
    """

    log_density: Callable[[Tensor], Tensor]
    start: Tensor

    def __post_init__(self) -> None:
        self.mode, self.scale = self.start, torch.eye(len(self.start), dtype=self.start.dtype)
        for _ in range(ROUNDS):  # each search has better coordinates than the previous one
            search = {"method": "L-BFGS-B", "options": {"maxiter": 300}}
            found = minimize(self._value_and_gradient, np.zeros(len(self.start)), jac=True, **search).x
            self.mode = self.back(torch.from_numpy(found))
            self._rescale()

    def _rescale(self) -> None:
        """Make the curvature at the mode equal in all directions."""
        rows = []
        for i in range(len(self.start)):
            step = np.zeros(len(self.start))
            step[i] = STEP
            up, down = (self._value_and_gradient(sign * step)[1] for sign in (1, -1))
            rows.append((up - down) / (2 * STEP))
        curvature = np.stack(rows)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        self.scale = self.scale @ torch.from_numpy(vectors / np.sqrt(values.clip(MIN_CURVATURE)))

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
