"""Names that a reader of the paper knows, for data, methods and inducing variables, from the configs of runs."""

import inspect
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from gpvae import modules
from gpvae.inducing.auto import AUTO
from gpvae.methods import METHODS
from gpvae.results.run_config import ConfigSection, RunConfig

#: Options of data that say how they are learnt, downloaded or kept, not what they are.
LEARNING_OPTIONS = (
    *("batch_size", "steps_per_epoch", "epochs_per_task", "min_steps_per_task", "seed", "joint"),
    *("predict_every", "predict_until"),
)
STORAGE_OPTIONS = ("download_hours", "refetch_preliminary", "point_series", "on_disk")
#: Options that labels express in words, and the seed.
NAMED_OPTIONS = (
    *("method", "inducing", "kernel", "inference", "hyperparameters", "consolidation", "power", "joint", "seed"),
)
#: Up to this many seeds are listed; of more, the first and the last.
MAX_SEEDS = 6

DATA = {
    "Solar": "Solar irradiance",
    "Audio": "Audio signal",
    "Covid": "COVID-19 deaths in Santa Catarina",
    "TwoMoons": "Two moons",
    "Toy": "Synthetic series",
}
#: Data sets whose inputs have several dimensions, where some methods have another family of inducing variables.
SPATIAL_DATA = frozenset({"TwoMoons", "Skillcraft", "Powerplant"})
TOYS = {"figure_1": "figure 1", "figure_f4": "appendix F.4"}
TASK_ORDERS = {"first_dimension": "1st dimension", "l2_norm": "L2"}
SOURCES = {"sample": "synthetic sample", "cds": "Climate Data Store", "files": "files"}
#: How the paper marks the path along which a method orders inputs of several dimensions.
ORDERINGS = {"given": "o", "kernel_max": "k", "kernel_min": "kmin", "random": "rand"}
PATHS = {"given": "as given", "random": "at random"}
#: The family that computes the variables of the method in another way; it does not make another method.
RECURRENCE = "LegSRecurrence"
FAMILIES = {
    "LegS": "HiPPO-LegS",
    "LegT": "HiPPO-LegT",
    "LagT": "HiPPO-LagT",
    "FouT": "HiPPO-FouT",
    "CosS": "cosines over the whole past (CosS)",
    "ChosenCosines": "cosines chosen for each latent (ChosenCosines)",
    "CosineExpansion": "an expansion in cosines and waves (CosineExpansion)",
    "LegSPath": "HiPPO-LegS along a path",
    "LegSRecurrence": "HiPPO-LegS by recurrence",
    "Points": "inducing points",
    "PivotedPoints": "points by pivoted Cholesky",
    "PerDimPoints": "points by pivoted Cholesky, for each latent",
    "FourierFeatures": "variational Fourier features",
    AUTO: "LegS or CosS, by the bound",
}
KERNELS = {"rbf": "RBF", "matern12": "Matérn-1/2", "matern32": "Matérn-3/2", "matern52": "Matérn-5/2"}
HYPERPARAMETERS = {
    "fixed": "kernel given",
    "fit_first_task": "kernel of the first task",
    "train_first_task": "kernel trained in the first task",
    "train_always": "kernel trained in every task",
    "bank": "bank of kernels",
}
CONSOLIDATION = {"ewc": "EWC", "replay": "replay", "both": "EWC and replay", "none": "networks free to change"}
#: How q(u) is found, for Gaussian likelihoods and for others.
GAUSSIAN_INFERENCE = {"collapsed": "closed form", "free_form": "iterated"}
OTHER_INFERENCE = {"collapsed": "natural gradients", "free_form": "Adam"}


def data_title(data: ConfigSection) -> str:
    """The name of a data set, with the variant of it that the paper distinguishes.

    Args:
        data: The data of a config.
    """
    title, options = DATA.get(data.class_name, data.class_name), data.options
    if "task_order" in options:
        title += f" ({TASK_ORDERS.get(str(options['task_order']), options['task_order'])})"
    if data.class_name == "Toy" and options.get("kind"):
        title += f" ({TOYS.get(str(options['kind']), options['kind'])})"
    if data.class_name == "ERA5":
        paths = options.get("paths") or []
        files = [str(path) for path in (paths if isinstance(paths, list) else [paths])]
        short = ["/".join(PurePath(file).parts[-2:]) for file in files]  # without the folders of this machine
        title += ", " + " ".join([SOURCES.get(str(options.get("source")), str(options.get("source"))), *short])
    return title


def data_options(data: ConfigSection) -> dict[str, Any]:
    """The options that must be equal for two runs to have the same data.

    Args:
        data: The data of a config.
    """
    return {key: value for key, value in data.options.items() if key not in LEARNING_OPTIONS + STORAGE_OPTIONS}


def method_options(config: RunConfig) -> dict[str, Any]:
    """The options in which experiments on the same data may differ: those of the model, and how the data are learnt.

    Args:
        config: The config of a run.
    """
    learning = {key: value for key, value in config.data.options.items() if key in LEARNING_OPTIONS}
    return {**config.model.options, **learning}


def method_name(config: RunConfig) -> str:
    """The method as in the paper, such as OHSVGP-k, or its family, such as CosS, if that is not the method's own.

    Args:
        config: The config of a run.
    """
    name, ordering = catalogue_name(config), _ordering(config)
    if config.model.options.get("inducing") == RECURRENCE:
        name += " by recurrence"
    return name if ordering is None else f"{name}-{ORDERINGS.get(ordering, ordering)}"


def catalogue_name(config: RunConfig) -> str:
    """The name in `METHODS`: that of the method, or of the family that replaces its own.

    Args:
        config: The config of a run.
    """
    options = config.model.options
    inducing = options.get("inducing") if options.get("inducing") != RECURRENCE else None
    return str(inducing or options.get("method") or config.model.class_name or "model")


def catalogue_position(config: RunConfig | None) -> int:
    """The position of a method in `METHODS`; methods that are not there come last.

    Args:
        config: The config of a run, if it is known.
    """
    names = list(METHODS)
    name = catalogue_name(config) if config else ""
    return names.index(name) if name in names else len(names)


def family_name(config: RunConfig) -> str:
    """A description of the inducing variables; empty if they are not known.

    Args:
        config: The config of a run.
    """
    method = METHODS.get(str(config.model.options.get("method")))
    default = "ChosenCosines" if config.model.class_name == "SeriesGP" else ""
    if method is not None:
        default = (method.family_in_space if config.data.class_name in SPATIAL_DATA else None) or method.family
    family = str(config.model.options.get("inducing") or default)
    name, ordering = FAMILIES.get(family, family), _ordering(config)
    return name if ordering is None else f"{name} {PATHS.get(ordering, f'by {ordering}')}"


def _ordering(config: RunConfig) -> str | None:
    """The ordering of the points of a path, if the config names one."""
    options = config.model.options.get("inducing_options")
    ordering = options.get("ordering") if isinstance(options, dict) else None
    return None if ordering is None else str(ordering)


def describe_variant(config: RunConfig) -> dict[str, str]:
    """How a method was run, in words, by option; options that have their defaults are left out.

    Args:
        config: The config of a run.
    """
    options, method = config.model.options, catalogue_name(config)
    words = {
        "kernel": _describe_kernel(options, method),
        "inference": _describe_inference(options, method),
        "hyperparameters": _describe_hyperparameters(config.model),
        "consolidation": CONSOLIDATION.get(str(options.get("consolidation")), ""),
        "power": f"power {options['power']}" if options.get("power") else "",
        "joint": "all tasks at once" if config.data.options.get("joint") is True else "",
    }
    return {option: word for option, word in words.items() if word}


def _describe_kernel(options: Mapping[str, Any], method: str) -> str:
    default = METHODS[method].kernel if method in METHODS else "rbf"
    kernel = options.get("kernel") or default
    return "" if kernel == default else KERNELS.get(str(kernel), f"kernel {kernel}")


def _describe_inference(options: Mapping[str, Any], method: str) -> str:
    if "inference" not in options:
        return ""
    gaussian = options.get("likelihood", "gaussian") == "gaussian"

    def default(name: str) -> str:
        inference = METHODS[name].inference if name in METHODS else None
        return inference or ("collapsed" if gaussian else "free_form")

    inference = options["inference"] or default(str(options.get("method")))
    if inference == default(method):
        return ""
    return (GAUSSIAN_INFERENCE if gaussian else OTHER_INFERENCE).get(str(inference), f"inference {inference}")


def _describe_hyperparameters(model: ConfigSection) -> str:
    value = model.options.get("hyperparameters")
    module = getattr(modules, model.class_name, None)
    parameters = inspect.signature(module).parameters if isinstance(module, type) else {}
    default = parameters["hyperparameters"].default if "hyperparameters" in parameters else None
    return "" if value is None or value == default else HYPERPARAMETERS.get(str(value), f"hyperparameters {value}")


def format_option(value: object) -> str:
    """The value of an option as text: mappings as `ordering=kernel_max`.

    Args:
        value: Anything that a config can hold.
    """
    if isinstance(value, dict):
        return " ".join(f"{key}={format_option(part)}" for key, part in value.items())
    if isinstance(value, list):
        return " ".join(map(format_option, value))
    return str(value)


def format_seeds(seeds: Iterable[str]) -> str:
    """Seeds as text, such as `seed 1` or `seeds 1–5`.

    Args:
        seeds: Names of run folders; at least one.
    """
    seeds = list(seeds)
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {list_seeds(seeds)}"


def list_seeds(seeds: Iterable[str]) -> str:
    """Numbers of seeds: a few one by one, consecutive ones as a range, of many the first and the last.

    Args:
        seeds: Names of run folders, such as seed_1; at least one.
    """
    names = [seed.removeprefix("seed_") for seed in sorted(seeds, key=lambda seed: (len(seed), seed))]
    first = int(names[0]) if names[0].isdecimal() else 0
    if len(names) > 2 and names == [str(first + n) for n in range(len(names))]:
        return f"{names[0]}–{names[-1]}"
    return ", ".join(names) if len(names) <= MAX_SEEDS else f"{names[0]} … {names[-1]}"
