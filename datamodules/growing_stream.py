"""Streams of points that keep arriving: learnt tasks stay as they are when points are added."""

import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from datamodules.point_scale import PointScale
from datamodules.point_stream import PointStream
from datamodules.splits import Task, checked_keys, hold_out, task_ends
from datamodules.stream import ChangedTask, check_minimum


class GrowingStream(PointStream):
    """Points that keep arriving, divided into tasks by their number or by an extent of the input.

    Tasks, held-out points and scale do not depend on later points. When points have been added, a repeated run learns
    the new tasks and ends exactly as one run over all points would. Points after the last whole task wait until there
    are enough of them. The training points of the first task set the scale: they span [0, 1] in every dimension of the
    input, and their targets have mean 0 and variance 1.

    Args:
        points_per_task: The number of points in each task, including those held out for test.
        extent_per_task: The extent of each task along the key that points are sorted by (by default the first
            dimension of the input), instead of a number of points. A task is whole once there is a point after it; one
            with fewer than two points is joined to the next.
        num_tasks: The number of tasks; as many whole tasks as there are points for if not given.
        test_share: The fraction of the points of each task that is held out for test.
        standardise: Whether to scale the targets; false for counts and labels.
        options: See `PointStream`.
    """

    resumable = PointStream.resumable | {"num_tasks"}
    likelihood = "gaussian"

    def __init__(
        self,
        points_per_task: int = 100,
        extent_per_task: float | None = None,
        *,
        num_tasks: int | None = None,
        test_share: float = 0.1,
        standardise: bool = True,
        **options: Any,
    ) -> None:
        # The number of tasks may be None until the data are set up.
        super().__init__(num_tasks=num_tasks, num_test=test_share, **options)  # type: ignore[arg-type]
        check_minimum(points_per_task=(points_per_task, 2))
        if extent_per_task is not None and not 0 < extent_per_task < float("inf"):
            raise ValueError(f"extent_per_task is {extent_per_task}: it must be a length above 0.")
        if not 0 < test_share < 1:
            raise ValueError(f"test_share is {test_share}: it must be between 0 and 1, such as 0.1.")
        self.points_per_task, self.extent_per_task = points_per_task, extent_per_task
        self.test_share, self.standardise = test_share, standardise
        self._measured: list[Task] = []
        self._digests: list[str] = []

    @abstractmethod
    def read(self) -> tuple[Tensor, Tensor]:
        """All points that there are by now, as measured: x `[N, D]` and y `[N]` in double precision."""

    def split(self, x: Tensor, y: Tensor) -> list[Task]:
        """The whole tasks, as measured."""
        keys = checked_keys(x, y, self.order)
        points = torch.argsort(keys, stable=True)
        ends = self._choose_ends(task_ends(keys[points], self.points_per_task, self.extent_per_task), len(points))
        parts = [points[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        tasks = []
        for number, part in enumerate(parts):
            held_out = torch.from_numpy(hold_out(len(part), self.test_share, self.seed, number))
            train, test = part[~held_out], part[held_out]
            tasks.append(Task(x[train], y[train], x[test], y[test]))
        self._measured = tasks
        self._digests = [_digest(x[part], y[part]) for part in parts]
        return tasks

    def _choose_ends(self, ends: list[int], num_points: int) -> list[int]:
        """The ends of the tasks to make, which are all whole tasks unless their number is given."""
        size = f"{self.points_per_task} points" if self.extent_per_task is None else f"extent {self.extent_per_task:g}"
        if len(ends) < (self._num_tasks or 1):
            wanted = "less than a whole task" if self._num_tasks is None else f"{len(ends)} of {self._num_tasks} tasks"
            raise ValueError(
                f"The {num_points} points make {wanted} of {size}: lower the size of a task, or add points. A run that "
                "continues needs the points it has learnt as well as the new ones."
            )
        if self._num_tasks is not None:
            ends = ends[: self._num_tasks]
        self._num_tasks = len(ends)
        if waiting := num_points - ends[-1]:
            reason = "wait for more" if self.hparams["num_tasks"] is None else "come after them and are not used"
            rank_zero_info(
                f"The data make {len(ends)} whole task(s) of {size}; the last {waiting} of {num_points} points "
                f"{reason}."
            )
        return ends

    def scaled(self, tasks: list[Task], x: Tensor, y: Tensor) -> list[Task]:
        """The tasks on the scale of the model, which the training points of the first task set."""
        first = tasks[0]
        constant = [name for name, values in (("input", first.x_train), ("target", first.y_train)) if _equal(values)]
        if constant and (self.standardise or "input" in constant):
            raise ValueError(
                f"All {len(first.x_train)} training points of the first task have the same {constant[0]}, which sets "
                "no scale: make tasks larger" + (", or set standardise to false." if self.standardise else ".")
            )
        self.scale = PointScale.fit(first.x_train, first.y_train, 0.0, 1.0, standardises=self.standardise)
        return [task.scaled(self.scale) for task in tasks]

    def to_physical(self, prediction: dict[str, Tensor], task: int) -> dict[str, Tensor]:
        """Predictions of test points in the units of the data; inputs and targets are exactly those of the data."""
        assert self.scale is not None
        measured, index = self._measured[task], prediction["index"].cpu()
        mean, stddev = (prediction[name].cpu() for name in ("mean", "stddev"))
        return {
            "x": measured.x_test[index],
            "y": measured.y_test[index],
            "mean": self.scale.measured(mean),
            "stddev": stddev * self.scale.deviation,
        }

    def describe(self) -> dict[str, Any]:
        """Also the identity of the points of each task."""
        known = super().describe()
        return {**known, "digests": self._digests} if known else {}

    def go_on(self, task: Task, num_learnt: int, known: dict[str, Any]) -> None:
        """Go on with a new task, see `PointStream`; it has no digest, so that rows of files never count as the same."""
        super().go_on(task, num_learnt, known)
        self._digests = [*known["digests"][:num_learnt], ""]

    def identity(self) -> dict[str, Any]:
        """A digest of the points of each task, as measured; empty until `setup`."""
        return {"points of task": self._digests} if self._digests else {}

    def changed_tasks(self, before: Mapping[str, Any], num_tasks: int) -> list[ChangedTask]:
        """The tasks whose points have changed since they were learnt."""
        pairs = zip(before.get("points of task", [])[:num_tasks], self._digests, strict=False)
        return [ChangedTask(n, f"points of task {n}") for n, (old, new) in enumerate(pairs, start=1) if old != new]


def _equal(values: Tensor) -> bool:
    return bool((values == values[0]).all())


def _digest(*values: Tensor) -> str:
    digest = hashlib.sha256()
    for part in values:
        digest.update(part.double().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]
