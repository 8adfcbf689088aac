"""Points given one by one wait in a buffer; predictions take them into account at once, and nothing else notices."""

import copy
import math

import pytest
import torch
from gpytorch.kernels import CosineKernel
from gpytorch.likelihoods import BernoulliLikelihood, PoissonLikelihood
from gpytorch.means import ConstantMean
from torch import Tensor

from gpvae import OnlineGP, inference
from gpvae.inducing import CosS, LegS, LegT, PivotedPoints, Points
from gpvae.kernels import covariance
from tests.toys import (
    FAMILIES,
    assert_refused,
    gaussian,
    matern,
    model,
    rbf,
    snapshot,
    states_equal,
    tasks,
    wave,
)

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
S = torch.linspace(-0.5, 3.5, 13, dtype=torch.float64)
X, Y = wave(40)
NEEDS_WINDOW = ("FouT", "LagT", "LegT")


def one_by_one(gp: OnlineGP, x: Tensor, y: Tensor, **options: Tensor) -> OnlineGP:
    for i in range(len(x)):
        gp.update(x[i : i + 1], y[..., i : i + 1], **{name: v[..., i : i + 1] for name, v in options.items()})
    return gp


def exact(x: Tensor, y: Tensor, noise: Tensor | float = 0.1) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and covariance at S, and log evidence, of the dense GP with the kernel of `model`."""
    with torch.no_grad():
        s, k = S[:, None], matern()
        K = covariance(k, x, x) + torch.as_tensor(noise, dtype=x.dtype).expand(len(x)).diag()
        C = covariance(k, x, s)
        mean = C.mT @ torch.linalg.solve(K, y)
        cov = covariance(k, s, s) - C.mT @ torch.linalg.solve(K, C)
        evidence = -0.5 * (y @ torch.linalg.solve(K, y) + torch.logdet(K) + len(x) * math.log(2 * math.pi))
    return mean, cov, evidence


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - set(NEEDS_WINDOW)))
def test_before_the_first_consolidation_it_is_the_exact_gp(family: str) -> None:
    """Whatever the family and its number of variables."""
    x, y = X[:9], Y[:9]
    gp = one_by_one(model(FAMILIES[family](2)), x, y)
    mean, cov, evidence = exact(x, y)
    joint = gp.latent(S, joint=True)
    torch.testing.assert_close(joint.mean, mean)
    torch.testing.assert_close(joint.covariance_matrix, cov)
    torch.testing.assert_close(gp.latent(S).mean, mean)
    torch.testing.assert_close(gp.latent(S).variance, cov.diagonal())
    torch.testing.assert_close(gp.bound(), evidence)


def test_known_noise_weights_and_gaps_are_those_of_the_exact_gp() -> None:
    """A point of weight w has the noise divided by w; one of weight zero is not there."""
    x, y = X[:8], Y[:8]
    noise = torch.linspace(0.05, 0.4, 8, dtype=torch.float64)
    gp = one_by_one(model(CosS(3)), x, y, noise=noise)
    torch.testing.assert_close(gp.latent(S).mean, exact(x, y, noise)[0])
    weights = torch.tensor([1.0, 2, 0, 1, 1, 0.5, 1, 3], dtype=torch.float64)
    weighted = one_by_one(model(CosS(3)), x, y, weights=weights)
    there = weights > 0
    torch.testing.assert_close(weighted.latent(S).mean, exact(x[there], y[there], 0.1 / weights[there])[0])
    mixed = model(CosS(3)).update(x[:1], y[:1]).update(x[1:2], y[1:2], noise=0.3)
    torch.testing.assert_close(mixed.latent(S).mean, exact(x[:2], y[:2], torch.tensor([0.1, 0.3]))[0])


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - set(NEEDS_WINDOW)))
def test_predictions_agree_before_and_after_consolidation(family: str) -> None:
    """Where the variables resolve the kernel; path memories and points to within what they lose."""
    gp = model(FAMILIES[family](60)).update(X[:25], Y[:25])
    one_by_one(gp, X[25:], Y[25:])
    waiting, known = gp.latent(S), len(gp.recent)
    gp.consolidate()
    assert (known, len(gp.recent)) == (15, 0)
    atol = 0.02 if family in ("CosS", "LegS", "PivotedPoints") else 0.15
    torch.testing.assert_close(waiting.mean, gp.latent(S).mean, rtol=0, atol=atol)
    torch.testing.assert_close(waiting.stddev, gp.latent(S).stddev, rtol=0, atol=atol)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - set(NEEDS_WINDOW)))
def test_a_full_buffer_is_a_batch(family: str) -> None:
    """The state is that of an update with all of them, bit for bit."""
    single = one_by_one(model(FAMILIES[family](7), buffer_size=10), X[:10], Y[:10])
    batch = model(FAMILIES[family](7)).update(X[:10], Y[:10])
    assert states_equal(snapshot(single), snapshot(batch))


def test_a_batch_takes_those_that_wait_along() -> None:
    gp = one_by_one(model(LegS(7)), X[:4], Y[:4]).update(X[4:20], Y[4:20])
    assert states_equal(snapshot(gp), snapshot(model(LegS(7)).update(X[:20], Y[:20])))


def test_a_buffer_of_one_is_no_buffer() -> None:
    gp = one_by_one(model(LegS(7), buffer_size=1), X[:3], Y[:3])
    assert gp.posterior.started
    assert not any(name.startswith("recent") for name in gp.state_dict())
    with pytest.raises(ValueError, match="buffer_size must be at least 1, got 0"):
        model(LegS(7), buffer_size=0)


@pytest.mark.parametrize("waiting", [1, 5])
def test_the_state_goes_on_with_points_that_wait(waiting: int) -> None:
    """state_dict, deepcopy and a change of precision keep them."""
    gp = model(PivotedPoints(7), buffer_size=8).update(X[:20], Y[:20])
    one_by_one(gp, X[20 : 20 + waiting], Y[20 : 20 + waiting])
    loaded = model(PivotedPoints(7), buffer_size=8)
    loaded.load_state_dict(snapshot(gp))
    twins = [loaded, copy.deepcopy(gp)]
    for twin in twins:
        assert torch.equal(twin.latent(S).mean, gp.latent(S).mean)
        assert torch.equal(twin.bound(), gp.bound())
    for each in (gp, *twins):
        one_by_one(each, X[20 + waiting :], Y[20 + waiting :])
    for twin in twins:
        assert states_equal(snapshot(twin), snapshot(gp))
    torch.testing.assert_close(copy.deepcopy(gp).float().latent(S).mean.double(), gp.latent(S).mean, atol=1e-2, rtol=0)


def test_a_state_without_points_that_wait_empties_the_buffer() -> None:
    gp = model(LegS(7)).update(X[:20], Y[:20])
    before = snapshot(gp)
    gp.update(X[20:21], Y[20:21])
    gp.load_state_dict(before)
    assert len(gp.recent) == 0
    assert states_equal(before, snapshot(gp))


@pytest.mark.parametrize("held", [0, 3, 9])
def test_a_failed_update_changes_nothing(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While points wait, and when the last one would fill the buffer."""
    gp = one_by_one(model(LegS(7), buffer_size=10), X[:10], Y[:10])
    one_by_one(gp, X[10 : 10 + held], Y[10 : 10 + held])
    assert_refused(gp, lambda: gp.update([-1.0], [0.0]), "time goes back")
    assert_refused(gp, lambda: gp.update([9.0], [math.inf]), "infinite")
    assert_refused(gp, lambda: gp.update([9.0], [1e200]), "scale inputs", FloatingPointError)
    assert_refused(gp, lambda: gp.update([[1.0, 2.0]], [1.0]), "input dimension")
    with monkeypatch.context() as patch:
        patch.setattr(type(gp.recent), "hold", _interrupt)
        patch.setattr(type(gp.posterior), "end", _interrupt)
        assert_refused(gp, lambda: gp.update(X[10 + held], Y[10 + held][None]), None, KeyboardInterrupt)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_a_family_cannot_learn_is_refused_with_the_first_point() -> None:
    """Not only when the buffer is full."""
    gp = model(LegT(5))
    assert_refused(gp, lambda: gp.update([0.0], [1.0]), "set LegT.*window=")
    gp = OnlineGP(FAMILIES["LegSPath"](5), CosineKernel(), gaussian())
    assert_refused(gp, lambda: gp.update([0.0], [1.0]), "CosineKernel", TypeError)


def test_training_takes_place_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options of training are for a task, so that no point waits."""
    gp = model(Points(5)).update(X[:10], Y[:10], steps=2)
    gp.update(X[10:11], Y[10:11], steps=2)
    assert len(gp.recent) == 0
    calls: list[object] = []
    monkeypatch.setattr(inference, "maximise", lambda *_: calls.append(_))
    gp.update(X[11:12], Y[11:12])
    assert len(gp.recent) == 1
    assert not calls


@pytest.mark.parametrize("likelihood", [BernoulliLikelihood, PoissonLikelihood])
def test_counts_and_classes_wait_too(likelihood: type) -> None:
    """Predictions with points that wait are those of a batch with variables at all inputs."""
    y = (Y > 0).double() if likelihood is BernoulliLikelihood else (3 + 2 * Y).clamp_min(0).round()
    gp = one_by_one(OnlineGP(LegS(3), matern(), likelihood()), X[:12], y[:12])
    points = Points(12, trainable=False)
    batch = OnlineGP(points, matern(), likelihood()).update(X[:12], y[:12])
    torch.testing.assert_close(gp.latent(S).mean, batch.latent(S).mean, rtol=0, atol=1e-4)
    torch.testing.assert_close(gp.latent(S).stddev, batch.latent(S).stddev, rtol=0, atol=1e-4)
    torch.testing.assert_close(gp.bound(), batch.bound(), rtol=0, atol=1e-4)
    gp = OnlineGP(CosS(40), matern(), likelihood()).update(X[:20], y[:20])
    waiting = one_by_one(gp, X[20:], y[20:]).latent(S)
    torch.testing.assert_close(waiting.mean, gp.consolidate().latent(S).mean, rtol=0, atol=0.1)


def test_the_mean_is_fitted_to_the_first_points_together() -> None:
    """Not to the first one alone; a constant added to all targets is added to all predictions."""
    gp = OnlineGP(CosS(10), matern(), gaussian(), buffer_size=16)
    shifted = copy.deepcopy(gp)
    one_by_one(gp, X[:5], Y[:5])
    one_by_one(shifted, X[:5], Y[:5] + 280)
    torch.testing.assert_close(shifted.predict(S).mean, gp.predict(S).mean + 280)
    assert gp.mean.awaits_data
    one_by_one(gp, X[5:16], Y[5:16])
    batch = OnlineGP(CosS(10), matern(), gaussian(), mean=ConstantMean()).update(X[:16], Y[:16])
    torch.testing.assert_close(gp.mean(S[:, None]), batch.mean(S[:, None]))


def test_everything_else_sees_the_points_that_wait() -> None:
    """Samples, gradients, reconstruction, another family, another kernel, several outputs."""
    (x1, y1), (x2, y2) = tasks(2, 40)
    gp = model(LegS(20)).update(x1, y1)
    before = gp.reconstruct(S[3:6]).mean
    one_by_one(gp, x2[:5], y2[:5])
    assert gp.sample(S, 4, seed=0).shape == (4, 13)
    s = S.clone().requires_grad_()
    gp.predict(s).mean.sum().backward()
    assert s.grad is not None
    assert bool(s.grad.abs().max() > 0)
    assert not torch.equal(gp.reconstruct(S[3:6]).mean, before)
    assert len(gp.recent) == 5
    mean = gp.latent(S).mean
    gp.replace_inducing(CosS(30))
    torch.testing.assert_close(gp.latent(S).mean, mean, rtol=0, atol=0.05)
    assert "25 points learnt" in repr(gp)
    two = OnlineGP(CosS(5), rbf(batch_shape=torch.Size([2])), gaussian())
    one_by_one(two, X[:6], torch.stack([Y[:6], -Y[:6]]))
    torch.testing.assert_close(two.predict(S).mean[0], -two.predict(S).mean[1])


def test_two_thousand_single_points_are_as_good_as_one_batch() -> None:
    """To within 0.02 nats a point, on points that were held out."""
    x = torch.linspace(0, 10, 2000, dtype=torch.float64)
    rng = torch.Generator().manual_seed(0)
    y = torch.sin(4 * x) + 0.5 * torch.sin(9 * x) + 0.1 * torch.randn(2000, generator=rng, dtype=torch.float64)
    kernel, noise = rbf(0.4), gaussian(0.01)
    single = one_by_one(OnlineGP(CosS(60), kernel, noise), x[::2], y[::2])
    batch = OnlineGP(CosS(60), kernel, noise).update(x[::2], y[::2])
    score = [float(gp.predict(x[1::2]).log_prob(y[1::2]).mean()) for gp in (single, batch)]
    assert abs(score[0] - score[1]) < 0.02
