"""Regression with scikit-learn."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import column_or_1d, validate_data

from gpvae.estimators import Blueprint, TargetModel
from gpvae.inducing import InducingVariables
from gpvae.sklearn.estimator import OnlineEstimator, as_tensor
from gpvae.utils.quantiles import quantile


class OnlineGPRegressor(RegressorMixin, OnlineEstimator):
    """Gaussian process regression that learns batch by batch, at constant cost, and keeps none of the data.

    Args:
        kernel: A gpytorch kernel; a scaled RBF kernel with a lengthscale for each input if not given.
        likelihood: A gpytorch likelihood; Gaussian if not given.
        inducing: The name of a family of `gpvae.inducing`, or a family. `CosS` is for one input, time, in order.
        num_inducing: Number of inducing variables of a family given by name.
        fit_hyperparameters: Fit kernel and likelihood to the first points; otherwise the given ones are kept.
        warm_up: Number of first points that `partial_fit` keeps for fitting. Hyperparameters are fitted to the first
            batch, and again whenever there are twice as many points, until there are this many.

    Attributes:
        model_: The model learnt so far; `model_.gp` is the `gpvae.OnlineGP`.
        n_features_in_: Number of inputs.
    """

    model_: TargetModel

    def __sklearn_tags__(self) -> Tags:
        """Tags of scikit-learn: several outputs are possible."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        likelihood: Likelihood | None = None,
        inducing: InducingVariables | str = "PivotedPoints",
        num_inducing: int = 100,
        fit_hyperparameters: bool = True,
        warm_up: int = 200,
    ) -> None:
        super().__init__(
            kernel,
            inducing=inducing,
            num_inducing=num_inducing,
            fit_hyperparameters=fit_hyperparameters,
            warm_up=warm_up,
        )
        self.likelihood = likelihood

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from scratch, with all points as one batch.

        Args:
            X: Inputs `[N, D]`.
            y: Targets `[N]`, or `[N, K]` for K outputs that share kernel and noise.
        """
        return self._learn(X, y, first=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn one more batch.

        Args:
            X: Inputs `[N, D]`.
            y: Targets `[N]`, or `[N, K]` for K outputs that share kernel and noise.
        """
        return self._learn(X, y, first=not hasattr(self, "model_"))

    def _learn(self, X: ArrayLike, y: ArrayLike, *, first: bool) -> Self:
        inputs, targets = validate_data(self, X, y, reset=first, dtype=np.float64, y_numeric=True, multi_output=True)
        targets = column_or_1d(targets, warn=True) if targets.shape[1:] == (1,) else targets
        if first:
            num_outputs = targets.shape[1] if targets.ndim > 1 else None
            blueprint = Blueprint(self.inducing, self.num_inducing, self.kernel, self.likelihood, num_outputs)
            self.model_ = TargetModel(blueprint, inputs.shape[1], warm_up=self._warm_up)
        self.model_.learn(as_tensor(inputs), as_tensor(targets))
        return self

    def predict(
        self, X: ArrayLike, return_std: bool = False, quantiles: Sequence[float] | None = None
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """Predict targets.

        Args:
            X: Inputs `[N, D]`.
            return_std: Also return standard deviations of the targets, noise included.
            quantiles: Probabilities of quantiles to return, such as `(0.05, 0.95)`.

        Returns:
            Means `[N]`. If standard deviations `[N]` or quantiles `[N, Q]` are requested, a tuple of these, in this
            order. For K outputs `[N, K]`, `[N, K]` and `[N, K, Q]`.
        """
        x = self._inputs(X)
        predicted = self.model_.predict(x)
        parts = [predicted.mean]
        if return_std:
            parts.append(predicted.stddev)
        if quantiles is not None:
            parts.append(torch.stack([quantile(predicted, probability) for probability in quantiles], -1))
        arrays = tuple(part.numpy() for part in parts)
        return arrays if len(arrays) > 1 else arrays[0]

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: int | RandomState | None = 0) -> np.ndarray:
        """Draw functions from the posterior, jointly over the inputs, `[N, n_samples]`, or `[N, K, n_samples]`.

        Args:
            X: Inputs `[N, D]`.
            n_samples: Number of functions.
            random_state: Seed, or a numpy random state.
        """
        x, seed = self._inputs(X), int(check_random_state(random_state).randint(2**31 - 1))
        return self.model_.gp.sample(x, n_samples, seed).movedim(0, -1).numpy()
