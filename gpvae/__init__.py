"""Streaming Gaussian processes that remember."""

from gpvae import inducing
from gpvae.hyperparameters import HyperparameterWarning
from gpvae.linalg import JitterWarning
from gpvae.online_gp import OnlineGP, ResolutionWarning

__all__ = ["HyperparameterWarning", "JitterWarning", "OnlineGP", "ResolutionWarning", "inducing"]
