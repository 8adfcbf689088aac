"""A stream of tasks for Lightning: which task an epoch learns, and what is evaluated after it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from lightning.pytorch import LightningDataModule
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor

from datamodules.public_files import fetch


class TaskStream(LightningDataModule, ABC):
    """Data that arrive as a sequence of tasks, each learnt for some epochs and then gone.

    Task t is learnt in epochs t · epochs_per_task and following. Lightning asks for the loader of each epoch, so the
    trainer needs `reload_dataloaders_every_n_epochs: 1`.

    Args:
        num_tasks: How many tasks there are.
        seed: Fixes whatever is random about the data.
        epochs_per_task: Epochs each task is learnt for.
        stop_after: Learn only the first so many tasks; all if not given.
    """

    files: ClassVar[tuple[str, ...]] = ()
    """The public files it is read from."""

    def __init__(
        self, num_tasks: int = 10, seed: int = 0, epochs_per_task: int = 1, stop_after: int | None = None
    ) -> None:
        super().__init__()
        check_least(num_tasks=(num_tasks, 1), seed=(seed, 0), epochs_per_task=(epochs_per_task, 1))
        if stop_after is not None and not 1 <= stop_after <= num_tasks:
            raise ValueError(f"stop_after is {stop_after}: it must be between 1 and num_tasks, which is {num_tasks}.")
        self.num_tasks, self.seed = num_tasks, seed
        self.epochs_per_task, self.stop_after = epochs_per_task, stop_after
        # A task may have fewer test points than there are processes; some of them then have nothing to evaluate.
        self.allow_zero_length_dataloader_with_multiple_devices = True
        self.save_hyperparameters(logger=False)  # of the subclass too; config.yaml tells them from the module's

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
            rank: Which of the processes this is, from 0.
            world_size: How many processes share the data.
        """

    @abstractmethod
    def test_loader(self, task: int, rank: int, world_size: int) -> Iterable[Any]:
        """Batches of the test data of a task.

        Args:
            task: The task, from 0.
            rank: Which of the processes this is, from 0.
            world_size: How many processes share the data.
        """

    @property
    def num_variables(self) -> int:
        """The number of observed variables."""
        return 1

    @property
    def num_batches(self) -> int:
        """How many batches an epoch has, roughly; for how often to log."""
        return 1

    def prepare_data(self) -> None:
        """Fetch the public files, unless they are here."""
        for name in self.files:
            fetch(name)

    def identity(self) -> dict[str, Any]:
        """What the data are beyond the options, by name, as tensors or text; nothing where files are known by hash."""
        return {}

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
            "log_every_n_steps": min(10, self.num_batches),
        }

    def task_of_epoch(self, epoch: int) -> int:
        """The task that an epoch learns; epochs after the end of the stream stay with the last one.

        Args:
            epoch: The epoch, from 0.
        """
        return min(epoch // self.epochs_per_task, self.num_learnt - 1)

    def train_dataloader(self) -> Iterable[Any]:
        """The training data of the task that the present epoch learns."""
        epoch = 0
        if self.trainer is not None:
            epoch = self.trainer.current_epoch
            reload = self.trainer.reload_dataloaders_every_n_epochs  # type: ignore[attr-defined]  # set from outside
            if reload != 1 and self.num_epochs > 1:
                raise ValueError(
                    f"The trainer has reload_dataloaders_every_n_epochs={reload} and would not notice that a new task "
                    "begins: set it to 1."
                )
        return self.train_loader(self.task_of_epoch(epoch), epoch, *self._process())

    def val_dataloader(self) -> list[Iterable[Any]]:
        """The test data of each task met so far; outside of `fit`, of each task that is learnt at all."""
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
        """The test data of the first so many tasks, a loader for each.

        Args:
            num_tasks: The number of tasks.
        """
        return [self.test_loader(task, *self._process()) for task in range(num_tasks)]

    def _process(self) -> tuple[int, int]:
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)


def check_least(**values: tuple[int | None, int]) -> None:
    """Raise unless every value that is given is at least what goes with it.

    Args:
        values: By name, a value and the least it may be.
    """
    for name, (value, least) in values.items():
        if value is not None and value < least:
            raise ValueError(f"{name} is {value}: it must be {least} or more.")
