"""Interpolation of predictions at locations seen."""

import pytest
import torch

from callbacks.location_scores import MODEL, NEAREST, WEIGHTED, _predictions
from datamodules.era5.loader import SeriesBatch
from gpvae.vae.keyed_noise import Draws
from tests.vae.learning import learn
from tests.vae.test_location_field import build, task

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")


def test_interpolation_weighs_neighbours_by_the_inverse_square_of_their_distance() -> None:
    module = build()
    times, y, mask = task()
    learn(module, (times, y, mask), steps=2)
    series, seen = torch.tensor([3, 7]), torch.tensor([0, 1, 4, 9, 20])
    distance = torch.tensor([[9.0, 1e-8, 8.0, 7.0, 6.0], [1.0, 2.0, 9.0, 9.0, 1e9]]).double()
    with torch.no_grad():
        found = _predictions(module, SeriesBatch(series, times, y[series], mask[series]), distance, seen)
        expected = module.vae.decode_samples(times, seen, module.num_samples, Draws(module.seed, "evaluate"))
        own = module.vae.decode_samples(times, series, module.num_samples, Draws(module.seed, "evaluate"))
    for part in range(2):
        torch.testing.assert_close(found[MODEL][part], own[part])
        torch.testing.assert_close(found[NEAREST][part][0], expected[part][1])
        torch.testing.assert_close(found[WEIGHTED][part][0], expected[part][1])
        torch.testing.assert_close(found[NEAREST][part][1], expected[part][0])
        weights = torch.tensor([1, 1 / 4, 1 / 81, 1 / 81])
        weighted = (weights[:, None, None, None] * expected[part][[0, 1, 2, 3]]).sum(0) / weights.sum()
        torch.testing.assert_close(found[WEIGHTED][part][1], weighted.to(found[WEIGHTED][part]))
