"""The continual GP-VAE as a LightningModule."""

from typing import Any

import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.optim import Optimizer

from gpvae.inference import only_training
from gpvae.methods import KernelName, Scalar
from gpvae.modules.finite_losses import FiniteLosses
from gpvae.modules.series_module import METRICS
from gpvae.modules.vae_module import VAEModule
from gpvae.utils.distributed import is_distributed
from gpvae.vae import ewc
from gpvae.vae import schedule as rates
from gpvae.vae.build import Latents, build_vae, num_replayed
from gpvae.vae.gradient_accumulation import accumulate
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.locations import StaticInput, located
from gpvae.vae.networks import Networks, Noise
from gpvae.vae.options import Consolidation, Hyperparameters, Schedule, StepPrecision, check_options
from gpvae.vae.principal_components import start_model
from gpvae.vae.replay import Replay
from gpvae.vae.resolution import Resolution
from gpvae.vae.step import Step
from gpvae.vae.step_precision import check_step_precision
from gpvae.vae.task import SeriesTask, divergence_error, is_finite


class SVGPVAE(VAEModule):
    """A GP-VAE that learns a stream of tasks, with the inducing variables of OSVGP, OVC, OVC-per-dim or OHSVGP.

    Args:
        method: OSVGP, OVC, OVC-per-dim or OHSVGP; or a family of inducing variables, such as CosS.
        num_inducing: Number of inducing variables M of each latent dimension.
        num_variables: Number of observed variables; taken from the data if not given.
        num_series: Number of locations of a field; taken from the data if not given.
        latents: Latents of each location (`series`), or common to all locations (`field`): the encoder then reads all
            of them at once and the decoder writes all of them, so the posterior does not grow with their number.
        location_features: In a field, number of functions of location through which encoder and decoder see it, such
            as 32: networks then do not grow with the locations, learn from batches of them, and predict anywhere. If
            not given, they read and write each location on its own.
        static_inputs: Inputs of the networks that depend on the location: `latitude`, `longitude`, `height` and
            `land`, if the data have them, and `sun`, its elevation over the hour. None if not given.
        latent_dim: Number of latent dimensions L; if not given, that of the variables up to 20, in a field twice that
            of the variables.
        hidden_dim: Width of the hidden layers of encoder and decoder.
        networks: `residual`: linear maps, initialised at the principal components of the first task, plus networks;
            `mlp`: networks only, as in the paper.
        noise: Noise of the variables: `predicted` from the latents and the clock, one for each `variable`, or one
            `shared` by all, as in the paper. Default: shared if `shared_noise` is true, otherwise predicted.
        kernel: Kernel of the latent functions, with a lengthscale for each latent dimension.
        waves: Periods of waves with slowly changing amplitudes that are added to the kernel, such as 24 and 12 hours;
            none if not given. Such a kernel is fitted, in closed form, to the principal components of the first task,
            and its inducing variables are ChosenCosines or a CosineExpansion, which know the periods.
        shortest: Shortest lengthscale to start from, in units of time (hours for ERA5).
        longest: Longest lengthscale to start from; those of the latent dimensions are log-spaced in between. If not
            given, all start from the shortest.
        horizon: Planned length of the stream. Lengthscales stay above horizon / num_inducing, the shortest that the
            memory can resolve over this length. Default: the length of the data if their number of tasks is given,
            otherwise ten times that of the first task; without a trainer, no limit. 0 for no limit.
        inducing: Another family of inducing variables for the method, such as CosS for OHSVGP.
        inducing_options: Options of the family.
        hyperparameters: Whether the kernel is trained: `fixed`, `train_first_task` or `train_always`.
        consolidation: Protection of encoder and decoder against forgetting: `ewc`, elastic weight consolidation of
            both; `replay`, agreement of the decoder with the previous one on past latents; `both` or `none`.
        ewc_strength: Strength λ of elastic weight consolidation.
        ewc_running: Use its running form, anchored at the last task only.
        replay_strength: Strength of replay; 1 gives a past task the same weight as the current one.
        replay_times: Number of past times that replay draws for each task, a quarter of them in each step. Default:
            256; for a field, 1024.
        shared_noise: One noise variance for all variables, the same as `noise: shared`.
        periods: Periods of a clock that is an input of encoder and decoder, such as the 24 hours of a day. Default:
            none, as in the paper.
        power: α of power expectation propagation, by which the past is transported to new inducing variables: 0 is
            the variational bound, 1 expectation propagation, which trusts the past less where they resolve it less.
        shared_precision: Keep one posterior covariance of past tasks for all series, and a mean for each: M times less
            memory. Within a task each series has its own covariance. Default: true as long as all series are observed
            about equally often; latents of the same lengthscale then share it too, up to a factor.
        sites_folder: Folder in which the sites of all series are kept instead of in memory; each run needs its own.
        lr: Learning rate of Adam; that of noise and lengthscales is ten times as high.
        schedule: The learning rate falls along a `cosine` in each task, or is `constant`, as in the paper.
        left_out: Share of the times that are hidden from the encoder, drawn for each series and step, so that networks
            learn to predict values they do not see; 0 in the paper.
        step_precision: Floating point type of training steps once the kernel is fixed; `float64` takes up to twice the
            time. What is computed once per task is always in float64, and so are steps on values beyond 100.
        num_samples: Number of samples of the latents in evaluation.
        seed: Seed of sampled points, of replayed times and of evaluation.
    """

    counters = (*VAEModule.counters, "steps_taken")
    steps_taken: int
    changeable = frozenset({"lr", "ewc_strength", "replay_strength", "num_samples"})

    def __init__(
        self,
        method: str = "OHSVGP",
        num_inducing: int = 50,
        *,
        num_variables: int | None = None,
        num_series: int | None = None,
        latents: Latents = "series",
        location_features: int | None = None,
        static_inputs: list[StaticInput] | None = None,
        latent_dim: int | None = None,
        hidden_dim: int = 64,
        networks: Networks = "residual",
        noise: Noise | None = None,
        kernel: KernelName = "rbf",
        waves: list[float] | None = None,
        shortest: float = 3.0,
        longest: float | None = None,
        horizon: float | None = None,
        inducing: str | None = None,
        inducing_options: dict[str, Scalar] | None = None,
        hyperparameters: Hyperparameters = "train_first_task",
        consolidation: Consolidation = "ewc",
        ewc_strength: float = 1.0,
        ewc_running: bool = False,
        replay_strength: float = 1.0,
        replay_times: int | None = None,
        shared_noise: bool = False,
        periods: list[float] | None = None,
        power: float = 0.0,
        shared_precision: bool | None = None,
        sites_folder: str | None = None,
        lr: float = 0.005,
        schedule: Schedule = "cosine",
        left_out: float = 0.1,
        step_precision: StepPrecision = "float32",
        num_samples: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__(METRICS)
        self.save_hyperparameters()
        check_options(self.hparams)
        self.lr, self.hyperparameters, self.num_samples, self.seed = lr, hyperparameters, num_samples, seed
        self.consolidation, self.ewc_strength, self.replay_strength = consolidation, ewc_strength, replay_strength
        self._task: SeriesTask | None = None
        self._losses = FiniteLosses()
        self._planned: float | None = 0.0
        self._former: dict[str, Any] = {}
        self.built = False
        if num_variables is not None and (num_series is not None or latents == "series" or location_features):
            self.build(num_variables, num_series)

    def _build(self, num_variables: int, num_series: int | None) -> None:
        """Build metrics, networks and posteriors."""
        super()._build(num_variables, num_series if self.hparams["latents"] == "field" else None)
        self.vae = build_vae(self.hparams, num_variables, num_series)
        num_parameters = len(ewc.flat([self.vae.encoder, self.vae.decoder]))
        protects, running = self.consolidation, self.hparams["ewc_running"]
        self.ewc = ewc.EWC(num_parameters, running) if protects in ("ewc", "both") else None
        self.replay = Replay(self.vae.decoder, num_replayed(self.hparams)) if protects in ("replay", "both") else None
        self.resolution = Resolution()
        self.step_modules = [self.vae.encoder, self.vae.decoder, *filter(None, (self.ewc, self.replay))]

    def setup(self, stage: str) -> None:
        """Take what is not given from the data: the number of variables, the length of the stream, the locations."""
        super().setup(stage)
        stream = getattr(self.trainer, "datamodule", None)
        self._planned = getattr(stream, "planned_length", 0.0)
        if self.vae.locations is not None and not self.vae.locations.known:
            self.vae.locations.set(*located(stream))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Adam, at a higher rate on noise and lengthscales."""
        return rates.adam(self._optimised(), [self.vae.decoder.log_scale, *self._kernel_parameters()], self.lr)

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Lower the learning rates along a cosine in each task, if the schedule says so."""
        if self.hparams["schedule"] == "cosine":
            rates.follow_cosine(optimizer, self.lr, self.progress)

    def _optimised(self) -> list[nn.Parameter]:
        return [*self._networks(), *self.vae.posterior.inducing.parameters(), *self._kernel_parameters()]

    def _networks(self) -> list[nn.Parameter]:
        return [*self.vae.encoder.parameters(), *self.vae.decoder.parameters()]

    def _kernel_parameters(self) -> list[nn.Parameter]:
        return [] if self.hyperparameters == "fixed" else list(self.vae.kernel.parameters())

    def _trained_in_gp(self) -> list[nn.Parameter]:
        """The parameters other than networks that the present task trains."""
        kernel = self._kernel_parameters() if self.hyperparameters == "train_always" or self.learned == 0 else []
        return [*self.vae.posterior.inducing.parameters(), *kernel]

    @property
    def attached(self) -> bool:
        """Whether the data of the present task are attached."""
        return self._task is not None

    def _prepare_model(self, times: Tensor, y: Tensor, mask: Tensor) -> None:
        """Start networks and kernel at the first task; plan for the length of the stream."""
        if self.begun == 0:
            start_model(self.vae, times, y, mask)
        horizon = self._planned if self.hparams["horizon"] is None else self.hparams["horizon"]
        self.resolution.begin(self.vae, times, horizon)

    def attach_task(self, *data: Tensor) -> None:
        """Attach the data of the task that has begun, and compute once what does not change during it.

        Args:
            data: Times `[T]`, observations `[S, T, V]` and mask `[S, T, V]`.
        """
        fixed, dtype = not self._trained_in_gp(), getattr(torch, self.hparams["step_precision"])
        self._task = task = SeriesTask(self.vae, *data, fixed=fixed, dtype=dtype, device=self.step_device)
        if self.ewc is not None:
            self._num_values = self.vae.posterior.total(torch.tensor(task.num_observed(), device=self.device))
        if self.replay is not None and self.learned > 0:
            self.replay.prepare(task, seed=self.seed + self.learned)
        self.leave_for(task.device)

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        """One step on a batch of series: their indices, times, observations and mask. A field is learnt as a whole."""
        frozen = self.frozen_parameters()
        try:
            loss = self._loss(*batch)
        except ValueError as error:
            if is_finite(self.vae.kernel, self._optimised()):
                raise
            raise self._diverged("the loss became NaN", batch_idx) from error
        self._refuse(self._losses.add(batch_idx, loss))
        # DistributedDataParallel requires every parameter to take part in the loss.
        return loss + 0.0 * sum(p.sum() for p in frozen) if is_distributed() else loss

    def _loss(self, series: Tensor, times: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        assert self._task is not None
        step, number = Step.of(self._task, series, times, y, mask), self.steps_taken
        replay = self.replay if self.learned > 0 else None
        draws, strength = Draws(self.seed, "train", number), self.replay_strength * self.learned

        def loss_of(part: Step) -> tuple[Tensor, ...]:
            noise = part.noise(draws, self.hparams["left_out"], replay)
            value, disagreement = part.terms(noise, replay, number, strength)
            return torch.sub(disagreement, value), value, disagreement

        self.steps_taken += 1
        trained = [*self._networks(), *self._trained_in_gp()]
        with only_training(trained, self.vae):
            loss, value, disagreement = accumulate(loss_of, step.parts(), trained)
        logged = {"train/bound": value}
        if replay is not None:
            logged["train/replay"] = disagreement
        if self.ewc is not None:
            penalty = self.ewc_strength * self.ewc(ewc.flat([self.vae.encoder, self.vae.decoder])) / self._num_values
            loss, logged["train/ewc"] = loss + penalty, penalty
        self.log_step(logged, prog_bar="train/bound")
        return loss

    def _refuse(self, found: tuple[int, float] | None) -> None:
        if found is not None:
            raise self._diverged(f"the loss became {found[1]}", found[0])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """As the base class; raise if the loss of any step so far was not finite."""
        self._refuse(self._losses.check())
        super().on_save_checkpoint(checkpoint)

    def _diverged(self, what: str, step: int) -> FloatingPointError:
        assert self._task is not None
        return divergence_error(what, self.begun, step, self.lr, self._task.max_abs_value())

    def frozen_parameters(self) -> list[nn.Parameter]:
        """The kernel if it is fixed, and after the first task unless it is trained throughout."""
        trained = {id(p) for p in self._trained_in_gp()}
        return [p for p in self.vae.kernel.parameters() if id(p) not in trained]

    def end_task(self) -> None:
        """Consolidate posterior, encoder and decoder."""
        task = self._task
        assert task is not None
        self._refuse(self._losses.check())
        if not is_finite(self.vae.kernel, self._optimised()):
            raise self._diverged("a parameter became NaN or infinite", self.steps_taken)
        self.come_home()
        check_step_precision(task, self.begun)
        if self.ewc is not None:
            parameters = ewc.flat([self.vae.encoder, self.vae.decoder]).detach()
            draws = Draws(self.seed, "fisher", self.learned)
            self.ewc.consolidate(parameters, self.vae.posterior.total(ewc.fisher(task, draws)))
        if self.replay is not None:
            self.replay.consolidate(self.vae.decoder)
        self.vae.consolidate(task.times, task.y, task.mask)
        super().end_task()
        self.resolution.measure(self.vae, float(task.times[-1]))
        self._task = None
