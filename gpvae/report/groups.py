"""What a page compares: data sets, the groups of experiments on them, and the seeds that these share.

A seed is usually a split of the data, and splits may differ more than methods do, so means over different seeds cannot
be compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gpvae.metrics.task_table import FILE_NAME
from gpvae.report.palette import Identity
from gpvae.results.experiments import Experiment, average
from gpvae.results.run_config import RunConfig
from gpvae.results.runs import Run


@dataclass(frozen=True)
class Entry:
    """One experiment: a method and its runs.

    Args:
        folder: The folder of the experiment, as far as it differs from that of others.
        label: Name of the method, unique within its group.
        identity: What determines its style, the same on the whole page.
        runs: Its runs.
        variant: How the method was run where options do not have their defaults, by option.
        notes: Remarks for the reader.
    """

    folder: str
    label: str
    identity: Identity
    runs: Sequence[Run]
    variant: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @cached_property
    def experiment(self) -> Experiment:
        """Scores averaged over the runs."""
        with np.errstate(invalid="ignore"):  # infinite scores have no interval
            return average(self.folder, {run.folder / FILE_NAME: run.table for run in self.runs})

    @property
    def config(self) -> RunConfig | None:
        """The first config that could be read."""
        return next((run.config for run in self.runs if run.config), None)

    @property
    def num_inducing(self) -> int | None:
        """The number of inducing variables M, if it is known."""
        return self.config.num_inducing if self.config else None

    @property
    def seeds(self) -> frozenset[str]:
        """Names of the run folders, such as seed_1."""
        return frozenset(run.folder.name for run in self.runs)

    def on_seeds(self, seeds: frozenset[str]) -> "Entry":
        """The same experiment with some of its runs; with all of them if it has none of these seeds.

        Args:
            seeds: Names of run folders.
        """
        runs = [run for run in self.runs if run.folder.name in seeds]
        return replace(self, runs=runs) if runs else self


@dataclass(frozen=True)
class Group:
    """Experiments that can be compared.

    Args:
        num_inducing: The number of inducing variables; None if it is not known.
        entries: The experiments, in the order of the catalogue of methods; those without inducing variables, which are
            there for reference, come last.
    """

    num_inducing: int | None
    entries: Sequence[Entry]

    @property
    def title(self) -> str:
        """The title of its section."""
        return "M not recorded" if self.num_inducing is None else f"M = {self.num_inducing}"

    @property
    def contenders(self) -> list[Entry]:
        """The experiments that are compared: those with as many inducing variables as the group has."""
        return [entry for entry in self.entries if entry.num_inducing == self.num_inducing]

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, those of the first experiment first."""
        return list(dict.fromkeys(metric for entry in self.entries for metric in entry.experiment.metrics))

    @property
    def derived(self) -> list[str]:
        """Names of all derived scores, such as skill against references."""
        return list(dict.fromkeys(metric for entry in self.entries for metric in entry.experiment.derived))

    @property
    def seeds_differ(self) -> bool:
        """Whether contenders have different seeds."""
        return len({entry.seeds for entry in self.contenders}) > 1

    @property
    def common_seeds(self) -> frozenset[str]:
        """The seeds that all contenders have."""
        return frozenset.intersection(*(entry.seeds for entry in self.contenders))

    @property
    def most_frequent_seeds(self) -> frozenset[str]:
        """The set of seeds that most contenders have; of equally frequent ones the largest."""
        counts = Counter(entry.seeds for entry in self.contenders)
        return max(counts, key=lambda seeds: (counts[seeds], len(seeds), sorted(seeds)))

    @property
    def has_means(self) -> bool:
        """Whether any method has several seeds, so that its scores are means with intervals."""
        return any(len(entry.runs) > 1 for entry in self.entries)

    def on_seeds(self, seeds: frozenset[str]) -> "Group":
        """The same group on some seeds; an experiment that has none of them, such as a reference, keeps its own.

        Args:
            seeds: Names of run folders.
        """
        return replace(self, entries=[entry.on_seeds(seeds) for entry in self.entries])


@dataclass(frozen=True)
class DataSet:
    """A data set and the groups of experiments on it.

    Args:
        title: Its title, unique on the page.
        groups: By the number of inducing variables.
    """

    title: str
    groups: Sequence[Group]
