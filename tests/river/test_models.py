"""The models in river's own machinery: its checks, pipelines, progressive validation."""

import math
import pickle
from collections.abc import Callable, Iterator

import gpytorch
import pytest

pytest.importorskip("river", reason="needs the extra gpvae[river]")

from river import checks, compose, datasets, evaluate, linear_model, metrics

from gpvae.river import OnlineGPClassifier, OnlineGPRegressor

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpvae.HyperparameterWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.JitterWarning"),
]
MODELS = [OnlineGPRegressor, OnlineGPClassifier]


def quick_checks(model: object) -> Iterator[Callable[[object], None]]:
    """Every check of river, those on data once, with the first data set."""
    named = {check.__name__: check for check in reversed(list(checks.yield_checks(model)))}
    yield from named.values()


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_checks_of_river(model: type) -> None:
    made = model(**next(model._unit_test_params()))
    for check in quick_checks(made):
        check(made.clone())


def wave(num: int) -> Iterator[tuple[dict[str, float], float]]:
    for i in range(num):
        yield {"hour": i / 24, "other": math.cos(i)}, 20 + math.sin(i / 5)


def test_a_pipeline_is_better_than_a_linear_one() -> None:
    errors = {}
    for name, model in {
        "gp": OnlineGPRegressor(num_inducing=20, warm_up=40),
        "linear": linear_model.LinearRegression(),
    }.items():
        pipeline = compose.Select("hour") | model
        errors[name] = evaluate.progressive_val_score(wave(80), pipeline, metrics.MAE()).get()
    assert errors["gp"] < 0.1 * errors["linear"]


def test_the_distribution_of_a_prediction() -> None:
    model = OnlineGPRegressor(num_inducing=20, warm_up=40)
    assert model.predict_one({"hour": 0.0}) == 0.0
    for x, y in wave(60):
        model.learn_one(x, y)
    x, y = list(wave(61))[-1]
    predicted = model.predict_one(x, with_dist=True)
    assert predicted.mu == pytest.approx(model.predict_one(x))
    assert 0 < predicted.sigma < 1
    assert abs(predicted.mu - y) < 3 * predicted.sigma


def test_memory_is_constant_after_the_first_points() -> None:
    """But for the points that wait to be consolidated, which are never many."""
    model, sizes = OnlineGPRegressor(num_inducing=10, warm_up=20), []
    for x, y in wave(400):
        model.learn_one(x, y)
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes[220:]) - max(sizes[20:220]) < 200


def test_features_are_told_by_name() -> None:
    model = OnlineGPRegressor(gpytorch.kernels.RBFKernel(), num_inducing=5, warm_up=0)
    model.learn_one({"b": 1.0, "a": 0.0}, 1.0)
    model.learn_one({"a": 0.0, "b": -1.0}, -1.0)
    here = model.predict_one({"b": 1.0, "a": 0.0})
    assert model.predict_one({"a": 0.0, "b": 1.0}) == here
    assert model.predict_one({"b": 1.0}) == here  # absent: zero
    assert model.predict_one({"b": 1.0, "a": 0.0, "c": 9.0}) == here  # appears later: ignored
    with pytest.raises(ValueError, match=r"'a' is 'Paris'.*OneHotEncoder"):
        model.learn_one({"a": "Paris", "b": 1.0}, 1.0)
    with pytest.raises(ValueError, match="no features"):
        OnlineGPRegressor().learn_one({}, 1.0)


def test_a_new_class_begins_where_all_past_points_are_of_others() -> None:
    """A class that appears later equals one that was known from the start, with the same kernel."""
    kernel = gpytorch.kernels.RBFKernel()
    late, early = (OnlineGPClassifier(kernel, num_inducing=20, warm_up=0) for _ in range(2))
    points = [({"x": i / 3}, "cold" if i < 10 else "warm") for i in range(20)]
    for x, y in points:
        late.learn_one(x, y)
    early.learn_one(*points[0])
    early._model.classes.append("warm")
    early._model.processes.append(pickle.loads(pickle.dumps(early._model.absent)))
    for x, y in points[1:]:
        early.learn_one(x, y)
    for x, _ in points:
        assert late.predict_proba_one(x) == pytest.approx(early.predict_proba_one(x))
    assert [late.predict_one(x) for x, _ in points[:8]] == ["cold"] * 8
    assert [late.predict_one(x) for x, _ in points[14:]] == ["warm"] * 6


@pytest.mark.slow
def test_phishing_sites_are_found() -> None:
    model = OnlineGPClassifier(num_inducing=30, warm_up=60)
    accuracy = evaluate.progressive_val_score(datasets.Phishing().take(300), model, metrics.Accuracy()).get()
    assert accuracy > 0.8  # 0.56 are of one class


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("failing", [0, 3])
def test_a_point_that_cannot_be_learnt_leaves_no_trace(model: type, failing: int) -> None:
    """The points of the warm-up are those that were learnt, and predictions are those without it."""
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()).requires_grad_(False)
    parts = {"kernel": kernel, "num_inducing": 5, "warm_up": 8}
    if model is OnlineGPRegressor:
        parts["likelihood"] = gpytorch.likelihoods.GaussianLikelihood().requires_grad_(False)
    with_failure, without = model(**parts), model(**parts)
    for i, (x, y) in enumerate(wave(10)):
        target = y > 20.4 if model is OnlineGPClassifier else y
        if i == failing:
            with pytest.raises(ValueError, match="NaN"):
                with_failure.learn_one(x | {"other": math.nan}, target)
        for each in (with_failure, without):
            each.learn_one(x, target)
        assert with_failure.predict_one(x) == without.predict_one(x)
