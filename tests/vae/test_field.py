"""Latents that all locations share."""

import pytest
import torch
from torch import Tensor

from gpvae.modules import SVGPVAE
from gpvae.vae.field import Field
from gpvae.vae.keyed_noise import Draws
from tests.vae.learning import Data, learn

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
HOURS, VARIABLES = 30, 2


def task(number: int, locations: int = 4) -> Data:
    """Locations that see one wave, each with a phase and a size of its own."""
    times = HOURS * number + torch.arange(HOURS, dtype=torch.float64)
    place = torch.arange(locations)[:, None, None]
    wave = torch.sin(times[None, :, None] / 4 + 0.3 * place + torch.arange(VARIABLES))
    y = ((1 + 0.2 * place) * wave).float()
    return times, y, torch.ones_like(y, dtype=torch.bool)


def build(locations: int = 4, latents: str = "field", **options: object) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": 24, "num_variables": VARIABLES, "latent_dim": 2, "hidden_dim": 8, "num_samples": 20}
    if latents == "field":
        sizes["num_series"] = locations
    chosen = sizes | {"latents": latents, "consolidation": "both", "shortest": 8.0} | options
    return SVGPVAE("CosS", **chosen)  # type: ignore[arg-type]


def predicted(module: SVGPVAE, times: Tensor, series: Tensor) -> Tensor:
    return module.vae.decode_samples(times, series, 20, Draws(0))[0].mean(-1)


def test_joining_and_splitting_are_inverse() -> None:
    field, values = Field(4, 3), torch.randn(4, 5, 3)
    joined = field.join(values)
    assert joined.shape == (1, 5, 12)
    torch.testing.assert_close(field.split(joined, torch.arange(4)), values)
    torch.testing.assert_close(field.split(joined[None], torch.tensor([2, 0])), values[None, [2, 0]])


def test_a_field_of_one_location_is_a_series() -> None:
    modules = [build(1, latents, shared_precision=False, replay_times=256) for latents in ("field", "series")]
    for number in range(3):
        for module in modules:
            learn(module, task(number, 1), steps=3)
    field, series = (predicted(module, task(1)[0], torch.tensor([0])) for module in modules)
    assert torch.equal(field, series)


def test_locations_with_common_causes_are_remembered_with_one_posterior() -> None:
    module = build()
    for number in range(3):
        learn(module, task(number), steps=60)
    assert module.vae.posterior.h.shape == (1, 2, 24)
    for number in range(3):
        times, y, _ = task(number)
        error = predicted(module, times, torch.arange(4)) - y
        assert float(error.square().mean().sqrt()) < 0.3


def test_predictions_of_some_locations_are_those_of_all() -> None:
    module = build()
    learn(module, task(0))
    everywhere = predicted(module, task(0)[0], torch.arange(4))
    torch.testing.assert_close(predicted(module, task(0)[0], torch.tensor([3, 1])), everywhere[[3, 1]])


def test_a_missing_location_is_filled_in_from_the_others() -> None:
    module = build()
    times, y, mask = task(0)
    learn(module, (times, y, mask), steps=100)
    later, y, mask = task(1)
    gone = mask.clone()
    gone[1, 10:20] = False
    learn(module, (later, y.where(gone, torch.nan), gone), steps=100)
    error = predicted(module, later[10:20], torch.tensor([1])) - y[1, 10:20]
    assert float(error.square().mean().sqrt()) < 0.5 * float(y[1, 10:20].square().mean().sqrt())


def test_another_number_of_locations_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the data have 5 locations, but the field has 4: .* latents: series"):
        build().begin_task(*task(0, 5))


def test_a_field_that_does_not_know_its_locations_waits_for_the_data() -> None:
    module = SVGPVAE(num_variables=3, latents="field")
    assert not module.built
    with pytest.raises(ValueError, match="a field needs the number of its locations: set num_series"):
        module.build(3)


def test_sites_of_a_field_are_not_kept_in_files() -> None:
    with pytest.raises(ValueError, match="sites_folder is for the sites of many series"):
        SVGPVAE(latents="field", sites_folder="sites")
