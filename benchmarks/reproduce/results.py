"""Write the scores of all runs, from a folder and from the existing table, as a page and a table.

`python -m benchmarks.reproduce.results --folder FOLDER`
"""

import argparse
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.report import console
from benchmarks.reproduce.experiment import Experiment
from benchmarks.reproduce.experiments import EXPERIMENTS
from benchmarks.reproduce.record import Line, gather, write
from gpvae.results.experiments import Interval, mean_interval

PAGE = Path("docs/paper_runs.md")
#: Title of each table, by the group of its experiments.
TITLES = {
    "toy": "Synthetic series",
    "solar": "Solar",
    "audio": "Audio",
    "moons": "Two moons",
    "covid": "COVID",
    "uci": "Skillcraft and Powerplant",
    "era5_sample": "ERA5, the synthetic sample",
    "era5_finse": "ERA5, Finse",
}
#: Columns of scores: heading and attribute of a line.
SCORES = {"NLPD": "nlpd", "forgetting": "forgetting", "RMSE": "rmse", "accuracy": "accuracy", "ECE": "ece"}
AGAINST = "against OVC"
HEAD = """\
# Every run of `make reproduce`

{done} of {planned} runs of the plan are done, with all their tasks learnt. [Reproducing the paper](paper.md) says what
the results mean.

- **Scores** are over the test points of all tasks, after the last task: mean over seeds ± half the width of its 95 %
  interval (Student's t).
- **against OVC** is the NLPD minus that of OVC with as many inducing variables on the same seeds; negative is better.
  A seed is a split of the data, and splits differ more than methods do, so compare methods by this column.
- **forgetting** is the mean over tasks of the rise in NLPD from when a task was just learnt to the end.
- **seconds** are wall-clock seconds for all tasks, including fitting the kernel, scoring and saving: median over seeds,
  on one thread of a machine that was busy with other runs.

[paper_runs.csv](paper_runs.csv) has a row for each run, with a digest of its command and the commit that made it.
`python -m benchmarks.reproduce.results` writes the table and this page, and adds the runs it finds to those listed.
"""


def main(argv: Sequence[str] | None = None, experiments: Sequence[Experiment] = EXPERIMENTS) -> None:
    """The command line.

    Args:
        argv: Arguments; by default those of the process.
        experiments: The table of experiments.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/reproduce"), help="folder of the runs")
    parser.add_argument(
        "--output", type=Path, default=PAGE, help="file of the page; the table is written beside it, as .csv"
    )
    arguments = parser.parse_args(argv)
    record = arguments.output.with_suffix(".csv")
    lines = gather(experiments, arguments.folder, record)
    if not lines:
        parser.error(f"there is no finished run in {arguments.folder}: make some by python -m benchmarks.reproduce")
    write(record, lines)
    arguments.output.write_text(page(experiments, lines))
    console.print(f"wrote {arguments.output} and {record}", highlight=False)


def page(experiments: Sequence[Experiment], lines: Sequence[Line]) -> str:
    """The page.

    Args:
        experiments: The table of experiments.
        lines: Lines of all runs.
    """
    known: dict[str, dict[int, Line]] = {experiment.name: {} for experiment in experiments}
    for line in lines:
        known[line.experiment][line.seed] = line
    parts = [HEAD.format(done=len(lines), planned=sum(experiment.seeds for experiment in experiments))]
    for group in dict.fromkeys(experiment.group for experiment in experiments):
        named = [experiment for experiment in experiments if experiment.group == group]
        found = [(experiment, row(experiment, known)) for experiment in named if known[experiment.name]]
        missing = [experiment.name for experiment in named if not known[experiment.name]]
        parts.append(f"## {TITLES.get(group, group)}\n")
        if found:
            parts.append("\n".join(sheet(found)) + "\n")
        if missing:
            parts.append(f"Not run: {', '.join(f'`{name}`' for name in missing)}.\n")
    return "\n".join(parts)


def row(experiment: Experiment, known: Mapping[str, Mapping[int, Line]]) -> dict[str, str]:
    """Means over the runs of an experiment, by column.

    Args:
        experiment: The experiment.
        known: Lines of all runs, by experiment and seed.
    """
    lines = known[experiment.name]
    cells = {"seeds": str(len(lines))}
    for heading, name in SCORES.items():
        values = [getattr(line, name) for line in lines.values()]
        if not all(map(math.isnan, values)):
            cells[heading] = format_interval(mean_interval(values), 3)
    if experiment.against not in (None, experiment.name):
        others = known.get(str(experiment.against), {})
        if gaps := [line.nlpd - others[seed].nlpd for seed, line in lines.items() if seed in others]:
            cells[AGAINST] = format_interval(mean_interval(gaps), 3, "+")
    if times := [line.seconds for line in lines.values() if not math.isnan(line.seconds)]:
        cells["seconds"] = f"{statistics.median(times):.1f}"
    return cells


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


def format_interval(cell: Interval, digits: int, sign: str = "") -> str:
    """Mean and half the width of the interval, if there is one.

    Args:
        cell: Mean and interval.
        digits: Number of decimals.
        sign: `+` to show the sign of positive numbers.
    """
    if math.isnan(cell.mean):
        return "–"
    spread = "" if math.isnan(cell.low) else f" ± {(cell.high - cell.low) / 2:.{digits}f}"
    return f"{cell.mean:{sign}.{digits}f}{spread}"


if __name__ == "__main__":
    main()
