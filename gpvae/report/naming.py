"""Names that a reader of the paper knows, from configs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from gpvae.inducing.auto import AUTO
from gpvae.methods import METHODS
from gpvae.results.run_config import Part, RunConfig

#: Options of data that say how they are learnt or fetched, not what they are.
HOW = ("batch_size", "steps_per_epoch", "epochs_per_task", "seed", "joint", "predict_every")
FETCHED = ("download_hours", "refetch_preliminary")
#: Options by which methods of one name are told apart; at most so many of them are written out.
MOST_OPTIONS = 3

DATA = {
    "Solar": "Solar irradiance",
    "Audio": "Audio signal",
    "Covid": "COVID-19 deaths in Santa Catarina",
    "TwoMoons": "Two moons",
    "Toy": "Made-up series",
}
#: Data sets whose inputs have several dimensions, where some methods have another family of inducing variables.
SPATIAL = frozenset({"TwoMoons", "Skillcraft", "Powerplant"})
TOYS = {"figure_1": "figure 1", "figure_f4": "appendix F.4"}
TASK_ORDERS = {"first_dimension": "1st dimension", "l2_norm": "L2"}
SOURCES = {"sample": "synthetic sample", "cds": "Climate Data Store", "files": "files"}
#: How the paper marks the path that a method of several input dimensions takes.
ORDERINGS = {"given": "o", "kernel_max": "k", "kernel_min": "kmin", "random": "rand"}
#: The family that is another way to compute what the method has, and not another method.
RECURRENCE = "LegSRecurrence"
PATHS = {"given": "as given", "random": "at random"}
FAMILIES = {
    "LegS": "HiPPO-LegS",
    "LegT": "HiPPO-LegT",
    "LagT": "HiPPO-LagT",
    "FouT": "HiPPO-FouT",
    "CosS": "cosines over the whole past (CosS)",
    "LegSPath": "HiPPO-LegS along a path",
    "LegSRecurrence": "HiPPO-LegS by recurrence",
    "Points": "inducing points",
    "PivotedPoints": "points by pivoted Cholesky",
    "PerDimPoints": "such points for each latent dimension",
    "FourierFeatures": "variational Fourier features",
    AUTO: "LegS or CosS, by the bound",
}


def data_name(data: Part) -> str:
    """The data set, and the variant of it that the paper tells apart.

    Args:
        data: The data of a config.
    """
    name, options = DATA.get(data.kind, data.kind), data.options
    if "task_order" in options:
        name += f" ({TASK_ORDERS.get(str(options['task_order']), options['task_order'])})"
    if data.kind == "Toy" and options.get("kind"):
        name += f" ({TOYS.get(str(options['kind']), options['kind'])})"
    if data.kind == "ERA5":
        paths = options.get("paths") or []
        files = [str(path) for path in (paths if isinstance(paths, list) else [paths])]
        where = ["/".join(PurePath(file).parts[-2:]) for file in files]  # not where they are on this machine
        name += ", " + " ".join([SOURCES.get(str(options.get("source")), str(options.get("source"))), *where])
    return name


def data_identity(data: Part) -> dict[str, Any]:
    """What must be equal for two runs to be on the same data.

    Args:
        data: The data of a config.
    """
    return {key: value for key, value in data.options.items() if key not in HOW + FETCHED}


def method_name(config: RunConfig) -> str:
    """The method as the paper calls it, such as OHSVGP-k; by its family, such as CosS, where that is not its own.

    Args:
        config: The config of a run.
    """
    name, ordering = catalogue_name(config), _ordering(config)
    if config.model.options.get("inducing") == RECURRENCE:
        name += " by recurrence"
    return name if ordering is None else f"{name}-{ORDERINGS.get(ordering, ordering)}"


def catalogue_name(config: RunConfig) -> str:
    """What the catalogue calls the method: its name, or that of a family that takes the place of its own.

    Args:
        config: The config of a run.
    """
    options = config.model.options
    inducing = options.get("inducing") if options.get("inducing") != RECURRENCE else None
    return str(inducing or options.get("method") or config.model.kind or "model")


def family_name(config: RunConfig) -> str:
    """The inducing variables in words; empty if they are not known.

    Args:
        config: The config of a run.
    """
    method = METHODS.get(str(config.model.options.get("method")))
    own = ""
    if method is not None:
        own = (method.family_in_space if config.data.kind in SPATIAL else None) or method.family
    name = str(config.model.options.get("inducing") or own)
    words, ordering = FAMILIES.get(name, name), _ordering(config)
    return words if ordering is None else f"{words} {PATHS.get(ordering, f'by {ordering}')}"


def _ordering(config: RunConfig) -> str | None:
    """How points are put in order for a path, where the config says so."""
    options = config.model.options.get("inducing_options")
    found = options.get("ordering") if isinstance(options, dict) else None
    return None if found is None else str(found)


def place(config: RunConfig | None) -> int:
    """Where a method stands among others: in the order of the catalogue, others last.

    Args:
        config: The config of a run, if it is known.
    """
    names = list(METHODS)
    name = catalogue_name(config) if config else ""
    return names.index(name) if name in names else len(names)


def written(value: object) -> str:
    """A value of an option for people: mappings as `ordering=kernel_max`.

    Args:
        value: Anything that a config can hold.
    """
    if isinstance(value, dict):
        return " ".join(f"{key}={written(part)}" for key, part in value.items())
    if isinstance(value, list):
        return " ".join(map(written, value))
    return str(value)


def told_apart(names: Sequence[str], options: Sequence[Mapping[str, Any]], fallbacks: Sequence[str]) -> list[str]:
    """Names that differ: where several are equal, with the options that differ, or else with something unique.

    Args:
        names: Names.
        options: Options of what each of them names; those that are not set are not written.
        fallbacks: Something unique about each of them.
    """
    unique = list(names)
    for name, count in Counter(names).items():
        if count == 1:
            continue
        same = [index for index, other in enumerate(names) if other == name]
        differing = differing_keys([options[index] for index in same])
        for index in same:
            known = {key: options[index][key] for key in differing if options[index].get(key) is not None}
            unique[index] = ", ".join([name, *(_option(key, value) for key, value in known.items())])
        if len(differing) > MOST_OPTIONS or len({unique[index] for index in same}) < count:
            for index in same:
                unique[index] = f"{name} ({fallbacks[index]})"
    return unique


def _option(key: str, value: object) -> str:
    return written(value) if isinstance(value, dict) else f"{key} {written(value)}"


def differing_keys(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """The options that are not the same everywhere.

    Args:
        options: Options of several things.
    """
    keys = dict.fromkeys(key for known in options for key in known)
    return [key for key in keys if len({repr(known.get(key)) for known in options}) > 1]
