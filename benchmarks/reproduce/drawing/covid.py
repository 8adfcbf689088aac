"""The scores of each COVID task, as in figure 4, with the renewal model."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reproduce.curves import Ends, common_seeds, ends
from benchmarks.reproduce.drawing.panels import counted, legend
from benchmarks.reproduce.drawing.styles import BLUE, GREEN, ORANGE, VERMILLION, Style

STYLES = {
    "covid_ohsvgp_natural": Style("OHSVGP", BLUE),
    "covid_coss_natural": Style("CosS (ours)", GREEN),
    "covid_ovc_natural": Style("OVC", VERMILLION),
    "covid_osvgp": Style("OSVGP", ORANGE),
}


def covid(runs: Path) -> Figure | None:
    """NLPD of each task when just learnt (hollow) and at the end (filled).

    Args:
        runs: Folder of runs.
    """
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    any_dots = False
    for ax, size in zip(figure.subplots(1, 2, sharey=True), (15, 30), strict=True):
        folders = {name: runs / f"{name}_M{size}" for name in STYLES}
        seeds = common_seeds([*folders.values(), runs / "covid_renewal"])
        found = {name: ends(folder, "nlpd", seeds) for name, folder in folders.items()}
        for offset, (name, style) in zip(np.linspace(-0.24, 0.24, len(STYLES)), STYLES.items(), strict=True):
            any_dots |= _dots(ax, found[name], offset, style)
        if (renewal := ends(runs / "covid_renewal", "nlpd", seeds)) is not None:
            places = np.arange(1, len(renewal.last) + 1)
            ax.plot(places, renewal.last, "_", color="black", ms=28, label="AR(2) renewal, all at once")
        ax.set(title=f"M = {size}", xlabel=f"task ({counted(seeds)})", xticks=range(1, 6))
    figure.axes[0].set_ylabel("NLPD of a task")
    legend(figure)
    return figure if any_dots else None


def _dots(ax: Axes, found: Ends | None, offset: float, style: Style) -> bool:
    if found is None:
        return False
    places = np.arange(1, len(found.last) + 1) + offset
    ax.vlines(places, found.first, found.last, color=style.colour, lw=1)
    ax.plot(places, found.first, "o", color=style.colour, mfc="white", ms=5)
    ax.plot(places, found.last, "o", color=style.colour, ms=5, label=style.label)
    return True
