"""What a page is made of: experiments, groups of them that can be compared, and data sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpvae.metrics.task_table import TaskTable
from gpvae.report.palette import Identity
from gpvae.results.experiments import Experiment
from gpvae.results.run_config import RunConfig


@dataclass(frozen=True)
class Entry:
    """One experiment: a method, and the runs of it.

    Args:
        label: What it is called, unique within its group.
        family: Its inducing variables in words; empty if they are not known.
        folder: Its folder, as far as it tells it from the others.
        experiment: What its runs say together.
        config: What was run, by the first of them; None if that is not known.
        notes: What a reader should know about it.
        words: How it was run where that is not the usual way, by option.
        identity: What it is drawn by, the same all over the page.
        tables: Scores of each run, by file.
        made_by: Which gpvae made the runs, and how many of them; nothing of runs that do not say.
    """

    label: str
    family: str
    folder: str
    experiment: Experiment
    config: RunConfig | None
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    identity: Identity = field(default_factory=Identity)
    tables: Mapping[Path, TaskTable] = field(default_factory=dict)
    made_by: Mapping[str, int] = field(default_factory=dict)

    @property
    def num_inducing(self) -> int | None:
        """The number of inducing variables M, where that is known."""
        return self.config.num_inducing if self.config else None


@dataclass(frozen=True)
class Group:
    """Experiments that can be compared.

    Args:
        num_inducing: The number of inducing variables; None if it is not known.
        entries: The experiments, in the order of the catalogue of methods, and last those without inducing variables,
            which are there for reference.
    """

    num_inducing: int | None
    entries: list[Entry]

    @property
    def title(self) -> str:
        """How it is called."""
        return "M not recorded" if self.num_inducing is None else f"M = {self.num_inducing}"

    @property
    def contenders(self) -> list[Entry]:
        """The experiments that are compared: those with as many inducing variables as the group has."""
        return [entry for entry in self.entries if entry.num_inducing == self.num_inducing]

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, those of the first experiment first."""
        return list(dict.fromkeys(metric for entry in self.entries for metric in entry.experiment.metrics))


@dataclass(frozen=True)
class DataSet:
    """A data set, and the groups of experiments on it.

    Args:
        title: How it is called, unique on the page.
        groups: By the number of inducing variables.
    """

    title: str
    groups: list[Group]
