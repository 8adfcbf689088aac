"""UCI regression tables: x of shape (N, D) on [-1, 1], y of shape (N,) standardised, double precision."""

import numpy as np
import torch
from torch import Tensor

from datamodules.files import fetch
from datamodules.scaling import rescale, standardise


def skillcraft() -> tuple[Tensor, Tensor]:
    """SkillCraft: how well somebody plays StarCraft, from records of their games.

    Returns:
        x: Inputs, each column scaled to [-1, 1], of shape (3338, 19).
        y: The target, standardised, of shape (3338,).
    """
    return _scaled(np.loadtxt(fetch("skillcraft.csv.gz"), delimiter=","))


def powerplant() -> tuple[Tensor, Tensor]:
    """Combined Cycle Power Plant: electrical output from the weather and the exhaust vacuum.

    Returns:
        x: Inputs, each column scaled to [-1, 1], of shape (9568, 4).
        y: The target, standardised, of shape (9568,).
    """
    return _scaled(np.loadtxt(fetch("powerplant.txt")))


def _scaled(table: np.ndarray) -> tuple[Tensor, Tensor]:
    x, y = torch.from_numpy(table[:, :-1]), torch.from_numpy(table[:, -1])
    return rescale(x, -1.0, 1.0), standardise(y)
