"""Metrics of predictive distributions, scores of every task, and forgetting."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpvae.utils.extras import require

if TYPE_CHECKING:
    from gpvae.metrics.calibration import ECE
    from gpvae.metrics.crps import CRPS
    from gpvae.metrics.description import Description, describe, target_of
    from gpvae.metrics.foresight import Foresight, ForesightCell
    from gpvae.metrics.foresight_table import ForesightScore, ForesightTable, read_foresight
    from gpvae.metrics.forgetting import BackwardTransfer, Forgetting, TaskMatrix
    from gpvae.metrics.mixtures import equal_mixture, monte_carlo
    from gpvae.metrics.pointwise import NLPD, RMSE, Accuracy, Coverage
    from gpvae.metrics.references import Climatology, Persistence, Reference, RunningMean
    from gpvae.metrics.registry import METRICS, find_metric, for_likelihood
    from gpvae.metrics.score import Score
    from gpvae.metrics.squared_errors import SquaredErrors
    from gpvae.metrics.target import HIGHER, LOWER, Target
    from gpvae.metrics.task_scores import TaskScores
    from gpvae.metrics.task_table import TaskTable

    Aim, aim_of = Target, target_of

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

#: Names by module, imported when first asked for: tables of scores can be read without torch.
_MODULES = {
    "calibration": ("ECE",),
    "crps": ("CRPS",),
    "description": ("Description", "describe", "target_of"),
    "foresight": ("Foresight", "ForesightCell"),
    "foresight_table": ("ForesightScore", "ForesightTable", "read_foresight"),
    "forgetting": ("BackwardTransfer", "Forgetting", "TaskMatrix"),
    "mixtures": ("equal_mixture", "monte_carlo"),
    "pointwise": ("Accuracy", "Coverage", "NLPD", "RMSE"),
    "references": ("Climatology", "Persistence", "Reference", "RunningMean"),
    "registry": ("METRICS", "find_metric", "for_likelihood"),
    "score": ("Score",),
    "squared_errors": ("SquaredErrors",),
    "target": ("HIGHER", "LOWER", "Target"),
    "task_scores": ("TaskScores",),
    "task_table": ("TaskTable",),
}
_EARLIER_NAMES = {"Aim": "Target", "aim_of": "target_of"}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    wanted = _EARLIER_NAMES.get(name, name)
    module = next((module for module, names in _MODULES.items() if wanted in names), None)
    if module is None:
        raise AttributeError(f"module 'gpvae.metrics' has no attribute {name!r}")
    try:
        value = globals()[name] = getattr(import_module(f"gpvae.metrics.{module}"), wanted)
    except ModuleNotFoundError:
        require("torchmetrics", "report", "gpvae.metrics has metrics of torchmetrics", ImportError)
        raise
    return value


def __dir__() -> list[str]:
    return __all__
