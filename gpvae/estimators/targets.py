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
        everything = None if self.beginning.is_over else self.beginning.add(x, y)
        with self.beginning.tolerated():
            if everything is None:
                self.gp.update(x, y)
                return
            gp = self.blueprint.build(self.input_dim)
            if len(everything[0]) > 1:  # one point does not determine a kernel
                gp.fit_hyperparameters(*everything)
            self.gp = gp.update(*everything)

    @torch.no_grad()
    def predict(self, x: Tensor) -> Distribution:
        """The predictive distribution at inputs `[N, D]`."""
        return self.gp.predict(x)
