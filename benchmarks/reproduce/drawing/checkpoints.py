"""The model that a run has learnt, and its data."""

from dataclasses import dataclass
from pathlib import Path

import torch

import datamodules
from benchmarks.reproduce.curves import common_seeds
from datamodules.points import PointStream
from datamodules.tasks import Task
from gpvae.modules import StreamingGP
from gpvae.online_gp import OnlineGP


@dataclass(frozen=True)
class Learnt:
    """A finished run.

    Attributes:
        gp: The model after the last task.
        tasks: What it has learnt.
        seed: Name of its seed.
    """

    gp: OnlineGP
    tasks: list[Task]
    seed: str


def load(experiment: Path) -> Learnt | None:
    """The first finished run of an experiment that has kept a checkpoint; None if there is none.

    Args:
        experiment: Folder of the experiment.
    """
    for seed in common_seeds([experiment]):
        file = experiment / seed / "checkpoints" / "last.ckpt"
        if file.is_file():
            module = StreamingGP.load_from_checkpoint(file, map_location="cpu", weights_only=True)
            return Learnt(module.gp.requires_grad_(False), _tasks(file), seed)
    return None


def _tasks(file: Path) -> list[Task]:
    options = torch.load(file, map_location="cpu", weights_only=True)["datamodule_hyper_parameters"]
    kind = getattr(datamodules, options["_class_path"].rpartition(".")[-1])
    data: PointStream = kind(**{name: value for name, value in options.items() if not name.startswith("_")})
    data.prepare_data()
    data.setup()
    return data.tasks
