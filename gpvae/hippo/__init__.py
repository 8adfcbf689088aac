"""HiPPO: memory of a signal as its projections onto a moving orthonormal basis."""

from gpvae.hippo.measures import CosS, FouT, LagT, LegS, LegT, Measure
from gpvae.hippo.memory import absorb_path, path_weights, rescale
from gpvae.hippo.ode import evolve

__all__ = [
    "CosS",
    "FouT",
    "LagT",
    "LegS",
    "LegT",
    "Measure",
    "absorb_path",
    "evolve",
    "path_weights",
    "rescale",
]
