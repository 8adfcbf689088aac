"""Models shared by the interfaces for scikit-learn and river."""

from gpvae.estimators.blueprint import Blueprint
from gpvae.estimators.labels import LabelModel
from gpvae.estimators.targets import TargetModel

__all__ = ["Blueprint", "LabelModel", "TargetModel"]
