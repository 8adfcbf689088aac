"""A thousand tasks of a small GP-VAE: memory of the process, live tensors, and the time of a task, early and late.

Three series of three variables, three hours and one training step in each task, with EWC and replay. The process is
inspected every 50 tasks; each method runs in its own process. CPU seconds are compared in two ways. After every task
some constant work is timed, and the time of a task is expressed in units of it. Finally the models after 50 and after
900 tasks are loaded, and learn a hundred tasks each, in turn.
"""

import argparse
import gc
import io
import json
import statistics
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from rich.progress import track
from torch import Tensor, nn

from benchmarks.process_memory import anonymous_bytes, live_tensors
from benchmarks.processes import in_a_process
from benchmarks.report import console, parser, save, table
from benchmarks.timing import Timing, ratio
from benchmarks.vae_steps import stepper
from gpvae.diagnostics import ResolutionWarning
from gpvae.modules import SVGPVAE

METHODS = ("CosS", "OVC")
SERIES, VARIABLES, HOURS = 3, 3, 3
#: How often the process is inspected.
INSPECTIONS = 20
#: What is compared between late and early inspections.
COMPARED = {
    "memory": "bytes",
    "tensors": "tensors",
    "numbers": "numbers",
    "Python objects": "objects",
    "CPU time in yardsticks": "units",
}
SIZES = {"num_inducing": 6, "num_variables": VARIABLES, "latent_dim": 2, "hidden_dim": 8, "num_samples": 5}
HEADLINE = {
    "memory": "bytes",
    "tensors": "tensors",
    "time": "units",
    "time by turns": "seconds",
    "time since nodes are settled": "units_since_settled",
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=1000)
    options.add_argument("--only", choices=METHODS, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.quick:
        args.tasks = 60
    if args.only:
        print(json.dumps(measure(args.only, args.tasks)))
        return
    cases = track(METHODS, "Measuring", console=console, transient=True)
    found = {method: in_a_process("vae_long_stream", "--tasks", args.tasks, "--only", method) for method in cases}
    columns = ["tasks", "memory MB", "tensors", "numbers", "Python objects", "nodes", "CPU ms a task", "in yardsticks"]
    for method, seen in found.items():
        rows = [
            [r["tasks"], r["bytes"] / 1e6, *list(r.values())[2:6], 1e3 * r["seconds"], r["units"]]
            for r in seen["records"]
        ]
        table(f"{method}: the process by number of tasks", columns, rows)
    rows = [[method, *seen["late_against_early"].values()] for method, seen in found.items()]
    titles = ["", *COMPARED, "memory MB more", "since nodes are settled", "CPU seconds, by turns"]
    table("Late / early: the last two inspections over the second and third", titles, rows)
    headline = {
        f"{method}: {name}, late / early": seen["late_against_early"][key]
        for method, seen in found.items()
        for name, key in HEADLINE.items()
    }
    save("vae_long_stream", found, args.output, headline)


def measure(method: str, num_tasks: int) -> dict[str, Any]:
    """Learn all tasks, inspect the process on the way, and time the early and the late state in turn."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ResolutionWarning)
    gc.collect()
    gc.freeze()  # imported objects need not be traversed after every task
    every, rounds = num_tasks // INSPECTIONS, num_tasks // 10
    module, work, records, kept = small(method), yardstick(), [], {}
    learning, working = Timing(), Timing()
    for number in range(num_tasks):
        if number in (every, num_tasks - rounds):
            kept[number] = saved_state(module)
        learning.time(partial(learn, module, task(number)))
        working.time(work)
        if (number + 1) % every == 0:
            tensors, numbers = live_tensors()
            objects = len(gc.get_objects())
            sizes = {"bytes": anonymous_bytes(), "tensors": tensors, "numbers": numbers, "objects": objects}
            sizes["nodes"] = len(getattr(module.vae.posterior.inducing, "positions", ()))
            seconds, units = learning.seconds[-every:], working.seconds[-every:]
            ratios = [one / unit for one, unit in zip(seconds, units, strict=True)]
            times = {"seconds": statistics.median(seconds), "units": statistics.median(ratios)}
            records.append({"tasks": number + 1, **sizes, **times})
    return {
        "records": records,
        "late_against_early": compare(records) | {"seconds": by_turns(method, kept, rounds)},
    }


def compare(records: list[dict[str, float]]) -> dict[str, float]:
    """Ratios of the last two records to the second and third, and for time also to the fourth and fifth.

    Caches fill during the first. The nodes of CosS grow with the stream up to a limit, which the third record reaches.
    """

    def mean(name: str, some: list[dict[str, float]]) -> float:
        return statistics.mean(record[name] for record in some)

    early, late = records[1:3], records[-2:]
    more = (mean("bytes", late) - mean("bytes", early)) / 1e6
    ratios = {name: mean(name, late) / mean(name, early) for name in COMPARED.values()}
    settled = mean("units", late) / mean("units", records[3:5])
    return ratios | {"megabytes_more": more, "units_since_settled": settled}


def by_turns(method: str, kept: dict[int, bytes], rounds: int) -> float:
    """CPU seconds of a task from the late state, relative to one from the early state."""
    modules = {number: small(method) for number in kept}
    for number, state in kept.items():
        modules[number].load_state_dict(torch.load(io.BytesIO(state), weights_only=True))
    timings = {number: Timing() for number in kept}
    for i in range(rounds):
        for number, module in modules.items():
            timings[number].time(partial(learn, module, task(number + i)))
    early, late = timings.values()
    return ratio(late, early)


def small(method: str) -> SVGPVAE:
    torch.manual_seed(0)
    module = SVGPVAE(method=method, consolidation="both", **SIZES)
    module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
    return module


def yardstick() -> Callable[[], None]:
    """Constant work of the same kind as a task's, on small tensors."""
    network = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 3))
    optimiser, x = torch.optim.Adam(network.parameters()), torch.ones(3, 3)

    def work() -> None:
        for _ in range(15):
            optimiser.zero_grad()
            torch.linalg.cholesky(network(x).square().sum() * torch.eye(6) + torch.eye(6)).sum().backward()
            optimiser.step()

    return work


def task(number: int) -> tuple[Tensor, Tensor, Tensor]:
    """Times, observations and mask of all series."""
    rng, shape = torch.Generator().manual_seed(number), (SERIES, HOURS, VARIABLES)
    times = HOURS * number + torch.arange(HOURS, dtype=torch.float64)
    return times, torch.randn(shape, generator=rng), torch.ones(shape, dtype=torch.bool)


def learn(module: SVGPVAE, data: tuple[Tensor, Tensor, Tensor]) -> None:
    """Learn a task in one step."""
    module.begin_task(*data)
    stepper(module, (torch.arange(SERIES), *data))()
    module.end_task()


def saved_state(module: SVGPVAE) -> bytes:
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    return file.getvalue()


if __name__ == "__main__":
    main()
