"""Figures of predictions and scores after each task, and the callback that draws them."""

from callbacks.figures.callback import TaskFigures

__all__ = ["TaskFigures"]
