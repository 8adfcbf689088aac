"""The history of a run's config: options that changed after some of its tasks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from gpvae.utils import provenance
from gpvae.utils.atomic import replacing

FILE_NAME = "config_history.yaml"


def record_changes(folder: Path, after_task: int, changes: Mapping[str, tuple[Any, Any]]) -> None:
    """Add options that change from here on to `config_history.yaml` in the run folder.

    `config.yaml` has the present options; with the history it tells those of each task. Entries of later tasks are
    dropped: they are learnt again.

    Args:
        folder: The run folder.
        after_task: The number of tasks that were learnt before the change.
        changes: Old and new value of each option, by its path in the config.
    """
    path = folder / FILE_NAME
    kept = [entry for entry in read_history(path) if entry["after_task"] < after_task]
    entry = {
        "after_task": after_task,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "program": provenance.program(),
        "changed": {name: {"from": _plain(old), "to": _plain(new)} for name, (old, new) in changes.items()},
    }
    _write(path, [*kept, entry])


def continue_history(before: Path, folder: Path) -> None:
    """Put the history of a run before what was added to it elsewhere.

    Args:
        before: The run folder.
        folder: The folder in which the run has gone on.
    """
    added = read_history(folder / FILE_NAME)
    first = min((entry["after_task"] for entry in added), default=float("inf"))
    kept = [entry for entry in read_history(before / FILE_NAME) if entry["after_task"] < first]
    if kept:
        _write(folder / FILE_NAME, [*kept, *added])


def read_history(path: Path) -> list[dict[str, Any]]:
    """The entries of a history; none if there is no file.

    Args:
        path: The file.
    """
    entries = yaml.safe_load(path.read_text()) if path.is_file() else []
    return entries if isinstance(entries, list) else []


def _write(path: Path, entries: list[dict[str, Any]]) -> None:
    with replacing(path) as unfinished:
        unfinished.write_text(yaml.safe_dump(entries, sort_keys=False))


def _plain(value: Any) -> Any:  # noqa: ANN401
    return list(value) if isinstance(value, tuple) else value
