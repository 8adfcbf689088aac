"""Run benchmarks one after another, each in its own process; a failure does not stop the others."""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.registry import Benchmark
from benchmarks.report import console


@dataclass(frozen=True)
class Run:
    """How a benchmark ended: its exit code, wall-clock seconds, and figures if it succeeded."""

    name: str
    code: int
    seconds: float
    headline: dict[str, float] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)


def run(benchmarks: Iterable[Benchmark], folder: Path, quick: bool) -> list[Run]:
    """Run benchmarks, which print their tables, and collect their headlines.

    Args:
        benchmarks: The benchmarks, in order.
        folder: Folder of their results.
        quick: Whether runs are small.
    """
    return [_run(benchmark, folder, quick) for benchmark in benchmarks]


def _run(benchmark: Benchmark, folder: Path, quick: bool) -> Run:
    console.rule(benchmark.name)
    path = folder / f"{benchmark.name}.json"
    path.unlink(missing_ok=True)  # so that no old results are read below
    options = [*benchmark.options, *(["--quick"] if quick else []), "--output", str(folder)]
    start = time.monotonic()
    code = subprocess.run(
        [sys.executable, "-m", f"{benchmark.package}.{benchmark.name}", *options], check=False
    ).returncode
    seconds = time.monotonic() - start
    if code == 0 and path.exists():
        written = json.loads(path.read_text())
        return Run(benchmark.name, 0, seconds, written["headline"], written["environment"])
    console.print(f"{benchmark.name} FAILED with exit code {code}", style="bold red")
    return Run(benchmark.name, code or 1, seconds)
