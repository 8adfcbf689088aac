"""Common base of regressor and classifier."""

from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from gpvae.inducing import InducingVariables


class OnlineEstimator(BaseEstimator):
    """Common parameters, which the estimators document, and conversion of inputs."""

    model_: Any

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        inducing: InducingVariables | str = "PivotedPoints",
        num_inducing: int = 100,
        fit_hyperparameters: bool = True,
        warm_up: int = 200,
    ) -> None:
        self.kernel = kernel
        self.inducing = inducing
        self.num_inducing = num_inducing
        self.fit_hyperparameters = fit_hyperparameters
        self.warm_up = warm_up

    def _inputs(self, X: ArrayLike) -> Tensor:
        """Inputs `[N, D]` to predict at."""
        check_is_fitted(self, "model_")
        return as_tensor(validate_data(self, X, reset=False, dtype=np.float64))

    @property
    def _warm_up(self) -> int:
        return self.warm_up if self.fit_hyperparameters else 0


def as_tensor(values: np.ndarray) -> Tensor:
    """A copy in double precision."""
    return torch.from_numpy(np.array(values, dtype=np.float64))
