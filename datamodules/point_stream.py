"""Streams of points held in memory: inputs and targets, split into tasks, and into training and test points."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from torch import Tensor

from datamodules.loader import TaskLoader
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

    input_dim: ClassVar[int]
    """D, the dimension of an input."""
    likelihood: ClassVar[str]
    """The likelihood of the targets: "gaussian", "bernoulli" or "negative_binomial"."""

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
        """The tasks on the scale of the model: here unchanged.

        Args:
            tasks: The tasks, as measured.
            x: All inputs, as measured `[N, D]`.
            y: All targets, as measured `[N]`.
        """
        return tasks

    def setup(self, stage: str | None = None) -> None:
        """Read the points and split them into tasks, once.

        Args:
            stage: The stage of the trainer; the tasks do not depend on it.
        """
        if self.tasks:
            return
        x, y = self.read()
        tasks = split_tasks(x, y, self.num_tasks, self.num_test, self.seed, key=self.order)
        untested = [number for number, task in enumerate(tasks, start=1) if len(task.x_test) == 0]
        if untested:
            raise ValueError(
                f"Of the tasks 1 to {self.num_tasks}, these have no test points: {untested}. Raise num_test (now "
                f"{self.num_test}), lower num_tasks, or try another seed (now {self.seed})."
            )
        self.tasks = self.scaled(tasks, x, y)

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
        if max(len(task.x_test) for task in self._checked_tasks()[:num_tasks]) < world_size:
            raise ValueError(  # Lightning would skip evaluation there, and hang
                f"No task has a test point for each of {world_size} processes: raise num_test (now {self.num_test}) "
                "or use fewer devices."
            )
        return super().test_loaders(num_tasks)

    def _checked_tasks(self) -> list[Task]:
        if not self.tasks:
            raise RuntimeError("The tasks are not set up yet: call setup() first, or let the trainer call it.")
        return self.tasks
