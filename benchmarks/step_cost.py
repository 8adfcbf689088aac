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
#: Hours of a task and variables, and those of a small model.
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
    """A model that learns tasks, and its training steps.

    Args:
        model: One of `MODELS`.
        num_inducing: Number of inducing variables.
        series: Number of series, all of which take part in every step.
        device: The device.
        sizes: Hours of a task, and variables.
    """

    def __init__(
        self, model: str, num_inducing: int, series: int, *, device: str = "cpu", sizes: tuple[int, int] = SIZES
    ) -> None:
        from gpvae.modules import SVGPVAE  # of the checkout that is measured

        torch.manual_seed(0)
        self.series, self.sizes = series, sizes
        self.module = SVGPVAE("OHSVGP", num_inducing, num_variables=sizes[1], **MODELS[model]).to(device)
        self.module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]

    def begin(self, task: int) -> "Steps":
        """Begin a task, from 1; one step is taken in it, and in each task before it."""
        for number in range(int(self.module.begun), task):
            if number > 0:
                self.module.end_task()
            data = tuple(part.to(self.module.device) for part in _data(number, self.series, *self.sizes))
            self.module.begin_task(*data)
            self.batch = torch.arange(self.series, device=self.module.device), *data
            self.optimiser = self.module.configure_optimizers()
            self.step()
        return self

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


class Counter:
    """Counts what a step asks of the simulated device.

    Args:
        case: The arguments of `Steps`.
    """

    def __init__(self, case: list[Any]) -> None:
        spec = importlib.util.spec_from_file_location("second_device", HERE / "tests" / "device" / "second_device.py")
        assert spec is not None
        assert spec.loader is not None
        self.device = importlib.util.module_from_spec(spec)
        sys.modules["second_device"] = self.device
        spec.loader.exec_module(self.device)
        if (reason := self.device.missing()) is not None:
            raise SystemExit(f"{reason}: the simulated device cannot be compiled")
        self.device.load()
        self.steps = Steps(*case, device=self.device.NAME)

    def count(self, task: int) -> list[int]:
        """Launches, synchronisations, uploads and random draws of the host in a step of a task."""
        self.steps.begin(task).step()
        with self.device.counting() as counts:
            self.steps.step()
        return [counts.launches, counts.synchronisations, counts.uploads, counts.host_draws]


def serve(case: list[Any]) -> None:
    """Answer requests on the standard input: `count TASK`, `begin TASK`, and the CPU milliseconds of `step NUMBER`."""
    torch.set_num_threads(1)
    steps, counter = Steps(*case), None
    for line in sys.stdin:
        what, number = line.split()[0], int(line.split()[1])
        if what == "count":
            counter = counter or Counter(case)
            answer: object = counter.count(number)
        elif what == "begin":
            steps.begin(number)
            answer = None
        else:
            begin = time.process_time()
            for _ in range(number):
                steps.step()
            answer = 1000 * (time.process_time() - begin) / number
        print(json.dumps(answer), flush=True)


def worker(checkout: Path, case: list[Any]) -> Callable[[str], Any]:
    """A process that takes steps with the packages of a checkout, and a function that asks it."""
    variables = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(HERE / "benchmarks" / "step_cost.py"), "--serve", json.dumps(case)]
    process = subprocess.Popen(
        command, cwd=checkout, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def ask(request: str) -> Any:  # noqa: ANN401
        if request == "end":
            requests.close()
            answers.close()
            return process.wait()
        requests.write(f"{request}\n")
        requests.flush()
        return json.loads(answers.readline())

    return ask


def measure(workers: list[Callable[[str], Any]], task: int, repeats: int) -> list[float]:
    """The median time of a step of a task in each checkout, which take turns."""
    for ask in workers:
        ask(f"begin {task}")
    num_steps = max(1, int(300 / workers[0]("step 2")))  # some 0.3 seconds
    times: list[list[float]] = [[] for _ in workers]
    for _ in range(repeats):
        for ask, found in zip(workers, times, strict=True):
            found.append(ask(f"step {num_steps}"))
    return [statistics.median(found) for found in times]


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        return serve(json.loads(sys.argv[2]))
    from benchmarks.report import console, parser, save, table

    options: argparse.ArgumentParser = parser(__doc__)
    options.add_argument("--other", type=Path, help="a checkout of another commit, for the ratio")
    options.add_argument("--num-inducing", type=int, default=100)
    options.add_argument("--tasks", nargs="+", type=int, default=[1, 2, 5, 10])
    options.add_argument("--series", nargs="+", type=int, default=[8, 256, 1024])
    options.add_argument("--repeats", type=int, default=7)
    args = options.parse_args()
    if args.quick:
        args.num_inducing, args.tasks, args.series, args.repeats = 10, [2], [4], 1
    checkouts = [HERE, *([args.other.resolve()] if args.other else [])]
    first, *more = args.series
    cases = [(model, first, args.tasks) for model in MODELS] + [("shipped", series, [2]) for series in more]
    rows: list[list[object]] = []
    headline = {}
    for model, series, tasks in cases:
        workers = [worker(checkout, [model, args.num_inducing, series]) for checkout in checkouts]
        for task in tasks:
            few = series == first and task <= 2  # in later tasks, and for more series, counts are the same
            counts = [" / ".join(map(str, ask(f"count {task}"))) if few else "" for ask in workers]
            times = measure(workers, task, args.repeats)
            row: list[object] = [model, task, series]
            for count, milliseconds in zip(counts, times, strict=True):
                row += [count, milliseconds]
            name = f"{model}, task {task}, {series} series"
            headline[f"{name}: ms per step"] = times[0]
            if args.other:
                row.append(times[1] / times[0])
                headline[f"{name}: other / this"] = times[1] / times[0]
            rows.append(row)
            console.print(*row)
        for ask in workers:
            ask("end")
    what = "launches / synchronisations / uploads / draws on the host"
    columns = ["model", "task", "series", what, "CPU ms per step"]
    columns += [f"other: {what}", "other: CPU ms per step", "other / this"] if args.other else []
    table(f"A training step with M = {args.num_inducing}, on one thread", columns, rows)
    save("step_cost", [dict(zip(columns, row, strict=True)) for row in rows], args.output, headline)
    return None


if __name__ == "__main__":
    main()
