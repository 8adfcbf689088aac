"""A saved run of the GP-VAE, read in Python."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from matplotlib.figure import Figure

import gpvae
from gpvae.metrics import TaskTable
from gpvae.plotting.canvas import render
from gpvae.saved import SavedSeriesRun
from tests.cli.program import assert_same, write_config
from tests.cli.test_new_data import DATA
from tests.datamodules.era5.written import write_old

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's, about small data
RUN = Path("runs") / "weather" / "seed_3"
PREDICT = ("predict", "-c", "weather.yaml")
START = np.datetime64("2020-01-30T00", "ns")
Command = Callable[..., None]


@pytest.fixture
def run(series: Path) -> SavedSeriesRun:
    """A run without its data."""
    (series / "0.nc").rename(series / "gone.nc")
    return gpvae.load(series / RUN)


def predicted_by(command: Command, folder: Path, *words: str) -> xr.Dataset:
    command(folder, *PREDICT, *words)
    return xr.load_dataset(folder / RUN / "predictions.nc")


@pytest.mark.parametrize("every", [(), ("--data.predict_every", "0.5"), ("--data.predict_every", "0.1")], ids=str)
def test_predictions_are_those_of_the_command(series: Path, command: Command, every: tuple[str, ...]) -> None:
    """Values, coordinates and attributes, bit for bit; 0.1 hours make more times than are predicted at once."""
    expected = predicted_by(command, series, *every)
    found = gpvae.load(series / RUN).predict(expected["time"])
    assert found.attrs.pop("history").endswith(expected.attrs.pop("history")[21:])
    xr.testing.assert_identical(found, expected)
    assert [found[name].dtype for name in found.variables] == [expected[name].dtype for name in found.variables]


def test_the_difference_from_the_truth_has_all_cells(run: SavedSeriesRun, all_weather: xr.Dataset) -> None:
    """Coordinates of the run are in single precision, as in its file."""
    truth = all_weather.assign_coords(
        {name: all_weather[name].astype(np.float32) for name in ("latitude", "longitude")}
    )
    difference = run.predict(truth["time"][:45], truth)["t2m"] - truth["t2m"]
    assert difference.sizes == {"time": 45, "latitude": 3, "longitude": 4}
    assert not difference.isnull().any()
    assert run.locations["latitude"].dtype == np.float32


TIMES = {
    "an index": pd.date_range("2020-01-30T05", periods=3, freq="h"),
    "strings": ["2020-01-30T05:00", "2020-01-30 06:00", "2020-01-30T07"],
    "a coordinate": xr.DataArray(START + np.array([5, 6, 7]) * np.timedelta64(1, "h"), dims="time"),
    "datetimes": [datetime(2020, 1, 30, hour) for hour in (5, 6, 7)],
    "in seconds": np.array(["2020-01-30T05", "2020-01-30T06", "2020-01-30T07"], "datetime64[s]"),
    "another zone": pd.date_range("2020-01-30T07", periods=3, freq="h", tz="Europe/Helsinki"),
    "aware datetimes": [datetime(2020, 1, 30, hour, tzinfo=UTC) for hour in (5, 6, 7)],
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES.keys())
def test_times_of_any_kind(run: SavedSeriesRun, times: object) -> None:
    found = run.predict(times, variables="t2m")
    assert found["time"].values.tolist() == [1580360400 * 10**9 + hour * 3600 * 10**9 for hour in range(3)]
    assert found["time"].dtype == "datetime64[ns]"


def test_times_keep_their_order_and_precision(run: SavedSeriesRun) -> None:
    times = START + np.array([7_200_000_000_001, 3_600_000_000_000, 7_200_000_000_001], "timedelta64[ns]")
    found = run.predict(times)
    assert (found["time"].values == times).all()
    assert (found["t2m"].values[0] == found["t2m"].values[2]).all()
    assert (found["t2m"].values[0] != found["t2m"].values[1]).any()


def test_one_time_and_the_default(run: SavedSeriesRun) -> None:
    assert run.predict("2020-01-30T05:30").sizes["time"] == 1
    assert run.predict("2020-01-30T05:30", [0, 1, 2], variables="t2m").title.startswith(
        "Predictions of 1 variables at 3 "
    )
    everything = run.predict()
    assert everything.sizes["time"] == 40  # the hours of two tasks
    assert everything["time"].values[-1] == START + np.timedelta64(39, "h")
    forecast = run.predict(pd.date_range("2020-02-01", periods=24, freq="h"))
    assert float(forecast["t2m_std"].mean()) > 0


WRONG_TIMES = {
    "numbers": ([1, 2], "times are numbers of type int64"),
    "words": (["soon"], r"cannot be read as dates such as .*: Time data soon is not ISO8601 format$"),
    "missing": ([np.datetime64("NaT")], "1 of 1 times are missing"),
    "none": ([], r"times has shape \(0,\)"),
    "early": ("2019-01-01", "first of the times is 2019-01-01T00:00, and the stream begins at 2020-01-30T00:00"),
}


@pytest.mark.parametrize(("times", "message"), WRONG_TIMES.values(), ids=WRONG_TIMES.keys())
def test_wrong_times_are_refused(run: SavedSeriesRun, times: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run.predict(times)


def test_locations_by_index_pair_and_dataset(run: SavedSeriesRun, all_weather: xr.Dataset) -> None:
    everywhere = run.predict()
    cell = everywhere.isel(latitude=1, longitude=2)
    ways = {
        "index": 6,
        "list": [6],
        "slice": slice(6, 7),
        "pair": (51.75, -0.5),
        "pairs": [[51.75, 359.5]],
        "dataset": all_weather.isel(latitude=1, longitude=2),
        "array": all_weather["t2m"].isel(latitude=[1], longitude=[2]),
        "from the end": [-6],
    }
    for way, locations in ways.items():
        found = run.predict(locations=locations)
        assert dict(found.sizes) == {"location": 1, "time": 40, "quantile": 5}, way
        np.testing.assert_allclose(found["t2m"].values[0], cell["t2m"].values, rtol=1e-6, err_msg=way)
        assert float(found["latitude"][0]) == 51.75
    part = run.predict(locations=all_weather.isel(latitude=[2, 1], longitude=[1, 3]))
    np.testing.assert_allclose(part["t2m"], everywhere["t2m"].isel(latitude=[2, 1], longitude=[1, 3]), rtol=1e-6)
    assert part["t2m"].dims == ("time", "latitude", "longitude")
    renamed = run.predict(locations=all_weather.rename(latitude="lat", longitude="lon"))
    xr.testing.assert_equal(renamed, everywhere)


WRONG_LOCATIONS = {
    "elsewhere": (
        [[51.6, -0.4]],
        r"the location was not learnt: the nearest to \(51.6, -0.4\) that was is \(51.5, -0.5\)",
    ),
    "some": ([[52.0, -1.0], [60.0, 0.0]], r"1 of 2 locations were not learnt: .* is \(52, -0.25\), number 3 of 12"),
    "index": ([12], "12 is not the index of one of 12 locations"),
    "words": ("London", "locations is 'London': give indices"),
    "three": ([[1.0, 2.0, 3.0]], "give indices such as"),
    "none": ([[]], "give indices such as"),
    "no coordinates": (xr.Dataset({"t2m": ("time", [1.0])}), "locations has no coordinate latitude"),
}


@pytest.mark.parametrize(("locations", "message"), WRONG_LOCATIONS.values(), ids=WRONG_LOCATIONS.keys())
def test_wrong_locations_name_the_nearest(run: SavedSeriesRun, locations: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run.predict("2020-01-30T05", locations)


def test_variables_quantiles_and_samples(run: SavedSeriesRun) -> None:
    found = run.predict(variables=["total_precipitation", "t2m"], quantiles=(0.1, 0.9), samples=True)
    suffixes = ("", "_std", "_quantiles", "_samples")
    assert list(found.data_vars) == [name + suffix for name in ("tp", "t2m") for suffix in suffixes]
    assert found["tp_samples"].sizes == {"sample": 10, "time": 40, "latitude": 3, "longitude": 4}
    assert float(found["tp_samples"].min()) >= 0
    np.testing.assert_allclose(found["t2m_samples"].mean("sample"), found["t2m"], rtol=1e-6)
    np.testing.assert_allclose(found["tp_samples"].std("sample"), found["tp_std"], rtol=1e-4, atol=1e-9)
    assert found["quantile"].values.tolist() == [0.1, 0.9]
    xr.testing.assert_equal(found["t2m"], run.predict()["t2m"])
    with pytest.raises(ValueError, match=r"no variable 't2n' \(did you mean 't2m'\?\); it has t2m, sp, tp"):
        run.predict(variables="t2n")
    with pytest.raises(ValueError, match=r"quantiles are \[5.0\]: each must be between 0 and 1"):
        run.predict(quantiles=[5])


def test_predicting_changes_nothing(run: SavedSeriesRun) -> None:
    state = torch.get_rng_state()
    first = run.predict()
    run.module.train()
    xr.testing.assert_identical(run.predict().drop_attrs(), first.drop_attrs())
    assert torch.equal(torch.get_rng_state(), state)


def test_scores_are_the_rows_of_the_csv_file(run: SavedSeriesRun) -> None:
    scores = run.scores
    assert list(scores.columns) == ["after_task", "task", "metric", "variable", "value"]
    table = TaskTable.read(run.folder / "task_metrics.csv")
    assert len(scores) == len(table.scores)
    end = scores.query("after_task == 2 and task.isna() and metric == 'nlpd' and variable == ''")
    assert end["value"].tolist() == [table.seen("nlpd")[-1]]
    (run.folder / "task_metrics.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no scores: there is no task_metrics.csv"):
        _ = run.scores


def test_what_it_says_of_itself(run: SavedSeriesRun) -> None:
    shown = repr(run)
    assert "SVGPVAE(method=OHSVGP, num_inducing=6), 2 tasks learnt" in shown
    assert "3 variables at 12 locations, 2020-01-30T00:00 to 2020-01-31T16:00" in shown
    assert "NLPD" in shown
    assert run.variables == ["t2m", "sp", "tp"]
    assert run.period == (START, START + np.timedelta64(40, "h"))


def test_figures(run: SavedSeriesRun, all_weather: xr.Dataset) -> None:
    figure = run.plot(
        pd.date_range("2020-01-30", periods=60, freq="h"), [0, 5], variables=["t2m"], observed=all_weather
    )
    assert isinstance(figure, Figure)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["90 % interval", "mean", "held-out hours", "forecast from here"]
    drawn = figure.axes[1].get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, all_weather["t2m"][:60, 1, 1])
    for other in (run.plot(), run.plot_scores(), run.plot_scores("rmse"), run.plot_skill()):
        assert render(other).std() > 0
    with pytest.raises(ValueError, match="metric must be one of"):
        run.plot_scores("nlp")


def test_an_earlier_task(run: SavedSeriesRun) -> None:
    earlier = gpvae.load(run.folder / "checkpoints" / "task_01.ckpt")
    assert earlier.num_tasks == 1
    assert set(earlier.scores["after_task"]) == {1}
    assert earlier.folder == run.folder


def test_a_list_of_locations_stays_one(tmp_path: Path, series: Path, command: Command) -> None:
    chosen = "[[51.5, -0.25], [52, -1]]"
    command(series, "fit", "-c", "weather.yaml", "--data.locations", chosen, "--name", "two")
    run = gpvae.load(series / "runs" / "two" / "seed_3")
    found = run.predict("2020-01-30T05")
    assert found["t2m"].dims == ("location", "time")
    assert found["latitude"].values.tolist() == [51.5, 52.0]
    shutil.rmtree(tmp_path / "series" / "runs")


def test_longitudes_from_0_to_360_stay_so(
    tmp_path: Path, series: Path, all_weather: xr.Dataset, command: Command
) -> None:
    east = all_weather.assign_coords(longitude=all_weather["longitude"] % 360)
    write_old(east.isel(time=slice(0, 45)), series / "0.nc", packed=False)
    shutil.rmtree(series / "runs")
    command(series, "fit", "-c", "weather.yaml")
    run = gpvae.load(series / RUN)
    found = run.predict("2020-01-30T05", [[52, -1.0]])
    assert found["longitude"].values.tolist() == [359.0]
    run.update(east.isel(time=slice(40, 60)))
    assert run.num_tasks == 3


def test_a_closed_form_gp_on_series(series: Path, all_weather: xr.Dataset, command: Command) -> None:
    """Another module on series: the same values as the command, and the same bits after an update."""
    model = {"class_path": "SeriesGP", "num_inducing": 12, "horizon": 120.0}
    write_config(series, "gp.yaml", model=model, data=DATA)
    command(series, "fit", "-c", "gp.yaml")
    command(series, "predict", "-c", "gp.yaml", "--data.predict_every", "0.5")
    folder = series / "runs" / "gp" / "seed_3"
    expected = xr.load_dataset(folder / "predictions.nc")
    run = gpvae.load(folder)
    xr.testing.assert_equal(run.predict(expected["time"]), expected)
    run.update(all_weather.isel(time=slice(40, 60)))
    write_old(all_weather.isel(time=slice(0, 60)), series / "0.nc", packed=False)
    command(series, "fit", "-c", "gp.yaml", "--ckpt_path", "last")
    assert_same(run.module.state_dict(), gpvae.load(folder).module.state_dict())
