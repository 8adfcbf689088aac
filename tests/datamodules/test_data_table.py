"""Tables of one's own: every format, times, order, and what is refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from datamodules import DataTable
from datamodules.splits import hold_out

TIMES = pd.date_range("2020-01-31 06:00", periods=60, freq="90min")
ROWS = pd.DataFrame({"time": TIMES, "level": np.sin(np.arange(60.0) / 7) * 3.3 + 0.1})


def stream(paths: str | Path | list[str], **options: Any) -> DataTable:
    made = DataTable(**{"paths": paths if isinstance(paths, list) else str(paths), "points_per_task": 20, **options})
    made.prepare_data()
    made.setup()
    return made


def write(rows: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        rows.to_parquet(path)
    elif path.suffix == ".nc":
        rows.set_index(rows.columns[0]).to_xarray().to_netcdf(path, engine="netcdf4")
    else:
        rows.to_csv(path, index=False, sep=";" if path.suffix == ".txt" else ",")
    return path


def assert_same_tasks(one: DataTable, other: DataTable) -> None:
    assert one.num_tasks == other.num_tasks
    for a, b in zip(one.tasks, other.tasks, strict=True):
        assert all(torch.equal(getattr(a, name), getattr(b, name)) for name in vars(a))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.txt", "a.parquet", "a.nc"])
def test_all_formats_give_the_same_tasks(name: str, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    first = stream(write(ROWS, tmp_path / "b.csv"))
    assert_same_tasks(first, stream(write(ROWS, tmp_path / name)))


def test_rows_in_any_order_and_in_several_files(tmp_path: Path) -> None:
    whole = stream(write(ROWS, tmp_path / "whole.csv"))
    write(ROWS[40:], tmp_path / "part_1.csv")
    write(ROWS[:40].sample(frac=1, random_state=0), tmp_path / "part_2.csv")
    assert_same_tasks(whole, stream(tmp_path / "part_*.csv"))


def test_times_become_hours_and_come_back_as_they_were(tmp_path: Path) -> None:
    made = stream(write(ROWS, tmp_path / "a.csv"))
    x, y = made.read()
    hours = (TIMES - pd.Timestamp(0)) / pd.Timedelta(hours=1)
    np.testing.assert_array_equal(x[:, 0].numpy(), hours)
    np.testing.assert_array_equal(y.numpy(), ROWS["level"])
    assert made.input_names == ["time"]
    assert made.input_values(x[:2]) == [["2020-01-31T06:00:00.000"], ["2020-01-31T07:30:00.000"]]
    in_oslo = ROWS.assign(time=TIMES.tz_localize("UTC").tz_convert("Europe/Oslo"))
    assert_same_tasks(made, stream(write(in_oslo, tmp_path / "oslo.csv")))
    daily = stream(tmp_path / "a.csv", extent_per_task=24.0)
    assert [len(task.x_train) + len(task.x_test) for task in daily.tasks] == [16, 16, 16]


def test_several_inputs_arrive_in_the_order_of_rows_or_of_a_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((50, 3)), columns=["a", "b", "c"])
    rows["when"] = rng.permutation(50)
    rows["site"] = "text that nobody asks for"
    path = write(rows, tmp_path / "a.csv")
    for order_by, ordered in ((None, rows), ("when", rows.sort_values("when"))):
        made = stream(path, x=["a", "b"], y="c", order_by=order_by)
        assert made.input_dim == 2
        first, second = (
            ordered[20 * task : 20 * task + 20][~hold_out(20, 0.1, 0, task)][["a", "b", "c"]] for task in (0, 1)
        )
        low, high = first.min(), first.max()
        x, y = (values.numpy() for values in made.task_data(1))
        np.testing.assert_allclose(x, ((second - low) / (high - low))[["a", "b"]], rtol=1e-12)
        np.testing.assert_allclose(y, ((second - first.mean()) / first.std(ddof=0))["c"], rtol=1e-12)


def test_rows_without_a_target_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = ROWS.copy()
    rows.loc[5:7, "level"] = np.nan
    made = stream(write(rows, tmp_path / "a.csv"))
    assert "3 of 60 rows have no level, and are left out" in caplog.text
    assert_same_tasks(made, stream(write(ROWS.drop(index=[5, 6, 7]), tmp_path / "b.csv")))


def test_duplicates(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(pd.concat([ROWS[:40], ROWS[35:]]), tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"5 of 65 rows occur more than once; the first is row 41\. Set duplicates to"):
        stream(path)
    assert_same_tasks(stream(path, duplicates="drop"), stream(write(ROWS, tmp_path / "b.csv")))
    assert "5 of 65 rows occur more than once, and count once" in caplog.text
    assert "the last 5 of 65 points wait" in (stream(path, duplicates="keep"), caplog.text)[1]


def changed(row: int, column: str, value: object) -> pd.DataFrame:
    rows = ROWS.astype({"time": str, "level": object})
    rows.loc[row, column] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(4, "level", "n/k"), "Column 'level': 'n/k' in row 5 is not a number"),
        (changed(4, "level", "3,5"), "decimals need a point, not a comma; leave the cell of a missing value empty"),
        (changed(4, "level", "inf"), "Column 'level' is missing or infinite in 1 row(s) that have a target"),
        (changed(4, "time", "yesterday"), "Column 'time': 'yesterday' in row 5 is not a number or a time"),
        (changed(4, "time", None), "Column 'time' is missing or infinite in 1 row(s)"),
        (
            ROWS.assign(other=1).rename(columns={"level": "level in m"}),
            "The table has the columns time, level in m, other: name the inputs as x and the target as y, such as "
            "--data.x time --data.y 'level in m'",
        ),
        (ROWS.assign(level=np.nan), "No row has a value of 'level', the target"),
        (ROWS[:0], "has no rows"),
    ],
    ids=["text", "comma", "infinite", "no time", "no input", "columns", "no target", "no rows"],
)
def test_wrong_tables_are_refused(rows: pd.DataFrame, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        stream(write(rows, tmp_path / "a.csv"))


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    path = write(ROWS, tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"no column 'tme' \(did you mean 'time'\?\). Its columns are time, level"):
        stream(path, x="tme", y="level")
    with pytest.raises(ValueError, match="x is \\['time'\\] and y is None: give both, or neither"):
        stream(path, x="time")
    with pytest.raises(ValueError, match="'level' is both an input and the target"):
        stream(path, x=["time", "level"], y="level")
    with pytest.raises(FileNotFoundError, match=r"'b\.csv' matches no file\. Relative names begin at"):
        stream("b.csv")
    write(ROWS.rename(columns={"level": "depth"}), tmp_path / "b.csv")
    with pytest.raises(ValueError, match=r"b.csv has the columns time, depth, and .*a.csv has time, level"):
        stream(tmp_path / "*.csv")
    (tmp_path / "c.xlsx").write_text("?")
    with pytest.raises(ValueError, match=r"c.xlsx cannot be read as a table: its name must end in .csv"):
        stream(tmp_path / "c.xlsx")
    (tmp_path / "d.nc").write_text("?")
    with pytest.raises(ValueError, match=r"d.nc cannot be read as a table"):
        stream(tmp_path / "d.nc")


def test_parquet_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pd, "read_parquet", missing)
    (tmp_path / "a.parquet").touch()
    with pytest.raises(ValueError, match=r"needs pyarrow: pip install 'gpvae\[parquet\]'"):
        stream(tmp_path / "a.parquet")
