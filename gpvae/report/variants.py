"""How a method was run where that is not the usual way, in words."""

import inspect
from collections.abc import Mapping
from typing import Any

from gpvae import modules
from gpvae.methods import METHODS
from gpvae.results.run_config import Part, RunConfig

KERNELS = {"rbf": "RBF", "matern12": "Matérn-1/2", "matern32": "Matérn-3/2", "matern52": "Matérn-5/2"}
HYPERPARAMETERS = {
    "fixed": "kernel given",
    "fit_first_task": "kernel of the first task",
    "train_first_task": "kernel trained in the first task",
    "train_always": "kernel trained in every task",
}
CONSOLIDATION = {"ewc": "EWC", "replay": "replay", "both": "EWC and replay", "none": "networks free to change"}
#: Options that names and words tell of, and what is drawn at random.
TOLD = ("method", "inducing", "kernel", "inference", "hyperparameters", "consolidation", "power", "joint", "seed")
#: Ways to q(u), where the likelihood is Gaussian and where it is not.
GAUSSIAN = {"collapsed": "closed form", "free_form": "iterated"}
OTHERS = {"collapsed": "natural gradients", "free_form": "Adam"}


def words_of(config: RunConfig, method: str) -> dict[str, str]:
    """What is said of a method beside its name, by the option that it comes from; nothing of what is usual.

    Args:
        config: The config of a run.
        method: What the catalogue calls the method, such as OVC or CosS.
    """
    options = config.model.options
    words = {
        "kernel": _kernel(options, method),
        "inference": _inference(options, method),
        "hyperparameters": _unless_usual(config.model, "hyperparameters", HYPERPARAMETERS),
        "consolidation": CONSOLIDATION.get(str(options.get("consolidation")), ""),
        "power": f"power {options['power']}" if options.get("power") else "",
        "joint": "all tasks at once" if config.data.options.get("joint") is True else "",
    }
    return {option: said for option, said in words.items() if said}


def _kernel(options: Mapping[str, Any], method: str) -> str:
    usual = METHODS[method].kernel if method in METHODS else "rbf"
    kernel = options.get("kernel") or usual
    return "" if kernel == usual else KERNELS.get(str(kernel), f"kernel {kernel}")


def _inference(options: Mapping[str, Any], method: str) -> str:
    """How q(u) is found, where that is an option and not as the method would have it."""
    if "inference" not in options:
        return ""
    gaussian = options.get("likelihood", "gaussian") == "gaussian"
    otherwise = "collapsed" if gaussian else "free_form"

    def by(name: str) -> str:
        return (METHODS[name].inference if name in METHODS else None) or otherwise

    found = options["inference"] or by(str(options.get("method")))
    if found == by(method):
        return ""
    return (GAUSSIAN if gaussian else OTHERS).get(str(found), f"inference {found}")


def _unless_usual(model: Part, option: str, words: Mapping[str, str]) -> str:
    """The words for the value of an option, unless it is the one that the class has by itself."""
    value = model.options.get(option)
    kind = getattr(modules, model.kind, None)
    known = inspect.signature(kind).parameters if isinstance(kind, type) else {}
    usual = known[option].default if option in known else None
    return "" if value is None or value == usual else words.get(str(value), f"{option} {value}")
