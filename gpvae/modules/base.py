"""The base class of modules that learn task after task: a count of tasks, and scores for each."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn.parallel import DistributedDataParallel

from gpvae.metrics import Foresight, ForesightCell, Score, TaskScores
from gpvae.modules.configuration import Differences, check_same_configuration
from gpvae.modules.host_state import HostState
from gpvae.modules.memory import numbers_kept
from gpvae.streaming import StreamingPosterior
from gpvae.utils.counters import Counters
from gpvae.utils.distributed import num_processes, sum_over_processes
from gpvae.utils.transactional import Transactional


class ContinualModule(Counters, Transactional, HostState):
    """A module that learns a stream of tasks, led through it by `callbacks.ContinualLearning`.

    Of task k, counted from 0: `begun` is k + 1 from its first step on, `learned` is k + 1 once it is consolidated.

    A subclass defines `training_step`, `configure_optimizers` and `predictive`, as any model could. One that protects
    what it has learnt extends `begin_task` or `end_task`, which are called once for each task.

    Args:
        metrics: Short names of the metrics by which tasks are scored, see `gpvae.metrics`.
        num_variables: Number of variables; if there are several, each of them is also scored.

    Attributes:
        last_scores: Scores of the last evaluation, of all variables together and of each.
        last_foresight: Prequential scores of the last task that was foreseen.
    """

    counters: ClassVar[tuple[str, ...]] = ("begun", "learned")
    begun: int
    learned: int
    #: Options that may change between two tasks if the user accepts it.
    changeable: frozenset[str] = frozenset()
    #: Whether the user accepts that they differ from the checkpoint that a run is resumed from.
    accept_changes = False
    #: Share of the steps of the present task that are done, from 0 to 1; set by `callbacks.ContinualLearning`.
    progress = 0.0
    #: The training data of the present task, as the stream gives them; None between tasks.
    task_data: tuple[Tensor, ...] | None = None
    #: Whether everything is built; a module that needs the number of variables may wait for `build`.
    built = True

    def __init__(self, metrics: Sequence[str], num_variables: int = 1) -> None:
        super().__init__()
        self._start_counters()
        self.scores = TaskScores(metrics, num_variables)
        self.last_scores: list[Score] = []
        self.foresight = Foresight(metrics, num_variables)
        self.last_foresight: list[ForesightCell] = []

    @classmethod
    def load_from_checkpoint(  # type: ignore[override]
        cls,
        checkpoint_path: Any,  # noqa: ANN401
        *,
        weights_only: bool | None = True,
        **kwargs: Any,
    ) -> Self:
        """Load a module from a checkpoint; only tensors and plain values are read."""
        return super().load_from_checkpoint(checkpoint_path, weights_only=weights_only, **kwargs)

    def check_state(self) -> None:
        """Raise ValueError if a state that has been loaded contradicts itself."""
        super().check_state()
        for part in self.modules():
            if isinstance(part, StreamingPosterior):
                part.check_site()

    def setup(self, stage: str) -> None:
        """Build what depends on the data; raise if precision or devices are not supported."""
        check_precision(str(self.trainer.precision))
        if not self.built:
            stream = getattr(self.trainer, "datamodule", None)
            if stream is None:
                raise ValueError("num_variables is unknown: set it, or use a datamodule")
            self.build(stream.num_variables, getattr(stream, "num_series", None))
        super().setup(stage)
        # Buffers are the same on all processes by construction, or rows of a process's own series.
        names = [name for name, _ in self.named_buffers()]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(self, names)

    def build(self, num_variables: int, num_series: int | None = None) -> None:
        """Build what depends on the number of variables or series, unless it is already built.

        Args:
            num_variables: Number of observed variables.
            num_series: Number of series, where there are any.
        """
        if not self.built:
            self._build(num_variables, num_series)
            self.built = True

    def _build(self, num_variables: int, num_series: int | None) -> None:
        """Build what depends on the number of variables or series."""
        return

    def check_task(self, *data: Tensor) -> None:
        """Raise if a task with these training data cannot be learnt; called before the task begins."""
        return

    def begin_task(self, *data: Tensor) -> None:
        """Begin a new task with the given training data."""
        self.begun += 1
        self.attach_task(*data)

    def attach_task(self, *data: Tensor) -> None:
        """Attach the training data of a task that has begun: after `begin_task`, and on resuming a run within it."""
        self.task_data = tuple(part.to(self.device) for part in data)

    def end_task(self) -> None:
        """Consolidate the task, and release its data.

        `callbacks.ContinualLearning` calls it without gradients; what needs them uses `torch.enable_grad()`.
        """
        self.learned += 1
        self.task_data = None

    @property
    def attached(self) -> bool:
        """Whether the data of the present task are attached."""
        return self.task_data is not None

    def frozen_parameters(self) -> list[nn.Parameter]:
        """Parameters that the present task does not train; none unless a module says so."""
        return []

    @abstractmethod
    def predictive(self, batch: Any) -> tuple[Distribution, Tensor]:  # noqa: ANN401
        """The predictive distribution of a batch of test points, and their targets."""

    def variable_of(self, batch: Any) -> Tensor | None:  # noqa: ANN401
        """The variable of each target of `predictive`, from 0; None if there is only one."""
        return None

    def lead_time(self, batch: Any) -> Tensor | None:  # noqa: ANN401
        """How far ahead of what was learnt each target of `predictive` is; None if that is unknown."""
        return None

    @torch.no_grad()
    def foresee(self, batches: Iterable[Any]) -> None:
        """Score predictions of the task that is to begin; every process must call this, with its share of the data.

        Args:
            batches: Batches of the task's training data.
        """
        self.foresight.reset()
        self.last_foresight = []
        unknown = torch.zeros((), dtype=torch.int64, device=self.device)
        for batch in batches:
            batch = self.transfer_batch_to_device(batch, self.device, 0)
            if (lead := self.lead_time(batch)) is None:
                unknown += 1
                break
            self.foresight.update(*self.predictive(batch), lead, self.variable_of(batch))
        if not sum_over_processes(unknown):  # a process without batches does not know
            names = self._variable_names() if self.scores.num_variables > 1 else [""]
            self.last_foresight = self.foresight.cells(self.begun + 1, names)
            self.learn_from_foresight()

    def log_step(self, values: Mapping[str, Tensor], *, prog_bar: str) -> None:
        """Log values of a training step, as means over processes.

        Several processes reduce them together, and only in steps that the trainer logs.

        Args:
            values: Scalars by name.
            prog_bar: Name of the one to show in the progress bar.
        """
        if num_processes() > 1:
            every = self.trainer.log_every_n_steps  # type: ignore[attr-defined]
            if every == 0 or (self.trainer.global_step + 1) % every:
                return
            sums = sum_over_processes(torch.stack([value.detach().double() for value in values.values()]))
            values = dict(zip(values, sums / num_processes(), strict=True))
        for name, value in values.items():
            self.log(name, value, prog_bar=name == prog_bar)

    def learn_from_foresight(self) -> None:
        """Learn from the scores of a task that was foreseen, if the module can."""

    def on_fit_start(self) -> None:
        """Set training mode everywhere: gpytorch shares a module among all models, and others may change its mode."""
        self.train()

    def on_validation_epoch_start(self) -> None:
        """Reset the scores of all tasks that are evaluated."""
        self.scores.reset(len(self.trainer.num_val_batches))

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> dict[str, Any]:  # noqa: ANN401
        """Score test points of the task of the dataloader, and return what is predicted, for callbacks."""
        predictive, target = self.predictive(batch)
        self.scores.update(dataloader_idx, predictive, target, self.variable_of(batch))
        return {"predictive": predictive, "target": target}

    def on_validation_epoch_end(self) -> None:
        """Log memory and scores (`nlpd/task_03`, `nlpd/seen`, `nlpd_by_variable/t2m`), against the tasks learnt."""
        self.log("step", float(self.learned), sync_dist=True)
        self.log("memory/numbers", float(sum(numbers_kept(self).values())), sync_dist=True)
        variables = self._variable_names() if self.scores.num_variables > 1 else []
        scores = self.scores.compute(self.learned, variables)
        complete = getattr(getattr(self.trainer, "datamodule", None), "scores_all_tasks", True)
        self.last_scores = [score for score in scores if complete or score.task is not None]
        for score in self.last_scores:
            if (name := log_name(score)) is not None:
                value = torch.tensor(score.value, dtype=torch.float64, device=self.device)
                self.log(name, value, prog_bar=name == "nlpd/seen", sync_dist=True)

    def _variable_names(self) -> list[str]:
        """Short names of the variables in the data; v01, v02, ... if they have none."""
        variables = getattr(getattr(self.trainer, "datamodule", None), "variables", [])
        names = [variable.short_name for variable in variables]
        return names or [f"v{number:02d}" for number in range(1, self.scores.num_variables + 1)]

    def on_test_epoch_start(self) -> None:
        """As for validation."""
        self.scores.reset(len(self.trainer.num_test_batches))

    def test_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> dict[str, Any]:  # noqa: ANN401
        """As for validation."""
        return self.validation_step(batch, batch_idx, dataloader_idx)

    def on_test_epoch_end(self) -> None:
        """As for validation."""
        self.on_validation_epoch_end()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Say that there are no options, if there are none: a run has to."""
        checkpoint.setdefault("hyper_parameters", {})

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Raise if the checkpoint has another configuration."""
        self.changes_since(checkpoint)
        super().on_load_checkpoint(checkpoint)

    def changes_since(self, checkpoint: Mapping[str, Any]) -> Differences:
        """The accepted differences between the options of a checkpoint and those of this module; raise for others."""
        saved = checkpoint.get("hyper_parameters", {})
        return check_same_configuration(saved, self.hparams, self.changeable, self.accept_changes)


def log_name(score: Score) -> str | None:
    """The name of a score in logs; None for single tasks of single variables, which are too many to log.

    Args:
        score: The score.
    """
    if score.variable:
        return f"{score.metric}_by_variable/{score.variable}" if score.task is None else None
    return f"{score.metric}/seen" if score.task is None else f"{score.metric}/task_{score.task:02d}"


def check_precision(precision: str) -> None:
    """Raise if a trainer would skip steps whose gradients overflow, or compute covariances in half precision.

    Args:
        precision: `Trainer.precision` of Lightning.
    """
    if precision not in ("32-true", "64-true", "bf16-mixed"):
        raise ValueError(
            f"trainer.precision is {precision}: covariances cannot be factorised in 16 bits, and 16-mixed skips steps "
            "silently; use 32-true, the default, or bf16-mixed (Gaussian processes stay in double precision)"
        )
