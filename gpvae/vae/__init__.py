"""The GP-VAE: networks, a posterior for every series, and protection of the networks against forgetting."""

from gpvae.vae.model import GPVAE

__all__ = ["GPVAE"]
