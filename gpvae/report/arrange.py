"""Arranges runs by data set and number of inducing variables, and labels the methods within each group."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpvae.report import names
from gpvae.report.groups import DataSet, Entry, Group
from gpvae.report.palette import Identity
from gpvae.results.run_config import RunConfig
from gpvae.results.runs import Run

UNKNOWN_DATA = "Data not recorded"
#: Labels name at most this many options; methods that differ in more of them are labelled by their folders.
MAX_OPTIONS = 3
#: Key of the folder of an experiment, beside the names of options.
FOLDER = "/"


def arrange(runs: Sequence[Run]) -> list[DataSet]:
    """Group all experiments by data and number of inducing variables.

    Args:
        runs: Runs; those of one experiment have learnt the same number of tasks.
    """
    folders = shorten({run.experiment for run in runs})
    by_data: defaultdict[str, list[Entry]] = defaultdict(list)
    data: dict[str, tuple[str, dict[str, Any]]] = {}
    for folder in dict.fromkeys(run.experiment for run in runs):
        entry = _make_entry(folders[folder], [run for run in runs if run.experiment == folder])
        title, options = UNKNOWN_DATA, {}
        if entry.config and entry.config.data.class_name:
            title, options = names.data_title(entry.config.data), names.data_options(entry.config.data)
        key = repr((title, sorted((key, repr(value)) for key, value in options.items())))
        data[key] = title, options
        by_data[key].append(entry)
    titles, options_of_data = [title for title, _ in data.values()], [options for _, options in data.values()]
    unique = make_unique(titles, options_of_data, [f"variant {number}" for number, _ in enumerate(data, start=1)])
    return [DataSet(title, _make_groups(by_data[key])) for title, key in zip(unique, data, strict=True)]


def shorten(folders: Iterable[Path]) -> dict[Path, str]:
    """Folders without the part of the path that all have in common, which belongs to this machine.

    Args:
        folders: Folders.
    """
    folders = set(folders)
    common = Path(os.path.commonpath([folder.parent for folder in folders])) if folders else Path()
    return {folder: folder.relative_to(common).as_posix() for folder in folders}


def make_unique(labels: Sequence[str], options: Sequence[Mapping[str, Any]], fallbacks: Sequence[str]) -> list[str]:
    """Labels that differ: equal ones get the options in which they differ, or else something unique.

    Args:
        labels: Labels.
        options: Options of what each of them labels; those that are None are not written.
        fallbacks: Something unique about each of them.
    """
    unique = list(labels)
    for label, count in Counter(labels).items():
        if count == 1:
            continue
        same = [index for index, other in enumerate(labels) if other == label]
        differing = differing_keys([options[index] for index in same])
        for index in same:
            known = {key: options[index][key] for key in differing if options[index].get(key) is not None}
            unique[index] = ", ".join([label, *(_format_pair(key, value) for key, value in known.items())])
        if len(differing) > MAX_OPTIONS or len({unique[index] for index in same}) < count:
            for index in same:
                unique[index] = f"{label} ({fallbacks[index]})"
    return unique


def differing_keys(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """The options that are not the same everywhere.

    Args:
        options: Options of several configs.
    """
    keys = dict.fromkeys(key for known in options for key in known)
    return [key for key in keys if len({repr(known.get(key)) for known in options}) > 1]


def _format_pair(key: str, value: object) -> str:
    return names.format_option(value) if isinstance(value, dict) else f"{key} {names.format_option(value)}"


def _make_entry(folder: str, runs: Sequence[Run]) -> Entry:
    notes = [f"{run.folder.name}: {run.config_error}" for run in runs if run.config_error]
    configs = [run.config for run in runs if run.config]
    if not configs:
        return Entry(folder, folder, Identity(folder), runs, notes=notes)
    if differing := _differing_options(configs):
        notes.append(
            f"its runs differ in {', '.join(differing)}, or only some of them set it: they may not be one experiment"
        )
    label = names.method_name(configs[0])
    return Entry(folder, label, Identity(label), runs, names.describe_variant(configs[0]), notes)


def _differing_options(configs: Sequence[RunConfig]) -> list[str]:
    """Options in which the runs of one experiment differ, except seeds."""
    flat = [
        {f"{name}.{key}": value for name in ("model", "data") for key, value in getattr(config, name).options.items()}
        for config in configs
    ]
    return [key for key in differing_keys(flat) if not key.endswith(".seed")]


def _make_groups(entries: Sequence[Entry]) -> list[Group]:
    groups: defaultdict[int | None, list[Entry]] = defaultdict(list)
    for entry in sorted(_add_variants(entries), key=_position):
        groups[entry.num_inducing].append(entry)
    if len(groups) > 1:
        _spread_references(groups)
    ordered = sorted(groups, key=lambda num_inducing: (num_inducing is None, num_inducing or 0))
    identified = _identify([groups[num_inducing] for num_inducing in ordered])
    return [Group(num_inducing, _label(group)) for num_inducing, group in zip(ordered, identified, strict=True)]


def _position(entry: Entry) -> tuple[int, str, str]:
    return names.catalogue_position(entry.config), entry.label, entry.folder


def _spread_references(groups: dict[int | None, list[Entry]]) -> None:
    """Add methods without inducing variables to every group; those without a config keep a group of their own."""
    without = groups.pop(None, [])
    if unknown := [entry for entry in without if entry.config is None]:
        groups[None] = unknown
    for num_inducing in groups.keys() - {None}:
        groups[num_inducing] += [entry for entry in without if entry.config is not None]


def _add_variants(entries: Sequence[Entry]) -> list[Entry]:
    """Add variants to labels and identities, except what is true of all experiments on the data, for any M."""
    variants = [set(entry.variant.items()) for entry in entries if entry.num_inducing is not None]
    shared = set.intersection(*variants) if variants else set()
    labelled = []
    for entry in entries:
        words = [item[1] for item in entry.variant.items() if item not in shared]
        label, identity = ", ".join([entry.label, *words]), Identity(entry.label, ", ".join(words))
        labelled.append(replace(entry, label=label, identity=identity))
    return labelled


def _label(entries: Sequence[Entry]) -> list[Entry]:
    """Make the labels of a group unique, by options that have no words if necessary."""
    options = [_unnamed_options(entry) for entry in entries]
    labels = make_unique([entry.label for entry in entries], options, [entry.folder for entry in entries])
    return [replace(entry, label=label) for entry, label in zip(entries, labels, strict=True)]


def _identify(groups: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """Make identities differ within each group, and agree between groups where methods were run in the same way."""
    distinguishing: defaultdict[Identity, set[str]] = defaultdict(set)
    for group in groups:
        for identity in {entry.identity for entry in group}:
            options = [_options_and_folder(entry) for entry in group if entry.identity == identity]
            keys = [key for key in differing_keys(options) if key != FOLDER]
            ambiguous = len({_values(known, keys) for known in options}) < len(options)
            distinguishing[identity] |= {*keys, *([FOLDER] if ambiguous else [])}
    return [[_extend_identity(entry, sorted(distinguishing[entry.identity])) for entry in group] for group in groups]


def _extend_identity(entry: Entry, keys: Sequence[str]) -> Entry:
    variant = " ".join([entry.identity.variant, *_values(_options_and_folder(entry), keys)])
    return replace(entry, identity=replace(entry.identity, variant=variant))


def _values(options: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(repr(options.get(key)) for key in keys)


def _options_and_folder(entry: Entry) -> dict[str, Any]:
    return {**_unnamed_options(entry), FOLDER: entry.folder}


def _unnamed_options(entry: Entry) -> dict[str, Any]:
    """The options that labels do not express in words."""
    options = names.method_options(entry.config) if entry.config else {}
    return {key: value for key, value in options.items() if key not in names.NAMED_OPTIONS}
