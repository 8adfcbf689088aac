"""Maps of locations."""

from pathlib import Path

import numpy as np

from gpvae.report.coastlines import coastlines
from gpvae.report.maps import MAX_LOCATIONS, colour_range, plot_map
from gpvae.report.page import write_report
from gpvae.results.location_table import FILE_NAME, LocationScore, read_locations, write_locations
from tests.report.made import config, write_run
from tests.report.reading import Page


def scores(num: int = 4) -> list[LocationScore]:
    return [LocationScore(i, 50.0 + i, -3.0 + i, 10, 0.5, 0.1 * i) for i in range(num)]


def test_a_page_has_a_map_for_each_method_with_locations(tmp_path: Path) -> None:
    one, other = (write_run(tmp_path / name / "seed_0", 0, config(name)) for name in ("OVC", "OHSGPR"))
    write_locations(scores(), one / FILE_NAME)
    (other / FILE_NAME).write_text("location,latitude\n1,nonsense\n")
    write_report([tmp_path], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Skill against climatology at every location" in Page(text).text
    assert text.count('aria-label="Map: skill of OVC"') == 1
    assert "Map: skill of OHSGPR" not in text


def test_there_is_no_map_without_locations_or_with_too_many(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "OVC" / "seed_0", 0, config())
    for found in (scores(1), scores(MAX_LOCATIONS + 1)):
        write_locations(found, folder / FILE_NAME)
        write_report([tmp_path], tmp_path / "page.html")
        assert "Skill against climatology at every location" not in (tmp_path / "page.html").read_text()


def test_scores_come_back_and_colours_are_those_of_skill(tmp_path: Path) -> None:
    write_locations(scores(), tmp_path / FILE_NAME)
    assert read_locations(tmp_path / FILE_NAME) == scores()
    assert read_locations(tmp_path / "none.csv") == []
    (drawn,) = plot_map(scores(), (0.0, 0.3)).axes[0].collections
    np.testing.assert_allclose(drawn.get_array(), [0.0, 0.1, 0.2, 0.3])
    low, high = colour_range([scores(), scores(2)])
    assert 0 <= low < high <= 0.3


def test_coast_is_drawn_below_the_locations_and_only_within_the_map() -> None:
    (axes, _) = plot_map(scores(), (0.0, 0.3)).axes  # the west of Great Britain
    (coast,) = axes.lines
    assert coast.get_zorder() < axes.collections[0].get_zorder()
    west, east = axes.get_xlim()
    longitude = coast.get_xdata()
    assert np.nanmin(longitude) < east
    assert np.nanmax(longitude) > west
    assert np.isfinite(longitude).sum() < 500
    inland = [LocationScore(i, 48.0 + 0.1 * i, 67.0 + 0.1 * i, 10, 0.5, 0.1) for i in range(3)]  # Kazakhstan
    assert not plot_map(inland, (0.0, 0.3)).axes[0].lines


def test_coast_is_where_it_is() -> None:
    cape = coastlines(18.0, 20.0, -36.0, -34.0)
    assert -35.0 < np.nanmin(cape[:, 1]) < -34.5  # Cape Agulhas is at 34.8 degrees south
    assert len(coastlines(0.0, 0.5, 20.0, 20.5)) == 0  # the Sahara
    np.testing.assert_allclose(coastlines(200.0, 210.0, 18.0, 23.0) - [360, 0], coastlines(-160.0, -150.0, 18.0, 23.0))
    assert np.isnan(cape[-1]).all()
    steps = np.abs(np.diff(coastlines(-180.0, 180.0, -90.0, 90.0), axis=0))
    assert np.nanmax(steps) < 30  # no line crosses the map


def test_a_map_across_the_date_line_is_one_piece() -> None:
    fiji = [LocationScore(i, -17.0 - i, longitude, 10, 0.5, 0.1) for i, longitude in enumerate((177.0, 179.0, -178.0))]
    axes = plot_map(fiji, (0.0, 0.3)).axes[0]
    west, east = axes.get_xlim()
    assert 170 < west < 177
    assert 182 < east < 190
