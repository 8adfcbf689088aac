"""How a Gaussian process over a stream presents itself: `repr`, a table of predictions, a plot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from gpvae.predictive_gp import Arrays, PredictiveGP
from gpvae.utils import checks, function_plot, labelled
from gpvae.utils.describe import describe

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class PresentedGP(PredictiveGP):
    """Predictions of an `OnlineGP` as tables and pictures."""

    @torch.no_grad()
    def predict_table(self, x: Arrays, quantiles: Sequence[float] = (0.05, 0.95)) -> "DataFrame":
        """Predictions as a pandas table: mean, standard deviation and quantiles, labelled like the inputs.

        Args:
            x: Inputs `[N]` or `[N, D]`: an index, series, table or coordinate of pandas or xarray, or numbers.
            quantiles: Probabilities.
        """
        return labelled.table(x, self.predict(x), quantiles, by_column=self.outputs.shared)

    @torch.no_grad()
    def plot(
        self, x: Arrays | None = None, *, num_points: int = 500, observed: tuple[Arrays, Arrays] | None = None
    ) -> "Figure":
        """Draw the predictive mean and the central 95 % of the predictive distribution over one input.

        Args:
            x: Inputs `[N]`, in order; from the first input learnt to the last if not given.
            num_points: Number of inputs, if they are not given.
            observed: Inputs and targets, shaped as for `update`, to draw as dots where they are in the range of `x`.
        """
        x = self.inputs.grid(num_points) if x is None else x
        if self._checked_inputs(x).shape[-1] != 1:
            raise ValueError("only functions of one input are drawn; predict(x) has the values of others")
        at = np.asarray(x.detach().cpu() if isinstance(x, torch.Tensor) else x).reshape(-1)
        dots = None if observed is None else self._dots(at, *observed)
        return function_plot.draw(at, self.predict(x), repr(self), by_column=self.outputs.shared, observed=dots)

    def _dots(self, at: np.ndarray, x: Arrays, y: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Observations within the range that is drawn: inputs `[N]` on the axis of the figure, targets `[K, N]`."""
        checked = self._checked_inputs(x)
        targets = checks.targets(y, checked, self.outputs.shape, missing=True, columns=self.outputs.shared)
        shown = self._checked_inputs(at)
        inside = ((checked >= shown.min()) & (checked <= shown.max()))[:, 0]
        numbers = checked[inside, 0].cpu().numpy()
        where = self.inputs.times(numbers) if self.inputs.are_times else numbers
        return where, targets.reshape(-1, len(checked))[:, inside].cpu().numpy()

    @property
    def _families(self) -> str:
        """The families of inducing variables, for `repr`."""
        titles = [posterior.inducing.title for posterior in self.posteriors]
        return titles[0] if len(titles) == 1 else f"[{', '.join(titles)}]"

    def __repr__(self) -> str:
        """Family, kernel, noise, mean and number of points."""
        parts = [self._families, describe(self.kernel), describe(self.likelihood)]
        if self.mean.can_be_fitted:
            parts.append("mean not fitted yet" if self.mean.awaits_data else describe(self.mean.mean))
        if self.outputs.shared:
            parts.append(f"{self.num_outputs} outputs")
        return f"{type(self).__name__}({', '.join(parts)}; {int(self.inputs.num_points):,} points learnt)"
