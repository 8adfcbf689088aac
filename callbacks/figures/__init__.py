"""Pictures of what a model knows after each task, and the callback that has them drawn."""

from callbacks.figures.callback import TaskFigures

__all__ = ["TaskFigures"]
