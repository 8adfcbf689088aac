"""The estimators in scikit-learn's own machinery: its checks, pipelines, cross-validation."""

import pickle
from collections.abc import Callable

import gpytorch
import numpy as np
import pytest
import torch

pytest.importorskip("sklearn", reason="needs the extra gpvae[sklearn]")

from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_friedman1, make_moons
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gpvae
from gpvae.sklearn import OnlineGPClassifier, OnlineGPRegressor

ESTIMATORS = [OnlineGPRegressor, OnlineGPClassifier]

#: Toy data of the checks: labels of noise, a handful of points.
pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.HyperparameterWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API is not set:Warning"),
]


@pytest.mark.slow
@parametrize_with_checks([estimator(num_inducing=10) for estimator in ESTIMATORS])
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def regression(num: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (num, 2))
    return X, 100 + np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(num)


def test_predictions_are_those_of_an_exact_gp() -> None:
    """With as many variables as points, and the same kernel, they agree with scikit-learn's own Gaussian process."""
    X, y = regression(60)
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    kernel.base_kernel.lengthscale, kernel.outputscale = 0.8, 2.0
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.05
    model = OnlineGPRegressor(kernel, likelihood=likelihood, num_inducing=60, fit_hyperparameters=False).fit(X, y)
    offset = model.model_.gp.mean.mean.constant.item()
    exact = GaussianProcessRegressor(2.0 * RBF(0.8) + WhiteKernel(0.05), optimizer=None, alpha=1e-10).fit(X, y - offset)
    at = X + 0.05
    mean, std = model.predict(at, return_std=True)
    expected_mean, expected_std = exact.predict(at, return_std=True)
    np.testing.assert_allclose(mean, offset + expected_mean, atol=1e-3)
    np.testing.assert_allclose(std, expected_std, rtol=1e-3)


def test_batches_one_after_the_other_equal_one_batch() -> None:
    X, y = regression()
    whole = OnlineGPRegressor(num_inducing=120).fit(X, y)
    parts = OnlineGPRegressor(num_inducing=120)
    for rows in np.array_split(np.arange(len(X)), 6):  # hyperparameters are found when all points are there
        parts.set_params(warm_up=120).partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-4)
    assert parts.model_.beginning.x is None


def test_memory_is_constant_after_the_first_points() -> None:
    X, y = regression(300)
    model = OnlineGPRegressor(num_inducing=20, warm_up=40)
    sizes = []
    for rows in np.array_split(np.arange(300), 30):
        model.partial_fit(X[rows], y[rows])
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes[4:]) - min(sizes[4:]) < 200
    assert model.score(X, y) > 0.9


def test_what_predict_returns() -> None:
    X, y = regression()
    model = OnlineGPRegressor(num_inducing=50).fit(X[:90], y[:90])
    mean = model.predict(X[90:])
    assert mean.shape == (30,)
    same, std, quantiles = model.predict(X[90:], return_std=True, quantiles=(0.05, 0.5, 0.95))
    np.testing.assert_array_equal(same, mean)
    np.testing.assert_allclose(quantiles, mean[:, None] + std[:, None] * [-1.6448536, 0, 1.6448536])
    inside = (y[90:] > quantiles[:, 0]) & (y[90:] < quantiles[:, 2])
    assert inside.mean() > 0.8
    draws = model.sample_y(X[90:], n_samples=400, random_state=1)
    assert draws.shape == (30, 400)
    np.testing.assert_allclose(draws.mean(1), mean, atol=0.1)
    np.testing.assert_array_equal(draws, model.sample_y(X[90:], n_samples=400, random_state=1))
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict(X, quantiles=[1.5])


def test_a_pipeline_in_cross_validation() -> None:
    X, y = make_friedman1(150, noise=0.5, random_state=0)
    pipeline = make_pipeline(StandardScaler(), OnlineGPRegressor(num_inducing=100))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8


def test_a_grid_of_kernels_is_searched_and_kernels_are_not_changed() -> None:
    X, y = regression(80)
    kernels = [gpytorch.kernels.RBFKernel(), gpytorch.kernels.MaternKernel(nu=0.5)]
    before = [kernel.lengthscale.item() for kernel in kernels]
    search = GridSearchCV(OnlineGPRegressor(num_inducing=60), {"kernel": [*kernels]}, cv=2).fit(X, y)
    assert isinstance(search.best_params_["kernel"], gpytorch.kernels.RBFKernel)
    assert [kernel.lengthscale.item() for kernel in kernels] == before
    copied = clone(search.best_estimator_)
    assert not hasattr(copied, "model_")


def test_outputs_by_scikit_learns_own_wrapper() -> None:
    X, y = regression(60)
    model = MultiOutputRegressor(OnlineGPRegressor(num_inducing=30))
    both = np.stack([y, -y], 1)
    for rows in (slice(30), slice(30, 60)):
        model.partial_fit(X[rows], both[rows])
    assert model.predict(X).shape == (60, 2)
    assert model.score(X, both) > 0.9


def test_counts_and_time_series_by_other_parts() -> None:
    t = np.arange(80.0)[:, None]
    counts = np.random.default_rng(0).poisson(3 + 2 * np.sin(t[:, 0] / 8))
    kernel, likelihood = gpytorch.kernels.RBFKernel(), gpytorch.likelihoods.PoissonLikelihood()
    kernel.lengthscale = 8.0
    model = OnlineGPRegressor(kernel, likelihood=likelihood, inducing="CosS", num_inducing=15)
    model.set_params(fit_hyperparameters=False).fit(t, counts)
    mean, quantiles = model.predict(t, quantiles=[0.05, 0.95])
    assert (mean > 0).all()
    assert (quantiles == quantiles.round()).all()
    assert ((counts >= quantiles[:, 0]) & (counts <= quantiles[:, 1])).mean() > 0.85


def test_classes_of_two_moons() -> None:
    X, y = make_moons(200, noise=0.15, random_state=0)
    labels = np.array(["lower", "upper"])[y]
    model = OnlineGPClassifier(num_inducing=40)
    for rows in np.array_split(np.arange(150), 5):
        model.partial_fit(X[rows], labels[rows], classes=["upper", "lower"])
    assert model.classes_.tolist() == ["lower", "upper"]
    assert model.score(X[150:], labels[150:]) > 0.95
    probabilities = model.predict_proba(X[150:])
    np.testing.assert_allclose(probabilities.sum(1), 1)
    far = model.predict_proba([[50.0, 50.0]])
    assert far.max() < 0.75  # nothing is known there
    with pytest.raises(ValueError, match=r"labels \['left'\] are not among the classes \['lower', 'upper'\]"):
        model.partial_fit(X[:1], ["left"])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X[:1], labels[:1], classes=["lower", "upper", "left"])


def test_three_classes_in_cross_validation() -> None:
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(OnlineGPClassifier(num_inducing=50), X, y, cv=3).mean() > 0.93


def test_probabilities_are_calibrated() -> None:
    """Labels drawn with known probabilities are predicted with about these."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (300, 1))
    p = 1 / (1 + np.exp(-2 * np.sin(2 * x[:, 0])))
    model = OnlineGPClassifier(num_inducing=30).fit(x, rng.random(300) < p)
    assert np.abs(model.predict_proba(x)[:, 1] - p).mean() < 0.08


def test_a_family_of_ones_own() -> None:
    X, y = regression(60)
    family = gpvae.inducing.LegSPath(30, num_frequencies=128)
    model = OnlineGPRegressor(inducing=family).fit(X, y)
    assert isinstance(model.model_.gp.inducing, gpvae.inducing.LegSPath)
    assert not family.started
    assert torch.isfinite(torch.from_numpy(model.predict(X))).all()


def test_several_outputs_share_a_model() -> None:
    x = np.random.default_rng(0).uniform(size=(80, 2))
    y = np.stack([np.sin(5 * x[:, 0]), np.cos(4 * x[:, 1]) + 3], -1)
    model = OnlineGPRegressor(num_inducing=40).fit(x[:50], y[:50]).partial_fit(x[50:], y[50:])
    mean, std, quantiles = model.predict(x, return_std=True, quantiles=(0.05, 0.5, 0.95))
    assert mean.shape == std.shape == (80, 2)
    assert quantiles.shape == (80, 2, 3)
    assert model.sample_y(x[:5], 7).shape == (5, 2, 7)
    assert model.score(x, y) > 0.95
