"""The share of the latents' prior variance that the inducing variables resolve, over the stream so far."""

import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor, nn

from gpvae.diagnostics import ResolutionWarning
from gpvae.vae.model import GPVAE

#: Minimum mean share of the latents' prior variance to resolve. On the ERA5 sample, the NLPD rises below it, and has
#: doubled at 0.91.
MIN_RESOLVED = 0.95
#: Share of the fastest latent function that the advised number of variables resolves.
ADVISED_SHARE = 0.75
#: Number of times, spread over the stream, at which the share is measured.
NUM_TIMES = 512


class Resolution(nn.Module):
    """Measures how well the inducing variables resolve the latents, and warns once when they have become too few.

    Attributes:
        start: Time at which the stream began.
        share: Share of the latents' prior variance that is resolved, mean over latents and times.
    """

    start: Tensor
    share: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("start", torch.zeros((), dtype=torch.float64))
        self.register_buffer("share", torch.ones((), dtype=torch.float64))

    def measure(self, vae: GPVAE, end: float) -> None:
        """Measure the share from the start of the stream to a time, and warn if it has become too small."""
        before = float(self.share)
        times = torch.linspace(float(self.start), end, NUM_TIMES, dtype=torch.float64, device=self.start.device)
        self.share.copy_(vae.resolved_share(times).mean())
        if self.share >= MIN_RESOLVED or before < MIN_RESOLVED:
            return
        family = vae.posterior.inducing
        needed = family.num_needed(vae.kernel, ADVISED_SHARE)
        rank_zero_warn(
            f"over the {end - float(self.start):,.0f} units of time so far, {family.num_inducing} "
            f"{type(family).__name__} variables resolve only {self.share:.0%} of the latents' prior variance: "
            "from here on, predictions smooth fast changes away, in old tasks and new; raise num_inducing"
            + ("" if needed is None else f" ({needed} would resolve {ADVISED_SHARE:.0%} of the fastest latent)"),
            category=ResolutionWarning,
        )
