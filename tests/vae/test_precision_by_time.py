"""A GP-VAE whose latents are expansions in cosines: what it keeps, and that it streams, resumes and grows."""

import warnings
from pathlib import Path

import pytest
import torch

from gpvae.diagnostics import ResolutionWarning
from gpvae.modules import SVGPVAE
from gpvae.vae.wave_kernel import WaveKernel
from tests.vae.learning import Data, learn, predictions

NUM_SERIES, HOURS, M, L = 5, 24, 10, 2
pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")


def task(number: int, masked: float = 0.0) -> Data:
    rng = torch.Generator().manual_seed(number)
    times = HOURS * number + torch.arange(HOURS, dtype=torch.float64)
    day = torch.sin(2 * torch.pi * times / 24).float()
    y = day[None, :, None] + 0.3 * torch.randn(NUM_SERIES, HOURS, 3, generator=rng)
    mask = torch.ones_like(y, dtype=torch.bool)
    mask[0] = torch.rand(HOURS, 3, generator=rng) >= masked
    return times, y, mask


def built(**options: object) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": M, "num_variables": 3, "latent_dim": L, "hidden_dim": 8, "num_samples": 5}
    model = {"inducing": "CosineExpansion", "kernel": "matern12", "waves": [24.0, 12.0], "consolidation": "replay"}
    settings = {"horizon": 3.0 * HOURS, "hyperparameters": "fixed"}
    return SVGPVAE("OHSVGP", **(sizes | model | settings | options))  # type: ignore[arg-type]


def learnt(num_tasks: int = 3, masked: float = 0.0, **options: object) -> SVGPVAE:
    module = built(**options)
    for number in range(num_tasks):
        learn(module, task(number, masked))
    return module


def assert_equal(one: SVGPVAE, other: SVGPVAE) -> None:
    for ours, theirs in zip(predictions(one), predictions(other), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({}, (1, 1, M)),
        ({"shared_precision": True}, (1, L, M)),
        ({"shared_precision": False}, (NUM_SERIES, L, M)),
        ({"masked": 0.5}, (NUM_SERIES, L, M)),
    ],
)
def test_weights_by_time_stand_for_precisions(options: dict[str, object], shape: tuple[int, ...]) -> None:
    module = learnt(**options)  # type: ignore[arg-type]
    assert module.vae.posterior.G.shape == shape
    assert module.vae.posterior.site_of(torch.tensor([1, 3])).h.shape == (2, L, M)
    mean, stddev = predictions(module)
    assert bool(torch.isfinite(mean).all())
    assert bool((stddev > 0).all())


def test_the_kernel_is_fitted_to_the_first_task_and_then_stays() -> None:
    module = built()
    kernel = module.vae.kernel
    assert isinstance(kernel, WaveKernel)
    before = kernel.outputscale.clone()
    learn(module, task(0))
    fitted = kernel.outputscale.clone()
    assert not torch.allclose(before, fitted)
    assert fitted[0, 1] > fitted[0, 2]  # the data have a wave of 24 hours, and none of 12
    learn(module, task(1))
    assert torch.equal(kernel.outputscale, fitted)


def test_variances_hardly_depend_on_who_shares_weights() -> None:
    (one, first), (own, second) = (predictions(learnt(shared_precision=shared)) for shared in (None, False))
    assert torch.allclose(first.mean((0, 2)), second.mean((0, 2)), rtol=0.1)
    assert float((one - own).square().mean()) < 0.02 * float(own.square().mean())


def test_a_saved_state_goes_on_as_if_nothing_had_happened() -> None:
    module, again = learnt(2), built()
    again.load_state_dict(module.state_dict())
    assert_equal(again, module)
    for one in (module, again):
        learn(one, task(2))
    assert_equal(again, module)


@pytest.mark.parametrize("shared", [None, False])
def test_files_hold_what_memory_would(shared: bool | None, tmp_path: Path) -> None:
    options = {"shared_precision": shared, "sites_folder": str(tmp_path)}
    files = learnt(masked=0.5, **options)
    assert_equal(files, learnt(masked=0.5, shared_precision=shared))
    again = built(**options)
    again.load_state_dict(files.state_dict())
    assert_equal(again, files)


def test_a_stream_that_outgrows_its_horizon_says_so_and_goes_on() -> None:
    module = built(horizon=1.5 * HOURS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(3):
            learn(module, task(number))
    said = [str(w.message) for w in caught if w.category is ResolutionWarning]
    assert len(said) == 1
    assert "longer than the 36 units of time planned for" in said[0]
    assert float(module.vae.posterior.inducing.get_buffer("horizon")) == 72
    total = module.vae.posterior.scale * module.vae.posterior.G
    assert bool((total[..., :M] > 0).all())  # all three tasks have their weights
    assert bool(torch.isfinite(predictions(module)[0]).all())


def test_a_field_of_one_location_is_a_series() -> None:
    times, y, mask = task(0)
    one = times, y[:1], mask[:1]
    series, field = built(), built(latents="field", num_series=1, replay_times=256)
    for module in (series, field):
        learn(module, one)
    grid = torch.arange(0.0, HOURS, 0.5, dtype=torch.float64)
    ours, theirs = (module.vae.latent(grid, torch.tensor([0])).mean for module in (series, field))
    assert torch.equal(ours, theirs)


def test_waves_need_principal_components_and_cosines_that_know_them() -> None:
    with pytest.raises(ValueError, match="waves are fitted to principal components"):
        built(networks="mlp")
    with pytest.raises(ValueError, match="an option of CosS"):
        built(inducing="CosS")
