"""The figure of a stream, compared with the model and the data."""

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

from callbacks.figures.stream import MAX_BOUNDARIES, MAX_POINTS, draw_tasks, stream_figure, task_boundaries
from gpvae.plotting.canvas import blank_figure
from tests.callbacks.figures.reading import legend, points
from tests.callbacks.figures.toy_points import Learner, Stream, counts, learn, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")


def num_boundaries(ax: Axes) -> int:
    return sum(artist.get_linestyle() == ":" for artist in ax.lines)


def test_stream_shows_prediction_data_and_inducing_points() -> None:
    stream = wave(4)
    module = learn(Learner("Points", 10), stream, 3)
    ax = stream_figure(module, stream.tasks, 3, 50, reconstruction=True, dpi=50).axes[0]
    x = torch.linspace(float(stream.tasks[0].x_train[0]), float(stream.tasks[-1].x_train[-1]), 50, dtype=torch.float64)
    y = module.predict(x[:, None])
    np.testing.assert_array_equal(points(ax, "mean ± 2 sd"), torch.stack([x, y.mean], -1))
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(float((y.mean + 2 * y.stddev).max()))
    assert band[:, 1].min() == pytest.approx(float((y.mean - 2 * y.stddev).min()))
    np.testing.assert_array_equal(points(ax, "inducing points")[:, 0], module.gp.inducing.Z.detach()[:, 0])
    np.testing.assert_array_equal(points(ax, "this task")[:, 1], stream.tasks[2].y_train)
    assert len(points(ax, "earlier tasks")) == len(stream.tasks[0].x_train) + len(stream.tasks[1].x_train)
    assert num_boundaries(ax) == 3
    assert ax.get_title(loc="left") == "After task 3 of 4"
    assert legend(ax) == ["mean ± 2 sd", "earlier tasks", "this task", "inducing points"]  # points have no basis


def test_reconstruction_is_drawn_where_data_were_seen() -> None:
    stream = wave(3)
    module = learn(Learner("LegS", 15), stream, 2)
    ax = stream_figure(module, stream.tasks, 2, 50, reconstruction=True, dpi=50).axes[0]
    drawn = torch.from_numpy(points(ax, "reconstruction"))
    assert drawn[-1, 0] <= stream.tasks[1].x_train.max() < drawn[-1, 0] + 5 / 49
    np.testing.assert_array_equal(drawn[:, 1], module.gp.reconstruct(drawn[:, 0]).mean)
    assert "inducing points" not in legend(ax)
    ax = stream_figure(module, stream.tasks, 2, 50, reconstruction=False, dpi=50).axes[0]
    assert "reconstruction" not in legend(ax)


def test_axes_stay_from_task_to_task() -> None:
    stream = wave(3)
    module, limits = Learner("LegS", 15), set()
    for num_seen in (1, 2, 3):
        learn(module, stream, 1)
        ax = stream_figure(module, stream.tasks, num_seen, 50, reconstruction=False, dpi=50).axes[0]
        limits.add((*ax.get_xlim(), *ax.get_ylim()))
        assert [text.get_text() for text in ax.texts] == (["still to come"] if num_seen < 3 else [])
    assert len(limits) == 1


def test_counts_are_never_expected_below_zero() -> None:
    stream = counts()
    module = learn(Learner("CosS", 12, "poisson", 0.8), stream, 2)
    ax = stream_figure(module, stream.tasks, 2, 50, reconstruction=True, dpi=50).axes[0]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() >= 0
    np.testing.assert_array_equal(band, band.round())
    assert legend(ax) == ["mean, 95 % interval", "earlier tasks", "this task"]


def test_labels_along_a_line_have_no_interval() -> None:
    stream = wave()
    stream = Stream(
        torch.cat([t.x_train for t in stream.tasks]), torch.cat([(t.y_train > 0).double() for t in stream.tasks]), 3
    )
    module = learn(Learner("LegS", 12, "bernoulli"), stream, 1)
    ax = stream_figure(module, stream.tasks, 1, 50, reconstruction=True, dpi=50).axes[0]
    assert not ax.collections
    assert legend(ax) == ["p(y = 1)", "this task"]


def test_long_streams_are_thinned_out() -> None:
    stream = wave(1000, 10_000)
    _, ax = blank_figure(4, 2, 50)
    draw_tasks(ax, stream.tasks, 900)
    assert len(task_boundaries(stream.tasks)) == 999
    assert len(stream.tasks) > MAX_BOUNDARIES
    assert num_boundaries(ax) == 0
    assert len(points(ax, "earlier tasks")) == MAX_POINTS
    assert points(ax, "earlier tasks")[-1, 0] == stream.tasks[898].x_train[-1]


def test_tasks_that_overlap_have_no_boundaries() -> None:
    stream = wave()
    assert task_boundaries(stream.tasks[::-1]) == []
    _, ax = blank_figure(4, 2, 50)
    draw_tasks(ax, stream.tasks[::-1], 2)
    assert num_boundaries(ax) == 0
