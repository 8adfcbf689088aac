"""A stream of tasks for Lightning: which points belong to which task, and which task an epoch learns."""

from abc import ABC, abstractmethod
from typing import ClassVar

from lightning.pytorch import LightningDataModule
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor

from datamodules.files import fetch
from datamodules.loader import TaskLoader
from datamodules.tasks import Task, first_dimension, split_tasks

EVALUATION_BATCH = 8192  # points: large enough to be quick, small enough for the memory of a laptop


class TaskStream(LightningDataModule, ABC):
    """Data that arrive as a sequence of tasks, each learnt for some epochs and then gone.

    Task t is learnt in epochs t · epochs_per_task and following. Lightning asks for the loader of each epoch, so the
    trainer needs `reload_dataloaders_every_n_epochs: 1`.

    Args:
        num_tasks: How many tasks the training points are cut into, of equal size.
        num_test: How many points are held out for test: a number (int), or a share of all points (float below 1).
        seed: Fixes which points are test points, and the order of minibatches.
        batch_size: Points in a minibatch on each device; the whole task at every step if not given.
        steps_per_epoch: Minibatches in an epoch, from as many passes over the task as that takes; one pass if not
            given.
        epochs_per_task: Epochs each task is learnt for.
        stop_after: Learn only the first so many tasks; all if not given.
    """

    input_dim: ClassVar[int]
    """D, the dimensions of an input."""
    likelihood: ClassVar[str]
    """What the targets call for: "gaussian", "bernoulli" or "negative_binomial"."""
    files: ClassVar[tuple[str, ...]] = ()
    """The public files it is read from."""

    def __init__(
        self,
        num_tasks: int = 10,
        num_test: int | float = 0.1,
        seed: int = 0,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        epochs_per_task: int = 1,
        stop_after: int | None = None,
    ) -> None:
        super().__init__()
        for name, value, least in (
            ("num_tasks", num_tasks, 1),
            ("seed", seed, 0),
            ("batch_size", batch_size, 1),
            ("steps_per_epoch", steps_per_epoch, 1),
            ("epochs_per_task", epochs_per_task, 1),
        ):
            if value is not None and value < least:
                raise ValueError(f"{name} is {value}: it must be {least} or more.")
        if stop_after is not None and not 1 <= stop_after <= num_tasks:
            raise ValueError(f"stop_after is {stop_after}: it must be between 1 and num_tasks, which is {num_tasks}.")
        self.num_tasks, self.num_test, self.seed = num_tasks, num_test, seed
        self.batch_size, self.steps_per_epoch = batch_size, steps_per_epoch
        self.epochs_per_task, self.stop_after = epochs_per_task, stop_after
        self.tasks: list[Task] = []
        # A task may have fewer test points than there are processes; some of them then have nothing to evaluate.
        self.allow_zero_length_dataloader_with_multiple_devices = True
        self.save_hyperparameters(logger=False)  # of the subclass too; config.yaml tells them from the module's

    @abstractmethod
    def read(self) -> tuple[Tensor, Tensor]:
        """The points as they were measured: x `[N, D]` and y `[N]` in double precision."""

    def order(self, x: Tensor) -> Tensor:
        """The place of each point in the stream `[N]`: here its first dimension.

        Args:
            x: All inputs, as `read` gives them `[N, D]`.
        """
        return first_dimension(x)

    def scaled(self, tasks: list[Task], x: Tensor, y: Tensor) -> list[Task]:
        """The tasks on the scale they are learnt on: here as they are.

        Args:
            tasks: The tasks, as measured.
            x: All inputs, as measured `[N, D]`.
            y: All targets, as measured `[N]`.
        """
        return tasks

    def prepare_data(self) -> None:
        """Fetch the public files, unless they are here."""
        for name in self.files:
            fetch(name)

    def setup(self, stage: str | None = None) -> None:
        """Read the points and make the tasks, once.

        Args:
            stage: What Lightning is about to do; the tasks are the same for all of it.
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
    def num_learnt(self) -> int:
        """How many tasks are learnt in all."""
        return self.num_tasks if self.stop_after is None else self.stop_after

    @property
    def num_epochs(self) -> int:
        """How many epochs it takes to learn them: what `trainer.max_epochs` should be."""
        return self.num_learnt * self.epochs_per_task

    @property
    def trainer_options(self) -> dict[str, int | bool]:
        """What a trainer needs to go through the tasks and evaluate after each: `Trainer(**data.trainer_options)`."""
        return {
            "max_epochs": self.num_epochs,
            "check_val_every_n_epoch": self.epochs_per_task,
            "reload_dataloaders_every_n_epochs": 1,  # the task depends on the epoch
            "num_sanity_val_steps": 0,  # there is nothing to evaluate before the first task
            "use_distributed_sampler": False,  # loaders share out points among processes themselves
            "log_every_n_steps": min(10, self.steps_per_epoch or 1),
        }

    def task_of_epoch(self, epoch: int) -> int:
        """The task that an epoch learns; epochs after the end of the stream stay with the last one.

        Args:
            epoch: The epoch, from 0.
        """
        return min(epoch // self.epochs_per_task, self.num_learnt - 1)

    def task_data(self, task: int) -> tuple[Tensor, Tensor]:
        """All training points of a task: x `[N, D]` and y `[N]`.

        Args:
            task: The task, from 0.
        """
        tasks = self._made()
        if not 0 <= task < len(tasks):
            raise ValueError(f"There is no task {task}: tasks are numbered from 0 to {len(tasks) - 1}.")
        return tasks[task].x_train, tasks[task].y_train

    def train_dataloader(self) -> TaskLoader:
        """The training points of the task that the present epoch learns."""
        epoch = 0
        if self.trainer is not None:
            epoch = self.trainer.current_epoch
            reload = self.trainer.reload_dataloaders_every_n_epochs  # type: ignore[attr-defined]  # set from outside
            if reload != 1 and self.num_epochs > 1:
                raise ValueError(
                    f"The trainer has reload_dataloaders_every_n_epochs={reload} and would not notice that a new task "
                    "begins: set it to 1."
                )
        x, y = self.task_data(self.task_of_epoch(epoch))
        rank, world_size = self._process()
        return TaskLoader(x, y, self.batch_size, self.steps_per_epoch, self.seed, epoch, True, rank, world_size)

    def val_dataloader(self) -> list[TaskLoader]:
        """The test points of each task met so far; outside of `fit`, of each task that is learnt at all."""
        if self.trainer is not None and self.trainer.state.fn == TrainerFn.FITTING:
            return self._evaluation(self.task_of_epoch(self.trainer.current_epoch) + 1)
        return self._evaluation(self.num_learnt)

    def test_dataloader(self) -> list[TaskLoader]:
        """The test points of each task."""
        return self._evaluation(self.num_tasks)

    def predict_dataloader(self) -> list[TaskLoader]:
        """The test points of each task."""
        return self._evaluation(self.num_tasks)

    def _evaluation(self, num_tasks: int) -> list[TaskLoader]:
        rank, world_size = self._process()
        tasks = self._made()[:num_tasks]
        if max(len(task.x_test) for task in tasks) < world_size:  # Lightning would skip evaluation there, and hang
            raise ValueError(
                f"No task has a test point for each of {world_size} processes: raise num_test (now {self.num_test}) "
                "or use fewer devices."
            )
        return [
            TaskLoader(task.x_test, task.y_test, EVALUATION_BATCH, rank=rank, world_size=world_size, allow_empty=True)
            for task in tasks
        ]

    def _made(self) -> list[Task]:
        if not self.tasks:
            raise RuntimeError("The tasks are not made yet: call setup() first, or let the trainer do it.")
        return self.tasks

    def _process(self) -> tuple[int, int]:
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)
