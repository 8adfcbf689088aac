"""Streaming Gaussian processes that remember."""

from gpvae import inducing
from gpvae.online_gp import OnlineGP

__all__ = ["OnlineGP", "inducing"]
