"""The forgetting matrix as a picture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgba

from gpvae.metrics import HIGHER, LOWER, Description, Target
from gpvae.plotting.colour_scale import ColourScale, colour_limits
from gpvae.plotting.heat_map import forgetting_figure


def triangle(size: int) -> np.ndarray:
    matrix = np.add.outer(np.arange(size), -np.arange(size)).astype(float)
    matrix[np.triu_indices(size, 1)] = np.nan
    return matrix


@pytest.mark.parametrize("size", [1, 3, 12, 13, 1000])
def test_heat_map_has_a_colour_for_every_value_and_numbers_where_they_fit(size: int) -> None:
    matrix = triangle(size)
    figure = forgetting_figure(matrix, "nlpd", 50)
    figure.canvas.draw()
    ax, bar = figure.axes
    np.testing.assert_array_equal(np.ma.filled(ax.images[0].get_array(), np.nan), matrix)
    written = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts}
    assert len(written) == (size * (size + 1) // 2 if size <= 12 else 0)
    assert all(float(text) == after - task for (after, task), text in written.items())
    assert bar.get_ylabel() == "NLPD (lower is better)"
    ticks = ax.get_xticks()
    assert len(ticks) <= 12 + 2  # matplotlib adds one beyond each end
    np.testing.assert_array_equal(ticks, ticks.round())


def test_outliers_do_not_wash_out_the_rest() -> None:
    matrix = triangle(10) / 10
    matrix[8, 2], matrix[9, 2], matrix[5, 5] = 1e6, np.inf, -0.001
    assert colour_limits(matrix) == (-0.001, 0.9)
    figure = forgetting_figure(matrix, "nlpd", 50)
    figure.canvas.draw()
    texts = {t.get_text() for t in figure.axes[0].texts}
    assert {"∞", "1e+06", "0.10"} <= texts
    assert "−0.00" not in texts


def test_bright_is_bad_whichever_way_a_metric_goes() -> None:
    worst = [
        forgetting_figure(triangle(3), metric, 50).axes[0].images[0].to_rgba(value)
        for metric, value in (("nlpd", 2.0), ("accuracy", 0.0))
    ]
    assert tuple(worst[0]) == pytest.approx(tuple(worst[1]))
    assert sum(worst[0][:3]) > sum(to_rgba("grey")[:3])


def test_coverage_is_dark_where_it_is_right_and_bright_both_ways() -> None:
    matrix = np.array([[1.0, np.nan], [0.7, 0.9]])
    image = forgetting_figure(matrix, "coverage", 50).axes[0].images[0]
    right, wide, narrow = (sum(image.to_rgba(value)[:3]) for value in (0.9, 1.0, 0.7))
    assert right < wide < narrow


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.sampled_from([LOWER, HIGHER, Target(0.9)]))
def test_colours_follow_the_loss(values: list[float], target: Target) -> None:
    scores = np.array([*values, np.nan])
    scale = ColourScale.of(scores, Description("", target))
    relative_loss = scale.relative_loss(scores)[:-1]
    assert ((relative_loss >= 0) & (relative_loss <= 1)).all()
    assert np.isnan(scale.relative_loss(scores)[-1])
    order = np.argsort(target.loss(np.clip(scores[:-1], scale.low, scale.high)))
    assert (np.diff(relative_loss[order]) >= 0).all()
