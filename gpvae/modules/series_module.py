"""The base class of modules that learn series by a GP-VAE: predictions, scores and checkpoints."""

from typing import Any

from torch import Tensor, arange
from torch.distributions import Distribution, Normal

from gpvae.metrics import equal_mixture
from gpvae.modules.base import ContinualModule
from gpvae.utils.resizable import rename_former_children
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.model import GPVAE
from gpvae.vae.resolution import Resolution

METRICS = ("nlpd", "rmse", "coverage")
#: Prefix of the posterior in a state.
POSTERIOR_PREFIX = "vae.posterior."


class SeriesModule(ContinualModule):
    """A module whose predictions are those of a GP-VAE for the series of a batch.

    Attributes:
        vae: The model.
        resolution: The share of the latents' prior variance that is resolved.
        num_samples: Number of samples of the latents in evaluation.
        seed: Seed of evaluation.
    """

    vae: GPVAE
    resolution: Resolution
    num_samples: int
    seed: int

    def on_validation_epoch_end(self) -> None:
        """Log the scores, and `memory/resolved`: the share of the latents' prior variance that is resolved."""
        super().on_validation_epoch_end()
        self.log("memory/resolved", self.resolution.share.float())

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Gather the sites of all processes."""
        self.vae.posterior.gather_sites(checkpoint["state_dict"], POSTERIOR_PREFIX)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Raise if the checkpoint has another configuration; select the series of this process."""
        super().on_load_checkpoint(checkpoint)
        rename_former_children(self.vae, checkpoint["state_dict"], "vae.")
        self.vae.posterior.select_own_sites(checkpoint["state_dict"], POSTERIOR_PREFIX)

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
        return arange(mask.shape[-1], device=mask.device).expand_as(mask)[mask]
