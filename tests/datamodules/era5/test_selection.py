"""Cells are drawn, looked up or all taken."""

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodules.era5.cells import choose_cells
from datamodules.era5.files.grid import Grid

GRID = Grid(
    ("latitude", "longitude"),
    np.array([52.0, 51.5, 51.0]),
    np.array([-1.0, -0.5, 0.0, 0.5]),
    (np.arange(3), np.arange(4)),
)
LAND = np.array([True, True, False, False, True, False, False, False, True, True, True, False])


@given(st.integers(1, 6), st.integers(0, 1000))
def test_points_are_drawn_from_land_without_repetition(points: int, seed: int) -> None:
    cells = choose_cells(GRID, points, land=LAND, seed=seed)
    assert len(set(cells.tolist())) == points
    assert LAND[cells].all()
    assert (np.diff(cells) > 0).all()
    np.testing.assert_array_equal(cells, choose_cells(GRID, points, land=LAND, seed=seed))


def test_seeds_draw_different_points_and_every_cell_is_drawn_by_some() -> None:
    drawn = [tuple(choose_cells(GRID, 3, seed=seed).tolist()) for seed in range(60)]
    assert len(set(drawn)) > 30
    assert set().union(*drawn) == set(range(12))


def test_all_cells() -> None:
    np.testing.assert_array_equal(choose_cells(GRID), np.arange(12))
    np.testing.assert_array_equal(choose_cells(GRID, land=LAND), np.flatnonzero(LAND))


@pytest.mark.parametrize(
    ("points", "land", "cells", "message"),
    [
        (12, None, np.arange(12), ""),
        (
            13,
            None,
            np.arange(12),
            "points is 13, and there are 12 grid cells (3 × 4 cells, 51 to 52 °N, -1 to 0.5 °E): all",
        ),
        (7, LAND, np.flatnonzero(LAND), "points is 7, and there are 6 grid cells on land"),
    ],
)
def test_all_cells_if_there_are_fewer(
    points: int,
    land: np.ndarray | None,
    cells: np.ndarray,
    message: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        np.testing.assert_array_equal(choose_cells(GRID, points, land=land), cells)
    assert message in caplog.text
    assert bool(message) == bool(caplog.text)


@given(st.lists(st.integers(0, 11), min_size=1, unique=True), st.floats(-0.2, 0.2), st.floats(-0.2, 0.2))
def test_places_find_their_nearest_cells_in_order(cells: list[int], north: float, east: float) -> None:
    places = [[float(lat) + north, float(lon) + east] for lat, lon in GRID.cells[cells]]
    np.testing.assert_array_equal(choose_cells(GRID, 3, places), cells)
    around = [[lat, lon % 360] for lat, lon in places]
    np.testing.assert_array_equal(choose_cells(GRID, None, around), cells)


def test_places_on_land() -> None:
    assert choose_cells(GRID, locations=[[51.5, -0.5]]).tolist() == [5]
    assert choose_cells(GRID, locations=[[51.5, -0.55]], land=LAND).tolist() == [4]


def test_scattered_locations() -> None:
    scattered = Grid(("location",), np.array([50.0, 55.0]), np.array([0.0, 1.0]), (np.arange(2),))
    assert choose_cells(scattered, locations=[[55.2, 0.9]]).tolist() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"land": np.zeros(12, bool)}, "no grid cells on land among .*nothing is selected"),
        ({"locations": []}, "`locations` is empty"),
        ({"locations": [[51.0, 0.0], [49.0, 0.0]]}, r"\[49.0, 0.0\] in `locations` is 2.00° away"),
        (
            {"locations": [[51.0, 0.0], [51.1, 0.1], [52, 0]]},
            r"share their nearest grid cell: \[\[51.0, 0.0\], \[51.1, 0.1\]\]",
        ),
        ({"locations": [[51.0]]}, "not a latitude and a longitude"),
        ({"locations": [[151.0, 0.0]]}, "not a latitude and a longitude"),
    ],
)
def test_selections_that_cannot_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_cells(GRID, **options)
