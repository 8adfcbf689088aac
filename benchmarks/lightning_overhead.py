"""Overhead of Lightning over the plain library, for a stream that is learnt in closed form.

Both learn ten tasks in one pass each, with LegS and the same kernel, fitted to the first task in advance. `library`:
`OnlineGP.update` for each task. `training`: `Trainer.fit` of a `StreamingGP` with `ContinualLearning`, without logger,
checkpoints, validation or progress bar; building module and trainer is timed, reading the data is not. Then the other
parts of a run of `gpvae fit` are added one by one.
"""

import copy
import logging
import statistics
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.loggers import TensorBoardLogger

from benchmarks.report import console, parser, save, table
from benchmarks.streams import Fitted, expected_warnings, fit, stream, test_points
from benchmarks.timing import ratio, side_by_side
from callbacks import ContinualLearning, TaskCheckpoint, TaskFigures, TaskReport
from datamodules import Audio, Solar, TaskStream
from gpvae.inducing import LegS
from gpvae.modules import StreamingGP
from gpvae.online_gp import OnlineGP

LIBRARY, TRAINING = "library", "training"
#: Parts that are added to training one by one, in this order.
PARTS = ("validation", "TaskReport", "TensorBoard", "TaskCheckpoint", "TaskFigures")


@dataclass(frozen=True)
class Case:
    """A stream and a number of inducing variables."""

    data: TaskStream
    num_inducing: int

    @property
    def name(self) -> str:
        return f"{type(self.data).__name__}, M = {self.num_inducing}"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--training-only", action="store_true", help="do not add further parts to training")
    args = options.parse_args()
    repeats, parts = 2 if args.quick else args.repeats, () if args.training_only else PARTS

    torch.set_num_threads(1)
    cases = [Case(Solar(statistics="global"), 50), Case(Audio(statistics="global"), 200)]
    rows = [measure(case, repeats, parts) for case in cases]
    table(
        f"Seconds for ten tasks, LegS, {repeats} rounds",
        ["", LIBRARY, TRAINING, "ratio", *(f"+ {part}" for part in parts), "largest difference"],
        [
            [
                r["name"],
                r["timings"][LIBRARY]["median_seconds"],
                r["timings"][TRAINING]["median_seconds"],
                r["ratio"],
                *r["added_seconds"].values(),
                r["largest_difference"],
            ]
            for r in rows
        ],
    )
    console.print("+: seconds that each part adds; difference: of predictive means and standard deviations")
    headline = {f"{r['name']}: training / library": r["ratio"] for r in rows}
    save("lightning_overhead", {"rows": rows}, args.output, headline)


def measure(case: Case, repeats: int, parts: tuple[str, ...] = PARTS) -> dict[str, Any]:
    """Time the library, training, and training with more and more parts, in turn."""
    case.data.prepare_data()
    case.data.setup()
    fitted = fit(case.data.tasks, LegS(case.num_inducing))
    with tempfile.TemporaryDirectory() as folder, quiet():
        contenders: dict[str, Callable[[], OnlineGP]] = {
            LIBRARY: lambda: stream(LegS(case.num_inducing), fitted, case.data.tasks),
            TRAINING: partial(train, case, fitted, (), folder),
        }
        for i, part in enumerate(parts, start=1):
            contenders[part] = partial(train, case, fitted, parts[:i], folder)
        difference = largest_difference(case, contenders[LIBRARY](), contenders[TRAINING]())
        timings = side_by_side(contenders, repeats)
    order = [TRAINING, *parts]
    return {
        "name": case.name,
        "timings": {name: timing.as_dict() for name, timing in timings.items()},
        "ratio": ratio(timings[TRAINING], timings[LIBRARY]),
        "added_seconds": {
            part: statistics.median(
                more - less for less, more in zip(timings[before].seconds, timings[part].seconds, strict=True)
            )
            for before, part in zip(order, parts, strict=False)
        },
        "largest_difference": difference,
    }


def train(case: Case, fitted: Fitted, parts: tuple[str, ...], folder: str) -> OnlineGP:
    """Learn the stream with `Trainer.fit` and some of the parts."""
    module = StreamingGP("OHSGPR", case.num_inducing, hyperparameters="fixed")
    module.gp.kernel, module.gp.likelihood = copy.deepcopy(fitted)
    callbacks: dict[str, Callable[[], Callback]] = {
        "TaskReport": partial(TaskReport, print_table=False),
        "TaskCheckpoint": TaskCheckpoint,
        "TaskFigures": TaskFigures,
    }
    trainer = Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=case.data.num_epochs,
        reload_dataloaders_every_n_epochs=1,
        num_sanity_val_steps=0,
        limit_val_batches=1.0 if "validation" in parts else 0,
        logger=TensorBoardLogger(folder, default_hp_metric=False) if "TensorBoard" in parts else False,
        log_every_n_steps=1,
        callbacks=[ContinualLearning(), *(make() for name, make in callbacks.items() if name in parts)],
        enable_checkpointing="TaskCheckpoint" in parts,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=Path(folder),
    )
    trainer.fit(module, case.data)
    return module.gp


def largest_difference(case: Case, one: OnlineGP, other: OnlineGP) -> float:
    """The largest difference between predictions of two models, in mean or standard deviation."""
    x, _ = test_points(case.data.tasks)
    p, q = one.predict(x), other.predict(x)
    return max(float((p.mean - q.mean).abs().max()), float((p.stddev - q.stddev).abs().max()))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence Lightning's messages and warnings."""
    logger = logging.getLogger("lightning.pytorch")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with expected_warnings(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"lightning\.")
            warnings.filterwarnings("ignore", ".*configure_optimizers. returned .None.")
            yield
    finally:
        logger.setLevel(before)


if __name__ == "__main__":
    main()
