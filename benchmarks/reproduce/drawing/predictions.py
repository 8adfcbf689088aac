"""What methods predict on Solar after all ten tasks, as in figure 3."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from benchmarks.reproduce.drawing.styles import SERIES

#: Whose predictions are shown, of the first seed with the smallest M.
SHOWN = ("ohsgpr", "ovc", "osgpr")
SIZE = 50


def predictions(runs: Path) -> Figure | None:
    """The pictures that the runs have drawn.

    Args:
        runs: Folder of runs.
    """
    drawn = {name: runs / f"solar_{name}_M{SIZE}" / "seed_1" / "figures" / "stream_10.png" for name in SHOWN}
    found = {SERIES[name].label: plt.imread(path) for name, path in drawn.items() if path.is_file()}
    if not found:
        return None
    figure = Figure(figsize=(7.5, 3 * len(found)), layout="constrained")
    for ax, (label, image) in zip(figure.subplots(len(found), squeeze=False)[:, 0], found.items(), strict=True):
        ax.imshow(image, interpolation="antialiased")
        ax.set_title(f"{label}, M = {SIZE}", loc="left")
        ax.axis("off")
    return figure
