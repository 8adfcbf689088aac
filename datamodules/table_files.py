"""Tables in files: csv, Parquet or netCDF, read as columns of numbers."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from gpvae.utils.netcdf_lock import LOCK
from gpvae.utils.spelling import nearest

SEPARATORS = (",", ";", "\t")


def read_tables(paths: Sequence[str] | str) -> pd.DataFrame:
    """The rows of all files, one after the other in order of name.

    Args:
        paths: Names of files or patterns; `~` and variables of the environment are expanded.

    Raises:
        FileNotFoundError: A pattern matches nothing.
        ValueError: A file cannot be read, or has other columns than the first.
    """
    files = _expand([paths] if isinstance(paths, str) else paths)
    tables = [_read(file) for file in files]
    columns = list(tables[0].columns)
    for file, table in zip(files, tables, strict=True):
        if set(table.columns) != set(columns):
            raise ValueError(
                f"{file} has the columns {', '.join(table.columns)}, and {files[0]} has {', '.join(columns)}: all "
                "files of a table must have the same columns."
            )
    return pd.concat([table[columns] for table in tables], ignore_index=True)


def check_columns(table: pd.DataFrame, wanted: Sequence[str]) -> None:
    """Raise unless a table has all wanted columns.

    Args:
        table: The table.
        wanted: Names of columns.
    """
    for name in wanted:
        if name not in table.columns:
            raise ValueError(
                f"The table has no column {name!r}{nearest(name, table.columns)}. Its columns are "
                f"{', '.join(table.columns)}."
            )


def is_time(column: pd.Series) -> bool:
    """Whether a column holds times: as such, or as text.

    Args:
        column: The column.
    """
    return bool(pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_string_dtype(column))


def column_values(column: pd.Series, *, allow_times: bool) -> NDArray[np.float64]:
    """The values of a column as numbers; times become hours since 1970-01-01, UTC.

    Args:
        column: The column.
        allow_times: Whether it may hold times.

    Raises:
        ValueError: A value is not a number, or not a time.
    """
    if allow_times and is_time(column):
        times = pd.to_datetime(column, utc=True, errors="coerce", format="ISO8601")
        _refuse_first(column, times.isna() & column.notna(), "is not a number or a time such as 2020-01-31 06:00")
        hours = (times.dt.tz_localize(None) - pd.Timestamp(0)) / pd.Timedelta(hours=1)
        return hours.to_numpy(dtype=np.float64, na_value=np.nan)
    numbers = pd.to_numeric(column, errors="coerce")
    fault = "is not a number (decimals need a point, not a comma; leave the cell of a missing value empty)"
    _refuse_first(column, numbers.isna() & column.notna(), fault)
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _refuse_first(column: pd.Series, bad: pd.Series, fault: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"Column {column.name!r}: {column.iloc[row]!r} in row {row + 1} {fault}. {int(bad.sum())} of {len(column)} "
            "values are like this."
        )


def _expand(patterns: Sequence[str]) -> list[Path]:
    files: dict[Path, None] = {}
    for pattern in patterns:
        expanded = os.path.expanduser(os.path.expandvars(pattern))
        matches = sorted(match for match in glob.glob(expanded, recursive=True) if os.path.isfile(match))
        if not matches:
            raise FileNotFoundError(f"{pattern!r} matches no file. Relative names begin at {os.getcwd()}.")
        files.update((Path(match), None) for match in matches)
    if not files:
        raise FileNotFoundError("No files are given: set `paths` to names or patterns such as 'data/*.csv'.")
    return list(files)


def _read(file: Path) -> pd.DataFrame:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    try:
        if suffixes[-1:] in ([".parquet"], [".pq"]):
            table = pd.read_parquet(file)
        elif suffixes[-1:] in ([".nc"], [".nc4"], [".netcdf"]):
            with LOCK, xr.open_dataset(file, engine="netcdf4", lock=LOCK) as data:
                table = data.to_dataframe().reset_index()
        elif {".csv", ".txt", ".tsv"} & set(suffixes):
            table = _read_csv(file)
        else:
            raise ValueError(
                "its name must end in .csv, .txt, .tsv (also compressed, such as .csv.gz), .parquet or .nc"
            )
    except ImportError as error:  # pandas reads Parquet by another package
        raise ValueError(f"{file} is a Parquet file, which needs pyarrow: pip install 'gpvae[parquet]'.") from error
    except Exception as error:  # whatever the libraries raise for a damaged file
        raise ValueError(f"{file} cannot be read as a table: {' '.join(str(error).split())}") from error
    table.columns = [str(name) for name in table.columns]
    if table.empty:
        raise ValueError(f"{file} has no rows.")
    return table


def _read_csv(file: Path) -> pd.DataFrame:
    header = str(pd.read_csv(file, sep="\0", nrows=0, engine="python").columns[0])
    separator = max(SEPARATORS, key=header.count)
    return pd.read_csv(file, sep=separator, skipinitialspace=True)
