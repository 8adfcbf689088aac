"""The predictions that a run leaves for the report are those of its final model, in the units of the data."""

from pathlib import Path

import numpy as np
import pytest
import torch
from lightning import Trainer

from callbacks import ContinualLearning, SeriesPredictions, predicted_series
from callbacks.predicted_series import predict_target, predict_variables
from datamodules import DataTable, PointStream
from gpvae.modules import StreamingGP
from gpvae.results.predicted_series import FILE_NAME, read_series
from tests.callbacks.figures.toy_points import counts, labels, wave
from tests.callbacks.figures.toy_series import learn, small_model, toy_series
from tests.modules.learning import learn as learn_stream

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
    pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning"),
]


def test_a_run_of_series_writes_them(tmp_path: Path) -> None:
    module, stream = small_model(), toy_series(2)
    learn(tmp_path, module, stream, SeriesPredictions())
    series = read_series(tmp_path / FILE_NAME)
    assert {one.location for one in series} == {(52.0, 359.0), (-12.25, 140.0)}
    assert {one.variable for one in series} == {"t2m", "msl", "tp", "ssrd"}
    for one in series:
        assert one.input[0] == np.datetime64("2020-02-27T06:00")
        assert (np.diff(one.input) == np.timedelta64(1, "h")).all()
        assert np.bincount(one.task).tolist() == [0, 30, 30]
        assert 0 < one.held_out.sum() < 30
        assert (one.lower < one.mean).all()
        assert (one.mean < one.upper).all()
    (t2m,) = (one for one in series if (one.variable, one.location) == ("t2m", (52.0, 359.0)))
    with stream.open() as fields:
        np.testing.assert_allclose(t2m.observed, fields.read(0, 60)[0, :, 1], rtol=1e-5)


def test_chunks_of_hours_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, stream = small_model(), toy_series(2)
    learn(tmp_path, module, stream)
    module.eval()
    with torch.no_grad():
        whole = predict_variables(module.vae, stream, 2)
        monkeypatch.setattr(predicted_series, "CHUNK", 7)
        in_chunks = predict_variables(module.vae, stream, 2)
    for one, other in zip(whole, in_chunks, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-5)
        np.testing.assert_allclose(one.upper, other.upper, rtol=1e-5)


def trained(stream: PointStream, likelihood: str = "gaussian") -> StreamingGP:
    """A streaming GP that has learnt all tasks."""
    return learn_stream(StreamingGP("OHSVGP", 8, likelihood=likelihood), stream).eval()


@torch.no_grad()
def test_the_target_of_a_stream_of_points() -> None:
    stream = wave()
    module = trained(stream)
    (series,) = predict_target(module, stream, 3)
    assert (series.variable, series.location) == ("y", None)
    assert len(series.input) == 90 + 30
    assert series.held_out.sum() == 30
    predicted = module.predict(torch.from_numpy(series.input)[:, None])
    np.testing.assert_allclose(series.mean, predicted.mean)
    inside = (series.lower < series.observed) & (series.observed < series.upper)
    assert inside.mean() > 0.5
    np.testing.assert_allclose(series.upper - series.mean, 1.6449 * predicted.stddev, rtol=1e-4)


@torch.no_grad()
def test_counts_have_whole_ends_and_long_streams_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicted_series, "MAX_ROWS", 50)
    stream = counts()
    (series,) = predict_target(trained(stream, "poisson"), stream, 3)
    assert len(series.input) == 50
    assert (series.input[0], series.input[-1]) == (0.0, 5.0)
    assert (series.lower == series.lower.round()).all()


def test_dates_and_units_of_a_table_come_back(tmp_path: Path) -> None:
    times = np.datetime64("2021-03-01T00:00:00") + np.arange(60) * np.timedelta64(30, "m")
    values = 15 + 3 * np.sin(np.arange(60) / 6) + 0.3 * np.random.default_rng(0).normal(size=60)
    rows = [f"{time},{value:.6f}" for time, value in zip(times, values, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(["time,temperature", *rows]) + "\n")
    stream = DataTable([str(tmp_path / "table.csv")], points_per_task=20)
    stream.setup()
    module = trained(stream)
    with torch.no_grad():
        (series,) = predict_target(module, stream, 3)
    assert series.variable == "temperature"
    np.testing.assert_array_equal(series.input, times)
    np.testing.assert_allclose(series.observed, values, atol=1e-5)
    assert np.abs(series.mean - values).mean() < 3


def test_planes_and_labels_have_none(tmp_path: Path) -> None:
    stream = labels()
    callback = SeriesPredictions()
    callback.folder = tmp_path
    module = StreamingGP("OSVGP", 8, input_dim=2, likelihood="bernoulli")
    Trainer(
        accelerator="cpu",
        callbacks=[ContinualLearning(), callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **stream.trainer_options,
    ).fit(module, datamodule=stream)
    assert not (tmp_path / FILE_NAME).exists()
