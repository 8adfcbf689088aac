"""Made-up run folders."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

from gpvae.metrics import Score
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.results import predicted_series, task_times
from gpvae.results.predicted_series import PredictedSeries, write_series
from gpvae.results.task_times import Activity

#: Seconds that the first task of a made-up run takes; the second takes twice as long, and so on.
SECONDS: dict[Activity, float] = {"learning": 2.5, "scoring": 0.5, "drawing": 4.0, "saving": 0.25}


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


def write_times(folder: Path, num_tasks: int = 3) -> dict[tuple[int, Activity], float]:
    """Times of a run in which every task takes longer than the one before; gives them back."""
    seconds = {(task, of): task * SECONDS[of] for task in range(1, num_tasks + 1) for of in SECONDS}
    task_times.write_times(seconds, folder / task_times.FILE_NAME)
    return seconds


def several(runs: Path) -> Path:
    """Two methods with three seeds, another number of variables, other data."""
    for method in ("OVC", "OHSGPR"):
        for seed in range(3):
            folder = write_run(runs / f"solar_{method}" / f"seed_{seed}", seed, config(method))
            write_picture(folder)
            write_times(folder)
    long = write_run(runs / "solar_150" / "seed_0", 0, config("OVC", 150)) / "config.yaml"
    long.write_text(long.read_text() + "# " + 500 * "long")
    write_run(runs / "moons" / "seed_0", 0, config("OHSVGP", 20, "TwoMoons"), metrics=("nlpd", "accuracy"))
    return runs


def write_predictions(folder: Path, num_rows: int = 40, names: tuple[str, ...] = ("t2m",)) -> Path:
    """Predicted series at a location, hour by hour in four tasks; every fourth hour is held out."""
    hours, series = np.arange(num_rows), []
    for number, name in enumerate(names):
        observed = 280 + np.sin(hours / (5 + number))
        series.append(
            PredictedSeries(
                *(name, "K", (51.5, -0.25), 1 + 4 * hours // num_rows),
                np.datetime64("2020-01-01", "s") + hours.astype("timedelta64[h]"),
                np.where(hours % 7 == 3, np.nan, observed),
                hours % 4 == 0,
                *(observed + difference for difference in (0.1, -0.4, 0.6)),
            )
        )
    write_series(series, folder / predicted_series.FILE_NAME)
    return folder
