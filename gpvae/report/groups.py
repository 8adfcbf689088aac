"""Puts together what can be compared: experiments on the same data with as many inducing variables."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpvae.metrics.task_table import FILE_NAME
from gpvae.report import naming, variants
from gpvae.report.config import RunConfig
from gpvae.report.runs import Run
from gpvae.summary import average
from gpvae.summary_tables import Experiment

UNKNOWN_DATA = "Data not recorded"


@dataclass(frozen=True)
class Entry:
    """One experiment: a method, and the runs of it.

    Args:
        label: What it is called, unique within its group.
        family: Its inducing variables in words; empty if they are not known.
        folder: Its folder, as far as it tells it from the others.
        experiment: What its runs say together.
        config: What was run, by the first of them; None if that is not known.
        notes: What a reader should know about it.
        words: How it was run where that is not the usual way, by option.
    """

    label: str
    family: str
    folder: str
    experiment: Experiment
    config: RunConfig | None
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """Experiments that can be compared.

    Args:
        num_inducing: The number of inducing variables; None if it is not known.
        entries: The experiments, in the order of the catalogue of methods.
    """

    num_inducing: int | None
    entries: list[Entry]

    @property
    def title(self) -> str:
        """How it is called."""
        return "M not recorded" if self.num_inducing is None else f"M = {self.num_inducing}"

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, those of the first experiment first."""
        return list(dict.fromkeys(metric for entry in self.entries for metric in entry.experiment.metrics))


@dataclass(frozen=True)
class DataSet:
    """A data set, and the groups of experiments on it.

    Args:
        title: How it is called, unique on the page.
        groups: By the number of inducing variables.
    """

    title: str
    groups: list[Group]


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
    with np.errstate(invalid="ignore"):  # of infinite scores there is no interval
        experiment = average(name, {run.folder / FILE_NAME: run.table for run in runs})
    known = [run for run in runs if run.config]
    notes = [f"{run.folder.name}: {run.note}" for run in runs if run.note]
    config = known[0].config if known else None
    if config is None:
        return Entry(name, "", name, experiment, None, tuple(notes))
    if differing := _differing([run.config for run in known if run.config]):
        notes.append(f"its runs differ in {', '.join(differing)}, or only some name it: they may not be one experiment")
    label = naming.method_name(config)
    words = variants.words_of(config, naming.catalogue_name(config))
    return Entry(label, naming.family_name(config), name, experiment, config, tuple(notes), words)


def _differing(configs: Sequence[RunConfig]) -> list[str]:
    """Options by which runs of one experiment differ, seeds apart."""
    parts = [(("model", config.model), ("data", config.data)) for config in configs]
    flat = [{f"{name}.{key}": part.options[key] for name, part in pair for key in part.options} for pair in parts]
    keys = dict.fromkeys(key for options in flat for key in options if not key.endswith(".seed"))
    return [key for key in keys if len({repr(options.get(key)) for options in flat}) > 1]


def options_of(config: RunConfig) -> dict[str, Any]:
    """How an experiment may differ from others on the same data: options of the model, and how data are learnt.

    Args:
        config: The config of a run.
    """
    learnt = {key: value for key, value in config.data.options.items() if key in naming.HOW}
    return {**config.model.options, **learnt}


def _groups(entries: Sequence[Entry]) -> list[Group]:
    groups: defaultdict[int | None, list[Entry]] = defaultdict(list)
    for entry in sorted(_in_words(entries), key=lambda entry: (naming.place(entry.config), entry.label, entry.folder)):
        groups[entry.config.num_inducing if entry.config else None].append(entry)
    ordered = sorted(groups.items(), key=lambda group: (group[0] is None, group[0] or 0))
    return [Group(num_inducing, _labelled(group)) for num_inducing, group in ordered]


def _in_words(entries: Sequence[Entry]) -> list[Entry]:
    """Labels with the words that are not true of all that was run on the data, the same for any M."""
    said = [set(entry.words.items()) for entry in entries if entry.config and entry.config.num_inducing is not None]
    shared = set.intersection(*said) if said else set()
    return [
        replace(entry, label=", ".join([entry.label, *(word[1] for word in entry.words.items() if word not in shared)]))
        for entry in entries
    ]


def _labelled(entries: Sequence[Entry]) -> list[Entry]:
    """Labels that differ, by options that have no words if need be."""
    options = [_untold(entry) for entry in entries]
    labels = naming.told_apart([entry.label for entry in entries], options, [entry.folder for entry in entries])
    return [replace(entry, label=label) for entry, label in zip(entries, labels, strict=True)]


def _untold(entry: Entry) -> dict[str, Any]:
    """The options that have no words."""
    options = options_of(entry.config) if entry.config else {}
    return {key: value for key, value in options.items() if key not in variants.TOLD}
