"""RMSE over the tasks seen on all data but classes, as in appendix E."""

from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.reproduce.drawing import styles
from benchmarks.reproduce.drawing.covid import covid_panels
from benchmarks.reproduce.drawing.panels import HEIGHT, LEGEND, WIDTH, fill
from benchmarks.reproduce.drawing.scores import series_panels, table_panels, weather_panels

#: Upper limit of the vertical axis.
MAX_HEIGHT = {"solar": 1.0, "audio": 0.45}


def rmse(runs: Path) -> Figure | None:
    """A row for the series, one for the tables, one for COVID and one for ERA5.

    Args:
        runs: Folder of runs.
    """
    rows = [
        (series_panels(runs, MAX_HEIGHT), styles.SERIES),
        (table_panels(runs), styles.TABLES),
        (covid_panels(runs), styles.COVID),
        (weather_panels(runs, "finse"), styles.WEATHER),
    ]
    shown = [([panel for panel in panels if panel.seeds], known) for panels, known in rows]
    shown = [(panels, known) for panels, known in shown if panels]
    if not shown:
        return None
    figure = Figure(figsize=(WIDTH, len(shown) * (HEIGHT + LEGEND)), layout="constrained")
    for part, (panels, known) in zip(figure.subfigures(len(shown), 1, squeeze=False)[:, 0], shown, strict=True):
        fill(part, panels, known, "rmse")
    return figure
