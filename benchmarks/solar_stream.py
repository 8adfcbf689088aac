"""Ten Solar tasks and one prediction: OnlineGP against the paper's recurrence and against gpytorch's own OVC.

The paper's route is LegSRecurrence with bilinear steps, 1,000 random frequencies and the paper's pairing. It takes
1,000 steps for the whole stream (`--dt` 0.01 on inputs scaled to [0, 10], a fifth of the kernel's lengthscale; the
paper does not say how many it takes). As in algorithm 2, kuu goes on from task to task and kuf is stepped from the
origin. `benchmarks.gpytorch_ovc` explains gpytorch's contenders. All share one
kernel, fitted on the first task. A run ends with one prediction of all test points, so that work put off until then
counts too.
"""

import copy
from collections.abc import Callable

import torch

from benchmarks.gpytorch_ovc import GrowingOVC, SparseOVC
from benchmarks.report import console, parser, save, table
from benchmarks.streams import Fitted, expected_warnings, fit, stream, test_points
from benchmarks.timing import ratio, side_by_side
from datamodules.series import solar
from datamodules.tasks import Task, split_tasks
from gpvae.inducing import CosS, InducingVariables, LegS, LegSRecurrence, PivotedPoints

NUM_TEST = 102


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--num-inducing", type=int, default=50)
    options.add_argument("--dt", type=float, default=0.01, help="step of the recurrence")
    options.add_argument("--repeats", type=int, default=7)
    args = options.parse_args()
    num, repeats = args.num_inducing, 2 if args.quick else args.repeats

    torch.set_num_threads(1)
    tasks = split_tasks(*solar(), 10, NUM_TEST, seed=0)
    fitted = fit(tasks, LegS(num))
    scores: dict[str, float] = {}

    ours: dict[str, Callable[[], InducingVariables]] = {
        "LegS": lambda: LegS(num),
        "CosS": lambda: CosS(num),
        "PivotedPoints (OVC)": lambda: PivotedPoints(num),
    }
    recurrence, growing, sparse = "paper: bilinear recurrence", "gpytorch: fantasies, growing", "gpytorch: OVC"
    contenders = {
        name: _online(name, family, fitted, tasks, scores)
        for name, family in (ours | {recurrence: lambda: LegSRecurrence(num, dt=args.dt)}).items()
    }
    contenders[growing] = _gpytorch(growing, GrowingOVC, num, fitted, tasks, scores)
    contenders[sparse] = _gpytorch(sparse, SparseOVC, num, fitted, tasks, scores)
    timings = side_by_side(contenders, repeats)

    rivals = (recurrence, growing, sparse)
    rows = [
        {
            "name": name,
            **timing.as_dict(),
            "nlpd": scores.get(name),
            "speed_up": {rival: ratio(timings[rival], timing) for rival in rivals},
        }
        for name, timing in timings.items()
    ]
    lengthscale = fitted[0].base_kernel.lengthscale.item()
    table(
        f"Solar, M = {num}: ten updates and a prediction of {NUM_TEST} points; lengthscale {lengthscale:.3g}",
        ["", "seconds", "test NLPD", *(f"times faster than {rival}" for rival in rivals)],
        [[r["name"], r["median_seconds"], r["nlpd"], *r["speed_up"].values()] for r in rows],
    )
    console.print(f"{round(10 / args.dt)} steps of the recurrence in all, 1,000 frequencies; {repeats} rounds")
    save("solar_stream", {"arguments": vars(args) | {"output": str(args.output)}, "rows": rows}, args.output)


def _online(
    name: str, family: Callable[[], InducingVariables], fitted: Fitted, tasks: list[Task], scores: dict[str, float]
) -> Callable[[], None]:
    x, y = test_points(tasks)

    def run() -> None:
        model = stream(family(), fitted, tasks)
        scores[name] = -float(model.predict(x).log_prob(y).mean())

    return run


def _gpytorch(
    name: str, method: type[GrowingOVC], num: int, fitted: Fitted, tasks: list[Task], scores: dict[str, float]
) -> Callable[[], None]:
    x, y = test_points(tasks)

    def run() -> None:
        model = method(num, *copy.deepcopy(fitted))
        with expected_warnings():
            for task in tasks:
                model.update(task.x_train, task.y_train)
            scores[name] = -float(model.predict(x).log_prob(y).mean())

    return run


if __name__ == "__main__":
    main()
