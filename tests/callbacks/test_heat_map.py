"""The forgetting matrix as a picture."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from callbacks.figures.heat_map import colour_limits
from callbacks.figures.pictures import forgetting_figure


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
