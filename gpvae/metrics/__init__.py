"""Metrics of predictive distributions, scores of every task, and forgetting."""

from gpvae.utils.extras import require

require("torchmetrics", "report", "gpvae.metrics has metrics of torchmetrics", ImportError)

from gpvae.metrics.calibration import ECE  # noqa: E402
from gpvae.metrics.crps import CRPS  # noqa: E402
from gpvae.metrics.description import Description  # noqa: E402
from gpvae.metrics.foresight import Foresight, ForesightCell  # noqa: E402
from gpvae.metrics.foresight_table import ForesightScore, ForesightTable, read_foresight  # noqa: E402
from gpvae.metrics.forgetting import BackwardTransfer, Forgetting, TaskMatrix  # noqa: E402
from gpvae.metrics.monte_carlo import equal_mixture, monte_carlo  # noqa: E402
from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage  # noqa: E402
from gpvae.metrics.references import Climatology, Persistence, Reference, RunningMean  # noqa: E402
from gpvae.metrics.registry import METRICS, describe, find_metric, for_likelihood, target_of  # noqa: E402
from gpvae.metrics.score import Score  # noqa: E402
from gpvae.metrics.squared_errors import SquaredErrors  # noqa: E402
from gpvae.metrics.target import HIGHER, LOWER, Target  # noqa: E402
from gpvae.metrics.task_scores import TaskScores  # noqa: E402
from gpvae.metrics.task_table import TaskTable  # noqa: E402

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
