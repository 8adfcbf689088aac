"""Streaming Gaussian processes that remember."""

from importlib.metadata import PackageNotFoundError, version

from gpvae import inducing
from gpvae.diagnostics import MisfitWarning, ResolutionWarning
from gpvae.hyperparameters import HyperparameterWarning
from gpvae.online_gp import OnlineGP
from gpvae.utils.linalg import JitterWarning

__all__ = [
    "HyperparameterWarning",
    "JitterWarning",
    "MisfitWarning",
    "OnlineGP",
    "ResolutionWarning",
    "__version__",
    "inducing",
]

try:
    __version__ = version("gpvae")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"
