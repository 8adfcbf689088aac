"""Composed memories, the whole past in outline and the recent past in detail, against one family of equal size.

Ten tasks of Audio, and the temperature of London by the hour (`london_2020.csv.gz`, if it is there) in ten tasks. The
scores are the NLPD of the test points of all tasks, of the last task alone, and of the next tenth of a task, predicted
before it is learnt, on average over tasks. The window is one task long; it was not chosen by scores.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from gpytorch.means import ZeroMean
from torch import Tensor

from benchmarks.report import console, parser, save, table
from benchmarks.streams import expected_warnings, fit, test_points
from datamodules.data_folder import data_dir
from datamodules.solar_audio import audio
from datamodules.splits import Task, split_tasks
from gpvae.inducing import CosS, InducingVariables, LegS, LegT
from gpvae.online_gp import OnlineGP

#: Share of the variables that cover the window.
RECENT = 1 / 3
#: Families by name, as functions of the number of variables and the length of the window.
FAMILIES: dict[str, Callable[[int, float], InducingVariables]] = {
    "CosS": lambda m, _: CosS(m),
    "LegS": lambda m, _: LegS(m),
    "LegT": lambda m, window: LegT(m, window=window),
    "CosS + LegT": lambda m, window: CosS(m - round(RECENT * m)) + LegT(round(RECENT * m), window=window),
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--num-inducing", nargs="+", type=int, default=[75, 150])
    args = options.parse_args()
    if args.quick:
        args.num_inducing = [30]
    torch.set_num_threads(1)
    streams = {"Audio": split_tasks(*audio(), 10, 9000, seed=0)}
    file = data_dir() / "era5" / "london_2020.csv.gz"
    if file.exists():
        streams["London"] = split_tasks(*london(file), 10, 1000, seed=0)
    rows = [row for name, tasks in streams.items() for row in measure(name, tasks, args.num_inducing)]
    table(
        "NLPD after ten tasks",
        ["stream", "M", "family", "all tasks", "last task", "next hours"],
        [[r["stream"], r["num_inducing"], r["family"], r["all"], r["last"], r["next"]] for r in rows],
    )
    console.print("next hours: the first tenth of each task, predicted before it is learnt")
    headline = {
        f"{r['stream']}, M = {r['num_inducing']}, {r['family']}: {s}": r[s] for r in rows for s in ("all", "last")
    }
    save("composed", {"rows": rows}, args.output, headline)


def london(file: Path) -> tuple[Tensor, Tensor]:
    """Hours, scaled to [0, 10], and the standardised temperature."""
    y = torch.tensor(pd.read_csv(file)["t2m"].to_numpy(), dtype=torch.float64)
    y = y[~y.isnan()]
    return torch.linspace(0, 10, len(y), dtype=torch.float64)[:, None], (y - y.mean()) / y.std()


def measure(stream: str, tasks: Sequence[Task], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """The scores of all families at all sizes, with one kernel."""
    kernel, likelihood = fit(tasks, LegS(max(sizes)))
    window = float(tasks[0].x_train.max() - tasks[0].x_train.min())
    rows = []
    for num in sizes:
        for name, family in FAMILIES.items():
            gp = OnlineGP(family(num, window), kernel, likelihood, mean=ZeroMean())
            ahead = []
            with expected_warnings():
                for i, task in enumerate(tasks):
                    soon = max(len(task.x_train) // 10, 1)
                    if i:
                        ahead.append(nlpd(gp, task.x_train[:soon], task.y_train[:soon]))
                    gp.update(task.x_train, task.y_train)
                scores = {"all": nlpd(gp, *test_points(tasks)), "last": nlpd(gp, tasks[-1].x_test, tasks[-1].y_test)}
            rows.append(
                {"stream": stream, "num_inducing": num, "family": name, **scores, "next": sum(ahead) / len(ahead)}
            )
    return rows


def nlpd(gp: OnlineGP, x: Tensor, y: Tensor) -> float:
    return -float(gp.predict(x).log_prob(y).mean())


if __name__ == "__main__":
    main()
