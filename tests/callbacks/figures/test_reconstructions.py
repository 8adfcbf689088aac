"""Figures of reconstructed series: in the log and in files, compared with model and data, in physical units."""

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.dates import num2date
from matplotlib.figure import Figure
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import IMAGES, EventAccumulator

from callbacks.figures import TaskFigures, series_predictions
from callbacks.figures.reconstructions import reconstructions_figure
from callbacks.figures.series_predictions import distant_series, representative_variables, task_spans
from callbacks.report import TaskReport
from gpvae.modules import SVGPVAE
from gpvae.plotting.canvas import render
from gpvae.vae.keyed_noise import Draws
from tests.callbacks.figures.toy_series import ToySeries, learn, small_model, toy_series
from tests.callbacks.figures.unchanged import Unchanged

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
]
QUICK = {"num_points": 40, "dpi": 40, "every_n_tasks": 1}


def learnt(stream: ToySeries, num_tasks: int) -> SVGPVAE:
    """An untrained model after some tasks; drawing does not depend on how good it is."""
    stream.setup()
    module = small_model(stream.num_variables)
    for task in range(num_tasks):
        module.begin_task(*stream.task_data(task))
        module.end_task()
    return module


def drawn(stream: ToySeries, num_seen: int) -> Figure:
    with torch.no_grad():
        return reconstructions_figure(learnt(stream, num_seen).vae, stream, num_seen, 40, 40)


def line(ax: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = [artist for artist in ax.lines if artist.get_label() == label]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def test_figures_are_logged_and_saved_after_each_task_and_change_nothing(tmp_path: Path) -> None:
    unchanged = Unchanged(TaskFigures(**QUICK))
    learn(tmp_path, small_model(), toy_series(), TaskReport(print_table=False), unchanged)
    assert unchanged.num_calls == 2
    assert sorted(path.name for path in (tmp_path / "figures").glob("*")) == [
        *("foresight.png", "forgetting_coverage.png", "forgetting_crps.png", "forgetting_nlpd.png"),
        *("forgetting_rmse.png", "reconstructions_01.png", "reconstructions_02.png"),
        *("skill.png", "skill_over_references.png"),
    ]
    events = EventAccumulator(str(tmp_path), size_guidance={IMAGES: 0})
    events.Reload()
    assert {tag: [image.step for image in events.Images(tag)] for tag in events.Tags()["images"]} == {
        "reconstructions": [1, 2],
        "forgetting/nlpd": [1, 2],
        "forgetting/rmse": [2],
        "forgetting/crps": [2],
        "forgetting/coverage": [2],
        "skill": [2],
        "skill_over_references": [2],
        "foresight": [2],
    }
    for path in (tmp_path / "figures").glob("*.png"):
        with Image.open(path) as image:
            assert len(image.convert("RGB").getcolors(10**6)) > 20


def test_series_are_in_physical_units_over_dates() -> None:
    stream = toy_series(num_tasks=3)
    axes = np.array(drawn(stream, 3).axes).reshape(4, 2)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["t2m (K)", "msl (hPa)", "tp (mm)", "ssrd (MJ m⁻²)"]
    assert [ax.get_title(loc="left") for ax in axes[0]] == ["52° N, 1° W", "12.25° S, 140° E"]
    for column, series in enumerate((0, 2)):
        for row, (variable, factor) in enumerate(((1, 1.0), (2, 0.01), (3, 1000.0), (4, 1e-6))):
            for name, parts in (("training hours", "train"), ("held-out hours", "test")):
                times = [part.times for part in getattr(stream._prepared(), parts)]
                held = np.concatenate(times).astype(int)
                dates, values = line(axes[row, column], name)
                expected = factor * stream.fields.read(0, 90)[series, held, variable].astype(float)
                np.testing.assert_allclose(values, expected, rtol=1e-4)
                hours = (dates - np.datetime64("2020-02-27T06:00")) / np.timedelta64(1, "h")
                np.testing.assert_array_equal(hours, held)
    begin, end = (num2date(limit).strftime("%Y-%m-%dT%H:%M") for limit in axes[0, 0].get_xlim())
    assert (begin, end) == ("2020-02-27T06:00", "2020-03-02T00:00")
    assert sum(artist.get_linestyle() == ":" for artist in axes[0, 0].lines) == 2


def test_mean_and_interval_agree_with_the_model() -> None:
    stream = toy_series(num_tasks=1)
    module = learnt(stream, 1)
    chosen = torch.tensor([0, 2])
    with torch.no_grad():
        figure = reconstructions_figure(module.vae, stream, 1, 40, 40)
        times = torch.linspace(0, 29, 40, dtype=torch.float64)
        mean, scale = module.vae.decode_samples(times, chosen, 4000, Draws(5))
        y = stream.to_physical((mean + scale * torch.randn(mean.shape)).movedim(-1, 0), chosen)
    ax = figure.axes[0]
    spread = float(y[:, 0, :, 1].std())
    np.testing.assert_allclose(line(ax, "mean")[1], y[:, 0, :, 1].mean(0), atol=0.15 * spread)
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    low, high = (y[:, 0, :, 1].quantile(level, 0) for level in (0.05, 0.95))
    assert heights.min() == pytest.approx(float(low.min()), abs=0.3 * spread)
    assert heights.max() == pytest.approx(float(high.max()), abs=0.3 * spread)


def test_samples_have_the_quantiles_of_the_prediction() -> None:
    stream = toy_series(num_tasks=1)
    module = learnt(stream, 1)
    times, series = torch.linspace(0, 29, 7, dtype=torch.float64), torch.arange(3)
    with torch.no_grad():
        few = series_predictions.smooth_samples(module.vae, times, series)
        mean, scale = module.vae.decode_samples(times, series, 4000, Draws(5))
    many = (mean + scale * torch.randn(mean.shape)).movedim(-1, 0)
    assert few.shape == (series_predictions.NUM_SAMPLES, 3, 7, 6)
    for level in (0.05, 0.5, 0.95):
        assert float((few.quantile(level, 0) - many.quantile(level, 0)).abs().mean() / many.std()) < 0.1


def test_missing_values_are_not_drawn() -> None:
    stream = toy_series(num_tasks=2)
    stream.names = ("d2m", "swvl1")
    stream.locations = stream.locations[:2]
    axes = np.array(drawn(stream, 2).axes).reshape(2, 2)
    assert np.isnan(line(axes[0, 0], "training hours")[1]).sum() == 24  # d2m of the first series in task 2
    assert np.isnan(line(axes[1, 1], "training hours")[1]).all()  # swvl1 of the second series
    render(axes[0, 0].figure)


def test_later_the_first_task_and_the_last_two_are_drawn() -> None:
    assert [task_spans(number) for number in (1, 3)] == [[range(1)], [range(3)]]
    assert task_spans(6) == [range(1), range(4, 6)]
    stream = toy_series(num_tasks=6)
    axes = np.array(drawn(stream, 6).axes).reshape(4, 2, 2)
    assert [text.get_text() for text in axes[0, 0, 0].texts] == ["task 1"]
    assert [text.get_text() for text in axes[0, 1, 1].texts] == ["task 5", "task 6"]
    assert axes[0, 0, 0].get_ylim() == axes[0, 0, 1].get_ylim()
    assert not axes[0, 0, 1].spines["left"].get_visible()
    dates, _ = line(axes[0, 0, 1], "mean")
    assert dates[0] == np.datetime64("2020-02-27T06:00") + np.timedelta64(120, "h")


@pytest.mark.parametrize("synthetic", [False, True])
def test_the_title_marks_synthetic_data(synthetic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToySeries, "synthetic", synthetic, raising=False)
    title = drawn(toy_series(num_tasks=2), 1).get_suptitle()
    assert title == "After task 1 of 2" + (", synthetic weather" if synthetic else "")


def test_choice_of_series_and_variables() -> None:
    stream = toy_series()
    stream.setup()
    assert distant_series(stream).tolist() == [0, 2]
    assert representative_variables(stream) == [1, 2, 3, 4]
    alone = toy_series()
    alone.locations, alone.names = alone.locations[:1], ("swvl1", "d2m", "t2m")
    alone.setup()
    assert distant_series(alone).tolist() == [0]
    assert representative_variables(alone) == [0, 1, 2]
