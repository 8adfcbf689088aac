"""The encoder and decoder that all GP-VAEs share."""

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

#: Least variance of a pseudo-observation, against a prior variance of one.
LEAST_VARIANCE = 1e-4


def mlp(num_in: int, num_hidden: int, num_out: int) -> nn.Sequential:
    """A network of two layers."""
    return nn.Sequential(nn.Linear(num_in, num_hidden), nn.SiLU(), nn.Linear(num_hidden, num_out))


class Encoder(nn.Module):
    """y_t → pseudo-observations ỹ_t of the latents, and their variances ṽ_t.

    What is masked does not enter; a time step of which nothing is observed says nothing about the latents.

    Args:
        num_variables: Number of observed variables V.
        latent_dim: Number of latent dimensions L.
        num_hidden: Width of the hidden layer.
    """

    def __init__(self, num_variables: int, latent_dim: int, num_hidden: int) -> None:
        super().__init__()
        self.network = mlp(2 * num_variables, num_hidden, 2 * latent_dim)

    def forward(self, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Pseudo-observations and their precisions 1/ṽ, `[B, L, T]` in double precision.

        Args:
            y: Observations `[B, T, V]`.
            mask: Which of them there are, `[B, T, V]`.
        """
        seen = torch.cat([torch.where(mask, y, 0.0), mask.to(y)], -1)
        mean, raw = self.network(seen).double().mT.chunk(2, dim=-2)
        return mean, mask.any(-1)[..., None, :] / (softplus(raw) + LEAST_VARIANCE)


class Decoder(nn.Module):
    """f_t → the mean of y_t, with a learnt noise for each variable or one for all.

    Args:
        latent_dim: Number of latent dimensions L.
        num_variables: Number of observed variables V.
        num_hidden: Width of the hidden layer.
        shared_noise: One σ² for all variables, as in the paper.
        noise: σ to start from.
    """

    def __init__(
        self, latent_dim: int, num_variables: int, num_hidden: int, shared_noise: bool = False, noise: float = 0.5
    ) -> None:
        super().__init__()
        self.network = mlp(latent_dim, num_hidden, num_variables)
        self.log_scale = nn.Parameter(torch.full((1 if shared_noise else num_variables,), noise).log())

    def forward(self, f: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of y, `[..., T, V]`, from latents `[..., L, T]`."""
        mean = self.network(f.mT.to(self.log_scale))
        return mean, self.log_scale.exp().expand_as(mean)
