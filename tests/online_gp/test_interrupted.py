"""Updates are all or nothing: on any interruption the model stays as it was."""

import pytest
import torch
from gpytorch.likelihoods import (
    PoissonLikelihood,
)

from gpvae import OnlineGP, inference
from gpvae.hyperparameters import marginal_likelihood
from gpvae.inducing import LegS, Points
from tests.toys import FAMILIES, assert_refused, gaussian, matern, model, snapshot, states_equal, tasks, wave

S = torch.linspace(0, 3, 11, dtype=torch.float64)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("where", ["at the end", "in the second family", "in training"])
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_an_interrupted_update_leaves_the_model_as_it_was(
    family: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KeyboardInterrupt at any time; continuing gives the same result as an undisturbed stream."""
    first, second = tasks(2, 40)
    gp, undisturbed = (model([FAMILIES[family](8), Points(4)]) for _ in range(2))
    for each in (gp, undisturbed):
        each.update(*first, steps=2)
    calls = 0

    def interrupt(*_: object, **__: object) -> None:
        nonlocal calls
        calls += 1
        if calls > (where == "in the second family"):
            raise KeyboardInterrupt
        original(*_, **__)

    target = (inference, "maximise") if where == "in training" else (type(gp.posterior), "end")
    original = getattr(*target)
    with monkeypatch.context() as patch:
        patch.setattr(*target, interrupt)
        assert_refused(gp, lambda: gp.update(*second, steps=2), None, KeyboardInterrupt)
    gp.update(*second, steps=2)
    undisturbed.update(*second, steps=2)
    assert states_equal(snapshot(gp), snapshot(undisturbed))


def test_an_interrupted_fit_leaves_the_hyperparameters_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interruption comes between two starts."""
    gp = model(LegS(20))
    calls = 0
    original = marginal_likelihood.exact_log_evidence

    def interrupt(*arguments: object) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls > 12:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(marginal_likelihood, "exact_log_evidence", interrupt)
    assert_refused(gp, lambda: gp.fit_hyperparameters(*wave(20)), None, KeyboardInterrupt)


def test_a_learning_rate_that_diverges_is_reported() -> None:
    """The error mentions lr."""
    gp = OnlineGP(LegS(8), matern(), PoissonLikelihood())
    assert_refused(gp, lambda: gp.update([0.0, 1.0], [1.0, 3.0], steps=20, lr=1e200), "lr", FloatingPointError)


def test_training_never_ends_below_where_it_began() -> None:
    """If the step is far too large, there is an error, or the bound is no lower than without training."""
    gp, untrained = (OnlineGP(Points(5, trainable=t), matern(), gaussian()) for t in (True, False))
    untrained.update(*tasks(2, 30)[0])
    try:
        gp.update(*tasks(2, 30)[0], steps=20, lr=10.0, train_hyperparameters=True)
    except FloatingPointError:
        return
    assert gp.bound() >= untrained.bound()
