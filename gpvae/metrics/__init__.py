"""Metrics of predictive distributions, scores of every task, and forgetting."""

from gpvae.metrics.calibration import ECE
from gpvae.metrics.crps import CRPS
from gpvae.metrics.description import Description
from gpvae.metrics.foresight import Foresight, ForesightCell
from gpvae.metrics.foresight_table import ForesightScore, ForesightTable, read_foresight
from gpvae.metrics.forgetting import BackwardTransfer, Forgetting, TaskMatrix
from gpvae.metrics.monte_carlo import equal_mixture, monte_carlo
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage
from gpvae.metrics.references import Climatology, Persistence, Reference, RunningMean
from gpvae.metrics.registry import METRICS, describe, find_metric, for_likelihood, target_of
from gpvae.metrics.score import Score
from gpvae.metrics.squared_errors import SquaredErrors
from gpvae.metrics.target import HIGHER, LOWER, Target
from gpvae.metrics.task_scores import TaskScores
from gpvae.metrics.task_table import TaskTable

__all__ = [
    "CRPS",
    "ECE",
    "HIGHER",
    "LOWER",
    "METRICS",
    "NLPD",
    "RMSE",
    "Accuracy",
    "Aim",
    "BackwardTransfer",
    "Climatology",
    "Coverage",
    "Description",
    "Foresight",
    "ForesightCell",
    "ForesightScore",
    "ForesightTable",
    "Forgetting",
    "Persistence",
    "Reference",
    "RunningMean",
    "Score",
    "SquaredErrors",
    "Target",
    "TaskMatrix",
    "TaskScores",
    "TaskTable",
    "aim_of",
    "describe",
    "equal_mixture",
    "find_metric",
    "for_likelihood",
    "monte_carlo",
    "read_foresight",
    "target_of",
]

Aim, aim_of = Target, target_of  # earlier names
