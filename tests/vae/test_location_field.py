"""A field whose networks take the location as an input."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from gpvae.modules import SVGPVAE
from gpvae.vae.bound import log_likelihood
from gpvae.vae.ewc import fisher, flat
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.location_field import LocationField
from gpvae.vae.step import Step
from gpvae.vae.task_posterior import TaskPosterior
from tests.vae.learning import Data, learn

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
HOURS, ROWS, COLUMNS = 30, 4, 6
LOCATIONS = ROWS * COLUMNS


def coordinates() -> Tensor:
    latitude, longitude = torch.meshgrid(torch.arange(ROWS), torch.arange(COLUMNS), indexing="ij")
    return torch.stack([50 + 0.5 * latitude.flatten(), 0.5 * longitude.flatten()], -1).double()


def task(number: int = 0) -> Data:
    """A wave that moves over the grid, and another that stands."""
    times = HOURS * number + torch.arange(HOURS, dtype=torch.float64)
    north, east = (coordinates() - coordinates().mean(0)).T[..., None]
    moving = torch.sin(times / 4 + 0.7 * east + 0.3 * north)
    standing = torch.cos(times / 5) * (1 + 0.4 * north)
    y = torch.stack([moving, standing], -1).float()
    return times, y, torch.ones_like(y, dtype=torch.bool)


def build(**options: object) -> SVGPVAE:
    torch.manual_seed(0)
    sizes = {"num_inducing": 24, "num_variables": 2, "latent_dim": 4, "hidden_dim": 8, "num_samples": 20}
    chosen = sizes | {"latents": "field", "location_features": 10, "consolidation": "both", "shortest": 8.0} | options
    module = SVGPVAE("CosS", **chosen)  # type: ignore[arg-type]
    module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
    if module.vae.locations is None:
        return module
    height = torch.linspace(0, 1, LOCATIONS)
    module.vae.locations.set(coordinates(), {"height": height}, np.datetime64("2020-01-01"))
    return module


def predicted(module: SVGPVAE, times: Tensor, series: Tensor) -> tuple[Tensor, Tensor]:
    mean, scale = module.vae.decode_samples(times, series, 50, Draws(0))
    return mean.mean(-1), (mean.var(-1) + scale.square().mean(-1)).sqrt()


def error(module: SVGPVAE, data: Data, series: Tensor) -> float:
    times, y, _ = data
    return float((predicted(module, times, series)[0] - y[series]).square().mean().sqrt())


def test_networks_do_not_grow_with_the_locations() -> None:
    few, many = (
        SVGPVAE(num_variables=2, num_series=number, latents="field", location_features=8) for number in (10, 1000)
    )
    assert len({sum(p.numel() for p in module._networks()) for module in (few, many)}) == 1


def test_one_posterior_remembers_all_locations() -> None:
    module = build()
    for number in range(3):
        learn(module, task(number), steps=60)
    assert module.vae.posterior.h.shape == (1, 4, 24)
    assert max(error(module, task(number), torch.arange(LOCATIONS)) for number in range(3)) < 0.3


def test_fields_of_the_rank_of_the_latents_are_known_before_the_first_step() -> None:
    module = build()
    times, y, mask = task()
    module.begin_task(times, y, mask)
    joined, seen = module.vae.join(y, mask)
    latents = module.vae.encode(times, joined, seen)[0]
    found = module.vae.decode(times, latents, torch.arange(LOCATIONS))[0]
    assert float((found.detach() - y).square().mean().sqrt()) < 0.05


def test_coefficients_are_those_of_ridge_regression_on_what_is_observed() -> None:
    module = build()
    _, y, mask = task()
    mask = torch.rand(mask.shape, generator=torch.Generator().manual_seed(1)) > 0.3
    field, locations = module.vae.field, module.vae.locations
    assert isinstance(field, LocationField)
    assert locations is not None
    joined, seen = module.vae.join(y.where(mask, torch.nan), mask)
    features = field.basis(locations.positions(torch.arange(LOCATIONS)))
    ridge = torch.diag(field.basis.nugget / field.basis.eigenvalues)
    for hour, variable in ((0, 0), (7, 1)):
        own = features[mask[:, hour, variable]]
        values = y[mask[:, hour, variable], hour, variable].double()
        expected = torch.linalg.solve(own.mT @ own + ridge, own.mT @ values)
        torch.testing.assert_close(
            joined[0, hour].unflatten(0, (-1, 2))[:, variable].double(), expected, rtol=0.02, atol=0.01
        )
    assert bool(seen.all())
    assert int(field.num_values) == int(mask.sum())


def test_hours_without_values_are_not_observed() -> None:
    module = build()
    _, y, mask = task()
    mask[:, 3] = False
    mask[:, 4, 1] = False
    joined, seen = module.vae.join(y, mask)
    assert not seen[0, 3].any()
    assert seen[0, 4].unflatten(0, (-1, 2)).all(0).tolist() == [True, False]
    assert not joined[~seen].any()


def test_batches_estimate_the_bound_of_the_whole_field() -> None:
    """The mean over batches of equal size is the bound with all locations."""
    module = build(noise="variable", left_out=0.0)
    times, y, mask = task()
    module.begin_task(times, y, mask)
    assert module._task is not None

    def value(index: Tensor) -> float:
        step = Step.of(module._task, index, times, y[index], mask[index])  # type: ignore[arg-type]
        return float(step.terms(step.noise(Draws(0, "train", 0), 0.0, None))[0].detach())

    whole, parts = value(torch.arange(LOCATIONS)), [value(part) for part in torch.randperm(LOCATIONS).split(6)]
    assert np.mean(parts) == pytest.approx(whole, rel=1e-5)
    assert np.std(parts) > 1e-3


def test_locations_never_seen_are_predicted_and_known_to_be_less_certain() -> None:
    module = build()
    times, y, mask = task()
    held_out = torch.tensor([0, 8, 15])
    seen = torch.tensor([i for i in range(LOCATIONS) if i not in held_out.tolist()])
    mask[held_out] = False
    learn(module, (times, y.where(mask, torch.nan), mask), steps=60)
    mean, scale = predicted(module, times, torch.arange(LOCATIONS))
    assert error(module, (times, y, mask), held_out) < 0.35
    neighbours = torch.cdist(coordinates()[held_out], coordinates()[seen]).argmin(-1)
    nearest = (mean[seen[neighbours]] - y[held_out]).square().mean().sqrt()
    assert error(module, (times, y, mask), held_out) < 0.7 * float(nearest)
    assert float(scale[0].mean()) > float(scale[seen].mean())  # a corner


def test_far_away_predictions_are_as_wide_as_the_weather() -> None:
    module = build()
    learn(module, task(), steps=30)
    assert module.vae.locations is not None
    (far,) = module.vae.locations.add(torch.tensor([[-30.0, 120.0]]), {})
    _, scale = predicted(module, task()[0], torch.stack([far, torch.tensor(0)]))
    far_away, near = scale.mean(1)
    assert bool((far_away > 0.5 * task()[1].std((0, 1))).all())
    assert bool((far_away > 2 * near).all())


def test_a_location_that_is_missing_for_hours_is_filled_in_from_the_others() -> None:
    module = build()
    learn(module, task(), steps=60)
    times, y, mask = task(1)
    mask[5, 10:20] = False
    learn(module, (times, y.where(mask, torch.nan), mask), steps=60)
    assert error(module, (times[10:20], y[:, 10:20], mask), torch.tensor([5])) < 0.3


def test_the_fisher_information_of_the_decoder_is_a_sum_over_locations() -> None:
    module = build(static_inputs=["height"])
    times, y, mask = task()
    module.begin_task(times, y, mask)
    task_, vae = module._task, module.vae
    assert task_ is not None
    found = fisher(task_, Draws(0, "fisher", 0))
    with torch.no_grad():
        features, past = task_.features_and_past(times, task_.series)
        noise = Draws(0, "fisher", 0).normal(task_.series, *features.prior.shape)
        f = TaskPosterior.of(features, past, *vae.encode(times, task_.y, task_.mask)).sample(noise[:, :, None])[0]
    expected = torch.zeros(len(flat([vae.decoder])))
    for location in range(LOCATIONS):
        at = torch.tensor([location])
        decoded = functional_call(vae.decoder, {}, (f, vae.clock(times), *vae.location_inputs(times, at)))
        value = log_likelihood(decoded, y[at], mask[at]).sum()
        gradients = torch.autograd.grad(value, list(vae.decoder.parameters()))
        expected += torch.cat([gradient.reshape(-1) for gradient in gradients]).square()
    torch.testing.assert_close(found[-len(expected) :], expected, rtol=1e-3, atol=1e-4)
    assert bool((found[: -len(expected)] >= 0).all())
    assert bool(found[: -len(expected)].any())


def test_locations_must_be_known_and_as_many_as_the_data_have() -> None:
    module = SVGPVAE(num_variables=2, latents="field", location_features=8)
    with pytest.raises(ValueError, match=r"the locations are unknown: use a datamodule"):
        module.begin_task(*task())
    times, y, mask = task()
    with pytest.raises(ValueError, match="the data have 5 locations, and 24 are known"):
        build().begin_task(times, y[:5], mask[:5])


def test_static_inputs_of_series_tell_locations_apart() -> None:
    """The size of a wave is a function of height, which no single latent knows."""
    scores = []
    for inputs in (None, ["height"]):
        module = build(latents="series", location_features=None, static_inputs=inputs, latent_dim=1, lr=0.02)
        times, y, mask = task()
        height = torch.linspace(0, 1, LOCATIONS)[:, None, None]
        values = torch.cat([y[..., :1], (2 * height - 1) * y[..., :1]], -1)
        learn(module, (times, values, mask), steps=150)
        mean = predicted(module, times, torch.arange(LOCATIONS))[0]
        scores.append(float((mean - values).square().mean().sqrt()))
    assert scores[1] < 0.7 * scores[0]
