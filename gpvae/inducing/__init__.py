"""Families of inducing variables. To add one: a class in a new file, imported here and named in `__all__`."""

from gpvae.inducing.base import Functionals, InducingVariables
from gpvae.inducing.fourier import FourierFeatures
from gpvae.inducing.hippo import CosS, FouT, LagT, LegS, LegT
from gpvae.inducing.path import LegSPath
from gpvae.inducing.per_dim import PerDimPoints
from gpvae.inducing.pivoted import PivotedPoints
from gpvae.inducing.points import Points
from gpvae.inducing.recurrence import LegSRecurrence

__all__ = [
    "CosS",
    "FouT",
    "FourierFeatures",
    "Functionals",
    "InducingVariables",
    "LagT",
    "LegS",
    "LegSPath",
    "LegSRecurrence",
    "LegT",
    "PerDimPoints",
    "PivotedPoints",
    "Points",
]
