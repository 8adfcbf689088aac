"""Callbacks for training on a stream of tasks."""

from gpvae.utils.extras import require

require("lightning", "train", "callbacks has callbacks of Lightning", ImportError)

from callbacks.checkpoint import TaskCheckpoint  # noqa: E402
from callbacks.clock import TaskClock  # noqa: E402
from callbacks.continual import ContinualLearning  # noqa: E402
from callbacks.figures import TaskFigures  # noqa: E402
from callbacks.location_scores import LocationScores  # noqa: E402
from callbacks.predictions.csv import PredictionTable  # noqa: E402
from callbacks.predictions.netcdf import NetCDFPredictions  # noqa: E402
from callbacks.progress import TaskProgress  # noqa: E402
from callbacks.report import TaskReport  # noqa: E402

__all__ = [
    "ContinualLearning",
    "LocationScores",
    "NetCDFPredictions",
    "PredictionTable",
    "TaskCheckpoint",
    "TaskClock",
    "TaskFigures",
    "TaskProgress",
    "TaskReport",
]
