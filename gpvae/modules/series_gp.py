"""Gaussian processes in closed form for every series, as a LightningModule."""

from typing import Literal, get_args

import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.distributions import Distribution, Normal

from gpvae.inducing import ChosenCosines
from gpvae.methods import KernelName
from gpvae.modules.series_module import METRICS, SeriesModule
from gpvae.utils import checks
from gpvae.utils.distributed import of_first_process
from gpvae.vae.closed_form import ClosedFormSeries
from gpvae.vae.kernel_fit import fit_series
from gpvae.vae.linear_map import LinearMap
from gpvae.vae.resolution import warn_outgrown
from gpvae.vae.wave_kernel import WaveKernel

Latents = Literal["series", "field"]


class SeriesGP(SeriesModule):
    """A Gaussian process for every variable of every series, or for every EOF, learnt task by task in closed form.

    Kernel and noise are fitted to the first task and shared by all series: a rough kernel, and waves of known periods
    whose amplitudes change slowly. Each latent keeps M projections of its past onto cosines that its kernel chooses.
    There are no networks, samples or gradient steps: a task takes one epoch.

    Args:
        num_inducing: Number of inducing variables M of each latent.
        num_variables: Number of observed variables; taken from the data if not given.
        latents: `series`: each series has its own latents; `field`: all series share them, as EOFs over all their
            variables. Memory then does not grow with the number of series.
        num_eofs: Number of EOFs of the first task that are latents. Default: every variable is a latent.
        kernel: Kernel of the latents, in addition to the waves.
        periods: Known periods, such as 24 and 12 hours. Default: none. Predictive variances depend on the phase of the
            longest.
        horizon: Planned length of the stream, in units of time. Default: that of the data if their number of tasks is
            given, otherwise that of the first task. A stream that outgrows it doubles it.
        power: α of power expectation propagation: the share of the unresolved variance that counts as noise.
        num_samples: Number of quantiles that represent the distribution in files of predictions.
    """

    model_name = "gp"
    gp: ClosedFormSeries

    def __init__(
        self,
        num_inducing: int = 100,
        *,
        num_variables: int | None = None,
        latents: Latents = "series",
        num_eofs: int | None = None,
        kernel: KernelName = "matern12",
        periods: list[float] | None = None,
        horizon: float | None = None,
        power: float = 0.5,
        num_samples: int = 100,
    ) -> None:
        checks.choice("latents", latents, get_args(Latents))
        checks.positive(num_inducing=num_inducing, num_eofs=num_eofs, horizon=horizon, num_samples=num_samples)
        if latents == "field" and num_eofs is None:
            raise ValueError("latents is field, and num_eofs is not given: give the number of EOFs, such as 20")
        super().__init__(METRICS)
        self.save_hyperparameters()
        self.num_samples = num_samples
        self.automatic_optimization = False
        self.built = False
        if num_variables is not None:
            self.build(num_variables)

    def _build(self, num_variables: int, num_series: int | None) -> None:
        """Build metrics, kernel and posterior."""
        super()._build(num_variables, None)
        options = self.hparams
        num_eofs, periods, field = options["num_eofs"], options["periods"] or [], options["latents"] == "field"
        if num_eofs is not None and num_eofs > num_variables and not field:
            raise ValueError(
                f"num_eofs is {num_eofs}, but a series has {num_variables} variables: give at most as many"
            )
        self.gp = ClosedFormSeries(
            LinearMap(num_eofs),
            WaveKernel(options["kernel"], num_eofs or num_variables, periods),
            ChosenCosines(options["num_inducing"], horizon=options["horizon"], periods=periods),
            num_variables=num_variables,
            power=options["power"],
            period=max(periods, default=None),
            field=field,
        )

    def setup(self, stage: str) -> None:
        """Build what depends on the data, and plan for the length of the stream."""
        super().setup(stage)
        planned = getattr(getattr(self.trainer, "datamodule", None), "planned_length", None)
        if planned is not None:
            self.gp.inducing.plan(planned)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """None: nothing is trained by gradients."""
        return []

    def _prepare_model(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Fit EOFs, kernel and noise to the first task, on every process with the result of the first."""
        if self.begun > 0:
            warn_outgrown(self.gp.inducing, times[-1])
            return
        y, mask = (self.gp.arrange(part.to(self.device)) for part in (y, mask))
        self.gp.map.fit(y, mask)
        with torch.enable_grad():
            fit_series(self.gp.kernel, self.gp.likelihood, times, *self.gp.map.encode(y, mask))
        for value in (*self.gp.kernel.parameters(), *self.gp.likelihood.parameters(), *self.gp.map.buffers()):
            value.data.copy_(of_first_process(value.data))

    def attach_task(self, *data: Tensor) -> None:
        """Attach the data of the task that has begun.

        Args:
            data: Times `[T]`, observations `[S, T, V]` and mask `[S, T, V]`.
        """
        times, y, mask = data
        self.task_data = times.to(self.device), y, mask  # observations may stay in files

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int) -> None:
        """Nothing: a task is learnt as a whole when it ends."""
        return

    def end_task(self) -> None:
        """Learn the task."""
        assert self.task_data is not None
        times, y, mask = self.task_data
        self.gp.consolidate(times, y, mask)
        super().end_task()

    def predictive(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[Distribution, Tensor]:
        """The predictive distribution of the observed values of a batch, and these values."""
        series, times, y, mask = batch
        predicted = self.gp.predict(times, series)
        return Normal(predicted.mean[mask], predicted.stddev[mask]), y[mask]

    def predict_step(
        self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int, dataloader_idx: int = 0
    ) -> dict[str, Tensor]:
        """Evenly spread quantiles of y at the times of a batch, `[num_samples, B, T, V]`, observed or not."""
        series, times, _, _ = batch
        return {"series": series, "times": times, "samples": self.gp.quantiles(times, series, self.num_samples)}
