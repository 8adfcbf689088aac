"""Which seeds the methods of a group have, and the group on those that all of them have.

A seed is a split of the data as a rule, and splits may differ more than methods do: means over different seeds do not
compare.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from gpvae.report.entries import Entry, Group
from gpvae.results.experiments import average

#: So many seeds are written out; of more, the first and the last.
MOST_WRITTEN = 6


def seeds_of(entry: Entry) -> frozenset[str]:
    """Names of the runs of an experiment, such as seed_1.

    Args:
        entry: The experiment.
    """
    return frozenset(run.name for run in entry.experiment.runs)


def differ(group: Group) -> bool:
    """Whether some of the methods that are compared have other seeds than others.

    Args:
        group: Methods to compare.
    """
    return len({seeds_of(entry) for entry in group.contenders}) > 1


def common(group: Group) -> frozenset[str]:
    """The seeds that all methods that are compared have.

    Args:
        group: Methods to compare.
    """
    return frozenset.intersection(*(seeds_of(entry) for entry in group.contenders))


def most_shared(group: Group) -> frozenset[str]:
    """The seeds that most of the methods have, these and no others; the more seeds, the better, where two are even.

    Args:
        group: Methods to compare.
    """
    counts = Counter(seeds_of(entry) for entry in group.contenders)
    return max(counts, key=lambda seeds: (counts[seeds], len(seeds), sorted(seeds)))


def several(group: Group) -> bool:
    """Whether any method has more than one seed, so that its numbers are means and have intervals.

    Args:
        group: Methods to compare.
    """
    return any(len(seeds_of(entry)) > 1 for entry in group.entries)


def on(group: Group, seeds: frozenset[str]) -> Group:
    """The same group on some of its seeds; what has none of them, such as a reference, stays as it is.

    Args:
        group: Methods to compare.
        seeds: Names of runs.
    """
    return replace(group, entries=[_on(entry, seeds & seeds_of(entry)) for entry in group.entries])


def _on(entry: Entry, seeds: frozenset[str]) -> Entry:
    if not seeds or seeds == seeds_of(entry):
        return entry
    tables = {file: table for file, table in entry.tables.items() if file.parent.name in seeds}
    with np.errstate(invalid="ignore"):  # of infinite scores there is no interval
        experiment = average(entry.experiment.name, tables)
    return replace(entry, experiment=experiment, tables=tables)


def written(seeds: Iterable[str]) -> str:
    """Seeds for people, such as `seed 1` or `seeds 1–5`.

    Args:
        seeds: Names of runs.
    """
    names = numbers(seeds)
    return f"seed {names[0]}" if len(names) == 1 else f"seeds {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """A few names; of many, and of numbers one after the other, the first and the last.

    Args:
        names: Names, in order.
    """
    first = int(names[0]) if names[0].isdecimal() else 0
    if len(names) > 2 and list(names) == [str(first + n) for n in range(len(names))]:
        return f"{names[0]}–{names[-1]}"
    return ", ".join(names) if len(names) <= MOST_WRITTEN else f"{names[0]} … {names[-1]}"


def numbers(seeds: Iterable[str]) -> list[str]:
    """Names of runs without what is before their number, in order.

    Args:
        seeds: Names of runs.
    """
    return [seed.removeprefix("seed_") for seed in sorted(seeds, key=lambda seed: (len(seed), seed))]
