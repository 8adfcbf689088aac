"""Matérn processes over time as state-space models, beside memories of M variables: Solar and Audio in ten tasks.

The smoother keeps all data and is exact. The filter keeps its state alone, and predicts what comes. All have the
Matérn-5/2 kernel and noise that an exact GP finds on the first task; the smoother, which has the data, also those of
the highest evidence of all of them. LegS and CosS in addition have the RBF kernel of the first task.

NLPD: of the test points of all tasks, after the last; and of each of the last points of the stream before it is learnt,
the tasks before having been learnt as batches. Times are CPU seconds on one thread.
"""

import copy
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gpytorch.kernels import MaternKernel, RBFKernel
from gpytorch.means import ZeroMean
from torch import Tensor

from benchmarks.contenders import Contender
from benchmarks.report import console, parser, save, table
from benchmarks.state_space_gp import Matern, MaternFilter, MaternSmoother
from benchmarks.state_space_gp import fit as fit_matern
from benchmarks.streams import Fitted, expected_warnings, fit, test_points
from datamodules.solar_audio import audio, solar
from datamodules.splits import Task, split_tasks
from gpvae.inducing import CosS, LegS
from gpvae.online_gp import OnlineGP

DATA = {"solar": (solar, 102), "audio": (audio, 9000)}
NU, NUM_TASKS = 2.5, 10
FAMILIES = {"CosS": CosS, "LegS": LegS}
COLUMNS = ("nlpd", "ahead", "learn_us", "single_us", "predict_us", "numbers")


@dataclass(frozen=True)
class Learner:
    """A contender, and what it can be asked for.

    Attributes:
        make: Makes it, before any data.
        predicts_past: Whether it predicts times that have passed.
        goes_on: Whether it learns point by point at constant cost.
    """

    make: Callable[[], Contender]
    predicts_past: bool = True
    goes_on: bool = True


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    options.add_argument("--num-inducing", nargs="+", type=int, default=[50, 150])
    options.add_argument("--seeds", type=int, default=3, help="number of splits")
    options.add_argument("--ahead", type=int, default=100, help="points at the end that are predicted one by one")
    args = options.parse_args()
    if args.quick:
        args.data, args.num_inducing, args.seeds, args.ahead = ["solar"], [20], 1, 5

    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for data in args.data:
        load, num_test = DATA[data]
        results: dict[str, list[dict[str, float | None]]] = {}
        for seed in range(1, args.seeds + 1):
            tasks = split_tasks(*load(), NUM_TASKS, num_test, seed=seed)
            for name, learner in learners(tasks, args.num_inducing).items():
                results.setdefault(name, []).append(measure(learner, tasks, args.ahead))
        for name, found in results.items():
            rows.append({"data": data, "name": name, **{column: _mean(found, column) for column in COLUMNS}})
    table(
        f"ten tasks; mean of {args.seeds} splits",
        ["data", "", "NLPD", "one ahead", "learn, µs a point", "one by one", "predict, µs a point", "numbers kept"],
        [[r["data"], r["name"], *(r[column] for column in COLUMNS)] for r in rows],
    )
    console.print("one by one: an update with a single point at the end of the stream")
    headline = {f"{r['data']}: {r['name']}, NLPD": r["nlpd"] for r in rows if r["nlpd"] is not None}
    save("state_space", {"arguments": vars(args) | {"output": str(args.output)}, "rows": rows}, args.output, headline)


def learners(tasks: Sequence[Task], sizes: Sequence[int]) -> dict[str, Learner]:
    """All contenders, with the kernels of the first task."""
    first = fit(tasks, CosS(50), lambda **options: MaternKernel(nu=NU, **options))
    kernel, likelihood = first
    frozen = Matern(NU, kernel.base_kernel.lengthscale.item(), kernel.outputscale.item(), likelihood.noise.item())
    x, y = (torch.cat([getattr(task, name) for task in tasks]) for name in ("x_train", "y_train"))
    some = torch.arange(0, len(x), max(1, len(x) // 3000))  # the evidence of every third point of Audio
    refitted = fit_matern(NU, x[some], y[some])
    found = {
        "smoother": Learner(lambda: MaternSmoother(frozen), goes_on=False),
        "smoother, kernel of all data": Learner(lambda: MaternSmoother(refitted), goes_on=False),
        "filter": Learner(lambda: MaternFilter(frozen), predicts_past=False),
    }
    fitted = {"Matérn-5/2": first, "RBF": fit(tasks, CosS(50), RBFKernel)}
    for num in sizes:
        for family in FAMILIES:
            for name, pair in fitted.items():
                found[f"{family}, M = {num}, {name}"] = Learner(_online(family, num, pair))
    return found


def _online(family: str, num: int, fitted: Fitted) -> Callable[[], Contender]:
    return lambda: OnlineGP(FAMILIES[family](num), *copy.deepcopy(fitted), mean=ZeroMean())


def measure(learner: Learner, tasks: Sequence[Task], ahead: int) -> dict[str, float | None]:
    """Scores, CPU microseconds a point, and numbers kept."""
    x_test, y_test = test_points(tasks)
    num = sum(len(task.x_train) for task in tasks)
    with expected_warnings():
        model = learner.make()
        begin = time.process_time()
        for task in tasks:
            model.update(task.x_train, task.y_train)
        learnt = time.process_time()
        nlpd = -float(model.predict(x_test).log_prob(y_test).mean()) if learner.predicts_past else None
        done = time.process_time()
        result: dict[str, float | None] = {
            "nlpd": nlpd,
            "learn_us": 1e6 * (learnt - begin) / num if learner.goes_on else 0.0,
            "predict_us": 1e6 * (done - learnt) / len(x_test) if learner.predicts_past else None,
            "numbers": float(size(model)),
            "ahead": None,
            "single_us": None,
        }
        return result | (one_by_one(learner, tasks, ahead) if learner.goes_on else {})


def one_by_one(learner: Learner, tasks: Sequence[Task], num: int) -> dict[str, float]:
    """Each of the last points is predicted, then learnt."""
    model, (x, y) = learner.make(), in_order(tasks[-1])
    num = min(num, len(x) - 1)
    for task in tasks[:-1]:
        model.update(task.x_train, task.y_train)
    model.update(x[:-num], y[:-num])
    densities, seconds = [], 0.0
    for i in range(len(x) - num, len(x)):
        densities.append(-float(model.predict(x[i : i + 1]).log_prob(y[i : i + 1])))
        begin = time.process_time()
        model.update(x[i : i + 1], y[i : i + 1])
        seconds += time.process_time() - begin
    return {"ahead": statistics.mean(densities), "single_us": 1e6 * seconds / num}


def in_order(task: Task) -> tuple[Tensor, Tensor]:
    order = task.x_train[:, 0].argsort()
    return task.x_train[order], task.y_train[order]


def size(model: Contender) -> int:
    """Numbers kept."""
    return sum(v.numel() for v in model.state_dict().values()) if isinstance(model, OnlineGP) else model.num_numbers


def _mean(found: Sequence[dict[str, float | None]], column: str) -> float | None:
    values = [result[column] for result in found]
    return None if any(value is None for value in values) else statistics.mean(values)


if __name__ == "__main__":
    main()
