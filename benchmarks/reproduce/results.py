"""Write the scores of all runs there are as a page: `python -m benchmarks.reproduce.results --folder FOLDER`."""

import argparse
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.report import console
from benchmarks.reproduce.experiment import Experiment
from benchmarks.reproduce.experiments import EXPERIMENTS
from benchmarks.reproduce.runs import Run as Planned
from gpvae.metrics.task_table import FILE_NAME, SEEN
from gpvae.report.clock import read_times
from gpvae.report.runs import Run, read_runs
from gpvae.summary import average, mean_interval
from gpvae.summary_tables import FORGETTING, Interval

PAGE = Path("docs/paper_runs.md")
#: What each table is about, by the group of its experiments.
TITLES = {
    "toy": "Made-up series",
    "solar": "Solar",
    "audio": "Audio",
    "moons": "Two moons",
    "covid": "COVID",
    "uci": "Skillcraft and Powerplant",
    "era5_sample": "ERA5, the synthetic sample",
    "era5_finse": "ERA5, Finse",
}
#: Columns of scores: heading, metric and what of it.
SCORES = {
    "NLPD": ("nlpd", SEEN),
    "forgetting": ("nlpd", FORGETTING),
    "RMSE": ("rmse", SEEN),
    "accuracy": ("accuracy", SEEN),
    "ECE": ("ece", SEEN),
}
AGAINST = "against OVC"
HEAD = """\
# Every run of `make reproduce`

{done} of {planned} runs of the plan: all tasks learnt, scores over the test points of all tasks after the last one,
mean over seeds ± half the width of its 95 % interval (Student's t). A seed is a split of the data, and splits differ
more than methods do: *against OVC* is the NLPD less that of OVC with as many variables on the same seeds, below zero
where it is better. *Forgetting* is by how much the NLPD of a task has risen from when it was just learnt to the end,
mean over tasks. *Seconds* are for all tasks, with finding the kernel, scoring and saving, the median over seeds, on one
thread of a machine that was busy with other runs. [The paper against this package](paper.md) says what it all means.
Written by `python -m benchmarks.reproduce.results`.
"""


def main(argv: Sequence[str] | None = None, experiments: Sequence[Experiment] = EXPERIMENTS) -> None:
    """The command line.

    Args:
        argv: Arguments; those of the process if not given.
        experiments: The table of experiments.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/reproduce"), help="where the runs are")
    parser.add_argument("--output", type=Path, default=PAGE, help="where the page goes")
    arguments = parser.parse_args(argv)
    finished = {experiment.name: by_seed(experiment, arguments.folder) for experiment in experiments}
    rows = {experiment.name: row(experiment, finished) for experiment in experiments}
    done = sum(int(cells["seeds"]) for cells in rows.values() if cells)
    if not done:
        parser.error(f"there is no finished run in {arguments.folder}: make some by python -m benchmarks.reproduce")
    parts = [HEAD.format(done=done, planned=sum(experiment.seeds for experiment in experiments))]
    for group in dict.fromkeys(experiment.group for experiment in experiments):
        named = [experiment for experiment in experiments if experiment.group == group]
        found = [(experiment, cells) for experiment in named if (cells := rows[experiment.name])]
        missing = [experiment.name for experiment in named if not rows[experiment.name]]
        parts.append(f"## {TITLES.get(group, group)}\n")
        if found:
            parts.append("\n".join(sheet(found)) + "\n")
        if missing:
            parts.append(f"Not run: {', '.join(f'`{name}`' for name in missing)}.\n")
    arguments.output.write_text("\n".join(parts))
    console.print(f"wrote {arguments.output}", highlight=False)


def by_seed(experiment: Experiment, where: Path) -> dict[int, Run]:
    """The runs of an experiment that are finished as the plan has them, by seed.

    Args:
        experiment: The experiment.
        where: Folder of all runs.
    """
    seeds = [seed for seed in range(1, experiment.seeds + 1) if Planned(experiment, seed, where).finished()]
    runs, _ = read_runs([where / Planned(experiment, seed, where).folder for seed in seeds])
    return {int(run.folder.name.removeprefix("seed_")): run for run in runs}


def row(experiment: Experiment, finished: Mapping[str, Mapping[int, Run]]) -> dict[str, str]:
    """What the finished runs of an experiment say, by column; nothing if there are none.

    Args:
        experiment: The experiment.
        finished: All finished runs, by experiment and seed.
    """
    runs = finished[experiment.name]
    if not runs:
        return {}
    together = average(experiment.name, {run.folder / FILE_NAME: run.table for run in runs.values()})
    end = together.num_tasks
    cells = {"seeds": str(len(runs))}
    for heading, (metric, suffix) in SCORES.items():
        if (cell := together.scores.get((metric + suffix, end, end))) is not None:
            cells[heading] = in_digits(cell, 3)
    if experiment.against not in (None, experiment.name):
        others = finished.get(str(experiment.against), {})
        if gaps := [last(runs[seed]) - last(others[seed]) for seed in runs if seed in others]:
            cells[AGAINST] = in_digits(mean_interval(gaps), 3, "+")
    times, _ = read_times({run.folder: end for run in runs.values()})
    if times:
        cells["seconds"] = f"{statistics.median(map(sum, times.values())):.1f}"
    return cells


def last(run: Run) -> float:
    """NLPD over all tasks at the end."""
    return float(run.table.seen("nlpd")[-1])


def sheet(found: Sequence[tuple[Experiment, dict[str, str]]]) -> Iterable[str]:
    """A Markdown table, line by line.

    Args:
        found: Experiments and their cells.
    """
    order = ("seeds", "NLPD", AGAINST, *[name for name in SCORES if name != "NLPD"], "seconds")
    columns = [name for name in order if any(name in cells for _, cells in found)]
    yield f"| experiment | of the paper | {' | '.join(columns)} |"
    yield "|---|---|" + "---:|" * len(columns)
    for experiment, cells in found:
        yield f"| `{experiment.name}` | {experiment.paper} | {' | '.join(cells.get(name, '–') for name in columns)} |"


def in_digits(cell: Interval, digits: int, sign: str = "") -> str:
    """Mean and half the width of the interval, if there is one.

    Args:
        cell: Mean and interval.
        digits: How many digits after the point.
        sign: `+` to give numbers above zero a sign, too.
    """
    if math.isnan(cell.mean):
        return "–"
    spread = "" if math.isnan(cell.low) else f" ± {(cell.high - cell.low) / 2:.{digits}f}"
    return f"{cell.mean:{sign}.{digits}f}{spread}"


if __name__ == "__main__":
    main()
