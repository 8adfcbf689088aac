"""A picture of predictions over one input."""

from typing import TYPE_CHECKING

import numpy as np
from torch.distributions import Distribution

from gpvae.utils.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    x: np.ndarray,
    predicted: Distribution,
    title: str,
    *,
    by_column: bool = False,
    observed: tuple[np.ndarray, np.ndarray] | None = None,
) -> "Figure":
    """Draw means and the central 95 % of predictive marginals.

    Args:
        x: Inputs `[N]`, in order.
        predicted: Marginals `[*L, N]`.
        title: The title.
        by_column: Whether the outputs are `[N, K]` instead.
        observed: Inputs `[M]` and targets `[K, M]` to draw as dots.
    """
    require("matplotlib", "report", "plot draws a figure", ImportError)
    from matplotlib.figure import Figure

    values = (predicted.mean, 1.96 * predicted.variance.sqrt())
    mean, spread = ((v.mT if by_column else v).reshape(-1, len(x)).cpu().numpy() for v in values)
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    for i, (centre, half) in enumerate(zip(mean, spread, strict=True)):
        axes.fill_between(x, centre - half, centre + half, alpha=0.25, color=f"C{i}", linewidth=0)
        axes.plot(x, centre, color=f"C{i}")
    if observed is not None:
        at, targets = observed
        for i, values in enumerate(targets):
            axes.plot(at, values, ".", color="black" if len(targets) == 1 else f"C{i}", markersize=2)
    axes.set_title(title, fontsize="small", loc="left", wrap=True)
    return figure
