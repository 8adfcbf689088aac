"""Test NLPD after the last of ten tasks: one kernel fitted to the first task, compared with a bank of kernels.

Solar with M inducing variables over five splits; Audio, and Skillcraft and Powerplant sorted by first dimension or by
norm, over one. The fitted kernel (RBF, a lengthscale per dimension) is one of the members of the bank.

`--choose` compares grids of members instead, by the log density that the bank predicts for each task before it learns
it: only training points are used.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean

from benchmarks.nlpd import NUM_PATH, ORDERS, SERIES, TABLES
from benchmarks.report import parser, save, table
from benchmarks.streams import expected_warnings, fit, nlpd, stream
from datamodules.splits import Task, first_dimension, split_tasks
from gpvae import Bank
from gpvae.bank.members import repeated_kernel, repeated_likelihood, spread
from gpvae.inducing import CosS, InducingVariables, LegS, LegSPath, PivotedPoints

SIZES = {"solar": (50, 150), "audio": (100, 150, 200)}
#: The settings by which grids are compared.
CHOOSE_BY = ("CosS, M = 150", "OVC, first_dimension")
#: Grids of 24 members: numbers of lengthscales and noise levels, and the range of the latter.
GRIDS = {
    f"{lengthscales} x {levels}, noise {low:g} to {high:g}": ((lengthscales, levels), (low, high))
    for lengthscales, levels, low, high in (
        (6, 4, 0.01, 0.6),
        (6, 4, 0.001, 0.6),
        (6, 4, 0.01, 2.0),
        (8, 3, 0.01, 0.6),
        (12, 2, 0.01, 0.6),
        (4, 6, 0.01, 0.6),
    )
}


@dataclass(frozen=True)
class Case:
    """A family on a stream, drawn for each seed."""

    data: str
    setting: str
    family: Callable[[], InducingVariables]
    tasks: Callable[[int], list[Task]]
    num_splits: int


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", nargs="+", choices=[*SERIES, *TABLES], default=[*SERIES, *TABLES])
    options.add_argument("--size", type=int, default=24, help="members of the bank")
    options.add_argument("--choose", action="store_true", help="compare grids by their prequential scores")
    args = options.parse_args()
    if args.choose:
        choose(args)
        return
    rows = []
    with expected_warnings():
        for case in cases(args.data, args.quick):
            splits = [compare(case, seed, args.size) for seed in range(case.num_splits)]
            rows.append({"data": case.data, "setting": case.setting, **summarise(splits)})
    table(
        "Test NLPD after the last task (mean over splits), lower is better",
        ["data", "setting", "one kernel", "bank", "difference", "worst split", "time ratio", "MB"],
        [
            [
                r["data"],
                r["setting"],
                *(f"{r[name]:.3f}" for name in ("one_kernel", "bank")),
                f"{r['bank'] - r['one_kernel']:+.3f}",
                f"{max(r['splits']):.3f}",
                r["time_ratio"],
                f"{r['megabytes']:.1f}",
            ]
            for r in rows
        ],
    )
    headline = {f"{r['data']}, {r['setting']}: {name}, NLPD": r[name] for r in rows for name in ("one_kernel", "bank")}
    save("bank", rows, args.output, headline)


def cases(data: Sequence[str], quick: bool) -> Iterator[Case]:
    """All cases; with `quick` one split of Solar alone."""
    for name, sizes in SIZES.items():
        if name not in data or (quick and name != "solar"):
            continue
        load, num_test, _ = SERIES[name]
        for num in sizes[:1] if quick else sizes:
            for family in (CosS, LegS):
                split = partial(_split, load, num_test, first_dimension)
                num_splits = 5 if name == "solar" and not quick else 1
                yield Case(name, f"{family.__name__}, M = {num}", partial(family, num), split, num_splits)
    for name, load in {} if quick else TABLES.items():
        for order, key in ORDERS.items() if name in data else ():
            split = partial(_split, load, 0.1, key)
            yield Case(name, f"OVC, {order}", partial(PivotedPoints, NUM_PATH), split, 1)
            yield Case(name, f"path, {order}", partial(LegSPath, NUM_PATH, ordering=order), split, 1)


def _split(load: Callable[[], Any], num_test: float, key: Callable[..., Any], seed: int) -> list[Task]:
    return split_tasks(*load(), 10, num_test, seed, key)


def compare(case: Case, seed: int, size: int) -> dict[str, float]:
    """NLPD of the fitted kernel and of a bank, and the CPU seconds of both, fits included."""
    tasks = case.tasks(seed)
    begin = time.process_time()
    one = nlpd(stream(case.family(), fit(tasks, case.family()), tasks), tasks)
    middle = time.process_time()
    dim = tasks[0].x_train.shape[-1]
    kernel = ScaleKernel(RBFKernel(ard_num_dims=dim if dim > 1 else None))
    bank = Bank(case.family(), kernel, GaussianLikelihood(), size=size, mean=ZeroMean())
    for task in tasks:
        bank.update(task.x_train, task.y_train)
    score = nlpd(bank, tasks)
    ratio = (time.process_time() - middle) / (middle - begin)
    return {"one_kernel": one, "bank": score, "time_ratio": ratio, "megabytes": bank.num_bytes / 1e6}


def choose(args: Namespace) -> None:
    """Print the prequential score of every grid on every stream."""
    rows = []
    with expected_warnings():
        for case in (c for c in cases(args.data, args.quick) if args.quick or c.setting in CHOOSE_BY):
            for name, (shape, noise_range) in list(GRIDS.items())[: 2 if args.quick else None]:
                scores = [prequential(case, seed, shape, noise_range) for seed in range(case.num_splits)]
                rows.append(
                    {"data": case.data, "setting": case.setting, "grid": name, "score": statistics.mean(scores)}
                )
    columns = ["data", "setting", "grid", "score"]
    title = "Mean log density per training point, each task predicted before it is learnt; higher is better"
    table(title, columns, [[*(r[key] for key in columns[:3]), f"{r['score']:.3f}"] for r in rows])
    save("bank_grids", rows, args.output, {f"{r['data']}, {r['setting']}: {r['grid']}": r["score"] for r in rows})


def prequential(case: Case, seed: int, shape: tuple[int, int], noise_range: tuple[float, float]) -> float:
    """Log density per training point that a bank predicts, task by task."""
    tasks = case.tasks(seed)
    kernel, likelihood = fit(tasks, case.family())
    num = shape[0] * shape[1]
    members, noise = repeated_kernel(kernel, num), repeated_likelihood(likelihood, num, 0)
    spread(members, noise, kernel, likelihood, tasks[0].x_train, shape, noise_range)
    bank = Bank(case.family(), members, noise, size=None, mean=ZeroMean())
    for task in tasks:
        bank.update(task.x_train, task.y_train)
    return float(bank.bound()) / sum(len(task.y_train) for task in tasks)


def summarise(splits: list[dict[str, float]]) -> dict[str, Any]:
    means = {name: statistics.mean(split[name] for split in splits) for name in splits[0]}
    return {**means, "splits": [split["bank"] for split in splits]}


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
