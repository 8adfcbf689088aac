"""Predicted series are read as they were written."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from gpvae.results.predicted_series import COLUMNS, PredictedSeries, read_series, write_series

DATES = np.datetime64("2020-02-28T22:00:00", "s") + np.arange(4).astype("timedelta64[h]")


def series(variable: str, location: tuple[float, float] | None, inputs: np.ndarray) -> PredictedSeries:
    values = np.array([1.5, np.nan, -300.25, 1e-7])
    return PredictedSeries(
        *(variable, "m s**-1", location, np.array([1, 1, 2, 2]), inputs, values, np.array([True, False, False, True])),
        *(values + step for step in (0.5, -1.0, 1.0)),
    )


def test_they_come_back(tmp_path: Path) -> None:
    written = [
        series("wind, gusts", (51.5, -0.25), DATES),
        series("wind, gusts", (52.0, -0.25), DATES),
        series("y", None, np.array([0.0, 0.5, 0.5, 2.0])),
    ]
    path = tmp_path / "series.csv.gz"
    write_series(written, path)
    for one, other in zip(read_series(path), written, strict=True):
        assert (one.variable, one.units, one.location) == (other.variable, other.units, other.location)
        for name in ("task", "input", "held_out"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for name in ("observed", "mean", "lower", "upper"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-5)
    content = path.read_bytes()
    write_series(written, path)
    assert path.read_bytes() == content


HEAD = ",".join(COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        *("", "a,b\n1,2\n", f"{HEAD}\ny,,,,1,0,1,0,1,0\n", f"{HEAD}\ny,,,,1,0,one,0,1,0,2\n"),
        f"{HEAD}\ny,,,,1,1,1,0,1,0,2\ny,,,,1,0,1,0,1,0,2\n",
        f"{HEAD}\ny,,,,1,nan,1,0,1,0,2\ny,,,,1,1,1,0,1,0,2\n",
    ],
    ids=["empty", "other columns", "column missing", "no number", "not in order", "no input"],
)
def test_what_is_not_valid_is_not_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "series.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_series(path) == []
    path.write_bytes(gzip.compress(text.encode())[:-4])
    assert read_series(path) == []
    assert read_series(tmp_path / "none.csv.gz") == []
