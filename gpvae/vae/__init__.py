"""The GP-VAE: networks, a posterior for every series, and what keeps both from forgetting."""

from gpvae.vae.model import GPVAE

__all__ = ["GPVAE"]
