"""The streams of the comparison, by name."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from datamodules import ERA5

#: Variables of the table of London, in the units of ERA5.
LONDON = ("u10", "v10", "d2m", "t2m", "blh", "sp", "ssrd", "tcc", "tp")


def folder() -> Path:
    """The folder of real data, GPVAE_DATA_DIR."""
    return Path(os.environ.get("GPVAE_DATA_DIR", "data"))


def finse(points: int | None) -> Callable[[int], ERA5]:
    """Finse in Norway, ten tasks of 186 hours, ten variables."""
    paths = str(folder() / "era5" / "finse_2018" / "*.nc")
    return lambda seed: ERA5("files", paths, points=points, num_tasks=10, seed=seed)


def cornwall(seed: int) -> ERA5:
    """Cornwall, May 2018, four tasks of 186 hours, all 35 grid cells."""
    return ERA5("files", str(folder() / "era5" / "cornwall_2018_05" / "*.nc"), points=None, num_tasks=4, seed=seed)


def london(seed: int) -> ERA5:
    """One location in London, January to August 2020, ten tasks of 585 hours: a netCDF file made from the table."""
    file = Path("benchmarks") / "results" / "london_2020.nc"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = pd.read_csv(folder() / "era5" / "london_2020.csv.gz")
        times = pd.to_datetime(rows["date"] if "date" in rows else rows.iloc[:, 0], utc=True).dt.tz_localize(None)
        where = {"valid_time": times.to_numpy(), "latitude": [51.5], "longitude": [0.0]}
        units = {"t2m": "K", "d2m": "K", "sp": "Pa", "ssrd": "J m**-2", "tp": "m", "tcc": "1", "blh": "m"}
        data = {
            name: (list(where), rows[name].to_numpy(np.float32)[:, None, None], {"units": units.get(name, "m s**-1")})
            for name in LONDON
        }
        xr.Dataset(data, where).to_netcdf(file)
    return ERA5("files", str(file), points=None, num_tasks=10, hours_per_task=585, seed=seed)


def sample(seed: int) -> ERA5:
    """The synthetic sample, eight locations, seventeen variables."""
    return ERA5(points=8, seed=seed)


DATASETS: dict[str, Callable[[int], ERA5]] = {
    "finse_8": finse(8),
    "finse_70": finse(None),
    "cornwall": cornwall,
    "london": london,
    "sample": sample,
}
