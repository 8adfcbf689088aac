"""Posterior replay: the previous posterior supplies past latents, the previous decoder their targets.

No data are kept. The new decoder is trained to agree with the previous one on past latents, as represented by the
inducing variables of the new task: blurred where these resolve less.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from gpvae.posteriors import Posterior
from gpvae.utils.devices import moved
from gpvae.utils.distributed import own_positions
from gpvae.utils.row_store import compute_rows, select_rows
from gpvae.vae import fused_networks
from gpvae.vae.networks import Decoder, Replayed
from gpvae.vae.shared_times import TimeFeatures
from gpvae.vae.task import SeriesTask


class Replay(nn.Module):
    """Past latents, and the outputs of the previous decoder, to which those of the present one are to be close (in KL).

    Args:
        decoder: The decoder that is trained.
        num_times: Number of past times available in a task, drawn anew for each task.
        num_draws: Number of these times that each step uses, one part of them after the other; a quarter of them if not
            given.
    """

    def __init__(self, decoder: Decoder, num_times: int = 256, num_draws: int | None = None) -> None:
        super().__init__()
        num_draws = max(1, num_times // 4) if num_draws is None else num_draws
        if num_times < 1 or num_draws < 1:
            raise ValueError(f"replay needs at least one time and one draw, got {num_times=}, {num_draws=}")
        self.before = copy.deepcopy(decoder).requires_grad_(False)
        self.num_times, self.num_draws = num_times, min(num_draws, num_times)

    def consolidate(self, decoder: Decoder) -> None:
        """Set the previous decoder to that of a task that has ended."""
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
        starts = [*range(0, self.num_times - self.num_draws, self.num_draws), self.num_times - self.num_draws]
        parts = [slice(start, start + self.num_draws) for start in starts]
        self.parts = [(some, times[some], vae.clock(times, task.device)[some]) for some in parts]
        frames = vae.posterior.present_frame(task.kernel), (task.frame, task.transport)
        pairs = [(TimeFeatures.of(frame, times), transport) for frame, transport in frames]

        def latents(series: Tensor) -> tuple[Tensor, ...]:
            site = vae.posterior.site_of(series)
            means, variances = zip(
                *(features.marginals(Posterior.from_site(transport(site))) for features, transport in pairs),
                strict=True,
            )
            past, shown = variances
            spreads = past, torch.minimum(past, shown), (shown - past).clamp_min(0)
            past_latents = torch.stack(means, 1), torch.stack(spreads, 1).sqrt()
            return tuple(moved(part, task.device, torch.float32) for part in past_latents)

        store, size = vae.posterior.row_store("replay"), vae.posterior.chunk_size
        self.means, self.spreads = compute_rows(store, ("means", "spreads"), series, size, latents)

    def noise_shape(self) -> tuple[int, ...]:
        """The shape of the standard normal draws of each series for a step."""
        return 2, self.means.shape[-2], self.num_draws

    @torch.no_grad()
    def forward(
        self, series: Tensor, noise: Tensor, number: int, location_inputs: Callable[[Tensor], tuple[Tensor, ...]]
    ) -> Replayed:
        """Draws of past latents, and the outputs of the previous decoder for them.

        Args:
            series: Series of this process, `[B]`.
            noise: Standard normal draws of each series, `[B, *noise_shape]`.
            number: The number of the step, which says which times are replayed.
            location_inputs: Inputs that depend on the location, at some times; see `GPVAE.location_inputs`.
        """
        some, times, clock = self.parts[number % len(self.parts)]
        rows, given = own_positions(series), (clock, *location_inputs(times))
        spreads = select_rows(self.spreads[..., some], rows)
        same, extra = noise.to(spreads).split(1, 1)
        past, shown = torch.addcmul(select_rows(self.means[..., some], rows), spreads[:, :2], same).unbind(1)
        f = torch.addcmul(shown, spreads[:, 2], extra[:, 0])
        return Replayed(f, given, fused_networks.outputs(self.before, past, given))
