"""Learn netCDF files from the Climate Data Store, go on with a new file, and draw maps."""

# %% [markdown]
# # From ERA5 files to a map
#
# We learn three weeks of ERA5 over Britain from netCDF files, go on when a file with the fourth week arrives, predict
# in Python, and draw a map of how good the predictions are.
#
# ## Files
#
# You need an [account](https://cds.climate.copernicus.eu) at the Climate Data Store and `pip install 'gpvae[era5]'`.
# This request downloads three weeks (`gpvae fit --data.source cds` makes such requests by itself, month by month):
#
# ```text
# import cdsapi
#
# request = {
#     "product_type": ["reanalysis"],
#     "variable": ["2m_temperature", "2m_dewpoint_temperature",
#                  "10m_u_component_of_wind", "10m_v_component_of_wind"],
#     "year": ["2020"], "month": ["01"], "day": [f"{day:02d}" for day in range(1, 22)],
#     "time": [f"{hour:02d}:00" for hour in range(24)],
#     "area": [59, -8, 50, 3],  # north, west, south, east
#     "grid": [1.0, 1.0],
#     "data_format": "netcdf", "download_format": "unarchived",
# }
# cdsapi.Client().retrieve("reanalysis-era5-single-levels", request, "era5/january.nc")
# ```
#
# This page runs without an account, so it writes files of the same layout with **synthetic** weather.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

import gpvae
from gpvae.datamodules.era5.synthetic.sample import write_sample
from gpvae.report.coastlines import coastlines

Path("store").mkdir()
Path("era5").mkdir()
write_sample(Path("store"), 4 * 168)  # hours
for file in Path("store").glob("*.nc"):
    with xr.open_dataset(file) as all_weeks:
        all_weeks.isel(valid_time=slice(0, 3 * 168)).to_netcdf(f"era5/weeks_1_to_3_{file.name}")

with xr.open_dataset("era5/weeks_1_to_3_data_stream-oper_stepType-instant.nc") as weather:
    print(weather[["t2m", "d2m", "u10"]])

# %% [markdown]
# ## Learn
#
# `era5_gp` is a Gaussian process in closed form for each variable at each location. It needs seconds where the GP-VAE
# (`era5_ohsvgp`) needs minutes, and takes the same options. A task is a week, and `--data.points null` takes all 120
# grid points. A fifth of the hours are held out for scores.
#
# In a notebook, write `!gpvae fit ...` instead of `shell`.


# %%
import shlex
import subprocess
import sys


def shell(command: str) -> str:
    """What a command of gpvae prints."""
    words = [sys.executable, "-m", *shlex.split(command)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


fit = (
    "gpvae fit -c era5_gp --name britain --data.source files --data.paths 'era5/*.nc' --data.points null"
    " --data.variables '[t2m, d2m, u10, v10]' --data.hours_per_task 168 --model.horizon 1000"
    " --figures.enabled false --trainer.enable_progress_bar false --ckpt_path last"
)
print(shell(fit))

# %% [markdown]
# The first table has the score of each week after each week: earlier weeks are not forgotten. `skill_climatology` is
# the share of climatology's squared error that the model removes. The last table has forecasts, by how many hours
# ahead. Their skill fades within a day or two: this model reconstructs, and is [not for
# forecasting](../howto/forecast.md).
#
# `--model.horizon` plans the memory for the length that the stream may reach, in hours.
#
# ## A new file arrives
#
# Give the same command. It learns what is new, and ends with the same bits as a single run over all files.

# %%
for file in Path("store").glob("*.nc"):
    with xr.open_dataset(file) as all_weeks:
        all_weeks.isel(valid_time=slice(3 * 168, None)).to_netcdf(f"era5/week_4_{file.name}")

shell(fit)
run = gpvae.load("runs/britain/seed_1")
print(run)

# %% [markdown]
# ## Predict
#
# The files are no longer needed. The run keeps 100 numbers for each variable at each grid point, and predicts any time.
# Predictions have the units, names and grid of the files.

# %%
hours = pd.date_range("2020-01-15", "2020-01-16T12:00", freq="30min")
predicted = run.predict(hours, variables=["t2m", "u10"], quantiles=[0.05, 0.95])
print(predicted[["t2m", "t2m_std"]])

run.plot(hours, locations=[(51.0, 0.0)], variables=["t2m", "u10"])

# %% [markdown]
# ## Maps
#
# Two fields at one hour, and the skill at each grid point over the hours held out, which the run has written to
# `skill_by_location.csv`. `gpvae report runs/britain` makes a page with this map and all scores.

# %%
field = predicted.sel(time="2020-01-15T12:30")
skill = pd.read_csv("runs/britain/seed_1/skill_by_location.csv")
skill = skill.pivot(index="latitude", columns="longitude", values="skill_climatology")
maps = {
    "temperature in °C, 15 January 12:30": field["t2m"] - 273.15,
    "eastward wind in m/s": field["u10"],
    "skill against climatology, all variables": skill,
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", num="Temperature, wind and skill")
for ax, (title, values) in zip(axes, maps.items(), strict=True):
    values = values.to_pandas() if isinstance(values, xr.DataArray) else values
    drawn = ax.pcolormesh(values.columns, values.index, values, cmap="viridis")
    ax.plot(*coastlines(-8.5, 3.5, 49.5, 59.5).T, color="white", lw=0.8)
    ax.set(xlim=(-8.5, 3.5), ylim=(49.5, 59.5), aspect=1 / np.cos(np.deg2rad(54.5)))
    ax.set_title(title, loc="left", fontsize=9)
    fig.colorbar(drawn, ax=ax)
plt.show()

# %% [markdown]
# Continue with [your own files](../howto/netcdf.md), [which files work](../howto/files.md), or
# [a run on a schedule](../howto/new_data.md#on-a-schedule).
