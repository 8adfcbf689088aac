"""Lets gpytorch's fantasy models find the means they have stored.

gpytorch 1.15 stores `mean_cache` of a fantasy model under one key and looks for it under another, so that the mean
ignores the covariance of the pseudo-points (docs/gpytorch_report.md). Without `fast_pred_var`, the covariance ignores
it too. `correct_fantasies` mends both while it is active.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from gpytorch.models import exact_prediction_strategies
from gpytorch.settings import fast_pred_var, observation_nan_policy
from gpytorch.utils.memoize import add_to_cache
from gpytorch.variational import _variational_strategy


@contextmanager
def correct_fantasies() -> Iterator[None]:
    """Store means where they are looked for, and predict with the covariances that are stored."""
    with (
        patch.object(exact_prediction_strategies, "add_to_cache", _add_to_cache),
        patch.object(_variational_strategy, "add_to_cache", _add_to_cache),
        fast_pred_var(),
    ):
        yield


def _add_to_cache(strategy: object, name: str, value: object) -> Any:  # noqa: ANN401
    """Add to the cache; the key of the mean contains the policy for missing values, as its reader expects."""
    policy = (observation_nan_policy.value(),) if name == "mean_cache" else ()
    return add_to_cache(strategy, name, value, *policy)
