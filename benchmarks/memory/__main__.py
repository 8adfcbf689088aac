"""Scores on ERA5 against all numbers kept, for everything that learns series.

Every finished cell (data set, contender, size, seed) is appended to a csv file, and is not run again: the command can
be interrupted and repeated. `--table` prints the results as Markdown and draws the figure, without running anything.
"""

import argparse
import csv
import logging
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from lightning import Trainer, seed_everything
from torch import Tensor
from torch.distributions import Distribution, Normal

from benchmarks.memory.contenders import CONTENDERS
from benchmarks.memory.datasets import DATASETS
from benchmarks.memory.figure import draw, markdown
from benchmarks.memory.simple import SIMPLE, num_raw
from benchmarks.report import console
from callbacks import ContinualLearning
from datamodules import ERA5
from gpvae.metrics import find_metric
from gpvae.modules.memory import numbers_kept

DOCS = Path(__file__).parents[2] / "docs"
FIELDS = ("data", "contender", "size", "seed", "nlpd", "rmse", "crps", "coverage", "cpu_seconds")
COUNTS = ("means", "precisions", "networks", "protection", "other", "total", "share")
Cell = dict[str, str | float | int]
Predict = Callable[[int], Iterator[tuple[Distribution, Tensor]]]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=(__doc__ or "").splitlines()[0])
    options.add_argument("--data", nargs="+", choices=DATASETS, default=list(DATASETS))
    options.add_argument("--contenders", nargs="+", choices=[*SIMPLE, *CONTENDERS], default=[*SIMPLE, *CONTENDERS])
    options.add_argument("--sizes", nargs="+", help="only these sizes")
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument("--csv", type=Path, default=DOCS / "memory_runs.csv")
    options.add_argument("--figure", type=Path, default=DOCS / "memory.png")
    options.add_argument("--table", action="store_true", help="only show the results so far")
    args = options.parse_args()
    if not args.table:
        run_all(args)
    rows = read(args.csv)
    print(markdown(rows))
    draw(rows, args.figure)


def run_all(args: argparse.Namespace) -> None:
    """Run the cells that are not in the file, and append each as it ends."""
    done = {key(row) for row in read(args.csv)}
    for seed in args.seeds:
        for name in args.data:
            cells = [cell for cell in wanted(args, name, seed) if key(cell) not in done]
            if not cells:
                continue
            data = DATASETS[name](seed)
            data.prepare_data()
            data.setup()
            for cell in cells:
                try:
                    append(args.csv, cell | run_cell(cell, data))
                except Exception:
                    console.print(f"{cell} FAILED\n{traceback.format_exc()}")


def wanted(args: argparse.Namespace, data: str, seed: int) -> Iterator[Cell]:
    """The cells of a data set and seed."""
    for name in args.contenders:
        contender = CONTENDERS.get(name)
        if contender is not None and contender.datasets and data not in contender.datasets:
            continue
        for size in contender.sizes if contender else SIMPLE[name]:
            if args.sizes is None or size in args.sizes:
                yield {"data": data, "contender": name, "size": size, "seed": seed}


def run_cell(cell: Cell, data: ERA5) -> Cell:
    """Learn the stream, and score the held-out hours of all tasks after the last."""
    name, size, seed = str(cell["contender"]), str(cell["size"]), int(cell["seed"])
    begin = time.process_time()
    kept: dict[str, float]
    if name in SIMPLE:
        model = SIMPLE[name][size]()
        for task in range(data.num_tasks):
            model.learn(*data.task_data(task))
        seconds = time.process_time() - begin
        kept = model.numbers()

        def predict(task: int) -> Iterator[tuple[Distribution, Tensor]]:
            loader = data.test_loader(task, 0, 1)
            y = model.predict(loader.times)
            yield Normal(y.mean[loader.mask], y.stddev[loader.mask]), loader.y[loader.mask]
    else:
        seed_everything(seed, verbose=False)
        module, data.epochs_per_task, data.batch_size = CONTENDERS[name].build(size, seed, data.num_series)
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
        quiet |= {"enable_model_summary": False, "limit_val_batches": 0, "barebones": False}
        trainer = Trainer(**data.trainer_options, **quiet, callbacks=[ContinualLearning()])
        begin = time.process_time()
        trainer.fit(module, datamodule=data)
        seconds = time.process_time() - begin
        kept = {part: count / data.num_series for part, count in numbers_kept(module).items()}

        def predict(task: int) -> Iterator[tuple[Distribution, Tensor]]:
            yield from (module.predictive(batch) for batch in data.test_loader(task, 0, 1))

    total = sum(kept.values())
    counts = {**dict.fromkeys(COUNTS, 0.0), **kept, "total": total, "share": total / num_raw(data)}
    return scores(predict, data.num_tasks) | {"cpu_seconds": seconds} | counts


@torch.no_grad()
def scores(predict: Predict, num_tasks: int) -> Cell:
    """Scores over the held-out values of all tasks."""
    metrics = {name: find_metric(name)() for name in ("nlpd", "rmse", "crps", "coverage")}
    for task in range(num_tasks):
        for predicted, y in predict(task):
            for metric in metrics.values():
                metric.update(predicted, y)
    return {name: float(metric.compute()) for name, metric in metrics.items()}


def key(row: Cell) -> tuple[str, ...]:
    """What names a cell."""
    return tuple(str(row[name]) for name in FIELDS[:4])


def read(file: Path) -> list[Cell]:
    """The finished cells."""
    if not file.exists():
        return []
    with file.open(newline="") as rows:
        return [{name: _parse(name, value) for name, value in row.items()} for row in csv.DictReader(rows)]


def _parse(name: str, value: str) -> str | float | int:
    if name == "seed":
        return int(value)
    return value if name in FIELDS[:3] else float(value)


def append(file: Path, cell: Cell) -> None:
    """Append a finished cell."""
    new = not file.exists()
    with file.open("a", newline="") as rows:
        writer = csv.DictWriter(rows, [*FIELDS, *COUNTS])
        if new:
            writer.writeheader()
        writer.writerow({name: f"{value:.6g}" if isinstance(value, float) else value for name, value in cell.items()})
    shown = ", ".join(
        f"{name} {cell[name]:.3g}" for name in ("nlpd", "rmse", "crps", "coverage", "cpu_seconds", "total")
    )
    console.print(f"{cell['data']}, {cell['contender']}, {cell['size']}, seed {cell['seed']}: {shown}", highlight=False)


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    main()
