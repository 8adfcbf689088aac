"""The continual GP-VAE as a LightningModule."""

import copy
from typing import Any, Literal, get_args

import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from gpvae.inference import only_training
from gpvae.methods import KernelName, Scalar, build_method_families, find_method, latent_kernel
from gpvae.metrics import Foresight, TaskScores, equal_mixture
from gpvae.modules.series_module import SeriesModule
from gpvae.utils import checks
from gpvae.utils.distributed import num_processes, sum_over_processes
from gpvae.utils.resizable import rename_former_children
from gpvae.vae import ewc
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.model import GPVAE
from gpvae.vae.networks import Decoder, Encoder
from gpvae.vae.replay import Replay
from gpvae.vae.resolution import Resolution
from gpvae.vae.series_posterior import SeriesPosterior
from gpvae.vae.task import SeriesTask, divergence_error, is_finite

Consolidation = Literal["ewc", "replay", "both", "none"]
Hyperparameters = Literal["fixed", "train_first_task", "train_always"]

METRICS = ("nlpd", "rmse", "crps", "coverage")
#: Learning rate of noise and lengthscales, relative to that of the networks.
SCALE_RATE = 10.0


class SVGPVAE(SeriesModule):
    """A GP-VAE that learns task after task: OSVGP, OVC, OVC-per-dim and OHSVGP share one encoder and decoder.

    Args:
        method: OSVGP, OVC, OVC-per-dim or OHSVGP; or a family of inducing variables, such as CosS.
        num_inducing: Number of inducing variables M of each latent dimension.
        num_variables: Number of observed variables; taken from the data if not given.
        latent_dim: Number of latent dimensions L.
        hidden_dim: Width of the hidden layers of encoder and decoder.
        kernel: Kernel of the latent functions, with a lengthscale for each latent dimension.
        shortest: Shortest lengthscale to start from, in units of time (hours for ERA5).
        longest: Longest lengthscale to start from; those of the latent dimensions are log-spaced in between.
        inducing: Another family of inducing variables for the method, such as CosS for OHSVGP.
        inducing_options: Options of the family.
        hyperparameters: Whether the kernel is trained: `fixed`, `train_first_task` or `train_always`.
        consolidation: Protection of encoder and decoder against forgetting: `ewc`, elastic weight consolidation of
            both; `replay`, agreement of the decoder with the previous one on past latents; `both` or `none`.
        ewc_strength: Strength λ of elastic weight consolidation.
        ewc_running: Its running form, anchored at the last task only.
        replay_strength: Strength of replay; 1 weighs a past task like the present one.
        shared_noise: One noise variance for all variables, as in the paper, instead of one each.
        periods: Periods of a clock that is an input of encoder and decoder, such as the 24 hours of a day; none if not
            given, as in the paper.
        power: α of power expectation propagation, by which the past is transported to new inducing variables: 0 is
            the variational bound, 1 expectation propagation, which trusts the past less where they resolve it less.
        shared_precision: Keep one posterior covariance of past tasks for all series, and a mean for each: M times less
            memory, for very many series. Within a task each series has its own covariance.
        sites_folder: Folder in which the sites of all series are kept instead of in memory; each run needs its own.
        lr: Learning rate of Adam; that of noise and lengthscales is ten times as high.
        num_samples: Number of samples of the latents in evaluation.
        seed: Seed of sampled points, of replayed times and of evaluation.
    """

    steps_taken: Tensor
    changeable = frozenset({"lr", "ewc_strength", "replay_strength", "num_samples"})
    model_name = "vae"

    def __init__(
        self,
        method: str = "OHSVGP",
        num_inducing: int = 50,
        *,
        num_variables: int | None = None,
        latent_dim: int = 20,
        hidden_dim: int = 64,
        kernel: KernelName = "rbf",
        shortest: float = 3.0,
        longest: float = 100.0,
        inducing: str | None = None,
        inducing_options: dict[str, Scalar] | None = None,
        hyperparameters: Hyperparameters = "train_first_task",
        consolidation: Consolidation = "ewc",
        ewc_strength: float = 1.0,
        ewc_running: bool = False,
        replay_strength: float = 1.0,
        shared_noise: bool = False,
        periods: list[float] | None = None,
        power: float = 0.0,
        shared_precision: bool = False,
        sites_folder: str | None = None,
        lr: float = 0.005,
        num_samples: int = 100,
        seed: int = 0,
    ) -> None:
        checks.choice("consolidation", consolidation, get_args(Consolidation))
        checks.choice("hyperparameters", hyperparameters, get_args(Hyperparameters))
        checks.positive(lr=lr, latent_dim=latent_dim, hidden_dim=hidden_dim, num_samples=num_samples, longest=longest)
        checks.positive(ewc_strength=ewc_strength or None, replay_strength=replay_strength or None)  # 0 is none
        super().__init__(METRICS)
        self.save_hyperparameters()
        self.lr, self.hyperparameters, self.num_samples, self.seed = lr, hyperparameters, num_samples, seed
        self.consolidation, self.ewc_running, self.shared_noise = consolidation, ewc_running, shared_noise
        self.ewc_strength, self.replay_strength = ewc_strength, replay_strength
        (family,) = build_method_families(find_method(method), inducing, num_inducing, 1, seed, inducing_options)
        self._sizes = {"latent_dim": latent_dim, "num_hidden": hidden_dim, "num_phases": len(periods or [])}
        self._vae_options: dict[str, Any] = {
            "kernel": latent_kernel(kernel, latent_dim, shortest, longest),
            "inducing": family,
            "periods": periods or [],
            "power": power,
            "shared_precision": shared_precision,
            "folder": sites_folder,
        }
        self.register_buffer("steps_taken", torch.zeros((), dtype=torch.int64))
        self._task: SeriesTask | None = None
        self.built = False
        if num_variables is not None:
            self.build(num_variables)

    def _build(self, num_variables: int) -> None:
        """Build networks and posteriors."""
        self.hparams["num_variables"] = num_variables
        self._hparams_initial = copy.deepcopy(self.hparams)  # the copy that loggers get
        self.scores, self.foresight = TaskScores(METRICS, num_variables), Foresight(METRICS, num_variables)
        decoder = Decoder(num_variables=num_variables, shared_noise=self.shared_noise, **self._sizes)
        encoder = Encoder(num_variables=num_variables, **self._sizes)
        self.vae = GPVAE(encoder, decoder, **self._vae_options)
        self._keep_apart(self.vae.posterior.rows)
        num_parameters = len(ewc.flat([self.vae.encoder, self.vae.decoder]))
        self.ewc = ewc.EWC(num_parameters, self.ewc_running) if self.consolidation in ("ewc", "both") else None
        self.replay = Replay(decoder) if self.consolidation in ("replay", "both") else None
        self.resolution = Resolution()

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Adam on networks and inducing points, at a higher rate on noise and lengthscales, which are logarithms."""
        scales = [self.vae.decoder.log_scale, *self._kernel_parameters()]
        others = [p for p in self._optimised() if all(p is not scale for scale in scales)]
        groups: list[dict[str, Any]] = [{"params": others}, {"params": scales, "lr": SCALE_RATE * self.lr}]
        return torch.optim.Adam(groups, lr=self.lr)

    def _optimised(self) -> list[nn.Parameter]:
        return [*self._networks(), *self.vae.posterior.inducing.parameters(), *self._kernel_parameters()]

    def _networks(self) -> list[nn.Parameter]:
        return [*self.vae.encoder.parameters(), *self.vae.decoder.parameters()]

    def _kernel_parameters(self) -> list[nn.Parameter]:
        return [] if self.hyperparameters == "fixed" else list(self.vae.kernel.parameters())

    def _trained_in_gp(self) -> list[nn.Parameter]:
        """The parameters other than networks that the present task trains."""
        kernel = self.hyperparameters == "train_always" or self.learned == 0
        return [*self.vae.posterior.inducing.parameters(), *(self._kernel_parameters() if kernel else [])]

    @property
    def _posterior(self) -> SeriesPosterior:
        return self.vae.posterior

    @property
    def attached(self) -> bool:
        """Whether the data of the present task are attached."""
        return self._task is not None

    def begin_task(self, *data: Tensor) -> None:
        """Advance the inducing variables to the times of a new task.

        Args:
            data: Times `[T]`, observations `[B, T, V]` and mask `[B, T, V]`.
        """
        self.check_task(*data)
        times = data[0].to(self.device)
        self.vae.posterior.begin(self.vae.kernel, times[:, None])
        if self.begun == 0:
            self.resolution.start.copy_(times[0])
        self.begun += 1
        self.attach_task(*data)

    def attach_task(self, *data: Tensor) -> None:
        """Attach the data of the task that has begun, and compute once what does not change during it.

        Args:
            data: Times `[T]`, observations `[B, T, V]` and mask `[B, T, V]`.
        """
        self._task = task = SeriesTask(self.vae, *data, fixed=not self._trained_in_gp())
        if self.ewc is not None:
            self._num_values = sum_over_processes(torch.tensor(task.num_observed(), device=self.device))
        if self.replay is not None and self.learned > 0:
            self.replay.prepare(task, seed=self.seed + int(self.learned))

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        """One step on a batch of series: their indices, times, observations and mask."""
        frozen = self.frozen_parameters()
        try:
            loss = self._loss(*batch)
        except ValueError as error:
            if is_finite(self.vae.kernel, self._optimised()):
                raise
            # A covariance or a distribution received NaN.
            raise self._diverged("the loss became NaN", batch_idx) from error
        if not bool(torch.isfinite(loss)):
            raise self._diverged(f"the loss became {loss.item()}", batch_idx)
        return loss + 0.0 * sum(p.sum() for p in frozen)

    def _loss(self, series: Tensor, times: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        assert self._task is not None
        draws = Draws(self.seed, "train", int(self.steps_taken))
        self.steps_taken += 1
        # Gradients are averaged over processes with different series, so counts must be averaged over processes too.
        counts = sum_over_processes(torch.stack([mask.sum(), torch.full_like(mask.sum(), len(series))]))
        num_values, num_series = counts.clamp_min(1) / num_processes()
        with only_training([*self._networks(), *self._trained_in_gp()], self.vae):
            features, past = self._task.features_and_past(times, series)
            noise = draws.normal(series, *features.prior.shape)
            value = self.vae.bound(features, past, y, mask, noise).sum() / num_values
        loss = -value
        self.log("train/bound", value, prog_bar=True, sync_dist=True)
        if self.ewc is not None:
            penalty = self.ewc_strength * self.ewc(ewc.flat([self.vae.encoder, self.vae.decoder])) / self._num_values
            loss = loss + penalty
            self.log("train/ewc", penalty, sync_dist=True)
        if self.replay is not None and self.learned > 0:
            disagreement = self.replay(self.vae.decoder, series, draws).sum() / num_series
            loss = loss + self.replay_strength * self.learned * disagreement
            self.log("train/replay", disagreement, sync_dist=True)
        return loss

    def _diverged(self, what: str, step: int) -> FloatingPointError:
        assert self._task is not None
        return divergence_error(what, int(self.begun), step, self.lr, self._task.max_abs_value())

    def frozen_parameters(self) -> list[nn.Parameter]:
        """The kernel after the first task, unless it is trained throughout."""
        trained = {id(p) for p in (*self._networks(), *self._trained_in_gp())}
        return [p for p in self._optimised() if id(p) not in trained]

    def end_task(self) -> None:
        """Consolidate posterior, encoder and decoder."""
        task = self._task
        assert task is not None
        if not is_finite(self.vae.kernel, self._optimised()):  # the last step has no loss after it
            raise self._diverged("a parameter became NaN or infinite", int(self.steps_taken))
        if self.ewc is not None:
            parameters = ewc.flat([self.vae.encoder, self.vae.decoder]).detach()
            draws = Draws(self.seed, "fisher", int(self.learned))
            self.ewc.consolidate(parameters, sum_over_processes(ewc.fisher(task, draws)))
        if self.replay is not None:
            self.replay.consolidate(self.vae.decoder)
        self.vae.consolidate(task.times, task.y, task.mask)
        self.learned += 1
        self.resolution.measure(self.vae, float(task.times[-1]))
        self._task = None

    def on_validation_epoch_end(self) -> None:
        """Log the scores, and `memory/resolved`: the share of the latents' prior variance that is resolved."""
        super().on_validation_epoch_end()
        self.log("memory/resolved", self.resolution.share.float())

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Raise if the checkpoint has another configuration; select the series of this process."""
        rename_former_children(self.vae, checkpoint["state_dict"], "vae.")
        super().on_load_checkpoint(checkpoint)

    def predictive(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[Distribution, Tensor]:
        """The predictive distribution of the observed values of a batch, and these values."""
        series, times, y, mask = batch
        mean, scale = self.vae.decode_samples(times, series, self.num_samples, Draws(self.seed, "evaluate"))
        return equal_mixture(Normal(mean[mask], scale[mask])), y[mask]

    def predict_step(
        self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int, dataloader_idx: int = 0
    ) -> dict[str, Tensor]:
        """Samples of y at the times of a batch, `[num_samples, B, T, V]`, observed or not."""
        series, times, _, _ = batch
        draws = Draws(self.seed, "evaluate")
        mean, scale = self.vae.decode_samples(times, series, self.num_samples, draws)
        noise = draws.normal(series, *mean.shape[1:], purpose="noise").to(mean)
        return {"series": series, "times": times, "samples": (mean + scale * noise).movedim(-1, 0)}

    def variable_of(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        """The variable of each observed value."""
        mask = batch[-1]
        return torch.arange(mask.shape[-1], device=mask.device).expand_as(mask)[mask]

    def lead_time(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor | None:
        """The time from the last one learnt to that of each observed value; None if it is unknown."""
        return self.vae.widening.lead_time(batch[1], batch[3])

    def learn_from_foresight(self) -> None:
        """Learn how wide the next forecasts should be."""
        self.vae.widening.learn(self.foresight.coverage())
