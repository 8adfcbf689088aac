"""Common base of regressor and classifier."""

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood

from gpvae.estimators import Blueprint, LabelModel, TargetModel
from gpvae.inducing import InducingVariables
from gpvae.river.features import Features

M = TypeVar("M", LabelModel, TargetModel)


class StreamModel(Generic[M]):
    """A model that is built at the first point, for its features. The estimators document the parameters."""

    model_class: type[M]
    kernel: Kernel | None
    likelihood: Likelihood | None = None
    inducing: InducingVariables | str
    num_inducing: int
    warm_up: int
    _features: Features | None = None
    _model: M | None = None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"num_inducing": 5, "warm_up": 8}

    def _started(self, x: Mapping[Any, Any]) -> tuple[M, Features]:
        """The model and the features of the stream, whose first point is x unless it has begun."""
        if self._features is None or self._model is None:
            self._features = Features(x)
            blueprint = Blueprint(self.inducing, self.num_inducing, self.kernel, self.likelihood)
            self._model = self.model_class(blueprint, len(self._features), warm_up=self.warm_up)
        return self._model, self._features
