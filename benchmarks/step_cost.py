"""What a training step of the GP-VAE asks of a device, and its CPU time, also compared with another checkout.

Launches, synchronisations and random draws of the host are counted on a simulated device (tests/device). They say
where a step runs and how often the host waits, not how fast an accelerator is. `--other PATH` gives a checkout of
another commit: two processes then take steps in turn, and the ratio of their CPU times is that of medians.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent.parent
#: Hours of a task and variables, and those of the small model on which launches are counted: they do not depend on it.
SIZES, SMALL = (149, 17), (24, 3)
#: Models whose steps are measured: that of `vae_steps`, and that of the shipped config for ERA5.
MODELS: dict[str, dict[str, Any]] = {
    "networks of the paper, replay": {
        "inducing": "CosS",
        "consolidation": "replay",
        "periods": [24.0],
        "latent_dim": 20,
        "longest": 100.0,
        "horizon": 0.0,
        "networks": "mlp",
        "noise": "variable",
        "schedule": "constant",
        "left_out": 0.0,
        "replay_times": 256,
        "shared_precision": False,
    },
    "shipped": {
        "inducing": "CosineExpansion",
        "kernel": "matern12",
        "waves": [24.0, 12.0, 8.0, 6.0],
        "hyperparameters": "fixed",
        "consolidation": "replay",
        "periods": [24.0],
        "horizon": 1490.0,
    },
}


class Steps:
    """A model that has begun a task, and its training steps.

    Args:
        model: One of `MODELS`.
        num_inducing: Number of inducing variables.
        series: Number of series, all of which take part in every step.
        task: The task, from 1; one step is taken in each task before it.
        device: The device.
        sizes: Hours of a task, and variables.
    """

    def __init__(
        self,
        model: str,
        num_inducing: int,
        series: int,
        task: int,
        *,
        device: str = "cpu",
        sizes: tuple[int, int] = SIZES,
    ) -> None:
        from gpvae.modules import SVGPVAE  # of the checkout that is measured

        torch.manual_seed(0)
        self.module = SVGPVAE("OHSVGP", num_inducing, num_variables=sizes[1], **MODELS[model]).to(device)
        self.module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
        for number in range(task):
            times, y, mask = (part.to(device) for part in _data(number, series, *sizes))
            self.module.begin_task(times, y, mask)
            self.batch = torch.arange(series, device=device), times, y, mask
            self.optimiser = self.module.configure_optimizers()
            self.step()
            if number + 1 < task:
                self.module.end_task()

    def step(self) -> None:
        """Take a step."""
        self.optimiser.zero_grad()
        self.module.training_step(self.batch, 0).backward()
        for parameter in self.module.frozen_parameters():
            parameter.grad = None
        self.optimiser.step()


def _data(task: int, series: int, hours: int, variables: int) -> tuple[torch.Tensor, ...]:
    """Waves of a day and of weather, with noise, of a task from 0."""
    rng = torch.Generator().manual_seed(task)
    times = hours * task + torch.arange(hours, dtype=torch.float64)
    phase = torch.linspace(0, 3, series)[:, None, None] + torch.arange(variables)
    waves = torch.sin(2 * torch.pi * times / 24)[:, None] + torch.sin(times[:, None] / 40 + phase)
    y = (waves + 0.3 * torch.randn(series, hours, variables, generator=rng)).float()
    return times, y, torch.ones_like(y, dtype=torch.bool)


def counted(model: str, num_inducing: int, series: int, task: int) -> dict[str, int]:
    """Launches, synchronisations and random draws of the host in a step on the simulated device."""
    path = HERE / "tests" / "device" / "second_device.py"
    spec = importlib.util.spec_from_file_location("second_device", path)
    assert spec is not None
    assert spec.loader is not None
    device = importlib.util.module_from_spec(spec)
    sys.modules["second_device"] = device
    spec.loader.exec_module(device)
    if (reason := device.missing()) is not None:
        return {"launches": -1, "reason": reason}
    device.load()
    steps = Steps(model, min(num_inducing, 12), min(series, 8), min(task, 2), device=device.NAME, sizes=SMALL)
    steps.step()
    with device.counting() as counts:
        steps.step()
    return {name: getattr(counts, name) for name in ("launches", "synchronisations", "uploads", "host_draws")}


def serve(case: list[Any]) -> None:
    """Answer requests on the standard input: `count`, or the number of steps to time, in CPU milliseconds each."""
    torch.set_num_threads(1)
    steps: Steps | None = None
    for line in sys.stdin:
        if line.strip() == "count":
            print(json.dumps(counted(*case)), flush=True)
            continue
        steps = steps or Steps(*case)
        begin = time.process_time()
        for _ in range(int(line)):
            steps.step()
        print(json.dumps(1000 * (time.process_time() - begin) / int(line)), flush=True)


def worker(checkout: Path, case: list[Any]) -> Callable[[object], Any]:
    """A process that takes steps with the packages of a checkout, and a function that asks it."""
    variables = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(HERE / "benchmarks" / "step_cost.py"), "--serve", json.dumps(case)]
    process = subprocess.Popen(
        command, cwd=checkout, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def ask(request: object) -> Any:  # noqa: ANN401
        requests.write(f"{request}\n")
        requests.flush()
        return json.loads(answers.readline())

    return ask


def measure(checkouts: list[Path], case: list[Any], repeats: int) -> list[tuple[dict[str, int], float]]:
    """Counts and the median time of a step in each checkout, which take turns."""
    workers = [worker(checkout, case) for checkout in checkouts]
    counts = [ask("count") for ask in workers]
    num_steps = max(1, int(300 / workers[0](2)))  # some 0.3 seconds
    times: list[list[float]] = [[] for _ in workers]
    for _ in range(repeats):
        for ask, found in zip(workers, times, strict=True):
            found.append(ask(num_steps))
    return [(count, statistics.median(found)) for count, found in zip(counts, times, strict=True)]


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        return serve(json.loads(sys.argv[2]))
    from benchmarks.report import console, parser, save, table

    options: argparse.ArgumentParser = parser(__doc__)
    options.add_argument("--other", type=Path, help="a checkout of another commit, for the ratio")
    options.add_argument("--num-inducing", type=int, default=100)
    options.add_argument("--tasks", nargs="+", type=int, default=[1, 2, 5, 10])
    options.add_argument(
        "--series", nargs="+", type=int, default=[8, 256, 1024], help="all but the first in task 2 only"
    )
    options.add_argument("--repeats", type=int, default=7)
    args = options.parse_args()
    if args.quick:
        args.num_inducing, args.tasks, args.series, args.repeats = 10, [2], [4], 1
    checkouts = [HERE, *([args.other.resolve()] if args.other else [])]
    first, *more = args.series
    cases = [(task, first) for task in args.tasks] + [(2, series) for series in more]
    rows: list[list[object]] = []
    headline = {}
    for model in MODELS:
        for task, series in cases:
            found = measure(checkouts, [model, args.num_inducing, series, task], args.repeats)
            (counts, milliseconds), *others = found
            rows.append([model, task, series, *counts.values(), milliseconds])
            headline[f"{model}, task {task}, {series} series: ms a step"] = milliseconds
            for former, slower in others:
                rows[-1] += [f"{former['launches']}, {former['synchronisations']}, {former['host_draws']}"]
                rows[-1] += [slower / milliseconds]
                headline[f"{model}, task {task}, {series} series: other / this"] = slower / milliseconds
            console.print(rows[-1])
    columns = ["model", "task", "series", "launches", "synchronisations", "uploads", "host draws", "CPU ms a step"]
    columns += ["other: launches, synchronisations, draws", "other: times as long"] if args.other else []
    table(f"A training step with M = {args.num_inducing}, on one thread", columns, rows)
    save("step_cost", [dict(zip(columns, row, strict=True)) for row in rows], args.output, headline)
    return None


if __name__ == "__main__":
    main()
