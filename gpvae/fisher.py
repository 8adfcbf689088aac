"""The Fisher information of the networks of a GP-VAE, from the bound of each series."""

import torch
from torch import Tensor

from gpvae.ewc import per_sample_gradients
from gpvae.sites import Site
from gpvae.vae import GPVAE, bound, sample
from gpvae.view import View


def squared_gradients(vae: GPVAE, view: View, past: Site, y: Tensor, mask: Tensor, noise: Tensor) -> Tensor:
    """Squared gradients of the bound of each series with respect to encoder and decoder, `[B, P]`.

    Args:
        vae: The model.
        view: The times of the observations.
        past: The old sites of these series in the frame of the task, `[B, L]`.
        y: Observations `[B, T, V]`.
        mask: Which of them there are.
        noise: A standard normal draw `[B, L, T]` that makes a sample of f.
    """
    with torch.enable_grad():
        encoded = tuple(part.detach().requires_grad_() for part in vae.encode(view.times, y, mask))
        q = vae.posterior(view, past, *encoded)
        f = sample(q, view, noise)
        decoded = vae.decode(view.times, f)
        value = bound(q, past, decoded, y, mask).sum()
        by_output = torch.autograd.grad(value, (*encoded, *decoded))
    clock = vae.clock(view.times).expand(len(y), -1, -1)
    encoder = per_sample_gradients(vae.encoder, (y, mask, clock), by_output[:2])
    decoder = per_sample_gradients(vae.decoder, (f.detach(), clock), by_output[2:])
    return torch.cat([encoder, decoder], -1).square()
