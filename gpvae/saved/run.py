"""The base class of saved runs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar, cast

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from callbacks.figures.skill import skill_figure
from datamodules import TaskStream
from gpvae.cli.errors import explain_errors
from gpvae.metrics import TaskTable, describe
from gpvae.metrics.task_table import COLUMNS, FILE_NAME
from gpvae.modules import ContinualModule
from gpvae.plotting.heat_map import forgetting_figure
from gpvae.saved.updating import CHECKPOINTS, LAST_NAME, Accepted, Staged, checkpoint_version, learn, unchanged
from gpvae.utils.checks import choice

ModuleT = TypeVar("ModuleT", bound=ContinualModule)
#: Resolution of figures, in pixels per inch.
DPI = 150


class SavedRun(ABC, Generic[ModuleT]):
    """A run that was saved by `gpvae fit`; `gpvae.load` makes one.

    Attributes:
        folder: The run folder.
        module: The trained module, in evaluation mode, on the CPU; `run.module.to(device)` moves it.
    """

    def __init__(self, folder: Path, module: ModuleT, checkpoint: Path, allow: Sequence[str] = ()) -> None:
        self.folder, self.module = folder, module
        self._checkpoint, self._allow = checkpoint, allow
        self._version = checkpoint_version(folder)
        self._staged: Staged | None = None
        module.eval()

    @property
    def num_tasks(self) -> int:
        """The number of tasks that the run has learnt."""
        return self.module.learned

    @property
    def scores(self) -> pd.DataFrame:
        """All scores as a table, a row each: `after_task`, `task`, `metric`, `variable`, `value`.

        A row without a task is over the points of all tasks seen, a row without a variable over all variables.

        Raises:
            FileNotFoundError: The run folder has no scores.
        """
        table = pd.DataFrame(self._score_table().rows(), columns=list(COLUMNS))
        return table.astype({"task": "Int64"})

    def _score_table(self) -> TaskTable:
        path = self._results_folder() / FILE_NAME
        if not path.is_file():
            raise FileNotFoundError(f"the run in {self.folder} has no scores: there is no {path.name}")
        table = TaskTable.read(path)
        table.drop_after(self.num_tasks)
        return table

    def _results_folder(self) -> Path:
        """Where the results of the present state are; not in the run folder until an update is saved."""
        return self.folder if self._staged is None else self._staged.folder

    def save(self) -> None:
        """Save what updates have learnt: checkpoints, scores and logs, as `gpvae fit` does.

        So `gpvae fit --ckpt_path last` continues from there, with data that include those of the updates. The run's
        figures are drawn then. Without an update since the last save, nothing is written.

        Raises:
            RuntimeError: The run has gone on since it was loaded.
            OSError: Another process uses the run, or its folder cannot be written to.
        """
        if not self._unsaved():
            return
        with unchanged(self.folder, self._version):
            if self._staged is not None:
                self._staged.publish(self.folder)
                self._checkpoint, self._staged = self.folder / CHECKPOINTS / LAST_NAME, None
            self._save_waiting()
            self._version = checkpoint_version(self.folder)

    def _unsaved(self) -> bool:
        return self._staged is not None

    def _save_waiting(self) -> None:
        """Save data that wait for more."""
        return

    def _learn(self, change_stream: Callable[[TaskStream], None], accept: Accepted | None) -> TaskStream:
        """Learn the tasks of a changed stream that are new; on any error the run stays as it was."""
        if self.module.begun != self.module.learned:
            raise ValueError(
                f"the run in {self.folder} has stopped within task {self.module.begun}: finish that first, with "
                "`gpvae fit --ckpt_path last`"
            )
        staged = learn(self.folder, self._checkpoint, change_stream, self._allow, accept)
        device = self.module.device
        self.module = cast(ModuleT, staged.module.to(device).eval())
        self._checkpoint, self._staged = staged.checkpoint, staged
        return staged.stream

    def plot_scores(self, metric: str | None = None, *, dpi: int = DPI) -> Figure:
        """Draw the scores of each task after each task: what was learnt, and what of it was forgotten.

        Args:
            metric: Short name of the metric; the first one, NLPD, by default.
            dpi: Pixels per inch.
        """
        table = self._score_table()
        metric = metric or table.metrics[0]
        choice("metric", metric, table.metrics)
        return forgetting_figure(table.matrix(metric), metric, dpi, self._note)

    def plot_skill(self, *, dpi: int = DPI) -> Figure:
        """Draw the scores of each variable, just learnt and now.

        Args:
            dpi: Pixels per inch.
        """
        table = self._score_table()
        if not table.variables:
            raise ValueError("the run has scores of one variable only: use plot_scores()")
        return skill_figure(table, self._note, dpi)

    @property
    def _note(self) -> str:
        """A note on the data, for titles."""
        return ""

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """No gradients, and evaluation mode, whatever the user has done with the module."""
        self.module.eval()
        with torch.no_grad(), explain_errors(f"the state in {self._checkpoint} does not predict"):
            yield

    @abstractmethod
    def _describe_data(self) -> str:
        """One line about what was learnt."""

    def __repr__(self) -> str:
        hparams = self.module.hparams
        options = ", ".join(f"{name}={hparams[name]}" for name in ("method", "num_inducing") if name in hparams)
        under_way = f", and part of task {self.module.begun}" if self.module.begun > self.module.learned else ""
        lines = [
            f"{type(self).__name__}({str(self.folder)!r})",
            f"{type(self.module).__name__}({options}), {counted(self.num_tasks, 'task')} learnt{under_way}",
            self._describe_data(),
        ]
        try:
            table = self._score_table()
        except (OSError, ValueError):
            return "\n  ".join(lines)
        ends = [(describe(metric).label, table.seen(metric)[-1:]) for metric in table.metrics]
        known = [f"{label} {end[0]:.3g}" for label, end in ends if len(end) and np.isfinite(end[0])]
        return "\n  ".join([*lines, *([f"{', '.join(known)} over all tasks"] if known else [])])


def counted(count: int, noun: str) -> str:
    """A number and a noun, such as 1 task or 2 tasks."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
