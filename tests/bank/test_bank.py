"""A bank: members learn as they would alone, and weights, scales and mixtures are those of Bayes' rule."""

import copy
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from gpytorch.kernels import MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, PoissonLikelihood
from gpytorch.means import ZeroMean
from torch import Tensor
from torch.distributions import Bernoulli, MultivariateNormal, Normal

from gpvae import Bank, OnlineGP
from gpvae.inducing import CosS, LegS, LegSPath, LegT, PivotedPoints
from gpvae.kernels import covariance
from tests.toys import FAMILIES, gaussian, matern, rbf, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")

LENGTHSCALES, NOISES = (0.2, 0.5, 1.0), (0.05, 0.1, 0.4)


def given(num: int = 80, family: CosS | None = None, **options: float) -> Bank:
    """A bank of three given members with so many variables that nothing is lost."""
    kernel = ScaleKernel(RBFKernel(batch_shape=torch.Size([3])), batch_shape=torch.Size([3])).double()
    kernel.base_kernel.lengthscale = torch.tensor(LENGTHSCALES)[:, None, None]
    likelihood = GaussianLikelihood(batch_shape=torch.Size([3])).double()
    likelihood.noise = torch.tensor(NOISES)[:, None]
    return Bank(family or CosS(num), kernel, likelihood, size=None, mean=ZeroMean(), **options)


def batches(num: int = 3, scale: float = 1.0) -> list[tuple[Tensor, Tensor]]:
    x, y = wave(60)
    return list(zip(x.chunk(num), (scale * y).chunk(num), strict=True))


def learnt(gp: OnlineGP, data: list[tuple[Tensor, Tensor]]) -> OnlineGP:
    for x, y in data:
        gp.update(x, y)
    return gp


def exact(data: list[tuple[Tensor, Tensor]], x_new: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log evidence up to the scale's constant, mean and scaled variance of y of each member, by dense algebra."""
    x, y = (torch.cat(parts) for parts in zip(*data, strict=True))
    gp, results = given(), []
    variance = torch.log(torch.tensor(2.0)).double()  # gpytorch's initial outputscale
    for lengthscale, noise in zip(LENGTHSCALES, NOISES, strict=True):
        kernel = rbf(lengthscale, float(variance))
        K = covariance(kernel, x, x) + noise * torch.eye(len(x), dtype=torch.float64)
        k = covariance(kernel, x, x_new)
        square = y @ torch.linalg.solve(K, y)
        dof, prior = float(gp.dof[0, 0]), float(gp.square[0, 0])
        n = len(x)
        evidence = (
            -0.5 * torch.logdet(2 * math.pi * K)
            + math.lgamma((dof + n) / 2)
            - math.lgamma(dof / 2)
            + dof / 2 * math.log(prior / 2)
            - (dof + n) / 2 * torch.log((prior + square) / 2)
        )
        s = (prior + square) / (dof + n - 2)
        alone = kernel(x_new, diag=True) - (k * torch.linalg.solve(K, k)).sum(0) + noise
        results.append((evidence, k.mT @ torch.linalg.solve(K, y), s * alone))
    evidence, mean, var = (torch.stack([r.detach() for r in part]) for part in zip(*results, strict=True))
    return evidence, mean, var


def test_weights_scales_and_predictions_are_those_of_the_dense_mixture() -> None:
    """log p(y) with the scale integrated out, batch after batch, equals that of all data at once."""
    data, x_new = batches(), torch.linspace(0.1, 2.9, 7, dtype=torch.float64)[:, None]
    bank = learnt(given(), data)
    evidence, mean, var = exact(data, x_new)
    torch.testing.assert_close(bank.weights, evidence.softmax(0), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(bank.bound(), evidence.logsumexp(0) - math.log(3), rtol=1e-5, atol=1e-4)
    w = evidence.softmax(0)[:, None]
    predicted = bank.predict(x_new)
    torch.testing.assert_close(predicted.mean, (w * mean).sum(0), rtol=1e-4, atol=1e-5)
    second = (w * (var + mean**2)).sum(0)
    torch.testing.assert_close(predicted.variance, second - (w * mean).sum(0) ** 2, rtol=1e-3, atol=1e-6)
    y = torch.linspace(-1, 1, 7, dtype=torch.float64)
    expected = (w.log() + Normal(mean, var.sqrt()).log_prob(y)).logsumexp(0)
    torch.testing.assert_close(predicted.log_prob(y), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"Points"}))
def test_each_member_learns_as_it_would_alone(name: str) -> None:
    """Posterior means of a bank's members are those of single models with the same kernels, for every family."""
    kernel = ScaleKernel(MaternKernel(1.5, batch_shape=torch.Size([2])), batch_shape=torch.Size([2])).double()
    kernel.base_kernel.lengthscale = torch.tensor([0.4, 0.8])[:, None, None]
    likelihood = GaussianLikelihood(batch_shape=torch.Size([2])).double()
    likelihood.noise = torch.tensor([0.1, 0.2])[:, None]
    bank = learnt(Bank(FAMILIES[name](12), kernel, likelihood, size=None, mean=ZeroMean()), batches())
    x = torch.linspace(0, 3, 9, dtype=torch.float64)[:, None]
    members = bank._members(x)
    for number, (lengthscale, noise) in enumerate([(0.4, 0.1), (0.8, 0.2)]):
        if name == "PivotedPoints":  # members share the points that suit them together
            continue
        alone = OnlineGP(FAMILIES[name](12), matern(lengthscale, math.log(2)), gaussian(noise), mean=ZeroMean())
        f = learnt(alone, batches()).latent(x)
        torch.testing.assert_close(members.mean[number], f.mean, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(members.variance[number] / bank.scale[number], f.variance, rtol=1e-4, atol=1e-6)


def test_predictions_scale_with_the_targets() -> None:
    """Targets a thousand times larger, in the built bank: predictions too, and weights are the same."""
    x = torch.linspace(0, 3, 5, dtype=torch.float64)[:, None]
    small, large = (learnt(Bank(CosS(30), rbf(), gaussian(), size=12), batches(scale=scale)) for scale in (1.0, 1000.0))
    torch.testing.assert_close(large.predict(x).mean, 1000 * small.predict(x).mean, rtol=1e-3, atol=1e-2)
    torch.testing.assert_close(large.weights, small.weights, rtol=0.05, atol=1e-3)


def test_small_targets() -> None:
    """Noise may be below the bound of gpytorch's default constraint; the strongest member has it nevertheless."""
    gp = learnt(Bank(CosS(40), rbf(), gaussian(), size=4), batches(scale=1e-3))
    _, likelihood = gp.strongest()
    assert 0 < float(likelihood.noise.detach()) < 1e-5
    torch.testing.assert_close(likelihood.noise[0], gp._noise_of_members()[gp.strongest_member, 0])


def test_a_wrong_first_batch_is_overcome() -> None:
    """A first batch of noise sets a single kernel wrong for ever; a bank finds the wave that follows."""
    rng = torch.Generator().manual_seed(1)
    x = torch.linspace(0, 10, 300, dtype=torch.float64)[:, None]
    y = torch.where(x[:, 0] < 1, 0.0, torch.sin(8 * x[:, 0]))
    y = y + 0.2 * torch.randn(300, generator=rng, dtype=torch.float64)
    held = torch.arange(300) % 4 == 3
    data = [(x[~held][s], y[~held][s]) for s in torch.arange(225).split(22)]
    bank = learnt(Bank(CosS(60), ScaleKernel(RBFKernel()), GaussianLikelihood(), size=24), data)
    score = -float(bank.predict(x[held]).log_prob(y[held]).mean())
    truth = learnt(OnlineGP(CosS(60), rbf(0.25, 0.6), gaussian(0.04)), data)
    assert score < -float(truth.predict(x[held]).log_prob(y[held]).mean()) + 0.15


@pytest.mark.parametrize("kernel", [ScaleKernel(RBFKernel(ard_num_dims=2)), MaternKernel(2.5)], ids=["ard", "bare"])
def test_several_dimensions_and_kernels_without_scale(kernel: RBFKernel) -> None:
    rng = torch.Generator().manual_seed(0)
    x = torch.rand(90, 2, generator=rng, dtype=torch.float64)
    y = torch.sin(6 * x[:, 0]) + 0.1 * torch.randn(90, generator=rng, dtype=torch.float64)
    for family in (PivotedPoints(30), LegSPath(30, num_frequencies=128)):
        bank = Bank(family, copy.deepcopy(kernel), GaussianLikelihood(), size=6)
        learnt(bank, list(zip(x.chunk(3), y.chunk(3), strict=True)))
        assert float((bank.predict(x).mean - y).square().mean()) < 0.1


def test_members_are_a_grid_around_the_fitted_kernel() -> None:
    """Lengthscales from the spacing to the extent, at several noise levels; one member is the fitted kernel itself."""
    x, y = wave(60)
    bank = Bank(CosS(20), rbf(), gaussian(), size=24).fit_hyperparameters(x, y)
    single = OnlineGP(CosS(20), rbf(), gaussian()).fit_hyperparameters(x, y)
    lengthscale, noise = bank.kernel.base_kernel.lengthscale[:, 0, 0].detach(), bank.likelihood.noise[:, 0].detach()
    assert bank.num_members == 24
    assert float(lengthscale.min()) == pytest.approx(3 / 60, rel=0.05)
    assert float(lengthscale.max()) == pytest.approx(3, rel=0.05)
    fitted = (lengthscale / single.kernel.base_kernel.lengthscale - 1).abs() < 1e-6
    fitted &= (noise / single.likelihood.noise - 1).abs() < 1e-6
    assert int(fitted.sum()) == 1
    assert not bank.posterior.started


def test_fixed_hyperparameters_stay() -> None:
    """A lengthscale that requires no gradients is that of every member, and a period is the fitted one."""
    x, y = wave(60)
    kernel = rbf(0.37)
    kernel.base_kernel.raw_lengthscale.requires_grad_(False)
    bank = Bank(CosS(20), kernel, gaussian(), size=8).fit_hyperparameters(x, y)
    assert bank.kernel.base_kernel.lengthscale.flatten().tolist() == pytest.approx([0.37] * bank.num_members)
    assert len(bank.likelihood.noise.unique()) == bank.num_members
    periodic = Bank(CosS(20), ScaleKernel(PeriodicKernel()), gaussian(), size=8).update(x, y)
    assert len(periodic.kernel.base_kernel.period_length.unique()) == 1
    assert len(periodic.kernel.base_kernel.lengthscale.unique()) > 1


def test_fixed_noise_is_not_scaled() -> None:
    likelihood = gaussian(0.1)
    likelihood.raw_noise.requires_grad_(False)
    bank = learnt(Bank(CosS(20), rbf(), likelihood, size=8), batches(scale=3.0))
    assert bank.scale.tolist() == [1.0] * bank.num_members
    assert float(bank.strongest()[1].noise) == pytest.approx(0.1)


@pytest.mark.parametrize("kind", [BernoulliLikelihood, PoissonLikelihood])
def test_labels_and_counts(kind: type) -> None:
    """Weights follow the bound; predictions are proper mixtures."""
    rng = torch.Generator().manual_seed(0)
    x = torch.linspace(0, 4, 120, dtype=torch.float64)
    f = 1.5 * torch.sin(4 * x) + 0.5
    p = torch.rand(120, generator=rng, dtype=torch.float64)
    y = (
        (p < torch.special.ndtr(2 * f)).double()
        if kind is BernoulliLikelihood
        else torch.poisson(f.exp(), generator=rng)
    )
    bank = Bank(CosS(16), ScaleKernel(RBFKernel()), kind(), size=6)
    learnt(bank, list(zip(x.chunk(3), y.chunk(3), strict=True)))
    predicted = bank.predict(x)
    climatology = Bernoulli(y.mean()) if kind is BernoulliLikelihood else torch.distributions.Poisson(y.mean())
    assert float(predicted.log_prob(y).mean()) > float(climatology.log_prob(y).mean()) + 0.1
    values = torch.arange(2.0 if kind is BernoulliLikelihood else 200.0, dtype=torch.float64)
    total = predicted.log_prob(values[:, None].expand(-1, 120)).exp().sum(0)
    torch.testing.assert_close(total, torch.ones(120, dtype=torch.float64), rtol=1e-6, atol=1e-6)
    assert predicted.sample().shape == bank.sample_targets(x)[0].shape == (120,)


def test_outputs_have_weights_of_their_own() -> None:
    """A smooth and a rough output, with gaps, prefer different members."""
    x, y = wave(80)
    rough = torch.randn(80, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    both = torch.stack([y, rough])
    both[1, ::7] = math.nan
    kernel = ScaleKernel(RBFKernel(batch_shape=torch.Size([2])), batch_shape=torch.Size([2]))
    bank = Bank(CosS(20), kernel, GaussianLikelihood(batch_shape=torch.Size([2])), size=12)
    learnt(bank, [(a, b) for a, b in zip(x.chunk(4), both.chunk(4, -1), strict=True)])
    assert bank.weights.shape == (bank.num_members, 2)
    torch.testing.assert_close(bank.weights.sum(0), torch.ones(2, dtype=torch.float64))
    predicted = bank.predict(x)
    assert predicted.mean.shape == (2, 80)
    assert float(predicted.stddev[1].mean()) > 0.7 > float(predicted.stddev[0].mean())
    assert bank.sample(x, 3).shape == (3, 2, 80)


def test_gaps_equal_points_that_are_left_out() -> None:
    x, y = wave(60)
    gaps = y.clone()
    gaps[5::6] = math.nan
    kept = ~gaps.isnan()
    grid = torch.linspace(0, 3, 5, dtype=torch.float64)[:, None]
    with_gaps = given().update(x[:30], gaps[:30]).update(x[30:], gaps[30:])
    without = given().update(x[:30][kept[:30]], y[:30][kept[:30]]).update(x[30:][kept[30:]], y[30:][kept[30:]])
    torch.testing.assert_close(with_gaps.predict(grid).mean, without.predict(grid).mean)
    torch.testing.assert_close(with_gaps.weights, without.weights)
    doubled = given().update(x, y, weights=2 * torch.ones(60))
    torch.testing.assert_close(doubled.dof, torch.full_like(doubled.dof, 124.0))


def test_known_noise_is_absolute() -> None:
    """Points known to be exact are followed, whatever the noise of the members."""
    x, y = wave(40, noise=1e-6)
    bank = given().update(x, y, noise=1e-4)
    assert float((bank.predict(x, noise=1e-4).mean - y).abs().max()) < 0.05
    assert bool((bank.predict(x, noise=100.0).variance > 99).all())


def test_families_are_compared_by_what_they_predicted() -> None:
    bank = learnt(Bank([LegS(4), CosS(30)], rbf(), gaussian(), size=4), batches())
    assert int(bank.best) == 1
    assert bank.inducing.num_inducing == 30
    assert learnt(Bank("auto", rbf(), gaussian(), size=4, num_inducing=10), batches()).weights.shape == (4,)


def test_joint_predictions_samples_and_gradients() -> None:
    bank = learnt(given(30), batches())
    x = torch.linspace(0, 3, 6, dtype=torch.float64)[:, None]
    joint, marginal = bank.predict(x, joint=True), bank.predict(x)
    torch.testing.assert_close(joint.mean, marginal.mean)
    torch.testing.assert_close(joint.variance, marginal.variance)
    members = [MultivariateNormal(m, S) for m, S in _members(bank, x)]
    y = torch.zeros(6, dtype=torch.float64)
    expected = torch.stack([w.log() + m.log_prob(y) for w, m in zip(bank.weights, members, strict=True)]).logsumexp(0)
    torch.testing.assert_close(joint.log_prob(y), expected)
    draws = bank.sample(x, 4000, seed=0)
    f = bank.latent(x)
    torch.testing.assert_close(draws.mean(0), f.mean, rtol=0, atol=0.05)
    torch.testing.assert_close(draws.std(0), f.stddev, rtol=0.1, atol=0.01)
    torch.manual_seed(0)
    torch.testing.assert_close(bank.sample_targets(x, 4000).std(0), marginal.stddev, rtol=0.1, atol=0.01)
    at = x.clone().requires_grad_()
    bank.predict(at).mean.sum().backward()
    assert bool(torch.isfinite(at.grad).all())
    assert bank.reconstruct(x).mean.shape == (6,)


def _members(bank: Bank, x: Tensor) -> list[tuple[Tensor, Tensor]]:
    parts = zip(*bank._joint_members(x), bank._noise_of_members(), strict=True)
    return [(m, S + n * torch.eye(len(x), dtype=torch.float64)) for m, S, n in parts]


def test_quantiles_are_those_of_the_distribution_function() -> None:
    bank = learnt(given(30), batches(1))
    y = bank.predict(torch.linspace(0, 4, 6, dtype=torch.float64)[:, None])
    for p in (0.01, 0.5, 0.975):
        torch.testing.assert_close(y.cdf(y.icdf(torch.tensor(p))), torch.full((6,), p, dtype=torch.float64))
    with pytest.raises(ValueError, match="between 0 and 1"):
        y.icdf(torch.tensor(1.5))


def test_the_state_of_a_bank_goes_into_another() -> None:
    """Within the stream and before it; both go on to the same bits."""
    data = batches()
    bank, other = (Bank(CosS(12), rbf(), gaussian(), size=8) for _ in range(2))
    assert abs(float(bank.bound())) < 1e-14
    other.load_state_dict(bank.state_dict())
    assert not other.built
    learnt(bank, data[:2])
    other.load_state_dict(bank.state_dict())
    x, y = data[2]
    assert torch.equal(bank.update(x, y).predict(x).mean, other.update(x, y).predict(x).mean)
    assert torch.equal(bank.weights, other.weights)
    copied = copy.deepcopy(bank).to("cpu")
    assert torch.equal(copied.predict(x).mean, bank.predict(x).mean)


def test_the_strongest_member_can_be_used_alone() -> None:
    data = batches()
    bank = learnt(Bank(CosS(30), rbf(), gaussian(), size=24, mean=ZeroMean()), data)
    kernel, likelihood = bank.strongest()
    alone = learnt(OnlineGP(CosS(30), kernel, likelihood, mean=ZeroMean()), data)
    index = int(bank.weights.argmax())
    x = torch.linspace(0, 3, 5, dtype=torch.float64)[:, None]
    members = bank._members(x)
    torch.testing.assert_close(alone.latent(x).mean, members.mean[index], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(alone.latent(x).variance, members.variance[index], rtol=1e-3, atol=1e-8)


def test_more_variables_keep_what_was_learnt() -> None:
    bank = learnt(Bank([CosS(20), LegS(20)], rbf(), gaussian(), size=6), batches())
    x = torch.linspace(0, 3, 5, dtype=torch.float64)[:, None]
    before = bank.predict(x).mean
    bank.replace_inducing(CosS(60))
    torch.testing.assert_close(bank.predict(x).mean, before, rtol=1e-2, atol=1e-2)
    bank.update(x + 3, torch.zeros(5))
    assert bank.weights.shape == (6,)


def test_repr_tells_members_memory_and_time() -> None:
    assert "Bank(CosS(8) + LegT(4), 8 members; " in repr(Bank(CosS(8) + LegT(4), rbf(), gaussian(), size=8))
    bank = Bank(CosS(12), rbf(), gaussian(), size=8)
    assert "Bank(CosS(12), 8 members; 0 points learnt; " in repr(bank)
    text = repr(learnt(bank, batches()))
    assert "strongest (" in text
    assert "RBF(lengthscale=" in text
    assert "60 points learnt" in text
    assert text.endswith("s for the last update)")


def test_misuse_is_refused() -> None:
    x, y = wave(30)
    with pytest.raises(ValueError, match="at least 5 points, got 3"):
        Bank(CosS(5), rbf(), gaussian()).update(x[:3], y[:3])
    bank = Bank(CosS(5), rbf(), gaussian(), size=2)
    with pytest.raises(ValueError, match="not trained"):
        bank.update(x, y, train_hyperparameters=True)
    bank.update(x, y)
    for joint in (False, True):
        with pytest.raises(ValueError, match=r"x must be \[N\] or \[N, D\], got shape \(2, 15, 1\)"):
            bank.predict(x.reshape(2, 15, 1), joint=joint)
    with pytest.raises(ValueError, match="before its first update"):
        bank.fit_hyperparameters(x, y)
    with pytest.raises(ValueError, match="given"):
        given().fit_hyperparameters(x, y)
    with pytest.raises(ValueError, match="size must be at least 1"):
        Bank(CosS(5), rbf(), gaussian(), size=0)
    with pytest.raises(ValueError, match="first batch axis"):
        Bank(CosS(5), rbf(), gaussian(), size=None)
    with pytest.raises(ValueError, match="Gaussian likelihood"):
        Bank(CosS(5), rbf(), PoissonLikelihood(), size=2).predict(x, joint=True)


@pytest.mark.parametrize("make", [lambda: Bank(CosS(12), rbf(), gaussian(), size=8), lambda: given(12, power=0.5)])
@pytest.mark.parametrize("num_batches", [0, 2])
def test_a_bank_is_saved_and_loaded(make: Callable[[], Bank], num_batches: int, tmp_path: Path) -> None:
    """Before its first update, when its members are not known yet, and later; it goes on to the same bits."""
    data = batches()
    bank = learnt(make(), data[:num_batches])
    bank.save(tmp_path / "bank.pt")
    loaded = Bank.load(tmp_path / "bank.pt")
    x, y = data[2]
    assert torch.equal(bank.update(x, y).predict(x).mean, loaded.update(x, y).predict(x).mean)
    assert torch.equal(bank.weights, loaded.weights)
    assert bank.kernel.batch_shape == loaded.kernel.batch_shape


def test_a_bank_of_several_outputs_and_a_sum_of_kernels_is_saved(tmp_path: Path) -> None:
    kernel = ScaleKernel(RBFKernel() + MaternKernel(batch_shape=torch.Size([2])), batch_shape=torch.Size([2]))
    bank = Bank("auto", kernel, GaussianLikelihood(batch_shape=torch.Size([2])), size=6, num_inducing=12)
    x, y = wave(60)
    bank.update(x, torch.stack([y, -y])).save(tmp_path / "bank.pt")
    loaded = Bank.load(tmp_path / "bank.pt")
    assert torch.equal(bank.predict(x).mean, loaded.predict(x).mean)
    with pytest.raises(ValueError, match="is not a model that can be loaded"):
        OnlineGP.load(tmp_path / "bank.pt")
