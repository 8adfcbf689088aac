"""The results as a table and as one figure: the score against memory, every contender a curve."""

import math
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from gpvae.plotting.canvas import INK, LABEL, SMALL, render, save_png, style_axes

Row = dict[str, Any]
COLOURS = {
    "climatology": "#8a8a8a",
    "interpolation": "#444444",
    "exact GP": "#000000",
    "exact GP, fewer hours": "#56b4e9",
    "one GP per variable": "#0072b2",
    "one GP per EOF of the field": "#009e73",
    "OHSVGP + EWC (paper)": "#d55e00",
    "GP-VAE, paper's networks": "#e6b8d0",
    "paper's networks, one precision": "#cc79a7",
    "GP-VAE, moving cosines": "#f5d58e",
    "field, moving cosines": "#c9a59d",
    "GP-VAE": "#e69f00",
    "GP-VAE of a field": "#8c564b",
    "the same, by location": "#c49c94",
}
TITLES = {
    "finse_8": "Finse, 8 locations",
    "finse_70": "Finse, 70 locations",
    "cornwall": "Cornwall, 35 locations",
    "london": "London, one location",
    "sample": "synthetic sample, 8 locations",
}
#: Contenders and data sets of the README's picture.
MAIN = (
    "climatology",
    "interpolation",
    "exact GP",
    "exact GP, fewer hours",
    "one GP per variable",
    "GP-VAE",
    "OHSVGP + EWC (paper)",
)
REAL = ("finse_8", "finse_70", "cornwall")
COLUMNS = 3
TICKS = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
METRICS = ("nlpd", "rmse", "crps", "coverage", "cpu_seconds", "means", "precisions", "networks", "protection", "total")


def averages(rows: list[Row]) -> dict[tuple[str, str, str], Row]:
    """Means over seeds, by data set, contender and size, in the order of the file."""
    groups: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["contender"], row["size"]].append(row)
    return {
        key: {name: mean(row[name] for row in same) for name in (*METRICS, "share")} | {"seeds": len(same)}
        for key, same in groups.items()
    }


def markdown(rows: list[Row]) -> str:
    """A table with a row for each data set, contender and size."""
    lines = [
        "| data | contender | size | NLPD | RMSE | CRPS | coverage | CPU s | means | precisions | networks "
        "| protection | all numbers | share of raw | seeds |",
        "|" + "---|" * 15,
    ]
    for key, row in sorted(averages(rows).items(), key=lambda item: (item[0][0], list(COLOURS).index(item[0][1]))):
        scores = [f"{row[name]:.2f}" for name in METRICS[:4]] + [f"{row['cpu_seconds']:.1f}"]
        counts = [f"{row[name]:,.0f}" for name in METRICS[5:]]
        lines.append(f"| {' | '.join([*key, *scores, *counts])} | {row['share']:.0%} | {row['seeds']} |")
    return "\n".join(lines)


def draw(rows: list[Row], path: Path) -> None:
    """Draw the NLPD against all numbers kept, a panel for each data set: of everything, and of what matters most."""
    _draw(rows, path)
    main = [row for row in rows if row["contender"] in MAIN and row["data"] in REAL]
    if main:
        _draw(main, path.with_stem(f"{path.stem}_main"))


def _draw(rows: list[Row], path: Path) -> None:
    found = averages(rows)
    names = list(dict.fromkeys(key[0] for key in found))
    num_rows = max(1, math.ceil(len(names) / COLUMNS))
    figure = Figure((10.0, 3.1 * num_rows + 0.5), dpi=110, facecolor="white", layout="constrained")
    for number, name in enumerate(names, start=1):
        ax = figure.add_subplot(num_rows, COLUMNS, number)
        style_axes(ax)
        for contender, colour in COLOURS.items():
            curve = sorted((row["total"], row["nlpd"]) for key, row in found.items() if key[:2] == (name, contender))
            if curve:
                ax.plot(*zip(*curve, strict=True), "o-", color=colour, label=contender, markersize=4, linewidth=1.2)
        raw = [row["total"] for key, row in found.items() if key[:2] == (name, "interpolation")]
        if raw:
            ax.axvline(raw[0], color=INK, linewidth=0.6, linestyle=":")
            above = {"transform": ax.get_xaxis_transform(), "rotation": 90, "ha": "right", "va": "top"}
            ax.text(raw[0], 0.98, "all raw values", fontsize=SMALL, color=INK, **above)
        ax.set_xscale("log")
        ax.set_xticks([tick for tick in TICKS if ax.get_xlim()[0] <= tick <= ax.get_xlim()[1]])
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(TITLES.get(name, name), fontsize=LABEL, color=INK, loc="left")
        ax.set_xlabel("numbers kept per location", fontsize=SMALL, color=INK)
        if number % COLUMNS == 1:
            ax.set_ylabel("NLPD after the last task", fontsize=SMALL, color=INK)
    handles = {
        label: handle for ax in figure.axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    position = (
        {"loc": "lower right", "bbox_to_anchor": (0.99, 0.12)}
        if len(names) % COLUMNS == 2
        else {"loc": "outside lower center", "ncols": 3}
    )
    figure.legend(handles.values(), handles.keys(), frameon=False, fontsize=LABEL, **position)
    save_png(render(figure), path)
