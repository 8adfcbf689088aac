"""Protection of the networks against forgetting: results with and without it."""

import re
import warnings

import pytest
import torch

from gpvae.diagnostics import ResolutionWarning
from gpvae.modules import SVGPVAE
from tests.vae.learning import Data, learn

HOURS, STEPS = 40, 150

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")


def task(number: int) -> Data:
    """Hours of two series of three variables, whose levels and relations change with every task."""
    rng = torch.Generator().manual_seed(number)
    times = HOURS * number + torch.arange(HOURS, dtype=torch.float64)
    waves = torch.sin(times / 4 + torch.arange(2)[:, None]).float()
    levels = number * torch.tensor([2.0, -1.0, 0.5])
    y = waves[..., None] * torch.tensor([1.0, -0.5, 0.8]) + levels + 0.2 * torch.randn(2, HOURS, 3, generator=rng)
    return times, y, torch.ones(2, HOURS, 3, dtype=torch.bool)


def after_two_tasks(consolidation: str, **options: float) -> tuple[SVGPVAE, float]:
    """A model that has learnt two tasks, and the change of its decoder at the latents of the first task."""
    torch.manual_seed(0)
    sizes = {"num_inducing": 16, "num_variables": 3, "latent_dim": 2, "hidden_dim": 16}
    module = SVGPVAE(inducing="CosS", shortest=8.0, consolidation=consolidation, **sizes, **options)
    learn(module, task(0), STEPS)
    times = task(0)[0]
    f = module.vae.latent(times).mean
    before = module.vae.decode(times, f)[0].detach()
    learn(module, task(1), STEPS)
    return module, float((module.vae.decode(times, f)[0].detach() - before).square().mean().sqrt())


@pytest.fixture(scope="module")
def unprotected() -> tuple[SVGPVAE, float]:
    return after_two_tasks("none")


def test_replay_leaves_what_the_decoder_makes_of_past_latents_where_it_was(unprotected: tuple[SVGPVAE, float]) -> None:
    moved = after_two_tasks("replay")[1]
    assert moved < 0.5
    assert unprotected[1] > 5 * moved


def test_elastic_weights_hold_the_decoder_and_without_them_it_moves(unprotected: tuple[SVGPVAE, float]) -> None:
    held = after_two_tasks("ewc", ewc_strength=100.0)[1]
    assert unprotected[1] > 2 * held
    without = after_two_tasks("ewc", ewc_strength=0.0)[1]
    assert without == pytest.approx(unprotected[1], rel=0.05)  # random draws differ


def test_both_protect(unprotected: tuple[SVGPVAE, float]) -> None:
    assert unprotected[1] > 5 * after_two_tasks("both", ewc_strength=1.0)[1]


def test_the_kernel_stays_where_the_first_task_left_it() -> None:
    torch.manual_seed(0)
    module = SVGPVAE(num_inducing=8, num_variables=3, latent_dim=2, hidden_dim=8, consolidation="replay")
    start = module.vae.kernel.lengthscale.detach().clone()
    learn(module, task(0), steps=5)
    first = module.vae.kernel.lengthscale.detach().clone()
    learn(module, task(1), steps=5)
    assert not torch.equal(first, start)
    torch.testing.assert_close(module.vae.kernel.lengthscale.detach(), first, rtol=0, atol=0)


def test_a_memory_that_becomes_too_small_for_the_stream_says_so_once() -> None:
    torch.manual_seed(0)
    module = SVGPVAE(num_inducing=12, num_variables=3, latent_dim=2, hidden_dim=8, shortest=8.0, consolidation="none")
    learn(module, task(0), steps=2)
    assert module.resolution.share > 0.9
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(1, 12):
            learn(module, task(number), steps=1)
    (message,) = [str(warning.message) for warning in caught if warning.category is ResolutionWarning]
    assert re.search(r"12 LegS variables resolve \d+% .* less than the 95% .* raise num_inducing", message)
    assert module.resolution.share < 0.75


@pytest.mark.parametrize("family", ["LegS", "CosS"])
def test_the_advised_number_meets_the_criterion_of_the_warning(family: str) -> None:
    torch.manual_seed(0)
    sizes = {"num_inducing": 12, "num_variables": 3, "latent_dim": 2, "hidden_dim": 8}
    module = SVGPVAE(inducing=family, shortest=8.0, consolidation="none", **sizes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(12):
            learn(module, task(number), steps=1)
            said = [str(warning.message) for warning in caught if warning.category is ResolutionWarning]
            if said:
                break
    found = re.search(r"resolve (\d+)% .* less than the 95% .* raise num_inducing to (\d+), which resolve 95%", said[0])
    assert found is not None
    assert int(found[1]) == int(100 * module.resolution.share) < 95
    end = HOURS * (number + 1) - 1.0
    times = torch.linspace(0, end, 512, dtype=torch.float64)

    def share(num_inducing: int) -> float:
        other = type(module.vae.posterior.inducing)(num_inducing)
        other.advance(module.vae.kernel, times[:, None])
        return float(module.vae.resolved_share(times, other).mean())

    assert share(12) == pytest.approx(float(module.resolution.share), abs=1e-6)
    assert share(int(found[2])) >= 0.95 > share(int(found[2]) - 1)
