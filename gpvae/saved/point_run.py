"""A saved run of a streaming Gaussian process."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import xarray as xr
from lightning.pytorch.utilities import rank_zero_info
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor
from torch.distributions import Normal

from callbacks.figures.interval import quantile
from callbacks.figures.predicted import predicted_points_figure
from callbacks.predictions.summary import QUANTILES
from datamodules import PointStream, TaskStream
from datamodules.point_scale import PointScale
from datamodules.splits import Task
from gpvae.modules import StreamingGP
from gpvae.saved.run import DPI, SavedRun, counted
from gpvae.utils import checks

#: Grid points of a figure.
NUM_POINTS = 500


class SavedPointRun(SavedRun[StreamingGP]):
    """A run of `StreamingGP` on points; `gpvae.load` makes one.

    Attributes:
        scale: The scale on which the points were learnt; None if their stream keeps that to itself.
        ranges: The smallest and largest training input of each task, as measured `[tasks, 2, D]`.
    """

    def __init__(
        self,
        folder: Path,
        module: StreamingGP,
        checkpoint: Path,
        description: dict[str, Any],
        allow: Sequence[str] = (),
    ) -> None:
        super().__init__(folder, module, checkpoint, allow)
        self._name = description["name"]
        self.scale = None if description["scale"] is None else PointScale(**description["scale"])
        self.ranges: Tensor = description["ranges"]

    def predict(
        self, x: ArrayLike | Tensor, *, quantiles: Sequence[float] = QUANTILES, num_samples: int = 0
    ) -> xr.Dataset:
        """Predict targets in the units of the data.

        Args:
            x: Inputs in the units of the data, `[N]` or `[N, D]`.
            quantiles: Probabilities of the quantiles.
            num_samples: The number of samples to add, drawn jointly over all inputs and the same at each call.

        Returns:
            `mean`, `stddev`, `quantiles` and perhaps `samples` of the target, over `x` if there is one input, else over
            `point`, with a coordinate for each input.

        Raises:
            ValueError: The stream of the run has a scale of its own, so that units are not known.
        """
        levels = list(map(float, quantiles))
        if not all(0 < level < 1 for level in levels):
            raise ValueError(f"quantiles are {levels}: each must be between 0 and 1, such as 0.05")
        points = checks.inputs(np.asarray(x) if hasattr(x, "values") else x, self._as_measured)
        scale = self._known_scale()
        inputs = scale.inputs(points).to(self.module.device)
        with self._evaluating():
            y = self.module.predict(inputs)
            below = torch.stack([quantile(y, level).cpu() for level in levels]) if levels else y.mean.new_zeros(0)
            samples = self._sample(inputs, num_samples) if num_samples else None
        dim = "x" if points.shape[1] == 1 else "point"
        names = ["x"] if points.shape[1] == 1 else [f"x{number}" for number in range(1, points.shape[1] + 1)]
        parts = {
            "mean": ((dim,), scale.measured(y.mean.cpu())),
            "stddev": ((dim,), y.stddev.cpu() * scale.deviation),
            "quantiles": (("quantile", dim), scale.measured(below)),
            **({} if samples is None else {"samples": (("sample", dim), scale.measured(samples))}),
        }
        coords = {name: (dim, points[:, number].numpy()) for number, name in enumerate(names)}
        attrs = {"source": f"{type(self.module).__name__} after {counted(self.num_tasks, 'task')} of {self._name}"}
        return xr.Dataset(
            {name: (dims, values.numpy()) for name, (dims, values) in parts.items()},
            {**coords, "quantile": levels},
            attrs,
        )

    def update(self, x: ArrayLike | Tensor, y: ArrayLike | Tensor) -> Self:
        """Learn new points as one more task, with the options of the run; none of them are held out.

        Earlier tasks are scored again if their data are still there. The run folder stays as it is until `save`; on any
        error the run stays as it was.

        Args:
            x: Inputs in the units of the data, `[N]` or `[N, D]`.
            y: Targets in the units of the data, `[N]`.

        Returns:
            The run itself.

        Raises:
            ValueError: Points are missing, not finite, or do not suit the likelihood.
        """
        points = checks.inputs(np.asarray(x) if hasattr(x, "values") else x, self._as_measured)
        targets = checks.targets(np.asarray(y) if hasattr(y, "values") else y, points, torch.Size())
        scale, learnt = self._known_scale(), self.num_tasks
        self.module.check_task(scale.inputs(points), scale.targets(targets))
        ranges = self.ranges[:learnt]

        def change_stream(stream: TaskStream) -> None:
            assert isinstance(stream, PointStream)
            try:
                stream.prepare_data()
                stream.setup()
            except (OSError, ValueError) as error:
                rank_zero_info(f"Earlier tasks are not scored again, because their data cannot be read: {error}")
            stream.scale = scale
            stream.go_on(Task(points, targets, points[:0], targets[:0]), learnt, ranges)

        self.ranges = self._learn(change_stream).describe()["ranges"]
        rank_zero_info(f"1 new task of {counted(len(points), 'point')} learnt, {self.num_tasks} in all.")
        return self

    def _sample(self, x: Tensor, num_samples: int) -> Tensor:
        """Samples of y on the scale of the model, joint over inputs `[num_samples, N]`."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            f = self.module.gp.sample(x, num_samples)
            likelihood = self.module.gp.likelihood
            y = Normal(f, likelihood.noise.sqrt()) if hasattr(likelihood, "noise") else likelihood(f)
            return y.sample().cpu()

    @property
    def _as_measured(self) -> Tensor:
        return torch.zeros((), dtype=torch.float64)

    def _known_scale(self) -> PointScale:
        if self.scale is None:
            raise ValueError(
                f"{self._name} scales its points in its own way, so their units are not known: use "
                "run.module.predict(x) with inputs on the scale of the model"
            )
        return self.scale

    def plot(
        self,
        x: ArrayLike | Tensor | None = None,
        *,
        observed: tuple[ArrayLike, ArrayLike] | None = None,
        dpi: int = DPI,
    ) -> Figure:
        """Draw mean and 90 % interval over one input, by default over all that was learnt.

        Args:
            x: See `predict`.
            observed: Inputs and targets to draw beside them.
            dpi: Pixels per inch.
        """
        if self.ranges.shape[-1] != 1:
            raise ValueError(f"the run has {self.ranges.shape[-1]} inputs: predictions over one input can be drawn")
        if x is None:
            learnt = self.ranges[: self.num_tasks]
            x = torch.linspace(float(learnt[:, 0].min()), float(learnt[:, 1].max()), NUM_POINTS, dtype=torch.float64)
        predicted = self.predict(x, quantiles=(0.05, 0.95)).sortby("x")
        return predicted_points_figure(
            predicted, observed, f"After {counted(self.num_tasks, 'task')} of {self._name}", dpi
        )

    def _describe_data(self) -> str:
        learnt = self.ranges[: self.num_tasks]
        if not len(learnt):
            return self._name
        low, high = learnt[:, 0].amin(0).tolist(), learnt[:, 1].amax(0).tolist()
        spans = [f"{begin:g} to {end:g}" for begin, end in zip(low, high, strict=True)]
        return f"{self._name}, inputs from {', '.join(spans[:3])}" + (", ..." if len(spans) > 3 else "")
