"""What methods are called and told by: labels that differ within a group, identities that stay all over the page."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpvae.report import naming, variants
from gpvae.report.entries import Entry
from gpvae.report.palette import Identity
from gpvae.results.run_config import RunConfig

#: Stands for the folder of an experiment, where no option tells it from another.
FOLDER = "/"


def options_of(config: RunConfig) -> dict[str, Any]:
    """How an experiment may differ from others on the same data: options of the model, and how data are learnt.

    Args:
        config: The config of a run.
    """
    learnt = {key: value for key, value in config.data.options.items() if key in naming.HOW}
    return {**config.model.options, **learnt}


def in_words(entries: Sequence[Entry]) -> list[Entry]:
    """Labels with the words that are not true of all that was run on the data, the same for any M.

    Args:
        entries: All experiments on one data set.
    """
    said = [set(entry.words.items()) for entry in entries if entry.num_inducing is not None]
    shared = set.intersection(*said) if said else set()
    return [_with_words(entry, [word[1] for word in entry.words.items() if word not in shared]) for entry in entries]


def _with_words(entry: Entry, words: Sequence[str]) -> Entry:
    """What goes by the same words is drawn in the same way."""
    return replace(entry, label=", ".join([entry.label, *words]), identity=Identity(entry.label, ", ".join(words)))


def labelled(entries: Sequence[Entry]) -> list[Entry]:
    """Labels that differ, by options that have no words if need be.

    Args:
        entries: The experiments of one group.
    """
    options = [_untold(entry) for entry in entries]
    labels = naming.told_apart([entry.label for entry in entries], options, [entry.folder for entry in entries])
    return [replace(entry, label=label) for entry, label in zip(entries, labels, strict=True)]


def identified(groups: Iterable[Sequence[Entry]]) -> list[list[Entry]]:
    """Identities that differ within a group, and are the same in all groups for what was run in the same way.

    Args:
        groups: The experiments of each group on one data set.
    """
    groups = list(groups)
    telling: defaultdict[Identity, set[str]] = defaultdict(set)
    for group in groups:
        for identity in {entry.identity for entry in group}:
            options = [{**_untold(entry), FOLDER: entry.folder} for entry in group if entry.identity == identity]
            keys = [key for key in naming.differing_keys(options) if key != FOLDER]
            alike = len({_values(known, keys) for known in options}) < len(options)
            telling[identity] |= {*keys, *([FOLDER] if alike else [])}
    return [[_named(entry, sorted(telling[entry.identity])) for entry in group] for group in groups]


def _named(entry: Entry, keys: Sequence[str]) -> Entry:
    values = _values({**_untold(entry), FOLDER: entry.folder}, keys)
    return replace(entry, identity=replace(entry.identity, variant=" ".join([entry.identity.variant, *values])))


def _values(options: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(repr(options.get(key)) for key in keys)


def _untold(entry: Entry) -> dict[str, Any]:
    """The options that have no words."""
    options = options_of(entry.config) if entry.config else {}
    return {key: value for key, value in options.items() if key not in variants.TOLD}
