"""Streams of points held in memory: inputs and targets, split into tasks, and into training and test points."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import torch
from torch import Tensor

from datamodules.loader import TaskLoader
from datamodules.point_scale import PointScale
from datamodules.splits import Task, first_dimension, split_tasks
from datamodules.stream import TaskStream, check_minimum

EVALUATION_BATCH = 8192  # points: large enough to be fast, small enough for the memory of a laptop


class PointStream(TaskStream):
    """Inputs and targets, sorted and divided into tasks of equal size.

    Args:
        num_tasks: The number of tasks of equal size that the training points are divided into.
        num_test: The number of test points (int), or their fraction of all points (float below 1).
        seed: Fixes which points are test points, and the order of minibatches.
        batch_size: Points in a minibatch on each device; the whole task at every step if not given.
        steps_per_epoch: Minibatches in an epoch, from as many passes over the task as needed; one pass if not given.
        epochs_per_task: Epochs each task is learnt for.
        stop_after: The number of tasks to learn, from the first; all if not given.
    """

    input_dim: int
    """D, the dimension of an input."""
    likelihood: ClassVar[str]
    """The likelihood of the targets: "gaussian", "bernoulli" or "negative_binomial"."""
    changeable = TaskStream.changeable | {"batch_size", "steps_per_epoch"}

    def __init__(
        self,
        num_tasks: int = 10,
        num_test: int | float = 0.1,
        *,
        seed: int = 0,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        epochs_per_task: int = 1,
        stop_after: int | None = None,
    ) -> None:
        super().__init__(num_tasks, seed=seed, epochs_per_task=epochs_per_task, stop_after=stop_after)
        check_minimum(batch_size=(batch_size, 1), steps_per_epoch=(steps_per_epoch, 1))
        self.num_test, self.batch_size, self.steps_per_epoch = num_test, batch_size, steps_per_epoch
        self.tasks: list[Task] = []
        self.scale: PointScale | None = None

    @abstractmethod
    def read(self) -> tuple[Tensor, Tensor]:
        """The points as they were measured: x `[N, D]` and y `[N]` in double precision."""

    def order(self, x: Tensor) -> Tensor:
        """The key that points are sorted by `[N]`: here the first dimension of the input.

        Args:
            x: All inputs, as returned by `read` `[N, D]`.
        """
        return first_dimension(x)

    def scaled(self, tasks: list[Task], x: Tensor, y: Tensor) -> list[Task]:
        """The tasks on the scale of the model: here unchanged. What is changed is kept as `scale`.

        Args:
            tasks: The tasks, as measured.
            x: All inputs, as measured `[N, D]`.
            y: All targets, as measured `[N]`.
        """
        self.scale = PointScale.identity(self.input_dim)
        return tasks

    def setup(self, stage: str | None = None) -> None:
        """Read the points and split them into tasks, once.

        Args:
            stage: The stage of the trainer; the tasks do not depend on it.
        """
        if self.tasks:
            return
        x, y = self.read()
        tasks = self.split(x, y)
        self.tasks = self.scaled(tasks, x, y)
        self._ranges = torch.stack([torch.stack(torch.aminmax(task.x_train, dim=0)) for task in tasks])

    def split(self, x: Tensor, y: Tensor) -> list[Task]:
        """The tasks, as measured.

        Args:
            x: All inputs, as measured `[N, D]`.
            y: All targets, as measured `[N]`.
        """
        tasks = split_tasks(x, y, self.num_tasks, self.num_test, self.seed, key=self.order)
        untested = [number for number, task in enumerate(tasks, start=1) if len(task.x_test) == 0]
        if untested:
            raise ValueError(
                f"Of the tasks 1 to {self.num_tasks}, these have no test points: {untested}. Raise num_test (now "
                f"{self.num_test}), lower num_tasks, or try another seed (now {self.seed})."
            )
        return tasks

    @property
    def input_names(self) -> list[str]:
        """The names of the dimensions of an input, for tables."""
        return [f"x{dimension}" for dimension in range(1, self.input_dim + 1)]

    @property
    def target_name(self) -> str:
        """The name of the target, for tables."""
        return "y"

    def to_physical(self, prediction: dict[str, Tensor], task: int) -> dict[str, Tensor]:
        """Predictions of test points in the units of the data: here unchanged.

        Args:
            prediction: Inputs `x` `[N, D]`, targets `y`, `mean` and `stddev` of their predictions, and which test
                points of the task they are, `index` `[N]`.
            task: The task, from 0.
        """
        return prediction

    def input_values(self, x: Tensor) -> list[list[Any]]:
        """Inputs as they are written to tables, a row for each.

        Args:
            x: Inputs in the units of the data `[N, D]`.
        """
        return x.tolist()

    def describe(self) -> dict[str, Any]:
        """The scale, unless `scaled` keeps it to itself, and the range of inputs of each task; empty until `setup`."""
        if not self.tasks:
            return {}
        scale = None if self.scale is None else self.scale.to_plain()
        return {"name": type(self).__name__, "scale": scale, "ranges": self._ranges}

    def go_on(self, task: Task, num_learnt: int, known: dict[str, Any]) -> None:
        """Go on with a new task after those that were learnt, of which some may not be here.

        Args:
            task: The new task, as measured.
            num_learnt: The number of tasks that were learnt.
            known: What `describe` said when they had been learnt, with a scale.
        """
        self.scale = PointScale(**known["scale"])
        new, here = task.scaled(self.scale), self.tasks[:num_learnt]
        # Lightning asks for the loader of the last task learnt, but does not train on it.
        absent = Task(new.x_train, new.y_train, new.x_test[:0], new.y_test[:0])
        self.tasks = [*here, *[absent] * (num_learnt - len(here)), new]
        self._num_tasks, self.stop_after = len(self.tasks), None
        self.scores_all_tasks = len(here) == num_learnt
        self._ranges = torch.cat([known["ranges"][:num_learnt], torch.stack(torch.aminmax(task.x_train, dim=0))[None]])

    @property
    def num_batches(self) -> int:
        """The minimum number of batches in an epoch."""
        return self.steps_per_epoch or 1

    def task_data(self, task: int) -> tuple[Tensor, Tensor]:
        """All training points of a task: x `[N, D]` and y `[N]`.

        Args:
            task: The task, from 0.
        """
        tasks = self._checked_tasks()
        if not 0 <= task < len(tasks):
            raise ValueError(f"There is no task {task}: tasks are numbered from 0 to {len(tasks) - 1}.")
        return tasks[task].x_train, tasks[task].y_train

    def train_loader(self, task: int, epoch: int, rank: int, world_size: int) -> TaskLoader:
        """Batches of the training points of a task, see `TaskStream`."""
        options: dict[str, Any] = {
            "num_batches": self.steps_per_epoch,
            "seed": self.seed,
            "epoch": epoch,
            "shuffle": True,
        }
        return TaskLoader(*self.task_data(task), self.batch_size, rank=rank, world_size=world_size, **options)

    def preview_loader(self, task: int, rank: int, world_size: int) -> TaskLoader:
        """Batches of the training points of a task, in order, see `TaskStream`."""
        x, y = self.task_data(task)
        return TaskLoader(x, y, EVALUATION_BATCH, rank=rank, world_size=world_size, allow_empty=True)

    def test_loader(self, task: int, rank: int, world_size: int) -> TaskLoader:
        """Batches of the test points of a task, see `TaskStream`."""
        x, y = self._checked_tasks()[task].x_test, self._checked_tasks()[task].y_test
        return TaskLoader(x, y, EVALUATION_BATCH, rank=rank, world_size=world_size, allow_empty=True)

    def test_loaders(self, num_tasks: int) -> list[Iterable[Any]]:
        """The test points of the first tasks, a loader for each.

        Args:
            num_tasks: The number of tasks.
        """
        _, world_size = self._process()
        if world_size > 1 and max(len(task.x_test) for task in self._checked_tasks()[:num_tasks]) < world_size:
            raise ValueError(  # Lightning would skip evaluation there, and hang
                f"No task has a test point for each of {world_size} processes: raise num_test (now {self.num_test}) "
                "or use fewer devices."
            )
        return super().test_loaders(num_tasks)

    def _checked_tasks(self) -> list[Task]:
        if not self.tasks:
            raise RuntimeError("The tasks are not set up yet: call setup() first, or let the trainer call it.")
        return self.tasks
