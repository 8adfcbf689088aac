"""A thousand tasks: the cost of an update early and late in a stream, and the size of the model.

There are two kinds of streams over time. `resolved`: a fixed interval is divided into a thousand tasks, with a
lengthscale that M inducing variables resolve to the end. `unbounded`: each task is a tenth as long as that interval, so
that the stream grows far beyond what M inducing variables resolve; the nodes of LegS and CosS then grow with it up to
their limit. The stream of paths draws four-dimensional inputs at random. Targets are noisy sines; the cost does not
depend on them.
"""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from rich.progress import track
from torch import Tensor

from benchmarks.process_memory import anonymous_bytes
from benchmarks.report import console, parser, save, table
from benchmarks.streams import expected_warnings
from benchmarks.timing import Timing, ratio
from gpvae.inducing import CosS, InducingVariables, LegS, LegSPath, PivotedPoints
from gpvae.online_gp import OnlineGP

NUM_INDUCING = 50
POINTS_PER_TASK = 20
#: Tasks before the early state, and the number of updates timed from there and at the end.
EARLY = 9
ROUNDS = 51
#: Length of the resolved stream in lengthscales, which LegS with M = 50 resolves.
EXTENT = 20.0


@dataclass(frozen=True)
class Case:
    """A family of inducing variables on a kind of stream."""

    name: str
    family: Callable[[], InducingVariables]
    batches: Callable[[int], Iterator[tuple[Tensor, Tensor]]]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=1000)
    options.add_argument("--only", default="", help="run the cases whose name contains this")
    args = options.parse_args()
    num_tasks = 200 if args.quick else args.tasks

    torch.set_num_threads(1)
    rows = [measure(case, num_tasks) for case in cases() if args.only in case.name]
    table(
        f"Updates from task {EARLY + 1} and from task {num_tasks - ROUNDS + 1} on, of {num_tasks} tasks "
        f"of {POINTS_PER_TASK} points, M = {NUM_INDUCING}",
        ["", "ms early", "ms late", "ratio", "state kB early", "late", "ratio", "RSS growth MB", "nodes"],
        [
            [
                r["name"],
                1e3 * r["early"]["median_seconds"],
                1e3 * r["late"]["median_seconds"],
                r["ratio_seconds"],
                r["state_bytes"][0] / 1e3,
                r["state_bytes"][1] / 1e3,
                r["state_bytes"][1] / r["state_bytes"][0],
                r["rss_growth_bytes"] / 1e6,
                "{} → {}".format(*r["nodes"]),
            ]
            for r in rows
        ],
    )
    console.print(f"seconds: median CPU time of {ROUNDS} updates, alternately early and late; state: its tensors")
    headline = {f"{r['name']}: late / early": r["ratio_seconds"] for r in rows}
    save("long_stream", {"num_tasks": num_tasks, "rows": rows}, args.output, headline)


def cases() -> list[Case]:
    families: dict[str, Callable[[], InducingVariables]] = {
        "LegS": lambda: LegS(NUM_INDUCING),
        "CosS": lambda: CosS(NUM_INDUCING),
        "PivotedPoints": lambda: PivotedPoints(NUM_INDUCING),
    }
    streams = {"resolved": lambda n: series(n, EXTENT / n), "unbounded": lambda n: series(n, EXTENT / 10)}
    over_time = [
        Case(f"{name}, {kind}", family, batches)
        for kind, batches in streams.items()
        for name, family in families.items()
    ]
    return [*over_time, Case("LegSPath, 4 dimensions", lambda: LegSPath(NUM_INDUCING), paths)]


def series(num_tasks: int, task_length: float) -> Iterator[tuple[Tensor, Tensor]]:
    """Consecutive tasks of equal length."""
    rng = torch.Generator().manual_seed(0)
    for i in range(num_tasks):
        x = task_length * (i + torch.rand(POINTS_PER_TASK, 1, dtype=torch.float64, generator=rng).sort(0).values)
        yield x, torch.sin(x[:, 0]) + 0.1 * torch.randn(len(x), dtype=torch.float64, generator=rng)


def paths(num_tasks: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Tasks of points that drift through four dimensions."""
    rng = torch.Generator().manual_seed(0)
    for i in range(num_tasks):
        centre = torch.tensor([math.sin((1 + d) * i / 50) for d in range(4)], dtype=torch.float64)
        x = centre + 0.3 * torch.randn(POINTS_PER_TASK, 4, dtype=torch.float64, generator=rng)
        yield x, x.sin().sum(-1) + 0.1 * torch.randn(len(x), dtype=torch.float64, generator=rng)


def measure(case: Case, num_tasks: int) -> dict[str, Any]:
    """Learn the stream up to the last tasks, keep a copy of an early state, and update both alternately."""
    kernel, likelihood = ScaleKernel(RBFKernel()), GaussianLikelihood()
    kernel.base_kernel.lengthscale, likelihood.noise = 1.0, 0.01
    late = OnlineGP(case.family(), kernel, likelihood, mean=ZeroMean())
    batches = list(case.batches(num_tasks))
    with expected_warnings():
        for i, batch in enumerate(track(batches[:-ROUNDS], description=case.name, transient=True)):
            if i == EARLY:
                early, rss = copy.deepcopy(late), anonymous_bytes()
            late.update(*batch)
        growth = anonymous_bytes() - rss
        timings = Timing(), Timing()
        for first, last in zip(batches[EARLY:], batches[-ROUNDS:], strict=False):
            timings[0].time(partial(early.update, *first))
            timings[1].time(partial(late.update, *last))
    return {
        "name": case.name,
        "early": timings[0].as_dict(),
        "late": timings[1].as_dict(),
        "ratio_seconds": ratio(timings[1], timings[0]),
        "state_bytes": [state_bytes(model) for model in (early, late)],
        "rss_growth_bytes": growth,
        "nodes": [len(getattr(model.inducing, "positions", ())) for model in (early, late)],
    }


def state_bytes(model: OnlineGP) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())


if __name__ == "__main__":
    main()
