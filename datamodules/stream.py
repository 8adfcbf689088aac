"""A stream of tasks for Lightning: which task an epoch learns, and which test data are evaluated after it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from lightning.pytorch import LightningDataModule
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor

from datamodules.public_files import fetch


class ChangedTask(NamedTuple):
    """A task whose data have changed since they were learnt.

    Args:
        number: The task, from 1.
        name: What has changed, such as `values of task 2`.
        detail: In which way; may be empty.
    """

    number: int
    name: str
    detail: str = ""


class TaskStream(LightningDataModule, ABC):
    """Data that arrive as a sequence of tasks, each learnt for some epochs and then gone.

    Task t is learnt in epochs t · epochs_per_task and following. Lightning asks for the loader of each epoch, so the
    trainer needs `reload_dataloaders_every_n_epochs: 1`.

    Args:
        num_tasks: The number of tasks; None if only the data tell, once they are set up.
        seed: Fixes everything random about the data.
        epochs_per_task: Epochs each task is learnt for.
        stop_after: The number of tasks to learn, from the first; all if not given.
    """

    files: ClassVar[tuple[str, ...]] = ()
    """The public files that it is read from."""
    resumable: frozenset[str] = frozenset({"stop_after", "predict_every", "predict_until"})
    """Options that may change when a run is resumed."""
    scores_all_tasks: bool = True
    """Whether the test data of all tasks are here; if not, there are no scores over all tasks."""
    changeable: frozenset[str] = frozenset({"epochs_per_task"})
    """Options that may change between two tasks if the user accepts it."""
    accept_changes = False
    """Whether the user accepts that they differ from the checkpoint that a run is resumed from."""

    def __init__(
        self, num_tasks: int | None = 10, *, seed: int = 0, epochs_per_task: int = 1, stop_after: int | None = None
    ) -> None:
        super().__init__()
        check_minimum(num_tasks=(num_tasks, 1), seed=(seed, 0), epochs_per_task=(epochs_per_task, 1))
        if stop_after is not None and not 1 <= stop_after <= (num_tasks or stop_after):
            raise ValueError(f"stop_after is {stop_after}: it must be between 1 and num_tasks, which is {num_tasks}.")
        self._num_tasks, self.seed = num_tasks, seed
        self.epochs_per_task, self.stop_after = epochs_per_task, stop_after
        # A task may have fewer test points than there are processes, some of which then evaluate none.
        self.allow_zero_length_dataloader_with_multiple_devices = True
        self.save_hyperparameters(logger=False)  # includes those of subclasses; the logger has them in config.yaml

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.hparams.items() if not name.startswith("_"))
        return f"{type(self).__name__}({options})"

    @abstractmethod
    def task_data(self, task: int) -> tuple[Tensor, ...]:
        """All training data of a task, for `ContinualModule.begin_task`.

        Args:
            task: The task, from 0.
        """

    @abstractmethod
    def train_loader(self, task: int, epoch: int, rank: int, world_size: int) -> Iterable[Any]:
        """Batches of the training data of a task, a pure function of the arguments.

        Args:
            task: The task, from 0.
            epoch: The epoch.
            rank: The rank of this process, from 0.
            world_size: The number of processes that share the data.
        """

    @abstractmethod
    def test_loader(self, task: int, rank: int, world_size: int) -> Iterable[Any]:
        """Batches of the test data of a task.

        Args:
            task: The task, from 0.
            rank: The rank of this process, from 0.
            world_size: The number of processes that share the data.
        """

    def preview_loader(self, task: int, rank: int, world_size: int) -> Iterable[Any]:
        """Batches of the training data of a task, each value once, to predict them before they are learnt.

        Args:
            task: The task, from 0.
            rank: The rank of this process, from 0.
            world_size: The number of processes that share the data.
        """
        return self.train_loader(task, 0, rank, world_size)

    @property
    def num_tasks(self) -> int:
        """The number of tasks."""
        if self._num_tasks is None:
            raise RuntimeError("The number of tasks depends on the data: call prepare_data() and setup() first.")
        return self._num_tasks

    @property
    def num_variables(self) -> int:
        """The number of observed variables."""
        return 1

    @property
    def num_batches(self) -> int:
        """The approximate number of batches in an epoch, for the logging interval."""
        return 1

    def prepare_data(self) -> None:
        """Download missing public files."""
        for name in self.files:
            fetch(name)

    def identity(self) -> dict[str, Any]:
        """What identifies the data beyond the options, by name, as tensors or text; none for files checked by hash."""
        return {}

    def changed_tasks(self, before: Mapping[str, Any], num_tasks: int) -> list[ChangedTask]:
        """The tasks whose data have changed since they were learnt; none for files checked by hash.

        Args:
            before: The identity of the data in a checkpoint.
            num_tasks: The number of tasks that were learnt.
        """
        return []

    def describe(self) -> dict[str, Any]:
        """What checkpoints keep of the data, as tensors and plain values, so that a run is readable without them."""
        return {}

    def adopt_options(self, saved: Mapping[str, Any]) -> None:
        """Take over what the checkpoint of an earlier version was learnt with, where it lacks an option; here nothing.

        Args:
            saved: The options in the checkpoint.
        """
        return

    @property
    def num_learnt(self) -> int:
        """The number of tasks that are learnt."""
        return min(self.num_tasks, self.stop_after or self.num_tasks)

    @property
    def num_epochs(self) -> int:
        """The number of epochs that it takes to learn them, for `trainer.max_epochs`."""
        return self.num_learnt * self.epochs_per_task

    @property
    def trainer_options(self) -> dict[str, int | bool]:
        """The options of a trainer that evaluates after each task: `Trainer(**data.trainer_options)`."""
        return {
            "max_epochs": self.num_epochs,
            "check_val_every_n_epoch": self.epochs_per_task,
            "reload_dataloaders_every_n_epochs": 1,  # the task depends on the epoch
            "num_sanity_val_steps": 0,  # there is nothing to evaluate before the first task
            "use_distributed_sampler": False,  # loaders divide the data among processes themselves
            "log_every_n_steps": min(10, self.num_batches),
        }

    def task_of_epoch(self, epoch: int) -> int:
        """The task that an epoch learns; epochs after the end of the stream stay with the last one.

        Args:
            epoch: The epoch, from 0.
        """
        return min(epoch // self.epochs_per_task, self.num_learnt - 1)

    def train_dataloader(self) -> Iterable[Any]:
        """The training data of the task that the current epoch learns."""
        epoch = 0
        if self.trainer is not None:
            epoch = self.trainer.current_epoch
            reload = self.trainer.reload_dataloaders_every_n_epochs  # type: ignore[attr-defined]  # set by a connector
            if reload != 1 and self.num_epochs > 1:
                raise ValueError(
                    f"The trainer has reload_dataloaders_every_n_epochs={reload} and would not notice that a new task "
                    "begins: set it to 1."
                )
        return self.train_loader(self.task_of_epoch(epoch), epoch, *self._process())

    def val_dataloader(self) -> list[Iterable[Any]]:
        """The test data of each task seen so far; outside of `fit`, of each task that is learnt."""
        if self.trainer is not None and self.trainer.state.fn == TrainerFn.FITTING:
            return self.test_loaders(self.task_of_epoch(self.trainer.current_epoch) + 1)
        return self.test_loaders(self.num_learnt)

    def test_dataloader(self) -> list[Iterable[Any]]:
        """The test data of each task."""
        return self.test_loaders(self.num_tasks)

    def predict_dataloader(self) -> list[Iterable[Any]]:
        """The test data of each task."""
        return self.test_loaders(self.num_tasks)

    def test_loaders(self, num_tasks: int) -> list[Iterable[Any]]:
        """The test data of the first tasks, a loader for each.

        Args:
            num_tasks: The number of tasks.
        """
        return [self.test_loader(task, *self._process()) for task in range(num_tasks)]

    def _process(self) -> tuple[int, int]:
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)


def check_minimum(**values: tuple[int | None, int]) -> None:
    """Raise if a value is below its minimum; None is valid.

    Args:
        values: By name, a value and its minimum.
    """
    for name, (value, minimum) in values.items():
        if value is not None and value < minimum:
            raise ValueError(f"{name} is {value}: it must be {minimum} or more.")
