"""Log evidence that `gpvae.hyperparameters.fit` reaches, and its time, compared with a search over a dense grid.

All 300 training points of Solar, and the first tasks of Audio, Skillcraft and Powerplant; an RBF kernel with a
lengthscale per dimension. The search evaluates a grid of lengthscales and noise on all points, and runs L-BFGS to
convergence from the best noise of each lengthscale. `before` is the code of an earlier commit, read from git.
"""

import importlib
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor

from benchmarks.report import parser, save, table
from benchmarks.streams import Fitted, expected_warnings
from benchmarks.timing import ratio, side_by_side
from datamodules.solar_audio import audio, solar
from datamodules.splits import first_dimension, l2_norm, split_tasks
from datamodules.uci import powerplant, skillcraft
from gpvae.hyperparameters import marginal_likelihood
from gpvae.hyperparameters.marginal_likelihood import SHORTEST, ascend, exact_log_evidence, log_prior
from gpvae.hyperparameters.search_space import extent_of, search_space, set_values
from gpvae.likelihoods import scale_of_function

#: Shares of the power of the targets from which the noise starts in the grid.
NOISES = (1e-3, 1e-2, 0.06, 0.2, 0.5)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--before", default="f4ab080", help="commit to compare with")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--data", nargs="+", default=["solar", "audio", "skillcraft", "powerplant"])
    options.add_argument("--levels", type=int, default=16, help="lengthscales of the grid")
    args = options.parse_args()
    if args.quick:
        args.repeats, args.levels = 1, 8

    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, expected_warnings():
        contenders = {"now": marginal_likelihood}
        if former := at_commit(args.before, Path(folder)):
            contenders["before"] = former
            warnings.simplefilter("ignore", former.HyperparameterWarning)
        for title, x, y in (case for case in data(args.quick) if case[0].split(",")[0] in args.data):
            fitted: dict[str, Fitted] = {}
            runs = {name: partial(refit, module, fitted, name, x, y) for name, module in contenders.items()}
            timings = side_by_side(runs, args.repeats)
            reached = {name: objective(*fitted[name], x, y)().item() for name in contenders}
            rows.append(
                {
                    "data": title,
                    "log_evidence": reached,
                    "grid": dense_search(x, y, args.levels),
                    "seconds": {name: timing.median for name, timing in timings.items()},
                    "ratio": ratio(timings["now"], timings["before"]) if former else None,
                }
            )
    table(
        "Log evidence with priors, CPU seconds of a fit",
        ["data", "grid", "now", "before", "grid - now", "seconds now", "seconds before", "now / before"],
        [
            [
                r["data"],
                f"{r['grid']:.2f}",
                *(f"{r['log_evidence'].get(c, math.nan):.2f}" for c in ("now", "before")),
                f"{r['grid'] - r['log_evidence']['now']:.2f}",
                *(r["seconds"].get(c) for c in ("now", "before")),
                r["ratio"],
            ]
            for r in rows
        ],
    )
    headline = {f"{r['data']}: nats below the grid": r["grid"] - r["log_evidence"]["now"] for r in rows}
    headline |= {f"{r['data']}: time now / before": r["ratio"] for r in rows if r["ratio"] is not None}
    save("hyperparameter_fit", rows, args.output, headline)


def data(quick: bool) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Names, inputs and targets; with `quick` one split of Solar alone."""
    for seed in range(1 if quick else 5):
        tasks = split_tasks(*solar(), 10, 102, seed)
        yield f"solar, split {seed}", torch.cat([t.x_train for t in tasks]), torch.cat([t.y_train for t in tasks])
    if quick:
        return
    first = split_tasks(*audio(), 10, 9000, 0)[0]
    yield "audio", first.x_train, first.y_train
    for name, load in (("skillcraft", skillcraft), ("powerplant", powerplant)):
        for order, key in (("first dimension", first_dimension), ("norm", l2_norm)):
            first = split_tasks(*load(), 10, 0.1, 0, key)[0]
            yield f"{name}, {order}", first.x_train, first.y_train


def model(x: Tensor) -> Fitted:
    dim = x.shape[-1]
    return ScaleKernel(RBFKernel(ard_num_dims=dim if dim > 1 else None)).double(), GaussianLikelihood().double()


def refit(module: ModuleType, fitted: dict[str, Fitted], name: str, x: Tensor, y: Tensor) -> None:
    fitted[name] = model(x)
    module.fit(*fitted[name], x, y)


def objective(kernel: ScaleKernel, likelihood: GaussianLikelihood, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
    """Log evidence and priors, as a function of the present hyperparameters."""
    power = scale_of_function(likelihood, y)
    return lambda: exact_log_evidence(kernel, likelihood.noise, x, y) + log_prior(kernel, likelihood, power)


def dense_search(x: Tensor, y: Tensor, num_levels: int) -> float:
    """The highest log evidence by L-BFGS from a grid, within the bounds of `fit`."""
    kernel, likelihood = model(x)
    value, power, (num, dim) = objective(kernel, likelihood, x, y), scale_of_function(likelihood, y), x.shape
    shortest = 0.5 / num if dim == 1 else SHORTEST
    hyperparameters = list(search_space(kernel, likelihood, x, power, shortest))
    starts = {"outputscale": torch.tensor(power).double()}
    best = -math.inf
    for share in torch.linspace(math.log(shortest), math.log(2 * math.sqrt(dim)), num_levels).exp():
        starts["lengthscale"] = share * extent_of(x)
        grid = {}
        for noise in NOISES:
            starts["noise"] = torch.tensor(noise * power).double()
            set_values(hyperparameters, [starts[h.name] for h in hyperparameters])
            with torch.no_grad():
                grid[float(value())] = [h.value for h in hyperparameters]
        set_values(hyperparameters, grid[max(grid)])
        best = max(best, len(x) * ascend(hyperparameters, lambda: value() / num, 300))
    return best


def at_commit(commit: str, folder: Path) -> ModuleType | None:
    """`gpvae.hyperparameters.marginal_likelihood` of a commit, with today's linear algebra; None without git."""
    package = folder / "former_hyperparameters"
    package.mkdir()
    for name in ("marginal_likelihood", "search_space"):
        command = ["git", "show", f"{commit}:gpvae/hyperparameters/{name}.py"]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        (package / f"{name}.py").write_text(done.stdout.replace("gpvae.hyperparameters.", f"{package.name}."))
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{package.name}.marginal_likelihood")
    finally:
        sys.path.remove(str(folder))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
