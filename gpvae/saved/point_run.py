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

from callbacks.figures.predicted import predicted_points_figure
from callbacks.predictions.summary import QUANTILES
from datamodules import PointStream, TaskStream
from datamodules.point_scale import PointScale
from datamodules.splits import Task
from gpvae.modules import StreamingGP
from gpvae.saved.run import DPI, SavedRun, counted
from gpvae.saved.selection import find_times
from gpvae.saved.updating import Accepted
from gpvae.utils import checks
from gpvae.utils.quantiles import quantile

EPOCH = np.datetime64(0, "ns")
#: Grid points of a figure.
NUM_POINTS = 500


class SavedPointRun(SavedRun[StreamingGP]):
    """A run of `StreamingGP` on points; `gpvae.load` makes one.

    Attributes:
        scale: The scale on which the points were learnt; None if their stream keeps that to itself.
        description: What is known of the stream: its name, scale and range, and of a table its columns.
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
        self.description = description
        self.scale = None if description["scale"] is None else PointScale(**description["scale"])

    @property
    def ranges(self) -> Tensor:
        """The smallest and largest training input of each task that was learnt, as measured `[tasks, 2, D]`."""
        return self.description["ranges"][: self.num_tasks]

    @property
    def _name(self) -> str:
        return self.description["name"]

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs."""
        dims = self.description["ranges"].shape[-1]
        return self.description.get("inputs") or (["x"] if dims == 1 else [f"x{dim}" for dim in range(1, dims + 1)])

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
        points, scale = self._points(x), self._known_scale()
        inputs = scale.inputs(points).to(self.module.device)
        with self._evaluating():
            y = self.module.predict(inputs)
            below = torch.stack([quantile(y, level).cpu() for level in levels]) if levels else y.mean.new_zeros(0)
            samples = self._sample(inputs, num_samples) if num_samples else None
        dim = self.inputs[0] if points.shape[1] == 1 else "point"
        parts = {
            "mean": ((dim,), scale.measured(y.mean.cpu())),
            "stddev": ((dim,), y.stddev.cpu() * scale.deviation),
            "quantiles": (("quantile", dim), scale.measured(below)),
            **({} if samples is None else {"samples": (("sample", dim), scale.measured(samples))}),
        }
        coords = {name: (dim, self._as_given(points, number)) for number, name in enumerate(self.inputs)}
        attrs = {"source": f"{type(self.module).__name__} after {counted(self.num_tasks, 'task')} of {self._name}"}
        return xr.Dataset(
            {name: (dims, values.numpy()) for name, (dims, values) in parts.items()},
            {**coords, "quantile": levels},
            attrs,
        )

    def update(self, x: ArrayLike | Tensor, y: ArrayLike | Tensor, *, accept: Accepted | None = None) -> Self:
        """Learn new points as one more task, with the options of the run; none of them are held out.

        Points of a table over time must come after all that was learnt, since the run cannot know them again.
        Earlier tasks are scored again if their data are still there. The run folder stays as it is until `save`; on any
        error the run stays as it was.

        Args:
            x: Inputs in the units of the data, `[N]` or `[N, D]`.
            y: Targets in the units of the data, `[N]`.
            accept: `"changed"` continues although data of learnt tasks have changed since, except for the first task;
                what was learnt stays, and `config_history.yaml` records the change.

        Returns:
            The run itself.

        Raises:
            ValueError: Points are missing, not finite, not new or unlike the likelihood, or learnt data have changed.
        """
        points, scale, learnt = self._points(x), self._known_scale(), self.num_tasks
        self._check_new(points)
        targets = checks.targets(np.asarray(y) if hasattr(y, "values") else y, points, torch.Size())
        self.module.check_task(scale.inputs(points), scale.targets(targets))
        task = Task(points, targets, points[:0], targets[:0])

        def change_stream(stream: TaskStream) -> None:
            assert isinstance(stream, PointStream)
            try:
                stream.prepare_data()
                stream.setup()
            except (OSError, ValueError) as error:
                rank_zero_info(f"Earlier tasks are not scored again, because their data cannot be read: {error}")
            stream.go_on(task, learnt, self.description)

        self.description = self._learn(change_stream, accept).describe()
        rank_zero_info(f"1 new task of {counted(len(points), 'point')} learnt, {self.num_tasks} in all.")
        return self

    def _check_new(self, points: Tensor) -> None:
        """Refuse times up to the last one learnt, unless tasks were not in the order of time anyway."""
        low, high = self.ranges[:, 0], self.ranges[:, 1]
        if self.description.get("times") != [True] or not self.num_tasks or bool((low[1:] <= high[:-1]).any()):
            return
        if num_old := int((points <= high[-1]).sum()):
            end = np.datetime_as_string(self._as_given(high[-1:], 0), unit="s")[0]
            raise ValueError(
                f"{num_old} of {counted(len(points), 'point')} are not after {end}, the last time that was learnt: "
                "points learnt again would count twice. Give later points only"
            )

    def _sample(self, x: Tensor, num_samples: int) -> Tensor:
        """Samples of y on the scale of the model, joint over inputs `[num_samples, N]`."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return self.module.gp.sample_targets(x, num_samples).cpu()

    def _points(self, x: Any) -> Tensor:  # noqa: ANN401
        """Inputs as numbers `[N, D]`; times of a table become hours since 1970, as when it was read."""
        if self.description.get("times") == [True]:
            x = (find_times(x) - EPOCH) / np.timedelta64(1, "h")
        return checks.inputs(np.asarray(x) if hasattr(x, "values") else x, torch.zeros((), dtype=torch.float64))

    def _as_given(self, points: Tensor, number: int) -> np.ndarray:
        """One of the inputs, as times if they are."""
        values = points[:, number].numpy()
        if not self.description.get("times", [False] * points.shape[1])[number]:
            return values
        return EPOCH + (3_600_000 * values).round().astype("timedelta64[ms]")

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
            observed: Inputs and targets to draw as well.
            dpi: Pixels per inch.
        """
        if self.ranges.shape[-1] != 1:
            raise ValueError(f"the run has {self.ranges.shape[-1]} inputs: predictions over one input can be drawn")
        if x is None:
            low, high = float(self.ranges[:, 0].min()), float(self.ranges[:, 1].max())
            grid = torch.linspace(low, high, NUM_POINTS, dtype=torch.float64)[:, None]
            x = self._as_given(grid, 0)
        predicted = self.predict(x, quantiles=(0.05, 0.95)).sortby(self.inputs[0])
        title, target = f"After {counted(self.num_tasks, 'task')} of {self._name}", self.description.get("target", "y")
        return predicted_points_figure(predicted, observed, title, dpi, target=target)

    def _describe_data(self) -> str:
        if not self.num_tasks:
            return self._name
        ends = torch.stack([self.ranges[:, 0].amin(0), self.ranges[:, 1].amax(0)])
        spans = [f"{name} from {_shown(self._as_given(ends, n))}" for n, name in enumerate(self.inputs)]
        return f"{self._name}, {', '.join(spans[:3])}" + (", ..." if len(spans) > 3 else "")


def _shown(ends: np.ndarray) -> str:
    if ends.dtype.kind == "M":
        return " to ".join(np.datetime_as_string(ends, unit="m"))
    return f"{ends[0]:g} to {ends[1]:g}"
