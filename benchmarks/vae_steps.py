"""Training steps of the GP-VAE per second, and the gain from computing constants of a task once.

A model with cosines, replay and a clock learns some tasks of the sample; then one training step (loss,
gradients, Adam) is timed in three ways. `every step`: kuu, its Cholesky factor, the features and the past are computed
in every step, as in a conventional implementation. `once a task`: they are computed once. `condensed`, as in the
package: once, and restricted to the few variables that the hours of the task depend on. All have the same bound.
"""

import argparse
from collections.abc import Callable

import torch

from benchmarks.era5_variants import COMMON
from benchmarks.report import console, parser, save, table
from benchmarks.timing import ratio, side_by_side
from datamodules.era5 import ERA5
from gpvae.modules import SVGPVAE

EVERY_STEP, ONCE, CONDENSED = "every step", "once a task", "condensed"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--num-inducing", nargs="+", type=int, default=[50, 100])
    options.add_argument("--tasks", nargs="+", type=int, default=[2, 5, 10], help="tasks in which a step is timed")
    options.add_argument("--repeats", type=int, default=15)
    args = options.parse_args()
    if args.quick:
        args.num_inducing, args.tasks, args.repeats = [20], [2], 3
    torch.set_num_threads(1)
    rows = [row for num_inducing in args.num_inducing for row in measure(num_inducing, args)]
    columns = [
        "M",
        "task",
        "variables touched",
        "steps/s condensed",
        f"{ONCE} / condensed",
        f"{EVERY_STEP} / condensed",
    ]
    table("CPU seconds of a training step, 8 series, 149 hours, 20 latent dimensions", columns, rows)
    headline = {f"{EVERY_STEP} / condensed, M = {row[0]}, task {row[1]}": row[-1] for row in rows}
    save("vae_steps", [dict(zip(columns, row, strict=True)) for row in rows], args.output, headline)


def measure(num_inducing: int, args: argparse.Namespace) -> list[list[object]]:
    """A row for each task in which steps are timed."""
    torch.manual_seed(0)
    data = ERA5(points=8)
    data.prepare_data()
    data.setup()
    options = {"num_inducing": num_inducing, "inducing": "CosS", "consolidation": "replay", "periods": [24.0]}
    module = SVGPVAE(num_variables=data.num_variables, **options, **COMMON)
    module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
    rows: list[list[object]] = []
    for task in range(max(args.tasks)):
        module.begin_task(*data.task_data(task))
        (batch,) = data.train_loader(task, 0, 0, 1)
        step = stepper(module, batch)
        step()  # so that the decoder has changed
        if task + 1 in args.tasks:
            console.print(f"M = {num_inducing}, task {task + 1}")
            rows.append([num_inducing, task + 1, *compare(module, batch.times, step, args.repeats)])
        module.end_task()
    return rows


def stepper(module: SVGPVAE, batch: tuple[torch.Tensor, ...]) -> Callable[[], None]:
    """A function that performs one training step."""
    optimiser = module.configure_optimizers()

    def step() -> None:
        optimiser.zero_grad()
        module.training_step(batch, 0).backward()
        for parameter in module.frozen_parameters():
            parameter.grad = None
        optimiser.step()

    return step


def compare(module: SVGPVAE, times: torch.Tensor, step: Callable[[], None], repeats: int) -> list[object]:
    """Variables touched, steps per second, and the relative time of a step in the other ways."""
    if module.learned == 0:
        raise ValueError("the kernel is trained in the first task, where nothing is cached: choose later tasks")
    task = module._task
    assert task is not None
    condensed = task._fixed
    assert condensed is not None
    with torch.no_grad():
        once = module.vae.task(times)

    def step_with(fixed: object) -> Callable[[], None]:
        def run() -> None:
            task._fixed = fixed  # type: ignore[assignment]
            step()

        return run

    ways = {CONDENSED: step_with(condensed), ONCE: step_with(once), EVERY_STEP: step_with(None)}
    timings = side_by_side(ways, repeats)
    task._fixed = condensed
    others = [ratio(timings[way], timings[CONDENSED]) for way in (ONCE, EVERY_STEP)]
    return [condensed[0].a.shape[-2], 1 / timings[CONDENSED].median, *others]


if __name__ == "__main__":
    main()
