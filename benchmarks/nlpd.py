"""Test NLPD after the last of ten tasks, on time series and on tables, compared with targets from prototypes.

Solar and Audio with M inducing variables over time; Skillcraft and Powerplant, sorted by first dimension or by norm,
with 256 inducing variables along the path of the inputs. The kernel (RBF, a lengthscale per dimension) is fitted once
per split on the first task, and shared by all methods. `exact` is the dense GP on all data with that kernel.
"""

import argparse
import copy
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from linear_operator.utils.errors import NotPSDError
from rich.progress import Progress
from torch import Tensor

from benchmarks import targets
from benchmarks.gpytorch_ovc import SparseOVC
from benchmarks.report import console, parser, save, table
from benchmarks.streams import Fitted, exact_nlpd, expected_warnings, fit, nlpd, stream
from datamodules.solar_audio import audio, solar
from datamodules.splits import Task, first_dimension, l2_norm, split_tasks
from datamodules.uci import powerplant, skillcraft
from gpvae.inducing import CosS, LegS, LegSPath, LegSRecurrence, PivotedPoints

NUM_TASKS = 10
NUM_PATH = 256
SERIES = {"solar": (solar, 102, (50, 100, 150)), "audio": (audio, 9000, (100, 150, 200))}
TABLES = {"skillcraft": skillcraft, "powerplant": powerplant}
ORDERS = {"first_dimension": first_dimension, "l2_norm": l2_norm}

#: Returns the NLPD of a method on a stream, with the kernel fitted to it.
Method = Callable[[Fitted, Sequence[Task]], float]


@dataclass(frozen=True)
class Cell:
    """One row of the table: some methods on one stream, drawn for each seed."""

    data: str
    setting: str
    tasks: Callable[[int], list[Task]]
    methods: dict[str, Method]
    targets: dict[str, float]
    seeds: range


@dataclass(frozen=True)
class Result:
    """NLPD, and the CPU seconds of ten updates and the prediction."""

    nlpd: float
    seconds: float


@dataclass(frozen=True)
class Prepared:
    """A stream with its kernel, and the exact GP's result on it."""

    tasks: list[Task]
    fitted: Fitted
    exact: Result


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", nargs="+", choices=[*SERIES, *TABLES], default=[*SERIES, *TABLES])
    options.add_argument("--seeds", type=int, help="number of splits; by default 3 for time series and 1 for tables")
    options.add_argument("--first-seed", type=int, default=0, help="first split; `make reproduce` uses 1 to 5")
    options.add_argument("--recurrence", action="store_true", help="also the paper's recurrence (slow)")
    args = options.parse_args()

    cells = [*series_cells(args), *table_cells(args)]
    rows: list[dict[str, Any]] = []
    prepared: dict[tuple[str, str, int], Prepared] = {}
    with Progress(transient=True) as progress:
        bar = progress.add_task("", total=sum(len(cell.seeds) * len(cell.methods) for cell in cells))
        for cell in cells:
            results: dict[str, list[Result]] = {name: [] for name in ("exact", *cell.methods)}
            for seed in cell.seeds:
                key = (cell.data, cell.setting if cell.data in TABLES else "", seed)
                if key not in prepared:
                    progress.update(bar, description=f"{cell.data} {key[1]}, split {seed}: kernel and exact GP")
                    prepared[key] = prepare(cell.tasks(seed))
                drawn = prepared[key]
                results["exact"].append(drawn.exact)
                for name, method in cell.methods.items():
                    progress.update(bar, description=f"{cell.data} {cell.setting}, split {seed}: {name}")
                    results[name].append(timed(method, drawn.fitted, drawn.tasks))
                    progress.advance(bar)
            rows += summarise(cell, results)
    show(rows)
    headline = {
        f"{r['data']}, {r['setting']}: {r['method']}, NLPD": r["nlpd"]
        for r in rows
        if r["method"] in ("exact", "LegS", "CosS", "OVC", "path, qmc")
    }
    save("nlpd", rows, args.output, headline)


def prepare(tasks: list[Task]) -> Prepared:
    """Fit the kernel on the first task, and score the exact GP with it."""
    fitted = fit(tasks, PivotedPoints(NUM_PATH))
    return Prepared(tasks, fitted, timed(exact_nlpd, fitted, tasks))


def timed(method: Method, fitted: Fitted, tasks: Sequence[Task]) -> Result:
    begin = time.process_time()
    value = method(fitted, tasks)
    return Result(value, time.process_time() - begin)


def series_cells(args: argparse.Namespace) -> Iterator[Cell]:
    for data, (load, num_test, sizes) in SERIES.items():
        if data not in args.data:
            continue
        seeds = _seeds(args, 1 if args.quick else 3)
        for num in sizes[:1] if args.quick else sizes:
            known = targets.SERIES.get((data, num), {})
            methods = series_methods(num, args.recurrence)
            split = partial(_split, load, num_test, first_dimension)
            yield Cell(data, f"M = {num}", split, methods, known, seeds)


def table_cells(args: argparse.Namespace) -> Iterator[Cell]:
    for data, load in TABLES.items():
        if data not in args.data or (args.quick and data == "powerplant"):
            continue
        for name, key in ORDERS.items():
            known = targets.UCI[data, name]
            if "above" in known:
                known = known | {"path, qmc": known["exact"] + known["above"]}
            split = partial(_split, load, 0.1, key)
            yield Cell(data, name, split, table_methods(), known, _seeds(args, 1))


def _seeds(args: argparse.Namespace, default: int) -> range:
    return range(args.first_seed, args.first_seed + (args.seeds or default))


def series_methods(num: int, recurrence: bool) -> dict[str, Method]:
    methods: dict[str, Method] = {
        "LegS": lambda fitted, tasks: nlpd(stream(LegS(num), fitted, tasks), tasks),
        "CosS": lambda fitted, tasks: nlpd(stream(CosS(num), fitted, tasks), tasks),
        "auto": lambda fitted, tasks: nlpd(stream("auto", fitted, tasks, num_inducing=num), tasks),
        "OVC": lambda fitted, tasks: nlpd(stream(PivotedPoints(num), fitted, tasks), tasks),
        "gpytorch's OVC": partial(gpytorch_ovc_nlpd, num),
        "LegS, power 0.5": lambda fitted, tasks: nlpd(stream(LegS(num), fitted, tasks, power=0.5), tasks),
    }
    if recurrence:
        methods["recurrence"] = lambda fitted, tasks: nlpd(stream(LegSRecurrence(num), fitted, tasks), tasks)
    return methods


def gpytorch_ovc_nlpd(num: int, fitted: Fitted, tasks: Sequence[Task]) -> float:
    """OVC with pseudo-points, as in gpytorch and Maddox et al., with M points after each task.

    NaN if the covariance of the points cannot be factorised with gpytorch's jitter.
    """
    model = SparseOVC(num, *copy.deepcopy(fitted))
    with expected_warnings(), suppress(NotPSDError):
        for task in tasks:
            model.update(task.x_train, task.y_train)
        return nlpd(model, tasks)
    return math.nan


def table_methods() -> dict[str, Method]:
    def path(sampling: str) -> Method:
        return lambda fitted, tasks: nlpd(stream(LegSPath(NUM_PATH, sampling=sampling), fitted, tasks), tasks)

    return {
        "OVC": lambda fitted, tasks: nlpd(stream(PivotedPoints(NUM_PATH), fitted, tasks), tasks),
        **{f"path, {sampling}": path(sampling) for sampling in ("qmc", "orthogonal", "plain")},
    }


def summarise(cell: Cell, results: dict[str, list[Result]]) -> list[dict[str, Any]]:
    scores = {name: [result.nlpd for result in splits] for name, splits in results.items()}
    return [
        {
            "data": cell.data,
            "setting": cell.setting,
            "method": name,
            "nlpd": statistics.mean(values),
            "spread": statistics.stdev(values) if len(values) > 1 else None,
            "splits": values,
            "above_exact": statistics.mean(values) - statistics.mean(scores["exact"]),
            "target": cell.targets.get(name),
            "seconds": statistics.median(result.seconds for result in results[name]),
        }
        for name, values in scores.items()
    ]


def show(rows: list[dict[str, Any]]) -> None:
    """One line for each method."""
    table(
        "Test NLPD after the last task (mean over splits, their standard deviation), lower is better",
        ["data", "setting", "method", "NLPD", "±", "above exact", "target", "NLPD - target", "CPU seconds"],
        [
            [
                r["data"],
                r["setting"],
                r["method"],
                f"{r['nlpd']:.3f}",
                r["spread"],
                f"{r['above_exact']:.3f}",
                r["target"],
                None if r["target"] is None else f"{r['nlpd'] - r['target']:+.3f}",
                r["seconds"],
            ]
            for r in rows
        ],
    )
    console.print("CPU seconds: ten updates and the prediction of the test points")


def _split(
    load: Callable[[], tuple[Tensor, Tensor]], num_test: int | float, key: Callable[[Tensor], Tensor], seed: int
) -> list[Task]:
    return split_tasks(*load(), NUM_TASKS, num_test, seed, key)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
