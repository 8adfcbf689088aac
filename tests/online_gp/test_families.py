"""Choice among families, replacement in mid-stream, and the warning about too few variables."""

import math
import re

import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood

from gpvae import OnlineGP
from gpvae.diagnostics import ResolutionWarning
from gpvae.inducing import CosS, FourierFeatures, InducingVariables, LegS, LegSPath, PivotedPoints, Points
from gpvae.kernels import covariance
from tests.equivalence import dense
from tests.toys import FAMILIES, gaussian, matern, model, rbf, snapshot, states_equal, tasks, wave

S = torch.linspace(0, 3, 31, dtype=torch.float64)


def long_wave(num: int = 300, end: float = 40.0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    x = torch.linspace(0, end, num, dtype=torch.float64)
    return x, torch.sin(2 * x) + 0.1 * torch.randn(num, generator=rng, dtype=torch.float64)


def test_auto_keeps_the_family_with_the_higher_bound() -> None:
    """Each family has the bound that it has alone, and the one with the higher bound predicts."""
    x, y = wave(60)
    gp = model("auto", num_inducing=12)
    alone = [model(LegS(12)), model(CosS(12))]
    for task in tasks(2, 60):
        for each in (gp, *alone):
            each.update(*task)
        bounds = [float(each.bound()) for each in alone]
        assert float(gp.bound()) == max(bounds)
        assert type(gp.inducing) is type(alone[bounds.index(max(bounds))].inducing)
    with torch.no_grad():
        exact = dense.log_normal(y, covariance(gp.kernel, x, x) + 0.1 * torch.eye(60, dtype=x.dtype))
    assert all(bound <= exact + 1e-5 for bound in bounds)


def test_several_families_may_be_given() -> None:
    """The best of a list predicts as it would alone."""
    gp = model([Points(3, trainable=False), LegS(25), LegSPath(4, num_frequencies=64)]).update(*wave(60))
    assert isinstance(gp.inducing, LegS)
    torch.testing.assert_close(gp.latent(S).mean, model(LegS(25)).update(*wave(60)).latent(S).mean, rtol=0, atol=0)


@pytest.mark.parametrize("family", ["LegS", "CosS"])
@pytest.mark.parametrize("kernel", [rbf(0.6, 1.0), matern(0.8, 1.0, nu=2.5)], ids=["rbf", "matern"])
def test_too_few_variables_warn_with_a_number_that_is_enough(family: str, kernel: Kernel) -> None:
    """The advised M does not warn, and predicts the signal where the small one could not."""
    x, y = long_wave()
    with pytest.warns(ResolutionWarning, match="too few") as caught:
        small = OnlineGP(FAMILIES[family](15), kernel, gaussian(0.01)).update(x, y)
    advised = int(re.findall(r"about (\d+)", str(caught[0].message))[0])
    assert caught[0].filename == __file__
    enough = OnlineGP(FAMILIES[family](advised), kernel, gaussian(0.01)).update(x, y)
    nlpd_small, nlpd = (-float(gp.predict(x).log_prob(y).mean()) for gp in (small, enough))
    assert nlpd < -0.7 < 0.3 < nlpd_small


def test_enough_variables_do_not_warn() -> None:
    """In tests, warnings are errors."""
    for family in ("LegS", "CosS", "LegT", "FouT"):
        model(FAMILIES[family](30)).update(*wave(30))


def test_a_stream_warns_when_it_outgrows_its_variables() -> None:
    """It does not warn before."""
    x, y = long_wave()
    gp = OnlineGP(LegS(30), rbf(0.8, 1.0), gaussian()).update(x[:100], y[:100])
    with pytest.warns(ResolutionWarning):
        gp.update(x[100:], y[100:])


@pytest.mark.filterwarnings("ignore::gpvae.utils.linalg.JitterWarning")
def test_replacing_the_family_keeps_what_was_learnt() -> None:
    """LegS(30) → LegS(60) → CosS(80) → Points: predictions and variances stay, and updates continue."""
    (x1, y1), (x2, y2) = tasks(2, 60)
    gp = OnlineGP(LegS(30), rbf(), gaussian()).update(x1, y1)
    before, evidence = gp.latent(S[:16]), gp.bound()
    for family in (LegS(60), CosS(80), PivotedPoints(40), Points(60, trainable=False)):
        gp.replace_inducing(family)
        assert gp.inducing is family
        after = gp.latent(S[:16])
        torch.testing.assert_close(after.mean, before.mean, rtol=0, atol=5e-3)
        torch.testing.assert_close(after.variance, before.variance, rtol=0, atol=5e-3)
        assert gp.bound() <= evidence + 1e-3
    gp.update(x2, y2)
    straight = OnlineGP(LegS(60), rbf(), gaussian()).update(x1, y1).update(x2, y2)
    torch.testing.assert_close(gp.latent(S).mean, straight.latent(S).mean, rtol=0, atol=0.02)


def test_replacing_before_the_first_update() -> None:
    """The result is that of the new family from the beginning."""
    gp = model(LegS(5)).replace_inducing(CosS(20)).update(*wave(30))
    expected = model(CosS(20)).update(*wave(30))
    torch.testing.assert_close(gp.latent(S).mean, expected.latent(S).mean)


def test_replacing_with_several_families_goes_on_with_one() -> None:
    """The one with the highest bound is replaced."""
    gp = model("auto", num_inducing=20).update(*wave(30))
    before = gp.latent(S)
    gp.replace_inducing(LegS(80))
    assert len(gp.posteriors) == 1
    torch.testing.assert_close(gp.latent(S).mean, before.mean, rtol=0, atol=0.02)
    gp.update(*[part + 3.0 for part in wave(10)])


@pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (LegSPath(8, num_frequencies=64), LegS(8), "keeps no inputs"),
        (FourierFeatures(31, -1.0, 5.0), LegS(8), "keeps no inputs"),
        (LegS(20), FourierFeatures(31, 1.0, 5.0), "interval"),
        (LegSPath(8, num_frequencies=64), PivotedPoints(8), "keeps no inputs"),
    ],
)
def test_a_family_that_cannot_take_over_leaves_the_model_as_it_was(
    old: InducingVariables, new: InducingVariables, words: str
) -> None:
    """The error is clear."""
    gp = model(old).update(*wave(30))
    before = snapshot(gp)
    with pytest.raises((TypeError, ValueError), match=words):
        gp.replace_inducing(new)
    assert states_equal(before, snapshot(gp))
    assert gp.inducing is old
    gp.update(*[part + 1.0 for part in wave(10)])


@pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning")
def test_a_started_family_that_cannot_take_over_leaves_the_model_as_it_was() -> None:
    """A family with inputs of its own, whose covariance with the old one is unknown."""
    old = LegSPath(8, num_frequencies=64)
    gp = model(old).update(*wave(30))
    before = snapshot(gp)
    started = LegSPath(8, num_frequencies=64, seed=1).advance(gp.kernel, wave(30)[0])
    with pytest.raises((TypeError, ValueError)):
        gp.replace_inducing(started)
    assert gp.inducing is old
    assert states_equal(before, snapshot(gp))
    gp.update(*[part + 1.0 for part in wave(10)])


def test_an_interrupted_replacement_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """KeyboardInterrupt during the replacement."""
    gp = model(LegS(20)).update(*wave(30))
    old, before = gp.inducing, snapshot(gp)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CosS, "kuf", interrupt)
    monkeypatch.setattr(CosS, "kuv", interrupt)
    with pytest.raises(KeyboardInterrupt):
        gp.replace_inducing(CosS(30))
    assert gp.inducing is old
    assert states_equal(before, snapshot(gp))
    assert math.isfinite(float(gp.predict([1.0]).mean))


def test_points_of_each_output_can_be_replaced() -> None:
    """LegS can replace PerDimPoints of a batch of outputs."""
    shape = torch.Size([2])
    kernel = ScaleKernel(MaternKernel(nu=1.5, batch_shape=shape), batch_shape=shape)
    gp = OnlineGP(FAMILIES["PerDimPoints"](20), kernel, GaussianLikelihood())
    x, y = wave(30)
    before = gp.update(x, torch.stack([y, -y])).latent(S).mean
    for family in (LegS(60), PivotedPoints(40)):
        torch.testing.assert_close(gp.replace_inducing(family).latent(S).mean, before, rtol=0, atol=0.03)
    gp = OnlineGP(FAMILIES["PerDimPoints"](20), kernel, GaussianLikelihood()).update(x, torch.stack([y, -y]))
    gp.replace_inducing(PivotedPoints(25))
    torch.testing.assert_close(gp.latent(S).mean, before, rtol=0, atol=0.03)
