"""The past of some series about its mean, as steps in float32 read it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.vae.shared_times import TimeFeatures


@dataclass(frozen=True)
class CentredSite(Site):
    """The site of the past as a function of v - m with m = (I + G)⁻¹ h, the mean given the past: c ← c + ½ hᵀm, h ← 0.

    In c + hᵀv, numbers as large as the precision of all data so far cancel, and in float32 their rounding errors would
    remain. About the mean, only c is left of them.

    Attributes:
        mean: aᵀm, the mean of f given the past at each time of a task, `[B, L, T]`.
    """

    mean: Tensor

    @classmethod
    def of(cls, site: Site, features: TimeFeatures) -> "CentredSite":
        """The past of a task, from its sites `[B, L]` and the features of its times."""
        m = Posterior.from_site(site).mean
        c = site.c + 0.5 * (site.h * m).sum(-1)
        return cls(c, torch.zeros_like(site.h[:1]), site.G, features.values(m))
