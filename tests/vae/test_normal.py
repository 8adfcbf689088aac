"""Densities and divergences are those of torch.distributions, and so are their derivatives."""

import torch
from torch.distributions import Normal, kl_divergence

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


def test_divergence() -> None:
    mean, scale, other_mean, other_scale = draws(4)
    scale, other_scale = scale.exp(), other_scale.exp()
    expected = kl_divergence(Normal(mean, scale), Normal(other_mean, other_scale))
    torch.testing.assert_close(normal.divergence(mean, scale, other_mean, other_scale), expected)
    assert torch.autograd.gradcheck(
        lambda m, s: normal.divergence(mean, scale, m, s), (other_mean.requires_grad_(), other_scale.requires_grad_())
    )
