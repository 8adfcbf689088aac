"""Uses what an extra brings: `python use_extra.py zarr`, in an empty folder. Without it, the error names the extra."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import torch

import gpvae

HOURS = 24


def report() -> None:
    gp = gpvae.OnlineGP().update(torch.linspace(0, 9, 99), torch.linspace(0, 9, 99).sin())
    gp.plot().savefig("gp.png")
    print(gp.predict_table([0.5, 1.5]))


def train() -> None:
    import_module("gpvae.cli").main(["fit", "-c", "toy_legs", "--data.stop_after", "2", "--figures.enabled", "false"])


def era5() -> None:
    cds = import_module("gpvae.datamodules.era5.cds")
    print(cds.download)  # which asks for the key of an account


def grib() -> None:
    path = Path("weather.grib")
    path.write_bytes(b"GRIB")
    if find_spec("eccodes"):
        eccodes = import_module("eccodes")
        with path.open("wb") as file:
            for hour in range(HOURS):
                message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib1")
                for key, value in {"dataDate": 20200101, "dataTime": 100 * hour, "indicatorOfParameter": 167}.items():
                    eccodes.codes_set(message, key, value)
                eccodes.codes_set_values(message, [280.0 + hour] * eccodes.codes_get_size(message, "values"))
                eccodes.codes_write(message, file)
                eccodes.codes_release(message)
    _read_weather(path)


def zarr() -> None:
    import pandas as pd
    import xarray as xr

    path = Path("weather.zarr")
    path.mkdir(exist_ok=True)
    (path / "zarr.json").write_text("{}")
    if find_spec("zarr"):
        times = pd.date_range("2020-01-01", periods=HOURS, freq="h")
        values = [[[280.0 + hour]] for hour in range(HOURS)]
        t2m = (("time", "latitude", "longitude"), values, {"units": "K"})
        weather = xr.Dataset({"t2m": t2m}, {"time": times, "latitude": [60.0], "longitude": [7.5]})
        weather.to_zarr(path, mode="w", consolidated=False)
    _read_weather(path)


def parquet() -> None:
    import pandas as pd

    path = Path("table.parquet")
    path.write_bytes(b"PAR1")
    if find_spec("pyarrow"):
        pd.DataFrame({"time": range(300), "value": [float(n % 7) for n in range(300)]}).to_parquet(path)
    stream = import_module("gpvae.datamodules").DataTable(str(path))
    stream.setup("fit")


def sklearn() -> None:
    print(import_module("gpvae.sklearn").OnlineGPRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]))


def river() -> None:
    print(import_module("gpvae.river").OnlineGPRegressor().learn_one({"x": 0.0}, 1.0))


def botorch() -> None:
    print(import_module("gpvae.botorch").OnlineGPModel)


def _read_weather(path: Path) -> None:
    weather = import_module("gpvae.datamodules.era5").read_era5(str(path))
    assert weather.sizes["time"] == HOURS
    assert float(weather["t2m"][3].mean()) == 283


USES = {use.__name__: use for use in (report, train, era5, grib, zarr, parquet, sklearn, river, botorch)}

if __name__ == "__main__":
    (name,) = sys.argv[1:]
    USES[name]()
