"""The terms of a step are those of torch.distributions, and their derivatives are right."""

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from gpvae.vae.networks import Decoded
from gpvae.vae.step_terms import step_terms

B, T, R, V = 2, 3, 4, 2


def given(num_draws: int, predicted: bool, replays: bool) -> tuple[Decoded, Tensor, Tensor, Decoded | None]:
    """Outputs of the present decoder in rows, observations, mask, and outputs of the previous decoder."""
    torch.manual_seed(0)

    def outputs(*shape: int) -> Decoded:
        mean, log_noise, log_scale = (torch.randn(*size, V).double() for size in (shape, (), shape))
        return Decoded(mean, log_noise, log_scale if predicted else None)

    y, mask = torch.randn(B, T, V).double(), torch.rand(B, T, V) > 0.3
    return outputs(B * (R * replays + num_draws * T)), y, mask, outputs(B, R) if replays else None


CASES = [(1, False), (4, True), (1, True)]


@pytest.mark.parametrize("replays", [False, True])
@pytest.mark.parametrize(("num_draws", "predicted"), CASES)
def test_values(num_draws: int, predicted: bool, replays: bool) -> None:
    (mean, log_noise, log_scale), y, mask, before = given(num_draws, predicted, replays)
    sizes = [B * R * replays, num_draws * B * T]
    past, own = mean.split(sizes)
    past, draws = past.view(B, -1, V), own.view(num_draws, B, T, V)
    log_prob = Normal(draws[0], log_noise.exp()).log_prob(y)
    divergence = torch.zeros(B, R, V).double()
    if log_scale is not None:
        log_past, log_own = log_scale.split(sizes)
        log_past = log_past.view(past.shape)
        mixture = Normal(draws, log_own.exp().view(draws.shape)).log_prob(y)
        log_prob = log_prob + mixture.exp().mean(0).log()
    if before is not None:
        divergence += kl_divergence(Normal(before.mean, before.log_noise.exp()), Normal(past, log_noise.exp()))
        if before.log_scale is not None:
            divergence += kl_divergence(Normal(before.mean, before.log_scale.exp()), Normal(past, log_past.exp()))
    outputs = Decoded(mean, log_noise, log_scale)
    ours = step_terms(mean[: B * (R * replays + T)], outputs, y.where(mask, torch.nan), mask, before)
    torch.testing.assert_close(ours[0], (log_prob * mask).sum((-2, -1)))
    torch.testing.assert_close(ours[1], divergence.mean((-2, -1)))


@pytest.mark.parametrize("replays", [False, True])
@pytest.mark.parametrize(("num_draws", "predicted"), CASES)
def test_derivatives(num_draws: int, predicted: bool, replays: bool) -> None:
    """The mean is trained by the noise of the variables, scales with the mean held fixed."""
    (mean, log_noise, log_scale), y, mask, before = given(num_draws, predicted, replays)
    plain = None if before is None else before._replace(log_scale=None)

    def by_noise(some: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        others = mean[B * (R * replays + T) :]
        outputs = Decoded(torch.cat([some.detach(), others]), noise, log_scale)
        return step_terms(some, outputs, y, mask, before)

    def terms_by_noise(some: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        return step_terms(some, Decoded(some.detach(), noise, None), y, mask, plain)

    trained = mean[: B * (R * replays + T)].clone().requires_grad_(), log_noise.requires_grad_()
    assert torch.autograd.gradcheck(terms_by_noise, trained)
    sums = [sum(part.sum() for part in terms(*trained)) for terms in (by_noise, terms_by_noise)]
    for ours, expected in zip(*(torch.autograd.grad(total, trained) for total in sums), strict=True):
        torch.testing.assert_close(ours, expected)
    if log_scale is not None:

        def by_scale(scale: Tensor) -> tuple[Tensor, Tensor]:
            trained = mean[: B * (R * replays + T)]
            return step_terms(trained, Decoded(mean, log_noise.detach(), scale), y, mask, before)

        assert torch.autograd.gradcheck(by_scale, (log_scale.requires_grad_(),))
