"""Training steps of the GP-VAE compared with a conventional GP-VAE in gpytorch: their time, and the bound they reach.

Both have 8 series of the sample, 149 hours in a task, 17 variables, 20 latent dimensions, 50 inducing variables, and
the same networks and kernels; see `benchmarks.gpytorch_vae` for gpytorch's. Ours is timed in the first task, where
kernels are trained and nothing is cached, and in a later one, with replay of the past. gpytorch's step is timed on the
hours of the first task (kernels trained), on those of the later task alone with fixed kernels (it forgets the others),
and on all hours so far (it keeps them). Then the first task is learnt again, and the bounds are compared step by step.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.era5_variants import COMMON
from benchmarks.gpytorch_vae import PlainGPVAE
from benchmarks.powers import exponent
from benchmarks.report import console, parser, save, table
from benchmarks.timing import Timing, ratio, side_by_side
from benchmarks.vae_steps import stepper
from datamodules.era5 import ERA5
from gpvae.modules import SVGPVAE

OURS, FREE, ENCODER = "this package", "gpytorch: free q(u)", "gpytorch: encoder"
SERIES = 8


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--num-inducing", type=int, default=50)
    options.add_argument("--latent-dim", type=int, default=20)
    options.add_argument("--task", type=int, default=5, help="the later task")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--steps", type=int, default=60, help="steps on the first task, for the bound")
    options.add_argument("--series", nargs="+", type=int, default=[2, 4, 8], help="numbers of series for the growth")
    args = options.parse_args()
    if args.quick:
        args.num_inducing, args.latent_dim, args.task, args.repeats, args.steps, args.series = 10, 4, 2, 1, 2, [2, 4]
    torch.set_num_threads(1)
    data = ERA5(points=SERIES)
    data.prepare_data()
    data.setup()
    seconds = {**first_task(data, args), **later_task(data, args)}
    rows = [[task, name, 1 / t.median, ratio(t, ours(seconds, task))] for (task, name), t in seconds.items()]
    title = f"Training steps, {SERIES} series, 149 hours a task, L = {args.latent_dim}, M = {args.num_inducing}"
    table(title, ["task", "", "steps/s", "CPU seconds / ours"], rows)
    grown = against_series(data, args)
    table(
        "CPU ms of a step on the first task against the number of series",
        ["", *map(str, args.series), "power"],
        [[name, *(1e3 * t for t in times), exponent(args.series, times)] for name, times in grown.items()],
    )
    bounds = reached(data, args)
    marks = sorted({max(1, args.steps * share // 4) for share in (1, 2, 3, 4)})
    table(
        "Bound of the first task, per observed value, by number of steps (mean over the last ten)",
        ["", *map(str, marks)],
        [[name, *(f"{smooth(values, mark):.3f}" for mark in marks)] for name, values in bounds.items()],
    )
    console.print("the model with an encoder has a little more noise in its latents")
    needed = {name: first_at(bounds[OURS], smooth(bounds[name], args.steps)) for name in (FREE, ENCODER)}
    for name, step in needed.items():
        console.print(f"{name} after {args.steps} steps: ours reached it after {step or f'more than {args.steps}'}")
    headline = {f"{name} / ours, {task} task": times for task, name, _, times in rows if name != OURS}
    headline |= {
        f"bound, ours - {name}": smooth(bounds[OURS], args.steps) - smooth(bounds[name], args.steps) for name in needed
    }
    results: dict[str, Any] = {
        "arguments": vars(args) | {"output": str(args.output)},
        "steps": {f"{task}: {name}": timing.as_dict() for (task, name), timing in seconds.items()},
        "series": grown,
        "bounds": bounds,
    }
    save("vae_line_up", results, args.output, headline)


def ours(seconds: dict[tuple[str, str], Timing], task: str) -> Timing:
    return seconds[task, OURS]


def first_task(data: ERA5, args: argparse.Namespace) -> dict[tuple[str, str], Timing]:
    """Steps on the first task."""
    ways = {name: begin(name, data, args)[0] for name in (OURS, FREE, ENCODER)}
    return {("first", name): timing for name, timing in side_by_side(ways, args.repeats).items()}


def later_task(data: ERA5, args: argparse.Namespace) -> dict[tuple[str, str], Timing]:
    """Steps on a later task."""
    number = args.task - 1
    module = package(data, args)
    for task in range(number):
        module.begin_task(*data.task_data(task))
        step_on(module, data, task)()
        module.end_task()
    module.begin_task(*data.task_data(number))
    alone = data.task_data(number)
    so_far = tuple(
        torch.cat(parts, dim)
        for parts, dim in zip(zip(*map(data.task_data, range(args.task)), strict=True), (0, 1, 1), strict=True)
    )
    ways = {
        OURS: step_on(module, data, number),
        f"{FREE}, task alone": usual(alone, args, trained_kernel=False)[0],
        f"{ENCODER}, task alone": usual(alone, args, encoder=True, trained_kernel=False)[0],
        f"{FREE}, all hours": usual(so_far, args, trained_kernel=False)[0],
    }
    return {(f"number {args.task}", name): timing for name, timing in side_by_side(ways, args.repeats).items()}


def against_series(data: ERA5, args: argparse.Namespace) -> dict[str, list[float]]:
    """CPU seconds of a step on the first task by number of series."""
    grown = {}
    for name in (OURS, FREE, ENCODER):
        ways = {str(series): begin(name, data, args, series)[0] for series in args.series}
        grown[name] = [timing.median for timing in side_by_side(ways, args.repeats).values()]
    return grown


def reached(data: ERA5, args: argparse.Namespace) -> dict[str, list[float]]:
    """The bound per observed value after every step on the first task."""
    bounds = {}
    for name in (OURS, FREE, ENCODER):
        torch.manual_seed(0)
        step, values = begin(name, data, args)
        for _ in range(args.steps):
            step()
        bounds[name] = values
    return bounds


def begin(
    name: str, data: ERA5, args: argparse.Namespace, series: int = SERIES
) -> tuple[Callable[[], None], list[float]]:
    """A step on the first task, and the list to which it adds its bound."""
    times, y, mask = data.task_data(0)
    some = (times, y[:series], mask[:series])
    if name != OURS:
        return usual(some, args, encoder=name == ENCODER)
    module, values = package(data, args), []

    def log(key: str, value: Tensor, **_: object) -> None:
        if key == "train/bound":
            values.append(float(value.detach()))

    module.log = log  # type: ignore[method-assign,assignment]
    module.begin_task(*some)
    return stepper(module, (torch.arange(series), *some)), values


def package(data: ERA5, args: argparse.Namespace) -> SVGPVAE:
    """A model with cosines, replay and a clock."""
    options = {"inducing": "CosS", "consolidation": "replay", "periods": [24.0], "latent_dim": args.latent_dim}
    module = SVGPVAE(num_variables=data.num_variables, num_inducing=args.num_inducing, **(COMMON | options))
    module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
    return module


def step_on(module: SVGPVAE, data: ERA5, task: int) -> Callable[[], None]:
    (batch,) = data.train_loader(task, 0, 0, 1)
    return stepper(module, batch)


def usual(
    data: tuple[Tensor, ...], args: argparse.Namespace, encoder: bool = False, trained_kernel: bool = True
) -> tuple[Callable[[], None], list[float]]:
    """A step of gpytorch's model, and the list to which it adds its bound."""
    times, y, mask = data
    model = PlainGPVAE(times, len(y), y.shape[-1], args.num_inducing, args.latent_dim, encoder=encoder)
    model.latents.covar_module.requires_grad_(trained_kernel)
    optimiser, values = model.optimiser(), []

    def step() -> None:
        optimiser.zero_grad()
        value = model.bound(times, y, mask) / mask.sum()
        (-value).backward()
        optimiser.step()
        values.append(float(value.detach()))

    return step, values


def smooth(values: list[float], step: int) -> float:
    return statistics.mean(values[max(0, step - 10) : step])


def first_at(values: list[float], level: float) -> int | None:
    """The first step at which a bound reaches a level."""
    return next((step for step in range(1, len(values) + 1) if smooth(values, step) >= level), None)


if __name__ == "__main__":
    main()
