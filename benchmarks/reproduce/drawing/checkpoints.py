"""The model that a run has learnt, and its data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

import datamodules
from benchmarks.reproduce.curves import common_seeds
from datamodules.point_stream import PointStream
from datamodules.splits import Task
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.modules import StreamingGP
from gpvae.online_gp import OnlineGP

CHECKPOINT = Path("checkpoints") / "last.ckpt"


@dataclass(frozen=True)
class Learnt:
    """A finished run.

    Attributes:
        gp: The model after the last task.
        tasks: The tasks that it has learnt.
        table: Its scores.
    """

    gp: OnlineGP
    tasks: list[Task]
    table: TaskTable

    @property
    def points(self) -> Tensor:
        """Inducing points `[M, D]`; empty for other inducing variables."""
        points = self.gp.inducing.points
        return self.tasks[0].x_train[:0] if points is None else points.flatten(0, -2)


def load(experiments: Mapping[str, Path]) -> tuple[dict[str, Learnt], str]:
    """Load the runs, with checkpoints, of the first seed that all experiments have finished.

    Args:
        experiments: Folders of experiments, by name.

    Returns:
        The runs, by the same names, and the name of the seed.
    """
    seed = next(iter(common_seeds(experiments.values())), "")
    runs = {name: folder / seed for name, folder in experiments.items() if (folder / seed / CHECKPOINT).is_file()}
    return {name: _load(run) for name, run in runs.items()}, seed


def _load(run: Path) -> Learnt:
    file = run / CHECKPOINT
    module = StreamingGP.load_from_checkpoint(file, map_location="cpu", weights_only=True)
    return Learnt(module.gp.requires_grad_(False), _tasks(file), TaskTable.read(run / FILE_NAME))


def _tasks(file: Path) -> list[Task]:
    options = torch.load(file, map_location="cpu", weights_only=True)["datamodule_hyper_parameters"]
    kind = getattr(datamodules, options["_class_path"].rpartition(".")[-1])
    data: PointStream = kind(**{name: value for name, value in options.items() if not name.startswith("_")})
    data.prepare_data()
    data.setup()
    return data.tasks
