"""Callbacks for training on a stream of tasks."""

from gpvae.utils.extras import require

require("lightning", "train", "callbacks defines callbacks of Lightning", ImportError)

from callbacks.checkpoint import TaskCheckpoint
from callbacks.clock import TaskClock
from callbacks.continual import ContinualLearning
from callbacks.figures import TaskFigures
from callbacks.location_scores import LocationScores
from callbacks.predicted_series import SeriesPredictions
from callbacks.predictions.csv import PredictionTable
from callbacks.predictions.netcdf import NetCDFPredictions
from callbacks.progress import TaskProgress
from callbacks.report import TaskReport

__all__ = [
    "ContinualLearning",
    "LocationScores",
    "NetCDFPredictions",
    "PredictionTable",
    "SeriesPredictions",
    "TaskCheckpoint",
    "TaskClock",
    "TaskFigures",
    "TaskProgress",
    "TaskReport",
]
