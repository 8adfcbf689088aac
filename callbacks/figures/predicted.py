"""Figures of predictions that are datasets of xarray: series over dates, and targets over one input."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from callbacks.figures import time_panels
from gpvae.plotting.canvas import GREY, INK, LABEL, SMALL, TITLE, add_legend, blank_figure, label_axes, style_axes
from gpvae.plotting.units import readable_location, readable_units

#: Sizes of a panel in inches, and what is added for titles and dates.
WIDTH, HEIGHT, MARGIN = 5.0, 1.5, 0.8
#: Observations at locations this near, in degrees, are drawn.
SAME_DEGREES = 1e-3
INTERVAL = (0.05, 0.95)


def predicted_series_figure(
    predicted: xr.Dataset, observed: xr.Dataset | None, learnt_until: np.datetime64, note: str, dpi: int
) -> Figure:
    """Mean and 90 % interval over dates, a row for each variable and a column for each location.

    Args:
        predicted: Predictions as in `predictions.nc`, with quantiles 0.05 and 0.95, in order of time.
        observed: Observations of some of the variables at some of the times and locations.
        learnt_until: The end of the hours that were learnt; a line marks it, and a forecast begins.
        note: A note on the data, for the title.
        dpi: Pixels per inch.
    """
    data = predicted if "location" in predicted.dims else predicted.stack(location=("latitude", "longitude"))
    names = [str(name) for name in data.data_vars if f"{name}_quantiles" in data]
    count = data.sizes["location"]
    size = (max(7.0, WIDTH * count), MARGIN + HEIGHT * len(names))
    figure = Figure(size, dpi=dpi, facecolor="white", layout="constrained")
    grid = figure.subplots(len(names), count, squeeze=False, sharex=True)
    dates = data["time"].values
    for row, name in enumerate(names):
        factor, units = readable_units(data[name].attrs.get("units", ""), float(np.abs(data[name]).max()))
        for column in range(count):
            ax, here = grid[row, column], data.isel(location=column)
            style_axes(ax)
            lower, upper = (factor * here[f"{name}_quantiles"].sel(quantile=level).values for level in INTERVAL)
            time_panels.draw_prediction(ax, dates, factor * here[name].values, lower, upper, "90 % interval")
            seen = _observations(observed, name, here)
            if seen is not None:
                time_panels.draw_observations(ax, seen["time"].values, factor * seen.values, held_out=True)
            if dates[0] < learnt_until <= dates[-1]:
                ax.axvline(learnt_until, color=GREY, lw=0.9, ls="--", zorder=0.5, label="forecast from here")
            if row == 0:
                where = readable_location(float(here["latitude"]), float(here["longitude"]))
                ax.set_title(where, fontsize=LABEL, color=INK, loc="left")
            if len(dates) > 1:
                time_panels.format_date_axis(ax, dates[0], dates[-1])
        grid[row, 0].set_ylabel(f"{name} ({units})", fontsize=LABEL, color=INK)
    figure.suptitle("Predictions" + note, x=0.01, ha="left", fontsize=TITLE, color=INK)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    options: dict[str, Any] = {"frameon": False, "fontsize": SMALL, "labelcolor": INK, "borderaxespad": 0.2}
    figure.legend(handles, labels, loc="upper right", ncols=len(labels), **options)
    return figure


def _observations(observed: xr.Dataset | None, name: str, here: xr.Dataset) -> xr.DataArray | None:
    """Observations of a variable at the location and within the times of a prediction; None if there are none."""
    if observed is None or name not in observed:
        return None
    begin, end = here["time"].values[[0, -1]]
    seen = observed[name].sel(time=(observed["time"] >= begin) & (observed["time"] <= end))
    across = (seen["longitude"] - float(here["longitude"]) + 180) % 360 - 180
    distance = abs(seen["latitude"] - float(here["latitude"])) + abs(across)  # over the grid, or over locations
    if float(distance.min()) > SAME_DEGREES or not seen.sizes["time"]:
        return None
    nearest = np.unravel_index(int(distance.values.argmin()), distance.shape)
    return seen.isel(dict(zip(distance.dims, map(int, nearest), strict=True)))


def predicted_points_figure(
    predicted: xr.Dataset, observed: tuple[ArrayLike, ArrayLike] | None, title: str, dpi: int, *, target: str = "y"
) -> Figure:
    """Mean and 90 % interval over one input.

    Args:
        predicted: `mean`, and `quantiles` 0.05 and 0.95, over one input, in order.
        observed: Inputs and targets.
        title: The title.
        dpi: Pixels per inch.
        target: The name of the target.
    """
    figure, ax = blank_figure(7.2, 2.7, dpi)
    mean = predicted["mean"]
    x, (lower, upper) = mean[mean.dims[0]].values, (predicted["quantiles"].sel(quantile=level) for level in INTERVAL)
    time_panels.draw_prediction(ax, x, mean.values, lower.values, upper.values, "90 % interval")
    if observed is not None:
        ax.plot(*map(np.ravel, observed), ".", color=GREY, ms=4, mew=0, label="observed", zorder=2)
    label_axes(ax, str(mean.dims[0]), target, title)
    add_legend(ax)
    return figure
