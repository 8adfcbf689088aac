"""Whole runs of the shipped config with many series: one process, against two that share the series by DDP.

Runs of the console script take turns, with one thread for each process. The efficiency is that of the wall-clock
seconds in which a task is learnt, from `task_times.csv`: with its steps, its beginning and end, and its foresight. The
first task also fits the kernel, which every process does. Needs two idle cores.
"""

import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.progress import track

from benchmarks.report import console, parser, save, table


def learning_seconds(processes: int, series: int, tasks: int, batch: int) -> list[float]:
    """The seconds in which each task is learnt, and those of the whole command."""
    own = {"data.points": series, "data.num_tasks": tasks, "data.batch_size": batch // processes}
    common = {"data.epochs_per_task": 12, "data.min_steps_per_task": "null", "trainer.devices": processes}
    quiet = {"trainer.limit_val_batches": 0, "figures.enabled": "false", "trainer.enable_progress_bar": "false"}
    strategy = {"trainer.strategy": "ddp"} if processes > 1 else {}
    words = [word for name, value in (own | common | quiet | strategy).items() for word in (f"--{name}", str(value))]
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "gpvae", "fit", "-c", "era5_ohsvgp", "--name", "run", *words],
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
            check=True,
            capture_output=True,
        )
        whole = time.perf_counter() - begin
        (path,) = Path(folder).glob("runs/run/*/task_times.csv")
        with path.open() as file:
            return [*(float(row["learning"]) for row in csv.DictReader(file)), whole]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--series", type=int, default=256)
    options.add_argument("--batch", type=int, default=64, help="series in a step of all processes together")
    options.add_argument("--tasks", type=int, default=3)
    options.add_argument("--repeats", type=int, default=3)
    args = options.parse_args()
    if args.quick:
        args.series, args.batch, args.tasks, args.repeats = 4, 2, 2, 1
    found: dict[int, list[list[float]]] = {1: [], 2: []}
    for _ in track(range(args.repeats), "Running", console=console, transient=True):
        for processes, seconds in found.items():
            seconds.append(learning_seconds(processes, args.series, args.tasks, args.batch))
    names = [*(f"task {number + 1}" for number in range(args.tasks)), "the whole command"]
    rows: list[list[object]] = []
    for name, *both in zip(names, *(zip(*seconds, strict=True) for seconds in found.values()), strict=True):
        ratios = [one / (2 * two) for one, two in zip(*both, strict=True)]
        rows.append(
            [
                name,
                *(statistics.median(seconds) for seconds in both),
                statistics.median(ratios),
                min(ratios),
                max(ratios),
            ]
        )
    columns = ["", "one process, s", "two processes, s", "efficiency", "least", "most"]
    table(f"Runs with {args.series} series, {args.batch} in a step", columns, rows)
    headline = {f"{row[0]}: efficiency of two processes": row[3] for row in rows}
    save("ddp_run", [dict(zip(columns, row, strict=True)) for row in rows], args.output, headline)


if __name__ == "__main__":
    main()
