"""The time of every update over a stream, beside gpytorch's `get_fantasy_model`, and what is remembered at the end.

`--figure FILE` draws both: milliseconds of an update against the points seen so far, and the whole stream as `OnlineGP`
predicts it after the last update, when it has kept no point.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from rich.progress import track
from torch import Tensor

from benchmarks.contenders import EXACT, GROWING, OURS, Contender, contenders, given_kernel
from benchmarks.report import console, parser, save, table
from benchmarks.streams import expected_warnings
from benchmarks.timing import Timing
from gpvae.plotting.canvas import BLUE, DARK_ORANGE, GREY, INK, LABEL, SMALL, TITLE, render, save_png, style_axes

NUM_INDUCING, POINTS, NOISE = 100, 20, 0.1
#: Length of the stream in lengthscales.
EXTENT = 40.0
LABELS = {
    OURS[1]: "gpvae: OnlineGP, 100 cosines",
    GROWING: "gpytorch: get_fantasy_model",
    EXACT: "gpytorch: exact GP, all data",
}
COLOURS = {OURS[1]: BLUE, GROWING: DARK_ORANGE, EXACT: GREY}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--updates", type=int, default=200, help=f"updates of {POINTS} points")
    options.add_argument("--figure", type=Path, help="file for the figure")
    args = options.parse_args()
    num_updates = 20 if args.quick else args.updates
    torch.set_num_threads(1)
    batches = list(stream(num_updates))
    models = {name: contenders()[name](NUM_INDUCING, given_kernel(noise=NOISE**2)) for name in LABELS}
    seconds: dict[str, list[float]] = {name: [] for name in LABELS}
    with expected_warnings():
        for batch in track(batches, "Updating", console=console, transient=True):
            for name, model in models.items():
                timing = Timing()
                timing.time(lambda model=model, batch=batch: answer(model, *batch))  # type: ignore[misc]
                seconds[name].append(timing.median)
    early, late = slice(1, 1 + num_updates // 10), slice(-num_updates // 10, None)
    rows = [[LABELS[name], *(1e3 * float(np.median(s[part])) for part in (early, late))] for name, s in seconds.items()]
    table(
        f"CPU ms of an update with {POINTS} points and one prediction: first and last tenth of {num_updates}",
        ["", "first", "last"],
        [*rows],
    )
    x = torch.cat([x for x, _ in batches])
    with torch.no_grad(), expected_warnings():
        y = models[OURS[1]].predict(x)
        exact = models[EXACT].predict(x)
    gap = float((y.mean - exact.mean).abs().max())
    console.print(f"After the last update the means of OnlineGP and of the exact GP differ by {gap:.1g} at most.")
    if args.figure:
        save_png(render(draw(seconds, batches, y.mean, y.stddev)), args.figure)
    results: dict[str, Any] = {"seconds": seconds, "gap": gap, "updates": num_updates}
    growth = {f"{label}: last over first": last / first for label, first, last in rows}  # type: ignore[operator]
    save("update_cost", results, args.output, growth)


def stream(num_updates: int) -> list[tuple[Tensor, Tensor]]:
    """Batches of a noisy signal of two frequencies, in order of time."""
    rng = torch.Generator().manual_seed(0)
    x = torch.linspace(0, EXTENT, num_updates * POINTS, dtype=torch.float64)
    f = torch.sin(x) + 0.5 * torch.sin(0.37 * x + 1)
    y = f + NOISE * torch.randn(len(x), dtype=torch.float64, generator=rng)
    return list(zip(x[:, None].split(POINTS), y.split(POINTS), strict=True))


def answer(model: Contender, x: Tensor, y: Tensor) -> None:
    """Update, and predict once: some of gpytorch's models put their work off until then."""
    model.update(x, y)
    with torch.no_grad():
        model.predict(x[:1])


def draw(
    seconds: dict[str, list[float]], batches: list[tuple[Tensor, Tensor]], mean: Tensor, deviation: Tensor
) -> Figure:
    """Two panels: the cost of updates, and the predictions after the last one."""
    figure = Figure(figsize=(10, 3.4), dpi=150, facecolor="white", layout="constrained")
    cost, memory = figure.subplots(1, 2)
    for ax in (cost, memory):
        style_axes(ax)
    seen = POINTS * np.arange(1, 1 + len(batches))
    for name, values in seconds.items():
        smooth = [1e3 * float(np.median(values[max(0, i - 2) : i + 3])) for i in range(len(values))]
        cost.plot(seen, smooth, color=COLOURS[name], linewidth=1.8, label=LABELS[name])
    cost.set_yscale("log")
    cost.set_xlabel("points seen", fontsize=LABEL, color=INK)
    cost.set_title("CPU milliseconds of an update and a prediction", fontsize=TITLE, color=INK, loc="left")
    cost.legend(frameon=False, fontsize=SMALL)
    x, y = (torch.cat(part).squeeze(-1).numpy() for part in zip(*batches, strict=True))
    memory.scatter(x[::8], y[::8], s=2, color=GREY, label="data, none of them kept")
    memory.plot(x, mean, color=BLUE, linewidth=1.2, label="OnlineGP after the last update, ± 2 sd")
    memory.fill_between(x, mean - 2 * deviation, mean + 2 * deviation, color=BLUE, alpha=0.2, linewidth=0)
    memory.set_xlabel("time", fontsize=LABEL, color=INK)
    memory.set_ylim(-2.2, 3)
    memory.set_title("What is remembered at the end of the stream", fontsize=TITLE, color=INK, loc="left")
    memory.legend(frameon=False, fontsize=SMALL, loc="upper right", ncols=2)
    return figure


if __name__ == "__main__":
    main()
