"""The stream that is downloaded, and checks of the result."""

import traceback
from pathlib import Path
from typing import Any

import numpy as np

from datamodules.era5 import ERA5, cds, read_era5
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.server import KEY

START = "2020-01-30"
AREA = (53.0, -2.0, 51.0, 0.0)
OPTIONS: dict[str, Any] = {
    "source": "cds",
    "variables": ["t2m", "tp"],
    "start": START,
    "area": AREA,
    "points": 4,
    "num_tasks": 3,
    "hours_per_task": 20,
}
REQUESTS = cds.month_requests(["t2m", "tp"], AREA, np.datetime64(START), 60)


def stream(**options: object) -> ERA5:
    return ERA5(**{**OPTIONS, **options})


def check_data(weather: Weather) -> None:
    """The downloaded values are exactly those of all requests."""
    here = read_era5(cds.downloaded(REQUESTS, 1.0))
    assert here.sizes == {"time": 72, "latitude": 3, "longitude": 3}
    for request in REQUESTS:
        for data in weather.fields(request).values():
            for name in ("t2m", "tp"):
                if name in data:
                    times = data["valid_time"].values
                    np.testing.assert_array_equal(here[name].sel(time=times).values, data[name].values)


def check_no_key(*texts: str) -> None:
    assert not any(KEY in text for text in texts)


def check_no_key_in_files(folder: Path) -> None:
    for path in folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def texts_of(error: BaseException | None) -> str:
    """The messages and tracebacks of an error, its causes and contexts."""
    texts = []
    while error is not None:
        texts += [str(error), repr(error), *traceback.format_exception(error)]
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def left_over(folder: Path) -> list[str]:
    """The names in the folder of downloads other than files and records."""
    return [path.name for path in folder.glob("era5_cds/*") if not path.name.endswith((".nc", ".nc.json"))]
