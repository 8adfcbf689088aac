"""Puts together what can be compared: experiments on the same data with as many inducing variables."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpvae.metrics.task_table import FILE_NAME
from gpvae.report import naming, variants
from gpvae.report.entries import DataSet, Entry, Group
from gpvae.report.labels import identified, in_words, labelled
from gpvae.report.palette import Identity
from gpvae.results.experiments import average
from gpvae.results.run_config import RunConfig
from gpvae.results.runs import Run

UNKNOWN_DATA = "Data not recorded"


def arrange(runs: Sequence[Run]) -> list[DataSet]:
    """All experiments, by data and number of inducing variables.

    Args:
        runs: Runs; those of an experiment have learnt as many tasks.
    """
    names = short_names({run.experiment for run in runs})
    by_data: defaultdict[str, list[Entry]] = defaultdict(list)
    data: dict[str, tuple[str, dict[str, Any]]] = {}
    for folder in dict.fromkeys(run.experiment for run in runs):
        entry = _entry(names[folder], [run for run in runs if run.experiment == folder])
        title, identity = UNKNOWN_DATA, {}
        if entry.config and entry.config.data.kind:
            title, identity = naming.data_name(entry.config.data), naming.data_identity(entry.config.data)
        key = repr((title, sorted((key, repr(value)) for key, value in identity.items())))
        data[key] = title, identity
        by_data[key].append(entry)
    titles, identities = [title for title, _ in data.values()], [identity for _, identity in data.values()]
    ordinals = [f"variant {number}" for number, _ in enumerate(data, start=1)]
    unique = naming.told_apart(titles, identities, ordinals)
    return [DataSet(title, _groups(by_data[key])) for title, key in zip(unique, data, strict=True)]


def short_names(folders: Iterable[Path]) -> dict[Path, str]:
    """Folders without what is common to all of them, so that names differ and say nothing of the machine.

    Args:
        folders: Folders.
    """
    folders = set(folders)
    common = Path(os.path.commonpath([folder.parent for folder in folders])) if folders else Path()
    return {folder: folder.relative_to(common).as_posix() for folder in folders}


def _entry(name: str, runs: Sequence[Run]) -> Entry:
    tables = {run.folder / FILE_NAME: run.table for run in runs}
    with np.errstate(invalid="ignore"):  # of infinite scores there is no interval
        experiment = average(name, tables)
    known = [run for run in runs if run.config]
    notes = [f"{run.folder.name}: {run.note}" for run in runs if run.note]
    config = known[0].config if known else None
    if config is None:
        return Entry(name, "", name, experiment, None, tuple(notes), identity=Identity(name), tables=tables)
    if differing := _differing([run.config for run in known if run.config]):
        notes.append(f"its runs differ in {', '.join(differing)}, or only some name it: they may not be one experiment")
    label = naming.method_name(config)
    words = variants.words_of(config, naming.catalogue_name(config))
    made_by = Counter(run.config.made_by for run in known if run.config and run.config.made_by)
    family = naming.family_name(config)
    return Entry(label, family, name, experiment, config, tuple(notes), words, Identity(label), tables, made_by)


def _differing(configs: Sequence[RunConfig]) -> list[str]:
    """Options by which runs of one experiment differ, seeds apart."""
    parts = [(("model", config.model), ("data", config.data)) for config in configs]
    flat = [{f"{name}.{key}": part.options[key] for name, part in pair for key in part.options} for pair in parts]
    keys = dict.fromkeys(key for options in flat for key in options if not key.endswith(".seed"))
    return [key for key in keys if len({repr(options.get(key)) for options in flat}) > 1]


def _groups(entries: Sequence[Entry]) -> list[Group]:
    groups: defaultdict[int | None, list[Entry]] = defaultdict(list)
    for entry in sorted(in_words(entries), key=lambda entry: (naming.place(entry.config), entry.label, entry.folder)):
        groups[entry.num_inducing].append(entry)
    if len(groups) > 1:
        _spread_references(groups)
    ordered = sorted(groups, key=lambda num_inducing: (num_inducing is None, num_inducing or 0))
    known = identified(groups[num_inducing] for num_inducing in ordered)
    return [Group(num_inducing, labelled(group)) for num_inducing, group in zip(ordered, known, strict=True)]


def _spread_references(groups: dict[int | None, list[Entry]]) -> None:
    """What has no inducing variables is a reference for any number of them; what has no config may be anything."""
    without = groups.pop(None, [])
    if unknown := [entry for entry in without if entry.config is None]:
        groups[None] = unknown
    for num_inducing in groups.keys() - {None}:
        groups[num_inducing] += [entry for entry in without if entry.config is not None]
