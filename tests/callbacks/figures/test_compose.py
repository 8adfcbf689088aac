"""What is on the figures: read off the axes and compared with the model and the data."""

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

from callbacks.figures.decision_boundary import boundary_figure
from callbacks.figures.stream import MOST_BOUNDARIES, MOST_DOTS, boundaries, draw_tasks, stream_figure
from gpvae.plotting import canvas
from gpvae.plotting.canvas import blank, render, save_png
from tests.callbacks.figures.toy_points import Learner, Stream, counts, labels, wave

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")


def learnt(module: Learner, stream: Stream, num_tasks: int) -> Learner:
    for _ in range(num_tasks):
        module.learn_next(stream.tasks)
    return module


def line(ax: Axes, label: str) -> np.ndarray:
    """The points `[N, 2]` of what the legend calls so."""
    (found,) = [artist for artist in ax.lines if artist.get_label() == label]
    return np.stack([found.get_xdata(), found.get_ydata()], -1)


def names(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def num_boundaries(ax: Axes) -> int:
    return sum(artist.get_linestyle() == ":" for artist in ax.lines)


def test_stream_shows_prediction_data_and_inducing_points() -> None:
    stream = wave(4)
    module = learnt(Learner("Points", 10), stream, 3)
    ax = stream_figure(module, stream.tasks, 3, 50, reconstruction=True, dpi=50).axes[0]
    x = torch.linspace(float(stream.tasks[0].x_train[0]), float(stream.tasks[-1].x_train[-1]), 50, dtype=torch.float64)
    y = module.predict(x[:, None])
    np.testing.assert_array_equal(line(ax, "mean ± 2 sd"), torch.stack([x, y.mean], -1))
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(float((y.mean + 2 * y.stddev).max()))
    assert band[:, 1].min() == pytest.approx(float((y.mean - 2 * y.stddev).min()))
    np.testing.assert_array_equal(line(ax, "inducing points")[:, 0], module.gp.inducing.Z.detach()[:, 0])
    np.testing.assert_array_equal(line(ax, "this task")[:, 1], stream.tasks[2].y_train)
    assert len(line(ax, "earlier tasks")) == len(stream.tasks[0].x_train) + len(stream.tasks[1].x_train)
    assert num_boundaries(ax) == 3
    assert ax.get_title(loc="left") == "After task 3 of 4"
    assert names(ax) == ["mean ± 2 sd", "earlier tasks", "this task", "inducing points"]  # points have no basis


def test_reconstruction_is_drawn_where_data_were_seen() -> None:
    stream = wave(3)
    module = learnt(Learner("LegS", 15), stream, 2)
    ax = stream_figure(module, stream.tasks, 2, 50, reconstruction=True, dpi=50).axes[0]
    drawn = torch.from_numpy(line(ax, "reconstruction"))
    assert drawn[-1, 0] <= stream.tasks[1].x_train.max() < drawn[-1, 0] + 5 / 49
    np.testing.assert_array_equal(drawn[:, 1], module.gp.reconstruct(drawn[:, 0]).mean)
    assert "inducing points" not in names(ax)
    ax = stream_figure(module, stream.tasks, 2, 50, reconstruction=False, dpi=50).axes[0]
    assert "reconstruction" not in names(ax)


def test_axes_stay_from_task_to_task() -> None:
    stream = wave(3)
    module, limits = Learner("LegS", 15), set()
    for num_seen in (1, 2, 3):
        learnt(module, stream, 1)
        ax = stream_figure(module, stream.tasks, num_seen, 50, reconstruction=False, dpi=50).axes[0]
        limits.add((*ax.get_xlim(), *ax.get_ylim()))
        assert [text.get_text() for text in ax.texts] == (["still to come"] if num_seen < 3 else [])
    assert len(limits) == 1


def test_counts_are_never_expected_below_zero() -> None:
    stream = counts()
    module = learnt(Learner("CosS", 12, "poisson", 0.8), stream, 2)
    ax = stream_figure(module, stream.tasks, 2, 50, reconstruction=True, dpi=50).axes[0]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() >= 0
    np.testing.assert_array_equal(band, band.round())
    assert names(ax) == ["mean, 95 % interval", "earlier tasks", "this task"]


def test_labels_along_a_line_have_no_interval() -> None:
    stream = wave()
    stream = Stream(
        torch.cat([t.x_train for t in stream.tasks]), torch.cat([(t.y_train > 0).double() for t in stream.tasks]), 3
    )
    module = learnt(Learner("LegS", 12, "bernoulli"), stream, 1)
    ax = stream_figure(module, stream.tasks, 1, 50, reconstruction=True, dpi=50).axes[0]
    assert not ax.collections
    assert names(ax) == ["p(y = 1)", "this task"]


def test_long_streams_are_thinned_out() -> None:
    stream = wave(1000, 10_000)
    _, ax = blank(4, 2, 50)
    draw_tasks(ax, stream.tasks, 900)
    assert len(boundaries(stream.tasks)) == 999
    assert len(stream.tasks) > MOST_BOUNDARIES
    assert num_boundaries(ax) == 0
    assert len(line(ax, "earlier tasks")) == MOST_DOTS
    assert line(ax, "earlier tasks")[-1, 0] == stream.tasks[898].x_train[-1]


def test_tasks_that_overlap_have_no_boundaries() -> None:
    stream = wave()
    assert boundaries(stream.tasks[::-1]) == []
    _, ax = blank(4, 2, 50)
    draw_tasks(ax, stream.tasks[::-1], 2)
    assert num_boundaries(ax) == 0


def test_decision_boundary_shows_probability_classes_and_inducing_points() -> None:
    stream = labels(3, 120)
    module = learnt(Learner("PivotedPoints", 15, "bernoulli", 0.5), stream, 2)
    ax = boundary_figure(module, stream.tasks, 2, 40, dpi=50).axes[0]
    assert names(ax) == ["class 0", "class 1", "inducing points"]
    np.testing.assert_array_equal(line(ax, "inducing points"), module.gp.inducing.Z)
    now = stream.tasks[1]
    np.testing.assert_array_equal(line(ax, "class 1"), now.x_train[now.y_train == 1])
    past, present = ([artist.get_alpha() for artist in ax.lines[i : i + 2]] for i in (0, 2))
    assert max(past) < min(present)
    (at_half,) = [c for c in ax.collections if list(getattr(c, "levels", [])) == [0.5]]
    vertices = np.concatenate([path.vertices for path in at_half.get_paths()])
    p = module.predict(torch.from_numpy(vertices)).mean
    assert float((p - 0.5).abs().max()) < 0.02


def test_a_path_memory_has_no_inducing_points_to_show() -> None:
    stream = labels()
    module = learnt(Learner("LegSPath", 8, "bernoulli", 0.5, inducing_options={"num_frequencies": 64}), stream, 1)
    assert module.gp.inducing.points is None
    ax = boundary_figure(module, stream.tasks, 1, 20, dpi=50).axes[0]
    assert names(ax) == ["class 0", "class 1"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = render(blank(1, 1, 50)[0])
    save_png(pixels, tmp_path / "new" / "a.png")
    before = (tmp_path / "new" / "a.png").read_bytes()

    def fail(path: Path, pixels: object, format: str) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(canvas, "imsave", fail)
    with pytest.raises(OSError, match="disk full"):
        save_png(pixels, tmp_path / "new" / "a.png")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.png"]
    assert (tmp_path / "new" / "a.png").read_bytes() == before
