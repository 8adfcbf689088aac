"""HiPPO: memory of a signal as its projections onto a moving orthonormal basis."""

from gpvae.hippo.measures import (
    Measure,
    ScaledCosine,
    ScaledLegendre,
    TranslatedFourier,
    TranslatedLaguerre,
    TranslatedLegendre,
)
from gpvae.hippo.memory import absorb_path, path_weights, rescale
from gpvae.hippo.ode import evolve

__all__ = [
    "Measure",
    "ScaledCosine",
    "ScaledLegendre",
    "TranslatedFourier",
    "TranslatedLaguerre",
    "TranslatedLegendre",
    "absorb_path",
    "evolve",
    "path_weights",
    "rescale",
]
