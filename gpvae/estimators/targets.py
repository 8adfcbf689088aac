"""Regression with an `OnlineGP` whose hyperparameters are fitted to the first points."""

import torch
from torch import Tensor
from torch.distributions import Distribution

from gpvae.estimators.beginning import Beginning
from gpvae.estimators.blueprint import Blueprint
from gpvae.online_gp import OnlineGP


class TargetModel:
    """An `OnlineGP` for targets, which can be used from the first point on.

    Args:
        blueprint: Its parts.
        input_dim: Number of inputs.
        warm_up: Number of first points to which hyperparameters are fitted; 0 keeps those of the blueprint.
    """

    def __init__(self, blueprint: Blueprint, input_dim: int, *, warm_up: int) -> None:
        self.blueprint, self.input_dim = blueprint, input_dim
        self.beginning = Beginning(warm_up)
        self.gp: OnlineGP = blueprint.build(input_dim)

    def learn(self, x: Tensor, y: Tensor) -> None:
        """Learn a batch of inputs `[N, D]` and targets `[N]`."""
        with self.beginning.adding(x, y) as all_points:
            if all_points is None:
                self.gp.update(x, y)
                return
            gp = self.blueprint.build(self.input_dim)
            if len(all_points[0]) > 1:  # one point does not determine a kernel
                gp.fit_hyperparameters(*all_points)
            self.gp = gp.update(*all_points)

    @torch.no_grad()
    def predict(self, x: Tensor) -> Distribution:
        """The predictive distribution at inputs `[N, D]`."""
        return self.gp.predict(x)
