"""Callbacks for training on a stream of tasks."""

from callbacks.checkpoint import TaskCheckpoint
from callbacks.continual import ContinualLearning
from callbacks.figures import TaskFigures
from callbacks.predictions import PredictionTable
from callbacks.progress import TaskProgress
from callbacks.report import TaskReport

__all__ = ["ContinualLearning", "PredictionTable", "TaskCheckpoint", "TaskFigures", "TaskProgress", "TaskReport"]
