"""Densities are those of torch.distributions, and so are their derivatives."""

import torch
from torch.distributions import Normal

from gpvae.vae import normal


def draws(number: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(3, 4, dtype=torch.float64) for _ in range(number)]


def test_log_density() -> None:
    y, mean, scale = draws(3)
    scale = scale.exp()
    torch.testing.assert_close(normal.log_prob(y, mean, scale), Normal(mean, scale).log_prob(y))
    assert torch.autograd.gradcheck(
        lambda m, s: normal.log_prob(y, m, s), (mean.requires_grad_(), scale.requires_grad_())
    )
