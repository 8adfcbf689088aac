"""Charts of series hold what the runs predicted, and are no larger than allowed."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpvae.report.page import write_report
from gpvae.report.palette import Style
from gpvae.report.series_charts import MISSING, series_charts
from gpvae.results.predicted_series import FILE_NAME, PredictedSeries, read_series
from tests.report.made import config, write_picture, write_predictions, write_run
from tests.report.reading import Page, policy

STYLE = Style("#0072B2", "o", (0, (5, 1.5)))


def decode(data: dict[str, Any], values: dict[str, Any]) -> np.ndarray:
    levels = np.frombuffer(base64.b64decode(data["arrays"][values["array"]]), "<u2").astype(float)
    levels[levels == MISSING] = np.nan
    return values["low"] + (values["high"] - values["low"]) * levels / (MISSING - 1)


@pytest.fixture
def series(tmp_path: Path) -> list[PredictedSeries]:
    return read_series(write_predictions(tmp_path, names=("t2m", "u10")) / FILE_NAME)


def test_values_are_those_of_the_file(series: list[PredictedSeries]) -> None:
    data = series_charts([("one", STYLE, series), ("other", STYLE, series[:1])], 1e6)
    assert data is not None
    first, second = data["charts"]
    assert (first["name"], first["units"], first["dates"]) == ("t2m at 51.5° N, 0.25° W", "K", True)
    assert [part["method"] for part in first["predictions"]] == [0, 1]
    assert [part["method"] for part in second["predictions"]] == [0]
    for part in first["predictions"]:
        for name in ("mean", "lower", "upper"):
            np.testing.assert_allclose(decode(data, part[name]), getattr(series[0], name), atol=1e-4)
    held_out, learnt = decode(data, first["heldOut"]), decode(data, first["learnt"])
    np.testing.assert_allclose(np.where(series[0].held_out, held_out, learnt), series[0].observed, atol=1e-4)
    assert np.isnan(held_out[~series[0].held_out]).all()
    inputs = np.frombuffer(base64.b64decode(data["arrays"][first["input"]]), "<f8")
    np.testing.assert_array_equal(inputs.astype("datetime64[ms]"), series[0].input)
    np.testing.assert_array_equal(first["tasks"], inputs[[10, 20, 30]])
    assert len(set(data["arrays"])) == len(data["arrays"])
    assert second["input"] == first["input"]


def test_missing_predictions_and_constants_are_no_error(series: list[PredictedSeries]) -> None:
    odd = replace(series[0], mean=np.full(40, np.nan), lower=np.zeros(40), observed=np.full(40, np.inf))
    data = series_charts([("one", STYLE, [odd])], 1e6)
    assert data is not None
    json.dumps(data, allow_nan=False)
    (part,) = data["charts"][0]["predictions"]
    assert np.isnan(decode(data, part["mean"])).all()
    assert (decode(data, part["lower"]) == 0).all()


def test_the_size_is_limited(tmp_path: Path) -> None:
    series = read_series(write_predictions(tmp_path, 1000, ("a", "b", "c", "d")) / FILE_NAME)
    whole = series_charts([("one", STYLE, series)], 1e6)
    assert whole is not None
    size = sum(map(len, whole["arrays"]))
    for limit, num_charts in ((size, 4), (0.7 * size, 2), (0.05 * size, None)):
        data = series_charts([("one", STYLE, series)], limit)
        assert data is not None
        assert sum(map(len, data["arrays"])) <= limit
        num_rows = len(decode(data, data["charts"][0]["learnt"]))
        assert (len(data["charts"]), num_rows) == (num_charts, 1000) if num_charts else num_rows < 100
    assert series_charts([("one", STYLE, [])], 1e6) is None


def test_the_page_runs_its_script_alone_and_pictures_stand_in_for_it(tmp_path: Path) -> None:
    for method in ("OVC", "OHSGPR"):
        folder = write_run(tmp_path / method / "seed_0", 0, config(method))
        write_picture(folder, "stream_03")
        write_picture(folder, "skill")
        write_predictions(folder, names=("</script><!--<b>",))
    write_report([tmp_path], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    page = Page(text)
    scripts = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert scripts == ["application/json", None]
    (content,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    script = re.search("<script>(.*?)</script>", text, re.DOTALL)
    assert script
    assert content == policy(script[1])
    classes = [attributes["class"] for _, attributes in page.elements if "class" in attributes]
    start = classes.index("series")
    assert classes[start + 1 :].count("pictures") == 2  # those that the chart replaces, and the others
    assert sum(tag == "img" for tag, _ in page.elements) == 4


def test_runs_without_series_keep_their_pictures_in_view(page: Page) -> None:
    assert "series" not in page.attributes("class")
    assert "script" not in {tag for tag, _ in page.elements}
