"""Regression with river."""

from typing import Any

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from river import base, proba

from gpvae.estimators import TargetModel
from gpvae.inducing import InducingVariables
from gpvae.river.stream_model import StreamModel


class OnlineGPRegressor(StreamModel[TargetModel], base.Regressor):
    """Gaussian process regression that learns point by point, at constant cost, and keeps none of the data.

    The features are those of the first point. A feature that is absent later counts as zero; one that appears later is
    ignored. Features need no scaling, because each has its own lengthscale. A scaler that keeps learning would shift
    the inputs of points that have already been learnt.

    Args:
        kernel: A gpytorch kernel; a scaled RBF kernel with a lengthscale for each feature if not given.
        likelihood: A gpytorch likelihood; Gaussian if not given.
        inducing: The name of a family of `gpvae.inducing`, or a family. `CosS` is for one feature, time.
        num_inducing: Number of inducing variables of a family given by name.
        warm_up: Number of first points that are kept for fitting. Hyperparameters are fitted to the first ones, and
            again whenever there are twice as many, until there are this many. With 0, the given kernel and likelihood
            are kept.
    """

    model_class = TargetModel

    def __init__(
        self,
        kernel: Kernel | None = None,
        likelihood: Likelihood | None = None,
        inducing: InducingVariables | str = "PivotedPoints",
        num_inducing: int = 50,
        warm_up: int = 200,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inducing = inducing
        self.num_inducing = num_inducing
        self.warm_up = warm_up

    def learn_one(self, x: dict[base.typing.FeatureName, Any], y: base.typing.RegTarget) -> None:
        """Learn a point.

        Args:
            x: Its features.
            y: Its target.
        """
        model, features = self._started(x)
        model.learn(features.row(x), torch.tensor([float(y)], dtype=torch.float64))

    def predict_one(
        self, x: dict[base.typing.FeatureName, Any], with_dist: bool = False
    ) -> base.typing.RegTarget | proba.base.ContinuousDistribution:
        """Predict the target of a point.

        Args:
            x: Its features.
            with_dist: Return a river normal distribution with the predicted mean and standard deviation.
        """
        if self._features is None or self._model is None:
            mean, stddev = 0.0, 1.0
        else:
            predicted = self._model.predict(self._features.row(x))
            mean, stddev = float(predicted.mean), float(predicted.stddev)
        return proba.Gaussian._from_state(n=1, m=mean, var=stddev**2, ddof=0) if with_dist else mean
