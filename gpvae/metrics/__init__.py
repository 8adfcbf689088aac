"""How good predictions are, task by task, and what is forgotten on the way."""

from gpvae.metrics.calibration import ECE
from gpvae.metrics.forgetting import BackwardTransfer, Forgetting, TaskMatrix
from gpvae.metrics.monte_carlo import equal_mixture, monte_carlo
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage
from gpvae.metrics.registry import METRICS, aim_of, find_metric, for_likelihood
from gpvae.metrics.target import HIGHER, LOWER, Aim
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
    "Forgetting",
    "TaskMatrix",
    "TaskScores",
    "TaskTable",
    "aim_of",
    "equal_mixture",
    "find_metric",
    "for_likelihood",
    "monte_carlo",
]
