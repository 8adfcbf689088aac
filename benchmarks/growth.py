"""Growth of the time of an update and of the size of the state with tasks, points in a task, and inducing variables M.

Along each axis a model that has learnt some tasks of a synthetic stream learns one more, for several sizes in turn. The
power is fitted to the logarithms of the medians and compared with the number of operations. Constant costs, such as
Python's, make fitted powers smaller. The state is everything needed to continue the stream.
"""

import argparse
import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from gpytorch.models import ExactGP
from linear_operator.utils.errors import NotPSDError
from rich.progress import track
from torch import Tensor, nn

from benchmarks.contenders import EXACT, GROWING, OURS, OVC, REFIT, Contender, contenders, given_kernel, wave
from benchmarks.gpytorch_ovc import SVGP, GrowingOVC
from benchmarks.gpytorch_refits import SVGPRefit
from benchmarks.powers import exponent
from benchmarks.report import console, parser, save, table
from benchmarks.streams import expected_warnings
from benchmarks.timing import Timing

NAMES = (*OURS, OVC, GROWING, REFIT, EXACT)
#: Length of the stream in lengthscales for each inducing variable: M resolve it, and M points are not too close.
EXTENT = 0.4


@dataclass(frozen=True)
class Size:
    """Tasks before the timed one, points in a task, and inducing variables."""

    tasks: int
    points: int
    variables: int


@dataclass(frozen=True)
class Axis:
    """Sizes that differ in one respect, and the expected powers of time and state of each contender."""

    name: str
    sizes: tuple[Size, ...]
    time: dict[str, int]
    state: dict[str, int]


def powers(ours: int, ovc: int, growing: int, refit: int, exact: int) -> dict[str, int]:
    """Powers of all contenders; the last four are gpytorch's."""
    return dict.fromkeys(OURS, ours) | {OVC: ovc, GROWING: growing, REFIT: refit, EXACT: exact}


AXES = (
    Axis("tasks", tuple(Size(n, 20, 50) for n in (10, 25, 60, 100)), powers(0, 0, 2, 1, 3), powers(0, 0, 2, 1, 1)),
    Axis("points", tuple(Size(2, n, 50) for n in (50, 150, 450, 900)), powers(1, 3, 3, 1, 3), powers(0, 0, 2, 1, 1)),
    Axis("variables", tuple(Size(9, 40, n) for n in (25, 50, 100, 200)), powers(3, 3, 0, 3, 0), powers(2, 2, 0, 0, 0)),
)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--steps", type=int, default=20, help="steps of Adam in each fit of an SVGP")
    options.add_argument("--only", default="", help="run the contenders whose name contains this")
    args = options.parse_args()
    axes = AXES
    if args.quick:
        args.repeats, args.steps = 1, 2
        axes = tuple(Axis(axis.name, axis.sizes[:2], axis.time, axis.state) for axis in AXES)
    torch.set_num_threads(1)
    cases = [(axis, name) for axis in axes for name in NAMES if args.only in name]
    rows = [measure(axis, name, args) for axis, name in track(cases, "Measuring", console=console, transient=True)]
    for axis in axes:
        sizes = [getattr(size, axis.name) for size in axis.sizes]
        rest = {
            "tasks": "20 points a task, M = 50",
            "points": "third task, M = 50",
            "variables": "tenth task of 40 points",
        }
        table(
            f"CPU ms of an update against {axis.name} ({rest[axis.name]})",
            ["", *map(str, sizes), "power", "of the last two", "expected", "state kB", "power of state", "expected "],
            [
                [
                    r["name"],
                    *cells(r, sizes),
                    r["time_power"],
                    r["last_power"],
                    axis.time[r["name"]],
                    r["state_bytes"][-1] / 1e3 if r["state_bytes"] else None,
                    r["state_power"],
                    axis.state[r["name"]],
                ]
                for r in rows
                if r["axis"] == axis.name
            ],
        )
    console.print(f"{args.repeats} rounds; SVGP refitted in {args.steps} steps; state: of the largest size")
    console.print("fantasies hardly depend on M here: their inducing points are those of the first task, at most 40")
    named = {f"{r['name']}: power of time in {r['axis']}": r["time_power"] for r in rows if "Pivoted" not in r["name"]}
    headline = {name: power for name, power in named.items() if power is not None}
    results = {"arguments": vars(args) | {"output": str(args.output)}, "rows": rows}
    save("growth", results, args.output, headline)


def cells(row: dict[str, Any], sizes: list[int]) -> list[object]:
    """Milliseconds at each size, or "fails"."""
    seconds = dict(zip(row["sizes"], row["seconds"], strict=True))
    return [1e3 * seconds[size] if size in seconds else "fails" for size in sizes]


def measure(axis: Axis, name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Time an update of a contender at all sizes of an axis, in turn, except where it fails."""
    make = contenders(steps=args.steps)[name]
    prepared, state, timings = {}, {}, {}
    with expected_warnings():
        for size in axis.sizes:
            *before, last = wave(size.tasks + 1, size.points, EXTENT * size.variables)
            model = make(size.variables, given_kernel())
            try:
                for batch in before:
                    learn(model, batch)
                state[size] = state_bytes(updated(model, last, Timing()))
            except (torch.linalg.LinAlgError, NotPSDError):  # gpytorch's OVC fails if points are many and close
                continue
            prepared[size], timings[size] = (model, last), Timing()
        for _ in range(args.repeats):
            for size, (model, batch) in prepared.items():
                updated(model, batch, timings[size])
    sizes = [getattr(size, axis.name) for size in prepared]
    seconds = [timing.median for timing in timings.values()]
    return {
        "axis": axis.name,
        "name": name,
        "sizes": sizes,
        "seconds": seconds,
        "state_bytes": list(state.values()),
        "time_power": exponent(sizes, seconds) if len(sizes) > 1 else None,
        "last_power": exponent(sizes[-2:], seconds[-2:]) if len(sizes) > 1 else None,
        "state_power": exponent(sizes, list(state.values())) if len(sizes) > 1 else None,
    }


def learn(model: Contender, batch: tuple[Tensor, Tensor]) -> None:
    """Learn a task without timing it; models that refit all data after every task only store them."""
    learnt: Callable[..., object] = model.keep if isinstance(model, SVGPRefit) else model.update
    learnt(*batch)


def updated(model: Contender, batch: tuple[Tensor, Tensor], timing: Timing) -> Contender:
    """A copy of a model after one more update; shallow for those of gpytorch, which replace their tensors."""
    fork = copy.deepcopy(model) if isinstance(model, nn.Module) else copy.copy(model)
    timing.time(partial(fork.update, *batch))
    return fork


def state_bytes(model: Contender) -> int:
    """The size of everything needed to continue the stream."""
    if isinstance(model, nn.Module):
        tensors = list(model.state_dict().values())
    elif isinstance(model, SVGPRefit):
        assert model.seen is not None
        tensors = list(model.seen)
    else:
        assert isinstance(model, GrowingOVC)
        tensors = gpytorch_state(model.model)
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def gpytorch_state(model: SVGP | ExactGP | None) -> list[Tensor]:
    """Inducing points and q(u) of an SVGP; data of an exact GP and roots of K + σ²I and of its inverse."""
    if isinstance(model, ExactGP):
        covariance = model.prediction_strategy.lik_train_train_covar
        roots = [covariance.root_decomposition().root, covariance.root_inv_decomposition().root]
        return [*model.train_inputs, model.train_targets, *(root.to_dense() for root in roots)]
    assert model is not None
    return list(model.variational_strategy.state_dict().values())


if __name__ == "__main__":
    main()
