"""Finds runs and reads them; those that cannot be used are listed with the reason."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.results import run_config, task_times
from gpvae.results.run_config import RunConfig

Content = TypeVar("Content")


@dataclass(frozen=True)
class Run:
    """A run that has learnt all its tasks.

    Args:
        folder: Its folder.
        table: Its scores.
        config: Its config; None if that cannot be read.
        config_error: Why its config cannot be read.
        times: Its seconds by task and activity; None if they cannot be read.
        times_error: Why its times cannot be read.
    """

    folder: Path
    table: TaskTable
    config: RunConfig | None = None
    config_error: str = ""
    times: task_times.Seconds | None = None
    times_error: str = ""

    @property
    def experiment(self) -> Path:
        """The folder of its experiment, which also holds the other seeds."""
        return self.folder.parent


@dataclass(frozen=True)
class LeftOut:
    """A run that cannot be used.

    Args:
        folder: Its folder.
        reason: Why not.
    """

    folder: Path
    reason: str


def find_files(paths: Iterable[str | Path], *names: str) -> list[Path]:
    """Find files of runs at or below some paths, each once; hidden folders are skipped.

    Args:
        paths: Folders of runs, folders of such folders, or files, which are taken whatever their name is.
        names: Names of files to find in folders.

    Raises:
        FileNotFoundError: There is no such path, or no run in it.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}: give folders of runs, such as runs/solar_ohsgpr")
        files = [path] if path.is_file() else [file for name in names for file in path.glob(f"**/{name}")]
        visible = [file for file in files if file == path or not _is_hidden(file.parent.relative_to(path))]
        if not visible:
            raise FileNotFoundError(f"no run in {path}: expected <experiment>/seed_<n>/{names[0]} somewhere in it")
        for file in sorted(visible, key=lambda file: (file.parent, file.name)):
            found[file.parent.resolve() / file.name] = None
    return list(found)


def _is_hidden(folder: Path) -> bool:
    return any(part.startswith(".") for part in folder.parts)


def find_run_folders(paths: Iterable[str | Path]) -> list[Path]:
    """Find the folders of runs at or below some paths, including runs that have a config but no scores yet.

    Args:
        paths: Folders of runs, folders of such folders, or `task_metrics.csv` files.

    Raises:
        FileNotFoundError: There is no such path, or no run in it.
        ValueError: A path is some other file.
    """
    files = find_files(paths, FILE_NAME, run_config.FILE_NAME)
    for file in files:
        if file.name not in (FILE_NAME, run_config.FILE_NAME):
            raise ValueError(f"{file} is a file: give folders of runs, such as runs/solar_ohsgpr")
    return list(dict.fromkeys(file.parent for file in files))


def read_runs(folders: Sequence[Path], step: Callable[[], object] = lambda: None) -> tuple[list[Run], list[LeftOut]]:
    """Read runs; those that are damaged or have not learnt all their tasks are left out.

    Args:
        folders: Folders of runs.
        step: Called after each of them.
    """
    runs: list[Run] = []
    left_out: list[LeftOut] = []
    for folder in folders:
        try:
            runs.append(_read(folder))
        except (OSError, ValueError, csv.Error) as error:
            reason = str(error).replace(f"{folder}/", "")  # without the folders of this machine
            left_out.append(LeftOut(folder, reason))
        step()
    ends = {run.experiment: 0 for run in runs}
    for run in runs:
        ends[run.experiment] = max(ends[run.experiment], run.table.num_tasks)
    for run in [run for run in runs if run.table.num_tasks < ends[run.experiment]]:
        runs.remove(run)
        end = ends[run.experiment]
        reason = f"unfinished: it ends after task {run.table.num_tasks}, others of the experiment after task {end}"
        left_out.append(LeftOut(run.folder, reason))
    return runs, left_out


def _read(folder: Path) -> Run:
    file = folder / FILE_NAME
    if not file.is_file():
        raise ValueError(f"unfinished: there is no {FILE_NAME}, so no task has been learnt")
    table = TaskTable.read(file)
    if not table.scores:
        raise ValueError(f"unfinished: {FILE_NAME} holds no scores yet")
    config, config_error = _read_if_possible(run_config.read_config, folder / run_config.FILE_NAME)
    if config and config.num_tasks is not None and table.num_tasks < config.num_tasks:
        raise ValueError(f"unfinished: {table.num_tasks} of {config.num_tasks} tasks learnt")
    read_times = partial(task_times.read_times, num_tasks=table.num_tasks)
    times, times_error = _read_if_possible(read_times, folder / task_times.FILE_NAME)
    return Run(folder, table, config, config_error, times, times_error)


def _read_if_possible(read: Callable[[Path], Content], path: Path) -> tuple[Content | None, str]:
    """The content of a file, or None and why it cannot be read."""
    try:
        return read(path), ""
    except FileNotFoundError:
        return None, f"there is no {path.name}"
    except (OSError, ValueError, csv.Error) as error:
        return None, str(error).replace(f"{path.parent}/", "")  # without the folders of this machine
