"""Classification with scikit-learn."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

from gpvae.estimators import Blueprint, LabelModel
from gpvae.sklearn.estimator import OnlineEstimator, as_tensor


class OnlineGPClassifier(ClassifierMixin, OnlineEstimator):
    """Gaussian process classification that learns batch by batch, at constant cost, and keeps none of the data.

    Updates are in closed form, with a regression for each class on transformed labels; see `gpvae.estimators.labels`.

    Args:
        kernel: A gpytorch kernel; a scaled RBF kernel with a lengthscale for each input if not given.
        inducing: The name of a family of `gpvae.inducing`, or a family.
        num_inducing: Number of inducing variables of a family given by name.
        fit_hyperparameters: Fit the kernel to the first points; otherwise the given kernel is kept.
        warm_up: Number of first points that `partial_fit` keeps for fitting. The kernel is fitted to the first batch,
            and again whenever there are twice as many points, until there are this many.

    Attributes:
        model_: The model learnt so far.
        classes_: The classes.
        n_features_in_: Number of inputs.
    """

    model_: LabelModel
    classes_: np.ndarray

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from scratch, with all points as one batch.

        Args:
            X: Inputs `[N, D]`.
            y: Labels `[N]`.
        """
        return self._learn(X, y, None, first=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn one more batch.

        Args:
            X: Inputs `[N, D]`.
            y: Labels `[N]`.
            classes: All classes; needed at the first call if not all of them are in its labels.
        """
        return self._learn(X, y, classes, first=not hasattr(self, "model_"))

    def _learn(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, *, first: bool) -> Self:
        inputs, labels = validate_data(self, X, y, reset=first, dtype=np.float64)
        check_classification_targets(labels)
        if first:
            self.classes_ = unique_labels(labels if classes is None else np.asarray(classes))
        self._check_classes(labels, classes)
        numbers = np.searchsorted(self.classes_, labels)
        if first:
            blueprint = Blueprint(self.inducing, self.num_inducing, self.kernel)
            self.model_ = LabelModel(
                blueprint, inputs.shape[1], warm_up=self._warm_up, classes=range(len(self.classes_))
            )
        self.model_.learn(as_tensor(inputs), numbers.tolist())
        return self

    def _check_classes(self, y: np.ndarray, classes: ArrayLike | None) -> None:
        """Raise unless the labels are among the classes, and these have not changed."""
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"labels {unknown.tolist()} are not among the classes {self.classes_.tolist()}; give all of them by "
                "`classes` at the first call of partial_fit"
            )
        if classes is not None and not np.array_equal(unique_labels(np.asarray(classes)), self.classes_):
            raise ValueError(
                f"classes={np.asarray(classes).tolist()} differ from those of the first call, {self.classes_.tolist()}"
            )

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the classes, in the order of `classes_`, `[N, C]`."""
        x = self._inputs(X)
        return self.model_.probabilities(x).numpy()

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable class of each point, `[N]`."""
        most = self.predict_proba(X).argmax(1)
        return self.classes_[most]
