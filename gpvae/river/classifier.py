"""Classification with river."""

from typing import Any

from gpytorch.kernels import Kernel
from river import base

from gpvae.estimators import LabelModel
from gpvae.inducing import InducingVariables
from gpvae.river.stream_model import StreamModel


class OnlineGPClassifier(StreamModel[LabelModel], base.Classifier):
    """Gaussian process classification that learns point by point, at constant cost, and keeps none of the data.

    Updates are in closed form, with a regression for each class on transformed labels; see `gpvae.estimators.labels`.
    Classes may appear at any time.

    The features are those of the first point. A feature that is absent later counts as zero; one that appears later is
    ignored. Features need no scaling, because each has its own lengthscale. A scaler that keeps learning would shift
    the inputs of points that have already been learnt.

    Args:
        kernel: A gpytorch kernel; a scaled RBF kernel with a lengthscale for each feature if not given.
        inducing: The name of a family of `gpvae.inducing`, or a family.
        num_inducing: Number of inducing variables of a family given by name.
        warm_up: Number of first points that are kept for fitting. The kernel is fitted to the first ones, and again
            whenever there are twice as many, until there are this many. With 0, the given kernel is kept.
    """

    model_class = LabelModel

    def __init__(
        self,
        kernel: Kernel | None = None,
        inducing: InducingVariables | str = "PivotedPoints",
        num_inducing: int = 50,
        warm_up: int = 200,
    ) -> None:
        self.kernel = kernel
        self.inducing = inducing
        self.num_inducing = num_inducing
        self.warm_up = warm_up

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[base.typing.FeatureName, Any], y: base.typing.ClfTarget) -> None:
        """Learn a point.

        Args:
            x: Its features.
            y: Its label.
        """
        model, features = self._started(x)
        model.learn(features.row(x), [y])

    def predict_proba_one(self, x: dict[base.typing.FeatureName, Any], **_: Any) -> dict[base.typing.ClfTarget, float]:
        """The probability of each class seen so far.

        Args:
            x: The features of a point.
        """
        if self._features is None or self._model is None:
            return {}
        (probabilities,) = self._model.probabilities(self._features.row(x)).tolist()
        return dict(zip(self._model.classes, probabilities, strict=True))
