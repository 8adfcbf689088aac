"""Streaming Gaussian processes that remember."""

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpvae.utils import own_packages

if TYPE_CHECKING:
    from gpvae import inducing
    from gpvae.bank import Bank
    from gpvae.diagnostics import MisfitWarning, ResolutionWarning
    from gpvae.hyperparameters import HyperparameterWarning
    from gpvae.online_gp import OnlineGP
    from gpvae.saved import SavedRun
    from gpvae.utils.linalg import JitterWarning

__all__ = [
    "Bank",
    "HyperparameterWarning",
    "JitterWarning",
    "MisfitWarning",
    "OnlineGP",
    "ResolutionWarning",
    "__version__",
    "inducing",
    "load",
]

#: Modules of the names above, imported on first access: `gpvae --version` needs no torch.
_MODULES = {
    "Bank": "gpvae.bank",
    "HyperparameterWarning": "gpvae.hyperparameters",
    "JitterWarning": "gpvae.utils.linalg",
    "MisfitWarning": "gpvae.diagnostics",
    "OnlineGP": "gpvae.online_gp",
    "ResolutionWarning": "gpvae.diagnostics",
}

own_packages.register()

try:
    __version__ = version("gpvae")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "inducing":
        return import_module("gpvae.inducing")
    if name not in _MODULES:
        raise AttributeError(f"module 'gpvae' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__


def load(path: str | Path, *, allow: Iterable[str] = ()) -> "SavedRun[Any]":
    """Load a run that `gpvae fit` has saved. Only tensors and plain values are read from its checkpoint.

    Args:
        path: The run folder, such as `runs/era5_ohsvgp/seed_1`, or one of the checkpoints in it.
        allow: Further packages and classes that the run may name, like `--allow` on the command line.

    Returns:
        A `gpvae.saved.SavedSeriesRun` for a GP-VAE on series, a `gpvae.saved.SavedPointRun` for a streaming GP.

    Raises:
        FileNotFoundError: There is no run, or it has no checkpoint.
        ValueError: The checkpoint is damaged, or cannot be read by this version.
    """
    from gpvae.utils.extras import require

    require("lightning", "train", "gpvae.load opens a run", ImportError)
    own_packages.claim()
    from gpvae.saved import load as load_run

    return load_run(path, allow=allow)
