"""Maps of locations, coloured by their scores."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpvae.plotting.canvas import GREY, INK, LABEL, add_colour_bar, blank_figure, style_axes
from gpvae.report.coastlines import coastlines
from gpvae.report.groups import Entry
from gpvae.results.location_table import FILE_NAME, LocationScore, read_locations
from gpvae.utils.longitudes import contiguous

#: Width and height of a map in inches.
WIDTH, HEIGHT = 3.5, 3.0
#: Fewer locations are no map; more would make the page large.
MIN_LOCATIONS, MAX_LOCATIONS = 2, 2000


def locations_of(entry: Entry) -> list[LocationScore]:
    """The scores of the locations of an experiment, from its first run that has them; empty if there is no map."""
    found = next(filter(None, (read_locations(run.folder / FILE_NAME) for run in entry.runs)), [])
    return found if MIN_LOCATIONS <= len(found) <= MAX_LOCATIONS else []


def plot_map(scores: Sequence[LocationScore], limits: tuple[float, float]) -> Figure:
    """Draw locations by longitude and latitude, coloured by skill against climatology, over the coastlines around them.

    Args:
        scores: Scores of the locations.
        limits: Lowest and highest skill of the colour scale.
    """
    figure, ax = blank_figure(WIDTH, HEIGHT, 72)
    longitude, latitude, skill = (
        np.array([getattr(score, name) for score in scores]) for name in ("longitude", "latitude", "skill_climatology")
    )
    longitude = contiguous(longitude)
    size = float(np.clip(1500 / len(scores), 6, 60))
    drawn = ax.scatter(longitude, latitude, c=skill, s=size, cmap="cividis", vmin=limits[0], vmax=limits[1])
    ax.set_aspect(1 / np.cos(np.radians(latitude.mean())), adjustable="datalim")
    ax.set_xlabel("degrees east", fontsize=LABEL, color=INK)
    ax.set_ylabel("degrees north", fontsize=LABEL, color=INK)
    style_axes(ax)
    add_colour_bar(ax, drawn, "skill")
    figure.draw_without_rendering()  # the aspect widens the limits, which then stay as they are
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim(), aspect="auto")
    _draw_coast(ax)
    return figure


def _draw_coast(ax: Axes) -> None:
    """Draw the coast within the limits of the axes, below everything else; nothing where there is none."""
    coast = coastlines(*ax.get_xlim(), *ax.get_ylim())
    if len(coast):
        ax.plot(*coast.T, color=GREY, lw=0.7, alpha=0.7, zorder=0.5)


def colour_range(maps: Sequence[Sequence[LocationScore]]) -> tuple[float, float]:
    """One colour scale for all maps: from the 2nd to the 98th percentile of skill."""
    low, high = np.percentile([score.skill_climatology for scores in maps for score in scores], [2, 98])
    return float(low), float(max(high, low + 0.05))
