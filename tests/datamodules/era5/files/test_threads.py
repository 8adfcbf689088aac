"""Threads may read and write netCDF files at once, although the libraries behind them are not safe for threads."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import xarray as xr

from datamodules.era5.files.netcdf import open_lazily
from gpvae.utils.netcdf_lock import TURNS

folder, read = Path(sys.argv[1]), []
variables = {f"v{n}": (("t", "x"), np.ones((50, 20)), {"units": "m", "long_name": "a" * 50}) for n in range(10)}
data = xr.Dataset(variables, {"t": np.arange(50.0), "x": np.arange(20.0)})
for number in range(3):
    data.to_netcdf(folder / f"{number}.nc")


def work(number):
    for turn in range(60):
        if number == 3:
            with TURNS:
                data.to_netcdf(folder / "written.nc")
            continue
        with ExitStack() as stack:
            name = f"{(number + turn) % 3}.nc"
            opened = open_lazily(folder / name, name, stack)
            read.append(float(opened["v3"].isel(t=slice(0, 10)).values.mean()))


threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(read), set(read))
"""


@pytest.mark.parametrize("_", range(2))
def test_several_threads_read_and_write(tmp_path: Path, _: int) -> None:
    """In a process of its own: without turns, it crashes."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "180 {1.0}"
