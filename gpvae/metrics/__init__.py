"""Metrics of predictive distributions, scores of every task, and forgetting."""

from gpvae.metrics.calibration import ECE
from gpvae.metrics.description import Description
from gpvae.metrics.forgetting import BackwardTransfer, Forgetting, TaskMatrix
from gpvae.metrics.monte_carlo import equal_mixture, monte_carlo
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage
from gpvae.metrics.registry import METRICS, describe, find_metric, for_likelihood, target_of
from gpvae.metrics.score import Score
from gpvae.metrics.target import HIGHER, LOWER, Target
from gpvae.metrics.task_scores import TaskScores
from gpvae.metrics.task_table import TaskTable

__all__ = [
    "ECE",
    "HIGHER",
    "LOWER",
    "METRICS",
    "NLPD",
    "RMSE",
    "Accuracy",
    "Aim",
    "BackwardTransfer",
    "Coverage",
    "Description",
    "Forgetting",
    "Score",
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
    "target_of",
]

Aim, aim_of = Target, target_of  # earlier names
