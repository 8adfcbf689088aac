"""Training of hyperparameters and inducing points along the stream."""

import pytest
import torch

from gpvae import OnlineGP
from gpvae.inducing import CosS, FourierFeatures, InducingVariables, LegS, LegSPath, Points
from tests.toys import gaussian, matern, model, snapshot, states_equal, tasks, wave

S = torch.linspace(0, 3, 21, dtype=torch.float64)


def poor(inducing: InducingVariables) -> OnlineGP:
    """A model with poor hyperparameters."""
    return OnlineGP(inducing, matern(1.5, 0.3), gaussian(0.5))


@pytest.mark.parametrize("inducing", [lambda: LegS(12), lambda: Points(12, trainable=False), lambda: Points(12)])
def test_training_hyperparameters_raises_the_bound(inducing: type[InducingVariables]) -> None:
    """Over two tasks, kernel and noise both change; predictions of the past stay."""
    trained, fixed = poor(inducing()), poor(inducing())
    for x, y in tasks(2, 60):
        trained.update(x, y, steps=30, lr=0.1, train_hyperparameters=True)
        fixed.update(x, y, steps=10)
    assert trained.bound() > fixed.bound() + 3
    assert abs(trained.kernel.base_kernel.lengthscale.item() - 1.5) > 0.05
    assert abs(trained.likelihood.noise.item() - 0.5) > 0.05
    x1, y1 = tasks(2, 60)[0]
    error = float(((trained.predict(x1).mean - y1) ** 2).mean())
    assert error < 0.3


def test_without_training_hyperparameters_stay() -> None:
    """They stay bit for bit, and have no gradients."""
    gp = poor(Points(5))
    before = snapshot(gp.kernel) | snapshot(gp.likelihood)
    gp.update(*wave(20), steps=3)
    assert states_equal(before, snapshot(gp.kernel) | snapshot(gp.likelihood))
    assert all(p.grad is None for p in gp.parameters())
    assert all(p.requires_grad for p in gp.kernel.parameters())


def test_frozen_hyperparameters_stay_frozen() -> None:
    """requires_grad = False is respected, and restored."""
    gp = poor(LegS(12))
    gp.likelihood.raw_noise.requires_grad_(False)
    gp.update(*wave(20), steps=5, train_hyperparameters=True)
    assert gp.likelihood.noise.item() == pytest.approx(0.5)
    assert gp.kernel.base_kernel.lengthscale.item() != pytest.approx(1.5, abs=1e-4)
    assert not gp.likelihood.raw_noise.requires_grad
    assert gp.kernel.raw_outputscale.requires_grad


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_training_points_raises_the_bound() -> None:
    """Trained Z have a higher bound than the initial Z, in both tasks."""
    trained, fixed = model(Points(6)), model(Points(6, trainable=False))
    for x, y in tasks(2, 60):
        trained.update(x, y, steps=40, lr=0.05)
        fixed.update(x, y)
        assert trained.bound() > fixed.bound() + 0.5
    assert not torch.equal(trained.inducing.Z, fixed.inducing.Z)
    assert torch.equal(trained.posterior.past.Z, trained.inducing.Z)


@pytest.mark.parametrize(
    ("inducing", "words"),
    [(LegSPath(8, num_frequencies=64), "lengthscale"), (FourierFeatures(31, -1.0, 5.0), "hyperparameters")],
)
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_families_bound_to_their_kernel_say_so(inducing: InducingVariables, words: str) -> None:
    """A lengthscale that changes after the first tasks is refused by update and by predict, and nothing is lost."""
    gp = model(inducing)
    for x, y in tasks(3, 60)[:2]:
        gp.update(x, y)
    before, predictions = snapshot(gp), gp.latent(S).mean
    x, y = tasks(3, 60)[2]
    with pytest.raises(ValueError, match=words):
        gp.update(x, y, steps=3, train_hyperparameters=True)
    assert states_equal(before, snapshot(gp))
    gp.kernel.base_kernel.lengthscale = 0.9
    changed = snapshot(gp)
    with pytest.raises(ValueError, match=words):
        gp.update(x, y)
    assert states_equal(changed, snapshot(gp))
    with pytest.raises(ValueError, match=words):
        gp.predict(S)
    gp.load_state_dict(before)
    assert torch.equal(gp.latent(S).mean, predictions)


@pytest.mark.parametrize("inducing", [LegSPath(12, num_frequencies=64), FourierFeatures(41, -1.0, 5.0)])
def test_families_bound_to_their_kernel_can_train_it_in_the_first_task(inducing: InducingVariables) -> None:
    """In the first task all inputs are available."""
    gp, (first, second) = poor(inducing), tasks(2, 60)
    gp.update(*first, steps=20, lr=0.05, train_hyperparameters=True)
    assert gp.kernel.base_kernel.lengthscale.item() != pytest.approx(1.5, abs=0.01)
    gp.update(*second)
    assert float(((gp.predict(first[0]).mean - first[1]) ** 2).mean()) < 0.4


def test_training_with_several_families() -> None:
    """The family with the highest bound trains the hyperparameters; all families then share them."""
    gp = poor(CosS(12))
    several = OnlineGP([CosS(12), LegS(12)], matern(1.5, 0.3), gaussian(0.5))
    for x, y in tasks(2, 60):
        several.update(x, y, steps=10, lr=0.05, train_hyperparameters=True)
        gp.update(x, y, steps=10, lr=0.05, train_hyperparameters=True)
    assert several.kernel.base_kernel.lengthscale.item() != pytest.approx(1.5, abs=0.01)
    assert all(torch.isfinite(posterior.site.log_evidence()) for posterior in several.posteriors)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_progress_bar_changes_nothing() -> None:
    """The result is the same with and without it."""
    loud, quiet = model(Points(5)), model(Points(5))
    loud.update(*wave(20), steps=3, progress=True)
    quiet.update(*wave(20), steps=3)
    assert torch.equal(loud.latent(S).mean, quiet.latent(S).mean)
