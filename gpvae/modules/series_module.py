"""The base class of modules that learn streams of series: batches, checkpoints of sites, scores of variables."""

import copy
from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from gpvae.metrics import Foresight, TaskScores
from gpvae.modules.base import ContinualModule
from gpvae.vae.series_posterior import SeriesPosterior
from gpvae.vae.task import check_observations

#: The metrics of series, the first of which is shown most prominently.
METRICS = ("nlpd", "rmse", "crps", "coverage")


class SeriesModule(ContinualModule):
    """A module that learns series of several variables, with a posterior for each series.

    Batches are series, their times, observations and mask. Each process keeps the sites of its own series; checkpoints
    have those of all.
    """

    #: Name of the module's model of series.
    model_name: ClassVar[str]

    @property
    def series_model(self) -> Any:  # noqa: ANN401
        """The model of series, which has a `posterior` and a `widening`."""
        return getattr(self, self.model_name)

    @property
    def _posterior(self) -> SeriesPosterior:
        return self.series_model.posterior

    @property
    def _posterior_prefix(self) -> str:
        """Prefix of the posterior in a state."""
        return f"{self.model_name}.posterior."

    def _build(self, num_variables: int, num_series: int | None) -> None:
        """Build metrics, and add what was taken from the data to the options."""
        self.hparams.update(num_variables=num_variables)
        if num_series is not None:
            self.hparams.update(num_series=num_series)
        self._hparams_initial = copy.deepcopy(self.hparams)  # the copy that loggers get
        self.scores, self.foresight = TaskScores(METRICS, num_variables), Foresight(METRICS, num_variables)

    def check_task(self, *data: Tensor) -> None:
        """Raise if a task has no observations, or another number of variables."""
        check_observations(self.hparams["num_variables"], *data)

    def begin_task(self, *data: Tensor) -> None:
        """Advance the inducing variables to the times of a new task.

        Args:
            data: Times since the start of the stream `[T]`, observations `[S, T, V]` and mask `[S, T, V]`.
        """
        self.check_task(*data)
        times = data[0].to(self.device)
        self._prepare_model(times, *data[1:])
        self._posterior.begin(self.series_model.kernel, times[:, None])
        super().begin_task(*data)

    @abstractmethod
    def _prepare_model(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Prepare the model for a task, before its inducing variables advance: start it at the first one."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Gather the sites of all processes."""
        super().on_save_checkpoint(checkpoint)
        self._posterior.gather_sites(checkpoint["state_dict"], self._posterior_prefix)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Raise if the checkpoint has another configuration; select the series of this process."""
        super().on_load_checkpoint(checkpoint)
        self._posterior.select_own_sites(checkpoint["state_dict"], self._posterior_prefix)

    def variable_of(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        """The variable of each observed value."""
        mask = batch[-1]
        return torch.arange(mask.shape[-1], device=mask.device).expand_as(mask)[mask]

    def lead_time(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor | None:
        """The time from the last one learnt to that of each observed value; None if it is unknown."""
        return self.series_model.widening.lead_time(batch[1], batch[3])

    def learn_from_foresight(self) -> None:
        """Learn how wide the next forecasts should be."""
        self.series_model.widening.learn(self.foresight.coverage())
