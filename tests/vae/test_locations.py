"""Where series are, and inputs that depend on it."""

import numpy as np
import pytest
import torch

from gpvae.modules import SVGPVAE
from gpvae.utils.sun import mean_cos_zenith
from gpvae.vae.locations import Locations, located

ORIGIN = np.datetime64("2020-06-20T00:00")
COORDINATES = torch.tensor([[0.0, 0.0], [51.5, 0.0], [51.5, 180.0], [90.0, 0.0]], dtype=torch.float64)
HEIGHT = torch.tensor([0.0, 100.0, 200.0, 300.0])


def build(*names: str) -> Locations:
    locations = Locations(names)  # type: ignore[arg-type]
    locations.set(COORDINATES, {"height": HEIGHT}, ORIGIN)
    return locations


def test_inputs_have_mean_zero_and_variance_one() -> None:
    inputs = build("latitude", "height").inputs(torch.zeros(1, dtype=torch.float64), torch.arange(4))[:, 0]
    torch.testing.assert_close(inputs.mean(0), torch.zeros(2).double())
    torch.testing.assert_close(inputs.std(0, correction=0), torch.ones(2).double())


def test_an_input_that_is_the_same_everywhere_is_zero() -> None:
    locations = Locations(["height"])
    locations.set(COORDINATES, {"height": torch.full((4,), 7.0)}, ORIGIN)
    assert not locations.inputs(torch.zeros(2, dtype=torch.float64), torch.arange(4)).any()


def test_the_sun_is_up_at_noon_on_one_side_of_the_earth_and_down_on_the_other() -> None:
    noon = torch.tensor([12.5], dtype=torch.float64)
    equator, london, opposite, pole = build("sun").inputs(noon, torch.arange(4))[:, 0, 0].tolist()
    assert equator > london > 0.8 > pole > 0.3
    assert opposite == 0.0


def test_the_sun_is_that_of_the_data() -> None:
    times = torch.arange(0, 9000, 37, dtype=torch.float64)
    seconds = ORIGIN + (3600 * times.numpy()).astype("timedelta64[s]")
    expected = torch.from_numpy(mean_cos_zenith(seconds, *COORDINATES.T.numpy()).T)
    locations = build("sun")
    for _ in range(2):  # the second time with the path of the sun that is kept
        torch.testing.assert_close(locations.inputs(times, torch.arange(4))[..., 0], expected, rtol=1e-12, atol=1e-12)
    later = times + 1
    assert not torch.equal(locations.inputs(later, torch.arange(4))[..., 0], expected)


def test_the_sun_of_a_state_that_is_loaded_is_counted_from_its_origin() -> None:
    times, later = torch.arange(24, dtype=torch.float64), Locations(["sun"])
    later.set(COORDINATES, {}, ORIGIN + np.timedelta64(90, "D"))
    loaded, again = build("sun"), build("sun")
    for locations in (loaded, again):
        assert not torch.equal(locations.inputs(times, torch.arange(4)), later.inputs(times, torch.arange(4)))
    loaded.load_state_dict(later.state_dict())
    again.set(COORDINATES, {}, ORIGIN + np.timedelta64(90, "D"))
    for locations in (loaded, again):
        assert torch.equal(locations.inputs(times, torch.arange(4)), later.inputs(times, torch.arange(4)))


def test_positions_lie_on_the_sphere_and_hold_other_inputs_than_latitude_and_longitude() -> None:
    positions = build("latitude", "height", "sun").positions(torch.arange(4))
    assert positions.shape == (4, 4)
    torch.testing.assert_close(positions[:, :3].norm(dim=-1), torch.ones(4).double())
    torch.testing.assert_close(positions[0, :3], torch.tensor([1.0, 0.0, 0.0]).double())


def test_added_locations_are_on_the_scale_of_those_known() -> None:
    locations = build("height")
    indices = locations.add(COORDINATES[:1] + 1, {"height": torch.tensor([200.0])})
    assert indices.tolist() == [4]
    inputs = locations.inputs(torch.zeros(1, dtype=torch.float64), torch.arange(5))[:, 0, 0]
    assert inputs[4] == inputs[2]


def test_a_state_brings_its_locations() -> None:
    loaded = Locations(["height"])
    loaded.load_state_dict(build("height").state_dict())
    times, all_of_them = torch.zeros(1, dtype=torch.float64), torch.arange(4)
    assert torch.equal(loaded.inputs(times, all_of_them), build("height").inputs(times, all_of_them))
    with pytest.raises(ValueError, match="the state was not saved from"):
        Locations(["latitude"]).load_state_dict(build("height").state_dict())


def test_an_input_that_the_data_lack_is_named() -> None:
    with pytest.raises(ValueError, match=r"static_inputs has land, which the data do not have: .*land-sea mask lsm"):
        build("height", "land")


def test_data_without_locations_are_refused() -> None:
    with pytest.raises(ValueError, match="need data with locations, such as ERA5"):
        located(None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"static_inputs": ["hight"]}, "static_inputs is 'hight'|hight"),
        ({"static_inputs": ["sun", "sun"]}, "has a name twice"),
        ({"location_features": 8}, "location_features is for latents: field"),
        ({"location_features": 8, "latents": "field", "networks": "mlp"}, "networks: residual"),
        ({"static_inputs": ["sun"], "latents": "field"}, "need location_features, such as 32"),
        ({"location_features": 0, "latents": "field"}, "location_features"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVGPVAE(**options)  # type: ignore[arg-type]
