"""Predictions and checkpoints of modules that learn a GP-VAE."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.distributions import Distribution, Normal

from gpvae.metrics import Foresight, equal_mixture
from gpvae.modules.configuration import Differences
from gpvae.modules.former_options import LATER, former_options
from gpvae.modules.series_module import SeriesModule
from gpvae.utils.resizable import rename_former_children
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.model import GPVAE
from gpvae.vae.resolution import Resolution


class VAEModule(SeriesModule):
    """A module whose predictions are those of a GP-VAE for the series of a batch.

    Attributes:
        vae: The model.
        resolution: The share of the latents' prior variance that is resolved.
        num_samples: Number of samples of the latents in evaluation.
        seed: Seed of evaluation.
    """

    model_name = "vae"
    vae: GPVAE
    foresight: Foresight
    resolution: Resolution
    num_samples: int
    seed: int
    _former: dict[str, Any]

    def on_validation_epoch_end(self) -> None:
        """Log the scores, and `memory/resolved`: the share of the latents' prior variance that is resolved."""
        super().on_validation_epoch_end()
        self.log("memory/resolved", self.resolution.share.float())

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """As the base class; a run that began before some options existed stays one without them."""
        super().on_save_checkpoint(checkpoint)
        for name in self._former:
            del checkpoint["hyper_parameters"][name]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """As the base class; if the checkpoint was saved before some options existed, build what was built then."""
        self._former = former_options(checkpoint.get("hyper_parameters", {}))
        differ = {name for name, value in self._former.items() if self.hparams[name] != value}
        self.hparams.update(self._former)
        if differ - LATER.keys():
            self._build(self.hparams["num_variables"], None)
        rename_former_children(self.vae, checkpoint["state_dict"], "vae.")
        super().on_load_checkpoint(checkpoint)

    def predictive(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[Distribution, Tensor]:
        """The predictive distribution of the observed values of a batch, and these values."""
        series, times, y, mask = batch
        mean, scale = self.vae.decode_samples(times, series, self.num_samples, Draws(self.seed, "evaluate"))
        return equal_mixture(Normal(mean[mask], scale[mask])), y[mask]

    def changes_since(self, checkpoint: Mapping[str, Any]) -> Differences:
        """As the base class; options that did not exist when the checkpoint was saved do not differ."""
        saved = checkpoint.get("hyper_parameters", {})
        return super().changes_since({**checkpoint, "hyper_parameters": {**saved, **former_options(saved)}})

    def predict_step(
        self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int, dataloader_idx: int = 0
    ) -> dict[str, Tensor]:
        """Samples of y at the times of a batch, `[num_samples, B, T, V]`, observed or not."""
        series, times, _, _ = batch
        draws = Draws(self.seed, "evaluate")
        mean, scale = self.vae.decode_samples(times, series, self.num_samples, draws)
        noise = draws.normal(series, *mean.shape[1:], purpose="noise").to(mean)
        return {"series": series, "times": times, "samples": (mean + scale * noise).movedim(-1, 0)}
