"""Reports: tables on the terminal, and JSON files with results, machine and commit."""

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("gpvae", "torch", "gpytorch", "linear_operator", "numpy", "scipy")

console = Console(width=None if Console().is_terminal else 160)


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all benchmarks share."""
    options = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="a smaller run, as a check")
    options.add_argument("--output", type=Path, default=RESULTS, help="folder for the JSON file")
    return options


def environment() -> dict[str, Any]:
    """Machine, versions and commit at the start of the benchmark."""
    return STARTED | {"threads": torch.get_num_threads()}


def _environment() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "cpu": _cpu(),
        "load_average": os.getloadavg(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("--no-optional-locks", "status", "--porcelain", "--", "gpvae", "datamodules")),
    }


def save(name: str, results: object, folder: Path, headline: Mapping[str, float] | None = None) -> Path:
    """Write results and environment as JSON, and print the path.

    Args:
        name: Name of the file.
        results: All results.
        folder: Folder of the file.
        headline: The main figures, usually ratios, for the summary of several benchmarks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if folder == RESULTS:
        (folder / ".gitignore").write_text("*\n")
    path, where = folder / f"{name}.json", environment()
    path.write_text(
        json.dumps({"environment": where, "headline": dict(headline or {}), "results": results}, indent=2) + "\n"
    )
    commit = where["commit"][:7] + (" with uncommitted changes" if where["uncommitted_changes"] else "")
    console.print(f"{where['cpu']}, {where['cores']} cores, commit {commit}; wrote {path}")
    return path


def table(title: str, columns: list[str], rows: list[list[object]], names: int = 1) -> None:
    """Print a table; the first `names` columns are names, the others numbers or short texts."""
    sheet = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        sheet.add_column(column, justify="left" if i < names else "right")
    for row in rows:
        sheet.add_row(*(text(value) for value in row))
    console.print(sheet)


def text(value: object) -> str:
    """A number with three significant digits; other values unchanged."""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 and (value == 0 or abs(value) >= 0.001) else f"{value:.2e}"
    return "" if value is None else str(value)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _git(*command: str) -> str:
    done = subprocess.run(["git", *command], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or ("unknown" if command[0] == "rev-parse" else "")


STARTED = _environment()
