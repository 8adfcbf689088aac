"""Scores over the tasks seen: figures 2, 5 and 6, and appendix F.4."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.reproduce.curves import common_seeds, curve
from benchmarks.reproduce.drawing import styles
from benchmarks.reproduce.drawing.panels import Panel, draw_lines, figure_of, legend
from benchmarks.reproduce.drawing.seeds import counted

#: M of the paper, and upper limits of the vertical axis.
SIZES = {"solar": (50, 150), "audio": (100, 200)}
MAX_HEIGHT = {"solar": 2.0, "audio": 6.0}
ORDERS = {"dim0": "first dimension", "l2": "L2"}
LOCATIONS = {"finse": "Finse", "sample": "Sample"}
PROTECTIONS = {"ewc": "EWC", "replay": "replay"}


def series(runs: Path) -> Figure | None:
    """NLPD on Solar and Audio, as in figure 2.

    Args:
        runs: Folder of runs.
    """
    return figure_of(series_panels(runs, MAX_HEIGHT), styles.SERIES)


def series_panels(runs: Path, max_height: Mapping[str, float]) -> list[Panel]:
    """Solar and Audio with the paper's M.

    Args:
        runs: Folder of runs.
        max_height: Upper limit of the vertical axis, by data.
    """
    return [
        Panel(
            f"{data.capitalize()}, M = {size}",
            {method: runs / f"{data}_{method}_M{size}" for method in styles.SERIES},
            max_height[data],
        )
        for data, sizes in SIZES.items()
        for size in sizes
    ]


def tables(runs: Path) -> Figure | None:
    """NLPD on Skillcraft and Powerplant, as in figure 5.

    Args:
        runs: Folder of runs.
    """
    return figure_of(table_panels(runs), styles.TABLES)


def table_panels(runs: Path) -> list[Panel]:
    """Skillcraft and Powerplant, their tasks made in both ways.

    Args:
        runs: Folder of runs.
    """
    return [
        Panel(f"{data.capitalize()}, {words}", {method: runs / f"{data}_{order}_{method}" for method in styles.TABLES})
        for data in ("skillcraft", "powerplant")
        for order, words in ORDERS.items()
    ]


def weather(runs: Path) -> Figure | None:
    """NLPD on ERA5, as in figure 6, by EWC and by replay.

    Args:
        runs: Folder of runs.
    """
    return figure_of([panel for location in LOCATIONS for panel in weather_panels(runs, location)], styles.WEATHER)


def weather_panels(runs: Path, location: str) -> list[Panel]:
    """ERA5 at a location with the paper's M, by EWC and by replay.

    Args:
        runs: Folder of runs.
        location: Name of the location.
    """
    return [
        Panel(
            f"{LOCATIONS[location]}, {words}, M = {size}",
            {name: runs / f"era5_{location}_{name}_{protection}_M{size}" for name in styles.WEATHER},
        )
        for size in (50, 100)
        for protection, words in PROTECTIONS.items()
    ]


def measures(runs: Path) -> Figure | None:
    """NLPD of the first task after each task, for the measures of appendix F.4.

    Args:
        runs: Folder of runs.
    """
    figure = Figure(figsize=(4.2, 3.2), layout="constrained")
    ax = figure.subplots()
    folders = {name: runs / f"toy_{name}" for name in styles.MEASURES}
    seeds = common_seeds(folders.values())
    found = {name: curve(folder, "nlpd", seeds, task=1) for name, folder in folders.items()}
    any_lines = draw_lines(ax, found, styles.MEASURES)
    ax.set(xlabel=f"tasks learnt ({counted(seeds)})", ylabel="NLPD of task 1")
    legend(figure, columns=3)
    return figure if any_lines else None
