"""Ten Solar tasks and one prediction: OnlineGP compared with the paper's recurrence and with gpytorch in five ways.

The paper's method is LegSRecurrence with bilinear steps, 1,000 random frequencies and the paper's pairing. It takes
1,000 steps for the whole stream (`--dt` 0.01 on inputs scaled to [0, 10], a fifth of the kernel's lengthscale; the
paper does not state the number). As in algorithm 2, kuu continues from task to task and kuf is stepped from the origin.
`benchmarks.gpytorch_ovc` and `benchmarks.gpytorch_refits` describe gpytorch's contenders. All share one kernel, fitted
to the first task, and the number of inducing variables. A run ends with one prediction of all test points, so that
deferred work counts too.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.contenders import OURS, REFIT, WARM, Make, contenders
from benchmarks.report import console, parser, save, table
from benchmarks.streams import Fitted, expected_warnings, fit, test_points
from benchmarks.timing import ratio, side_by_side
from datamodules.solar_audio import solar
from datamodules.splits import Task, split_tasks
from gpvae.inducing import LegS

NUM_TEST = 102
#: Contenders that run only in the first round.
SLOW = (REFIT, WARM)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--num-inducing", nargs="+", type=int, default=[50])
    options.add_argument("--dt", type=float, default=0.01, help="step of the recurrence")
    options.add_argument("--steps", type=int, default=300, help="steps of Adam in each fit of an SVGP")
    options.add_argument("--repeats", type=int, default=7)
    args = options.parse_args()
    if args.quick:
        args.repeats, args.dt, args.steps = 1, 0.05, 10

    torch.set_num_threads(1)
    tasks = split_tasks(*solar(), 10, NUM_TEST, seed=0)
    fitted = fit(tasks, LegS(max(args.num_inducing)))
    rows = [row for num in args.num_inducing for row in measure(num, fitted, tasks, args)]
    lengthscale = fitted[0].base_kernel.lengthscale.item()
    for num in args.num_inducing:
        table(
            f"Solar, M = {num}: ten updates and a prediction of {NUM_TEST} points; lengthscale {lengthscale:.3g}",
            ["", "CPU ms a task", "wall ms a task", "test NLPD", *(f"times {name}" for name in OURS)],
            [
                [
                    r["name"],
                    *(100 * r[f"{clock}_seconds"] for clock in ("median", "wall")),
                    r["nlpd"],
                    *r["times"].values(),
                ]
                for r in rows
                if r["num_inducing"] == num
            ],
        )
    steps = f"{round(10 / args.dt)} steps of the recurrence in all, {args.steps} of Adam a fit"
    console.print(f"times: CPU seconds against those of this package; {steps}; {args.repeats} rounds")
    first = args.num_inducing[0]
    headline = {
        f"{r['name']} / {ours}": r["times"][ours]
        for r in rows
        if r["num_inducing"] == first and r["name"] not in OURS
        for ours in OURS[:2]
    }
    results = {"arguments": vars(args) | {"output": str(args.output)}, "rows": rows}
    save("solar_stream", results, args.output, headline)


def measure(num: int, fitted: Fitted, tasks: Sequence[Task], args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each contender with this number of inducing variables."""
    scores: dict[str, float] = {}
    x, y = test_points(tasks)

    def streamed(name: str, make: Make) -> Callable[[], None]:
        def run() -> None:
            model = make(num, fitted)
            with expected_warnings():
                for task in tasks:
                    model.update(task.x_train, task.y_train)
                scores[name] = -float(model.predict(x).log_prob(y).mean())

        return run

    makers = contenders(args.dt, args.steps)
    timings = side_by_side({name: streamed(name, make) for name, make in makers.items()}, args.repeats, once=SLOW)
    return [
        {
            "name": name,
            "num_inducing": num,
            **timing.as_dict(),
            "wall_seconds": timing.wall_median,
            "nlpd": scores[name],
            "times": {ours: ratio(timing, timings[ours]) for ours in OURS},
        }
        for name, timing in timings.items()
    ]


if __name__ == "__main__":
    main()
