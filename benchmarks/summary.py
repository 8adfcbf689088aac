"""Summaries of several benchmarks: headline figures, their change between two runs, machine and commit."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import console, environment, table, text
from benchmarks.runs import Run


def summarise(runs: Sequence[Run], folder: Path, quick: bool) -> None:
    """Print the headlines, and write `summary.json` and `summary.md`."""
    rows = [[run.name, name, value] for run in runs for name, value in run.headline.items()]
    rows += [[run.name, f"FAILED (exit code {run.code})", None] for run in runs if run.code]
    columns = ["benchmark", "figure", "value"]
    contents = {
        "environment": origin(runs),
        "quick": quick,
        "benchmarks": {
            run.name: {"exit_code": run.code, "wall_seconds": run.seconds, "headline": run.headline} for run in runs
        },
    }
    write("summary", "Headline figures", columns, rows, contents, folder, quick)


def compare(first: Sequence[Run], second: Sequence[Run], folder: Path, quick: bool) -> None:
    """Print by how much headlines changed between two runs, and write `twice.json` and `twice.md`."""
    rows = [
        [one.name, name, value, other.headline[name], change(value, other.headline[name])]
        for one, other in zip(first, second, strict=True)
        for name, value in one.headline.items()
        if name in other.headline
    ]
    columns = ["benchmark", "figure", "first", "second", "moved"]
    contents = {
        "environment": origin(first),
        "quick": quick,
        "rows": [dict(zip(columns, row, strict=True)) for row in rows],
    }
    write("twice", "Headline figures of two runs", columns, rows, contents, folder, quick)


def change(first: float, second: float) -> str:
    """The change in per cent, or the difference if the first value is near zero, as for powers."""
    if abs(first) < 0.3:
        return f"{second - first:+.2f}"
    return f"{100 * (second - first) / abs(first):+.0f} %"


def write(
    name: str,
    title: str,
    columns: list[str],
    rows: list[list[Any]],
    contents: dict[str, Any],
    folder: Path,
    quick: bool,
) -> None:
    """Print a table, and write it as Markdown and all figures as JSON."""
    console.rule(title)
    table(title + (", quick" if quick else ""), columns, rows, names=2)
    where = contents["environment"]
    lines = [
        f"# {title}{', quick runs' if quick else ''}",
        "",
        describe(where),
        "",
        _line(columns),
        _line(["---"] * len(columns)),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(
        "\n".join([*lines, *(_line([text(cell) for cell in row]) for row in rows)]) + "\n"
    )
    (folder / f"{name}.json").write_text(json.dumps(contents, indent=2) + "\n")
    console.print(f"{describe(where)} Wrote {folder / name}.json and .md")


def origin(runs: Sequence[Run]) -> dict[str, Any]:
    """Machine, versions and commit of the first run that has them."""
    return next((run.environment for run in runs if run.environment), environment())


def describe(where: dict[str, Any]) -> str:
    """Machine, commit and versions in one sentence."""
    changed = " with uncommitted changes" if where["uncommitted_changes"] else ""
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    return (
        f"{where['date']}, {where['cpu']}, {where['cores']} cores, commit {where['commit'][:7]}{changed}; {versions}."
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
