"""Folders of runs, made up."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

from gpvae.metrics import Score
from gpvae.metrics.task_table import FILE_NAME, TaskTable

#: Seconds that the tasks of a made-up log take, and that its pictures take.
LEARNING, DRAWING = 2.5, 4.0


def config(method: str = "OHSGPR", num_inducing: int = 50, data: str = "Solar", **options: Any) -> dict[str, Any]:
    """A config; options of data go by the name `data_...`."""
    of_data = {key.removeprefix("data_"): value for key, value in options.items() if key.startswith("data_")}
    of_model = {key: value for key, value in options.items() if not key.startswith("data_")}
    return {
        "model": {
            "class_path": "gpvae.modules.StreamingGP",
            "init_args": {"method": method, "num_inducing": num_inducing, "inducing": None, **of_model},
        },
        "data": {"class_path": f"datamodules.{data}", "init_args": {"num_tasks": 3, **of_data}},
    }


def write_scores(folder: Path, seed: int, num_tasks: int = 3, metrics: tuple[str, ...] = ("nlpd", "rmse")) -> Path:
    """Scores drawn at random; gives the folder back."""
    generator = np.random.default_rng([seed, *folder.parent.name.encode()])
    table = TaskTable()
    for metric in metrics:
        for after in range(1, num_tasks + 1):
            table.add(Score(after, None, metric, "", generator.normal()))
            for task in range(1, after + 1):
                table.add(Score(after, task, metric, "", generator.normal()))
    table.write(folder / FILE_NAME)
    return folder


def write_run(folder: Path, seed: int = 0, settings: dict[str, Any] | None = None, **options: Any) -> Path:
    """A whole run: scores and, if settings are given, a config."""
    write_scores(folder, seed, **options)
    if settings is not None:
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    return folder


def write_picture(folder: Path, name: str = "stream_03", size: tuple[int, int] = (1200, 400)) -> Path:
    """A picture with something to see."""
    path = folder / "figures" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    Image.linear_gradient("L").resize(size).convert("RGB").save(path)
    return path


def write_log(folder: Path, num_tasks: int = 3, start: float = 1000.0) -> list[float]:
    """A TensorBoard log in which every task takes longer than the one before; gives their seconds."""
    seconds = [LEARNING * task for task in range(1, num_tasks + 1)]
    now = start
    with patch("time.time", return_value=start):  # when the log is opened
        log = SummaryWriter(str(folder))
    with log:
        for task, taken in enumerate(seconds, start=1):
            now += taken
            log.add_scalar("nlpd/seen", 1.0, task, walltime=now)
            now += DRAWING
            log.add_image("stream", np.zeros((3, 4, 4), np.uint8), task, walltime=now)
    return seconds


def several(runs: Path) -> Path:
    """Two methods with three seeds, another number of variables, other data."""
    for method in ("OVC", "OHSGPR"):
        for seed in range(3):
            folder = write_run(runs / f"solar_{method}" / f"seed_{seed}", seed, config(method))
            write_picture(folder)
            write_log(folder)
    long = write_run(runs / "solar_150" / "seed_0", 0, config("OVC", 150)) / "config.yaml"
    long.write_text(long.read_text() + "# " + 500 * "long")
    write_run(runs / "moons" / "seed_0", 0, config("OHSVGP", 20, "TwoMoons"), metrics=("nlpd", "accuracy"))
    return runs
