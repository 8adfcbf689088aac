"""Draw figures of the paper from finished runs: `python -m benchmarks.reproduce.figures --folder FOLDER`."""

import argparse
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.report import console
from benchmarks.reproduce.drawing.covid import covid
from benchmarks.reproduce.drawing.forgetting import forgetting
from benchmarks.reproduce.drawing.moons import moons
from benchmarks.reproduce.drawing.predictions import predictions
from benchmarks.reproduce.drawing.rmse import rmse
from benchmarks.reproduce.drawing.scores import measures, series, tables, weather
from benchmarks.reproduce.drawing.toy import toy
from benchmarks.reproduce.drawing.trained import trained

#: Functions that draw each file from a folder of runs; they return None if it has no runs.
FIGURES: dict[str, Callable[[Path], Figure | None]] = {
    "toy.png": toy,
    "series.png": series,
    "predictions.png": predictions,
    "covid.png": covid,
    "tables.png": tables,
    "rmse.png": rmse,
    "weather.png": weather,
    "forgetting.png": forgetting,
    "trained.png": trained,
    "moons.png": moons,
    "measures.png": measures,
}
STYLE: dict[Any, Any] = {"font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False}
DPI = 90


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Args:
        argv: Arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/reproduce"), help="where the runs are")
    parser.add_argument("--output", type=Path, default=Path("docs/figures"), help="where the figures go")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES), metavar="FILE", help="some")
    arguments = parser.parse_args(argv)
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        with mpl.rc_context(STYLE):
            figure = FIGURES[name](arguments.folder / "runs")
            if figure is None:
                console.print(f"skipped {name}: its runs are missing", highlight=False)
                continue
            write(figure, arguments.output / name)
        console.print(f"wrote {arguments.output / name}", highlight=False)


def write(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG of 256 colours, which is half as large.

    Args:
        figure: The figure.
        path: The file.
    """
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=DPI)
        Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
