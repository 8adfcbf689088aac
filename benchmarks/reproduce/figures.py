"""Draw figures of the paper from the runs there are: `python -m benchmarks.reproduce.figures --folder FOLDER`."""

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report import console
from benchmarks.reproduce.curves import Ends, common_seeds, curve, ends

#: Names in legends and their colours, which people who see colours differently tell apart.
METHODS = {
    "ohsgpr": ("OHSGPR", "#0072B2"),
    "coss": ("CosS (ours)", "#009E73"),
    "ovc": ("OVC", "#D55E00"),
    "ovff": ("OVFF", "#CC79A7"),
    "osgpr": ("OSGPR", "#E69F00"),
    "recurrence": ("OHSGPR, recurrence", "#56B4E9"),
}
SERIES = {"solar": (50, 150), "audio": (100, 200)}
TABLES = {
    "ohsgpr_o": ("OHSGPR-o, closed form (ours)", "#009E73"),
    "ovc_closed": ("OVC, closed form (ours)", "#CC79A7"),
    "ohsvgp_o": ("OHSVGP-o", "#0072B2"),
    "ohsvgp_k": ("OHSVGP-k", "#56B4E9"),
    "ovc": ("OVC", "#D55E00"),
    "osvgp": ("OSVGP", "#E69F00"),
}
ORDERS = {"dim0": "first dimension", "l2": "L2"}
WEATHER = {
    "OHSVGP": ("OHSVGP", "#0072B2"),
    "OHSVGP-CosS": ("CosS (ours)", "#009E73"),
    "OVC": ("OVC", "#D55E00"),
    "OVC-per-dim": ("OVC-per-dim", "#CC79A7"),
    "OSVGP": ("OSVGP", "#E69F00"),
}
COVID = {
    "covid_ohsvgp_natural": ("OHSVGP", "#0072B2"),
    "covid_coss_natural": ("CosS (ours)", "#009E73"),
    "covid_ovc_natural": ("OVC", "#D55E00"),
    "covid_osvgp": ("OSVGP", "#E69F00"),
}
MEASURES = {
    "legs": ("LegS", "#0072B2"),
    "coss": ("CosS (ours)", "#009E73"),
    "legt": ("LegT", "#D55E00"),
    "lagt": ("LagT", "#CC79A7"),
    "fout": ("FouT", "#E69F00"),
}
#: Beyond this, in nats, a curve leaves the picture.
TALLEST = {"solar": 2.0, "audio": 6.0}
#: Whose predictions on Solar are shown, of the first seed with the smallest M.
PREDICTIONS = ("ohsgpr", "ovc", "osgpr")
DPI = 90


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Args:
        argv: Arguments; those of the process if not given.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/reproduce"), help="where the runs are")
    parser.add_argument("--output", type=Path, default=Path("docs/figures"), help="where the figures go")
    arguments = parser.parse_args(argv)
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    arguments.output.mkdir(parents=True, exist_ok=True)
    drawn = {
        "series.png": series(arguments.folder / "runs"),
        "predictions.png": predictions(arguments.folder / "runs"),
        "covid.png": covid(arguments.folder / "runs"),
        "tables.png": tables(arguments.folder / "runs"),
        "weather.png": weather(arguments.folder / "runs"),
        "measures.png": measures(arguments.folder / "runs"),
    }
    for name, figure in drawn.items():
        if figure is not None:
            figure.savefig(arguments.output / name, dpi=DPI)
            console.print(f"wrote {arguments.output / name}", highlight=False)


def series(runs: Path) -> Figure | None:
    """NLPD over the tasks seen, as in figure 2."""
    panels = {
        f"{data.capitalize()}, M = {size}": {method: runs / f"{data}_{method}_M{size}" for method in METHODS}
        for data, sizes in SERIES.items()
        for size in sizes
    }
    return _panels(panels, METHODS, tallest=[TALLEST[data] for data, sizes in SERIES.items() for _ in sizes])


def predictions(runs: Path) -> Figure | None:
    """What some methods predict on Solar after all ten tasks, as in figure 3."""
    size = SERIES["solar"][0]
    drawn = {name: runs / f"solar_{name}_M{size}" / "seed_1" / "figures" / "stream_10.png" for name in PREDICTIONS}
    found = {METHODS[name][0]: plt.imread(path) for name, path in drawn.items() if path.is_file()}
    if not found:
        return None
    figure = Figure(figsize=(7.5, 3 * len(found)), layout="constrained")
    for ax, (label, image) in zip(figure.subplots(len(found), squeeze=False)[:, 0], found.items(), strict=True):
        ax.imshow(image, interpolation="antialiased")
        ax.set_title(f"{label}, M = {size}", loc="left")
        ax.axis("off")
    return figure


def tables(runs: Path) -> Figure | None:
    """NLPD over the tasks seen, as in figure 5."""
    panels = {
        f"{data.capitalize()}\n{words}": {method: runs / f"{data}_{order}_{method}" for method in TABLES}
        for data in ("skillcraft", "powerplant")
        for order, words in ORDERS.items()
    }
    return _panels(panels, TABLES)


def weather(runs: Path) -> Figure | None:
    """NLPD over the tasks seen, as in figure 6, by EWC and by replay."""
    panels = {
        f"{place}, {protection}": {name: runs / f"era5_{data}_{name}_{short}_M50" for name in WEATHER}
        for data, place in (("sample", "Sample"), ("finse", "Finse"))
        for short, protection in (("ewc", "EWC"), ("replay", "replay"))
    }
    return _panels(panels, WEATHER)


def measures(runs: Path) -> Figure | None:
    """NLPD of the first task after each task, for the measures of appendix F.4."""
    figure = Figure(figsize=(4.2, 2.8), layout="constrained")
    ax = figure.subplots()
    folders = {name: runs / f"toy_{name}" for name in MEASURES}
    seeds = common_seeds(folders.values())
    any_lines = _lines(ax, {name: curve(folder, "nlpd", seeds, task=1) for name, folder in folders.items()}, MEASURES)
    ax.set(xlabel=f"tasks learnt ({_counted(seeds)})", ylabel="NLPD of task 1", xticks=[1, 2, 3])
    _legend(figure)
    return figure if any_lines else None


def covid(runs: Path) -> Figure | None:
    """NLPD of each task when just learnt (hollow) and at the end (filled), as in figure 4, with the renewal model."""
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    any_dots = False
    for ax, size in zip(figure.subplots(1, 2, sharey=True), (15, 30), strict=True):
        folders = {name: runs / f"{name}_M{size}" for name in COVID}
        seeds = common_seeds([*folders.values(), runs / "covid_renewal"])
        found = {name: ends(folder, "nlpd", seeds) for name, folder in folders.items()}
        for offset, (name, (label, colour)) in zip(np.linspace(-0.24, 0.24, len(COVID)), COVID.items(), strict=True):
            any_dots |= _dots(ax, found[name], offset, label, colour)
        if (renewal := ends(runs / "covid_renewal", "nlpd", seeds)) is not None:
            places = np.arange(1, len(renewal.last) + 1)
            ax.plot(places, renewal.last, "_", color="black", ms=28, label="AR(2) renewal, all at once")
        ax.set(title=f"M = {size}", xlabel=f"task ({_counted(seeds)})", xticks=range(1, 6))
    figure.axes[0].set_ylabel("NLPD of a task")
    _legend(figure)
    return figure if any_dots else None


def _panels(
    panels: Mapping[str, Mapping[str, Path]],
    styles: Mapping[str, tuple[str, str]],
    tallest: Sequence[float] | None = None,
) -> Figure | None:
    """NLPD over the tasks seen in panels side by side, on the seeds that all methods have; None if there are no runs.

    Args:
        panels: Folders of experiments by title and method.
        styles: Label and colour by method.
        tallest: Beyond this a curve leaves its panel.
    """
    heights = dict(zip(panels, tallest or [math.inf] * len(panels), strict=True))
    seeds = {title: common_seeds(folders.values()) for title, folders in panels.items()}
    shown = [title for title in panels if seeds[title]]
    if not shown:
        return None
    figure = Figure(figsize=(10, 2.8), layout="constrained")
    for ax, title in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        found = {method: curve(folder, "nlpd", seeds[title]) for method, folder in panels[title].items()}
        _lines(ax, found, styles)
        ax.set(title=title, xlabel=f"tasks seen ({_counted(seeds[title])})", xticks=range(2, 11, 2))
        lines = [line for line in found.values() if line is not None]
        low, high = min(map(np.min, lines)), min(max(map(np.max, lines)), heights[title])
        ax.set_ylim(low - 0.1 * (high - low), high + (0.05 * (high - low) if high < heights[title] else 0))
    figure.axes[0].set_ylabel("NLPD over tasks seen")
    _legend(figure)
    return figure


def _counted(seeds: Sequence[str]) -> str:
    return "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"


def _lines(ax: Axes, found: Mapping[str, np.ndarray | None], styles: Mapping[str, tuple[str, str]]) -> bool:
    for name, line in found.items():
        if line is None:
            continue
        label, colour = styles[name]
        tasks = np.arange(1, len(line) + 1)
        ax.plot(tasks, line, color=colour, label=label, lw=1.6, marker="o", ms=2.5)
    return any(line is not None for line in found.values())


def _dots(ax: Axes, found: Ends | None, offset: float, label: str, colour: str) -> bool:
    if found is None:
        return False
    places = np.arange(1, len(found.last) + 1) + offset
    ax.vlines(places, found.first, found.last, color=colour, lw=1)
    ax.plot(places, found.first, "o", color=colour, mfc="white", ms=5)
    ax.plot(places, found.last, "o", color=colour, ms=5, label=label)
    return True


def _legend(figure: Figure) -> None:
    """One legend for all panels, outside of them."""
    known = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    if known:
        figure.legend(known.values(), known.keys(), loc="outside right upper", frameon=False)


if __name__ == "__main__":
    main()
