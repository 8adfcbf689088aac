"""Families of inducing variables. To add one: a class in a new file, imported here and named in `__all__`."""

from gpvae.inducing.base import Functionals, InducingVariables
from gpvae.inducing.chosen import ChosenCosines
from gpvae.inducing.composed import Composed
from gpvae.inducing.expansion import CosineExpansion
from gpvae.inducing.fourier import FourierFeatures
from gpvae.inducing.path import LegSPath
from gpvae.inducing.pivoted import PerDimPoints, PivotedPoints
from gpvae.inducing.points import Points
from gpvae.inducing.recurrence import LegSRecurrence
from gpvae.inducing.time import CosS, FouT, LagT, LegS, LegT

__all__ = [
    "ChosenCosines",
    "Composed",
    "CosS",
    "CosineExpansion",
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
