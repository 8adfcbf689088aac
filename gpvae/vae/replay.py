"""Posterior replay: the previous posterior supplies past latents, the previous decoder their targets.

No data are kept. The new decoder is trained to agree with the previous one on past latents, as the inducing variables
of the new task represent them: blurred where these resolve less.
"""

import copy

import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from gpvae.posteriors import Posterior
from gpvae.utils.distributed import own_places
from gpvae.utils.row_store import fill, take
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.networks import Decoder
from gpvae.vae.shared_times import View
from gpvae.vae.task import SeriesTask


class Replay(nn.Module):
    """KL between the outputs of the previous and the present decoder for past latents.

    Args:
        decoder: The decoder that learns.
        num_times: Number of past times available in a task, drawn anew for each task.
        num_draws: Number of them that each step uses.
    """

    def __init__(self, decoder: Decoder, num_times: int = 256, num_draws: int = 64) -> None:
        super().__init__()
        if num_times < 1 or num_draws < 1:
            raise ValueError(f"replay needs at least one time and one draw, got {num_times=}, {num_draws=}")
        self.before = copy.deepcopy(decoder).requires_grad_(False)
        self.num_times, self.num_draws = num_times, num_draws

    def keep(self, decoder: Decoder) -> None:
        """Keep the decoder of a task that has ended."""
        self.before.load_state_dict(decoder.state_dict())

    @torch.no_grad()
    def prepare(self, task: SeriesTask, seed: int) -> None:
        """Compute the latents of all series of this process at past times, once for the task.

        Args:
            task: The new task; the past ends where it begins.
            seed: Seed of the times.
        """
        vae, end, series = task.vae, float(task.times[0]), task.series
        rng = torch.Generator().manual_seed(seed)
        times = end * torch.rand(self.num_times, generator=rng, dtype=torch.float64).to(series.device)
        self.clock = vae.clock(times)
        frames = vae.posterior.present_frame(vae.kernel), (task.frame, task.transport)
        views = [(View.of(frame, times), transport) for frame, transport in frames]

        def latents(some: Tensor) -> tuple[Tensor, ...]:
            site = vae.posterior.site_of(some)
            both = [view.marginals(Posterior.from_site(transport(site))) for view, transport in views]
            return tuple(part.float() for mean, variance in both for part in (mean, variance.sqrt()))

        names = ("past_mean", "past_stddev", "shown_mean", "shown_stddev")
        self.latents = fill(vae.posterior.place("replay"), names, series, vae.posterior.at_once, latents)

    def forward(self, decoder: Decoder, series: Tensor, draws: Draws) -> Tensor:
        """The mean KL per scalar, over draws of past latents, of each series, `[B]`.

        Args:
            decoder: The decoder that learns.
            series: Which series of this process, `[B]`.
            draws: Where random numbers come from.
        """
        some = draws.choices(self.num_times, self.num_draws).to(series.device)
        mean, stddev, *others = (take(part, own_places(series))[..., some].double() for part in self.latents)
        past, shown = Normal(mean, stddev), Normal(others[0], others[1])
        noise, more = (draws.normal(series, *past.mean.shape[1:], purpose=name) for name in ("replay", "blur"))
        blur = (shown.variance - past.variance).clamp_min(0).sqrt()
        kept = torch.minimum(past.stddev, shown.stddev) * noise
        with torch.no_grad():
            wanted = Normal(*self.before(past.mean + past.stddev * noise, self.clock[some]))
        f = shown.mean + kept + blur * more
        return kl_divergence(wanted, Normal(*decoder(f, self.clock[some]))).mean((-2, -1))
