"""CPU time of training steps of the shipped config: one process with all series, against two that share them by DDP.

All processes have one thread. A single process and a pair take blocks of steps in turn, so that a busy machine slows
both. The efficiency is the ratio of CPU seconds for each series and step, of one process and of both. The share of
time that the pair does not compute, for instance as it waits for the other process, is measured apart.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

HERE = Path(__file__).resolve().parent.parent


class TrainingStep(nn.Module):
    """The loss of a step, as the forward pass that DistributedDataParallel knows."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *batch: Tensor) -> Tensor:
        loss: Tensor = self.module.training_step(batch, 0)  # type: ignore[operator]
        return loss


def serve(rank: int, world: int, port: int, series: int, num_inducing: int) -> None:
    """Take as many steps as each line of the standard input says, and print CPU and wall seconds."""
    from benchmarks.step_cost import Steps

    torch.set_num_threads(1)
    if world > 1:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    steps = Steps("shipped", num_inducing, series)
    module = steps.module
    module.log_step = lambda *values, **options: None  # type: ignore[method-assign,assignment]
    steps.begin(2)
    _, times, y, mask = steps.batch
    own = torch.arange(rank, series, world)
    batch = own, times, y[own], mask[own]
    forward: nn.Module = TrainingStep(module)
    if world > 1:
        names = [f"module.{name}" for name, _ in module.named_buffers()]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(forward, names)
        forward = DistributedDataParallel(forward)

    def step() -> None:
        steps.optimiser.zero_grad()
        forward(*batch).backward()
        for parameter in module.frozen_parameters():
            parameter.grad = None
        steps.optimiser.step()

    step()
    print("ready", flush=True)
    for line in sys.stdin:
        begin = time.process_time(), time.perf_counter()
        for _ in range(int(line)):
            step()
        print(json.dumps([time.process_time() - begin[0], time.perf_counter() - begin[1]]), flush=True)


class Processes:
    """Processes that train together."""

    def __init__(self, world: int, series: int, num_inducing: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        variables = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        self.processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.ddp_cost",
                    "--serve",
                    *map(str, (rank, world, port, series, num_inducing)),
                ],
                cwd=HERE,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        for process in self.processes:
            assert process.stdout is not None
            process.stdout.readline()

    def take(self, num_steps: int) -> tuple[float, float]:
        """Take steps; CPU seconds of all processes, and wall seconds of the slowest."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{num_steps}\n")
            process.stdin.flush()
        times = [json.loads(process.stdout.readline()) for process in self.processes if process.stdout is not None]
        return sum(cpu for cpu, _ in times), max(wall for _, wall in times)

    def end(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.communicate()


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        return serve(*map(int, sys.argv[2:]))
    from benchmarks.report import parser, save, table

    options = parser(__doc__)
    options.add_argument("--num-inducing", type=int, default=100)
    options.add_argument("--series", nargs="+", type=int, default=[16, 256])
    options.add_argument("--blocks", type=int, default=15)
    args = options.parse_args()
    if args.quick:
        args.num_inducing, args.series, args.blocks = 10, [4], 2
    rows: list[list[object]] = []
    for series in args.series:
        single, pair = (Processes(world, series, args.num_inducing) for world in (1, 2))
        num_steps = max(1, 256 // series)
        ratios, waits, milliseconds = [], [], []
        for _ in range(args.blocks):
            (alone, _), (together, wall) = single.take(num_steps), pair.take(num_steps)
            ratios.append(alone / together)
            waits.append(1 - together / (2 * wall))
            milliseconds.append(1000 * alone / num_steps)
        for processes in (single, pair):
            processes.end()
        quartiles = statistics.quantiles(ratios, n=4)
        rows.append(
            [
                series,
                statistics.median(milliseconds),
                quartiles[1],
                quartiles[0],
                quartiles[2],
                statistics.median(waits),
            ]
        )
    columns = [
        "series",
        "CPU ms per step, one process",
        "efficiency",
        "lower quartile",
        "upper quartile",
        "share not computing",
    ]
    table("Two processes against one, by CPU time for each series and step", columns, rows)
    headline = {f"{row[0]} series: efficiency of two processes": row[2] for row in rows}
    save("ddp_cost", [dict(zip(columns, row, strict=True)) for row in rows], args.output, headline)
    return None


if __name__ == "__main__":
    main()
