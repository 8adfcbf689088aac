"""The runs to carry out, and their order."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.reproduce.experiment import Experiment
from benchmarks.reproduce.runs import Run
from gpvae.utils.spelling import nearest

#: Limits in minutes between short, medium and long runs, which are carried out in this order.
SHORT, LONG = 1.0, 8.0


def chosen(experiments: Sequence[Experiment], only: Sequence[str], quick: bool = False) -> list[Experiment]:
    """The experiments that match some patterns; all of them without patterns.

    Args:
        experiments: All experiments.
        only: Names, groups, or patterns such as `solar_*_M50`.
        quick: Leave out those that are not part of the quick plan.

    Raises:
        ValueError: A pattern matches no experiment.
    """
    for pattern in only:
        if not any(_named(experiment, pattern) for experiment in experiments):
            names = dict.fromkeys(name for experiment in experiments for name in (experiment.group, experiment.name))
            raise ValueError(f"--only {pattern}: there is no such experiment{nearest(pattern, names)}; --list has all")
    named = [e for e in experiments if not only or any(_named(e, pattern) for pattern in only)]
    return [experiment for experiment in named if not quick or experiment.quick is not None]


def plan(experiments: Iterable[Experiment], seeds: int | None, where: Path, quick: bool = False) -> list[Run]:
    """All runs: the short ones with all seeds first, then longer ones, each kind seed by seed.

    Args:
        experiments: The experiments.
        seeds: Number of seeds; by default that of the paper, and one in the quick plan.
        where: Folder of all runs.
        quick: Use the short form of each.
    """
    runs = [
        Run(experiment, seed, where, quick, pictures=seed == 1)
        for experiment in experiments
        for seed in range(1, (seeds or (1 if quick else experiment.seeds)) + 1)
    ]
    return sorted(runs, key=lambda run: (_length_class(run.minutes), run.seed))


def _named(experiment: Experiment, pattern: str) -> bool:
    return experiment.group == pattern or fnmatchcase(experiment.name, pattern)


def _length_class(minutes: float) -> int:
    return (minutes > SHORT) + (minutes > LONG)
