"""UCI regression tables: SkillCraft and Combined Cycle Power Plant."""

from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from datamodules.public_files import fetch
from datamodules.scaled_stream import MeasuredStream
from datamodules.scaling import minmax_scale, standardise
from datamodules.splits import first_dimension, l2_norm
from gpvae.utils.checks import choice

INTERVAL = (-1.0, 1.0)
TaskOrder = Literal["first_dimension", "l2_norm"]
KEYS = {"first_dimension": first_dimension, "l2_norm": l2_norm}


def read_skillcraft() -> tuple[Tensor, Tensor]:
    """SkillCraft: the skill of StarCraft players, from records of their games.

    Returns:
        x: Inputs, of shape (3338, 19).
        y: The target, of shape (3338,).
    """
    return _columns(np.loadtxt(fetch("skillcraft.csv.gz"), delimiter=","))


def read_powerplant() -> tuple[Tensor, Tensor]:
    """Combined Cycle Power Plant: electrical output from the weather and the exhaust vacuum.

    Returns:
        x: Inputs, of shape (9568, 4).
        y: The target, of shape (9568,).
    """
    return _columns(np.loadtxt(fetch("powerplant.txt")))


def skillcraft() -> tuple[Tensor, Tensor]:
    """`read_skillcraft` with each column of x scaled to [-1, 1] and y standardised."""
    return _scaled(*read_skillcraft())


def powerplant() -> tuple[Tensor, Tensor]:
    """`read_powerplant` with each column of x scaled to [-1, 1] and y standardised."""
    return _scaled(*read_powerplant())


class TableStream(MeasuredStream):
    """A table whose rows are sorted by a function of their inputs, with each column scaled to [-1, 1].

    With statistics "first_task", a column that is constant in the first task is shifted to 0 and keeps its scale.

    Args:
        task_order: The key that rows are sorted by before they are divided into tasks. "first_dimension": the first
            column. "l2_norm": the distance from the origin, where each column is scaled to [-1, 1] by all data.
        options: See `MeasuredStream`.
    """

    likelihood = "gaussian"
    interval = INTERVAL

    def __init__(self, task_order: TaskOrder = "first_dimension", **options: Any) -> None:
        choice("task_order", task_order, get_args(TaskOrder))
        super().__init__(**options)
        self.task_order = task_order

    def order(self, x: Tensor) -> Tensor:
        """The key that rows are sorted by `[N]`, from inputs on the scale of all data (see `MeasuredStream`)."""
        return KEYS[self.task_order](minmax_scale(x, *self.interval))


class Skillcraft(TableStream):
    """UCI SkillCraft: the skill of StarCraft players, from 19 records of their games; 3,338 rows.

    Args:
        options: See `TableStream`.
    """

    input_dim = 19
    files = ("skillcraft.csv.gz",)

    def read(self) -> tuple[Tensor, Tensor]:
        """Inputs `[3338, 19]` and targets `[3338]`."""
        return read_skillcraft()


class Powerplant(TableStream):
    """UCI Combined Cycle Power Plant: electrical output from the weather and the exhaust vacuum; 9,568 rows.

    Args:
        options: See `TableStream`.
    """

    input_dim = 4
    files = ("powerplant.txt",)

    def read(self) -> tuple[Tensor, Tensor]:
        """Inputs `[9568, 4]` and targets `[9568]`."""
        return read_powerplant()


def _columns(table: np.ndarray) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(table[:, :-1]), torch.from_numpy(table[:, -1])


def _scaled(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return minmax_scale(x, *INTERVAL), standardise(y)
