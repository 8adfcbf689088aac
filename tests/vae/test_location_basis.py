"""Functions of location: eigenfunctions of a kernel that the first task chooses."""

import pytest
import torch
from torch import Tensor

from gpvae.vae.location_basis import LocationBasis
from gpvae.vae.location_kernel import LocationKernel, correlation
from gpvae.vae.locations import Locations


def grid(rows: int = 6, columns: int = 8, step: float = 0.25) -> Tensor:
    """Positions of a grid of locations, `[S, 3]`."""
    latitude, longitude = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    locations = Locations()
    coordinates = torch.stack([60 + step * latitude.flatten(), 7 + step * longitude.flatten()], -1).double()
    locations.coordinates = coordinates
    locations.values = coordinates.new_zeros(len(coordinates), 0)
    return locations.positions(torch.arange(len(coordinates)))


def weather(positions: Tensor, length: float, hours: int = 40, variables: int = 2) -> Tensor:
    """Draws of fields with a given lengthscale, in units of the spread of the locations."""
    spread = (positions - positions.mean(0)).square().sum(-1).mean().sqrt()
    scaled = positions / (length * spread)
    root = torch.linalg.cholesky(correlation(scaled, scaled) + 1e-6 * torch.eye(len(positions)).double())
    draws = torch.randn(len(positions), hours * variables, generator=torch.Generator().manual_seed(0)).double()
    return (root @ draws).unflatten(1, (hours, variables)).float()


def fit(positions: Tensor, y: Tensor, number: int = 12, mask: Tensor | None = None) -> LocationBasis:
    basis = LocationBasis(number)
    basis.fit(positions, y, torch.ones_like(y, dtype=torch.bool) if mask is None else mask)
    return basis


@pytest.mark.parametrize("length", [0.5, 2.0, 8.0])
def test_the_kernel_finds_the_lengthscale_of_the_fields(length: float) -> None:
    positions = grid()
    y = weather(positions, length)
    kernel = LocationKernel.choose(positions, y, torch.ones_like(y, dtype=torch.bool))
    spread = (positions - positions.mean(0)).square().sum(-1).mean().sqrt()
    assert 0.4 * length <= float(kernel.scales[0] / spread) <= 2.5 * length
    assert bool(((kernel.amplitude > 0.5) & (kernel.amplitude < 3.0)).all())


def test_height_counts_if_values_depend_on_it() -> None:
    positions, rng = grid(), torch.Generator().manual_seed(1)
    height = torch.randn(len(positions), 1, generator=rng).double()
    y, mask = weather(positions, 4.0), torch.ones(len(positions), 40, 2, dtype=torch.bool)
    with_height = torch.cat([positions, height], -1)
    flat, hilly = (LocationKernel.choose(with_height, y + part * height[..., None].float(), mask) for part in (0, 3))
    assert hilly.scales[3] < 10 < flat.scales[3]


def test_values_that_are_missing_here_and_there_do_not_change_the_choice() -> None:
    positions = grid()
    y = weather(positions, 2.0)
    mask = torch.rand(y.shape, generator=torch.Generator().manual_seed(2)) > 0.05
    mask[:5, :, 1] = False
    complete = LocationKernel.choose(positions, y, torch.ones_like(mask))
    assert torch.equal(LocationKernel.choose(positions, y.where(mask, torch.nan), mask).scales, complete.scales)


def test_functions_are_orthonormal_over_the_locations() -> None:
    positions = grid()
    features = fit(positions, weather(positions, 4.0))(positions)
    torch.testing.assert_close(features.mT @ features / len(positions), torch.eye(12).double(), rtol=1e-6, atol=1e-6)


def test_all_functions_together_are_the_kernel() -> None:
    positions = grid(4, 5)
    basis = fit(positions, weather(positions, 1.0), number=20)
    features = basis(positions)
    x = positions / basis.scales
    torch.testing.assert_close(features * basis.eigenvalues @ features.mT, correlation(x, x), rtol=1e-5, atol=1e-5)


def test_there_are_no_more_functions_than_locations_or_than_rise_above_the_nugget() -> None:
    positions = grid(2, 3)
    features = fit(positions, weather(positions, 1.0), number=9)(positions)
    assert features.shape == (6, 9)
    assert not features[:, 6:].any()
    smooth = weather(grid(), 4.0)
    rough = smooth + 0.3 * torch.randn(smooth.shape, generator=torch.Generator().manual_seed(3))
    assert 0 < int((fit(grid(), rough, number=48).eigenvalues > 0).sum()) < 40


def test_the_variance_that_is_missed_grows_with_the_distance_from_locations_seen() -> None:
    positions = grid()
    basis = fit(positions[:24], weather(positions, 1.0)[:24], number=24)
    column = positions[::8]  # one row of the grid after the other, of which the first three were seen
    excess = basis.excess(basis(column))[:, 0]
    assert float(excess[:3].max()) < 1e-3
    assert bool((excess[3:].diff() > 0).all())
    assert 0.01 < float(excess[3]) < float(excess[5]) <= 2 * float(basis.amplitude[0])


def test_its_variance_is_that_of_errors_at_locations_left_out() -> None:
    positions = grid()
    y = weather(positions, 1.0, hours=200)
    left_out = torch.arange(48) % 5 == 2
    basis = fit(positions[~left_out], y[~left_out], number=48)
    features = basis(positions[~left_out]), basis(positions[left_out])
    used = basis.eigenvalues > 0
    normal = features[0].mT @ features[0] + torch.diag(basis.nugget / basis.eigenvalues.where(used, 1e-9))
    coefficients = torch.linalg.solve(normal, features[0].mT @ y[~left_out].double().flatten(1))
    errors = (features[1] @ coefficients).unflatten(1, (200, 2)) - y[left_out]
    ratio = errors.square().mean(1) / basis.excess(features[1])
    assert float(ratio.mean()) == pytest.approx(1.0, abs=0.25)


def test_a_state_brings_its_functions() -> None:
    positions = grid()
    basis, loaded = fit(positions, weather(positions, 2.0)), LocationBasis(12)
    loaded.load_state_dict(basis.state_dict())
    assert torch.equal(loaded(positions), basis(positions))
