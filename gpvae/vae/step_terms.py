"""The terms of a training step that depend on outputs of the decoder: log likelihood, and divergence by replay.

Both terms and their derivatives are written out, which takes less than half of the operations that differentiating
each operation would take.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gpvae.vae.fused_networks import observed
from gpvae.vae.networks import Decoded
from gpvae.vae.normal import HALF_LOG_2_PI

#: Number of draws of the latents that train a predicted scale.
SCALE_DRAWS = 4


def step_terms(
    trained: Tensor,
    outputs: Decoded,
    y: Tensor,
    mask: Tensor,
    before: Decoded | None,
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor]:
    """The log likelihood of each series, and the mean divergence of each, `[B]`; the latter 0 without replay.

    The mean is trained by its first draw and the noise of the variables. Predicted scales are trained separately, with
    means held fixed: by the density of equal mixtures of all draws. Predictions are such mixtures, so a scale that is
    trained on their density does not count the variance of f twice.

    Args:
        trained: The rows of the mean that have derivatives: all but those of the other draws.
        outputs: Those of the decoder in rows `[N, V]`: for latents that are replayed, `[B, R]`, then for K draws of the
            latents of the task, `[K, B, T]`.
        y: Observations `[B, T, V]`.
        mask: Which of them are observed.
        before: Outputs of the previous decoder for replayed latents, `[B, R, V]`; None without replay.
        dtype: Floating point type of both terms, which are sums over many values of a series.
    """
    return _StepTerms.apply(trained, *outputs, y, mask, before, dtype)  # type: ignore[no-untyped-call]


class _StepTerms(torch.autograd.Function):
    """The sum of log p over observed values, and the mean of a divergence over replayed ones, for each series.

    Log p of y is log N(y; m_1, σ²) + log 1/K Σ_k N(y; m_k, s_k²), with K draws m_k of the mean, noise σ and predicted
    scales s_k. The m_k in the second term are held fixed. With z = (m_1 - y) / σ and z_k = (m_k - y) / s_k, derivatives
    are -z / σ by m_1, z² - 1 by log σ, and π_k (z_k² - 1) by log s_k, where π_k is the share of draw k in the mixture.

    The divergence from the previous decoder (m', σ', s') is KL(N(m', σ'²) ‖ N(m, σ²)) = ½ ρ² - ½ - log σ' / σ, where
    z = (m - m') / σ and ρ² = (σ' / σ)² + z², and the same with scales for noise, m held fixed. Derivatives are z / σ by
    m, 1 - ρ² by log σ, and alike by log s.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        _: Tensor,
        mean: Tensor,
        log_noise: Tensor,
        log_scale: Tensor | None,
        y: Tensor,
        mask: Tensor,
        before: Decoded | None,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        rows = _Rows(y.shape, None if before is None else before.mean.shape)
        ctx.rows, ctx.shapes, ctx.predicts = rows, (mean.shape, log_noise.shape), log_scale is not None
        noise = log_noise.exp()
        difference = torch.empty_like(mean, dtype=torch.promote_types(mean.dtype, y.dtype))
        torch.sub(rows.own(mean), observed(y, mask), out=rows.own(difference))
        if before is not None:
            torch.sub(rows.past(mean), before.mean, out=rows.past(difference))
        z = rows.trained(difference) / rows.expanded(noise)
        (own_z,) = rows.own(z)
        saved = [mask, noise, z]
        if log_scale is None:
            log_prob = torch.rsub(log_noise, -HALF_LOG_2_PI)
        else:
            scaled = difference.div_(log_scale.exp())
            of_draws = rows.own(scaled)
            constant = torch.tensor(-2 * HALF_LOG_2_PI - math.log(len(of_draws)), dtype=z.dtype)  # of the host
            negative = torch.addcmul(rows.own(log_scale), of_draws, of_draws, value=0.5)
            log_density = torch.sub(constant, negative, out=negative)  # of each draw, divided by K
            log_share = log_density.log_softmax(0)
            log_prob = torch.sub(log_density[0], log_share[0]).sub_(log_noise)
            saved += [of_draws, log_share]
        log_prob = torch.addcmul(log_prob, own_z, own_z, value=-0.5)
        log_likelihood = (log_prob * mask).sum((-2, -1), dtype=dtype)
        if before is None:
            ctx.save_for_backward(*saved)
            return log_likelihood, torch.zeros_like(log_likelihood)
        log_ratio = before.log_noise - log_noise
        rhos = [torch.hypot(log_ratio.exp(), rows.past(z))]
        if log_scale is not None:
            assert before.log_scale is not None
            of_scale = before.log_scale - rows.past(log_scale)
            rhos.append(torch.hypot(of_scale.exp(), rows.past(scaled)))
            log_ratio = of_scale.add_(log_ratio)
        negative = log_ratio
        for rho in rhos:
            negative = torch.addcmul(negative, rho, rho, value=-0.5)
        ctx.save_for_backward(*saved, *rhos)
        return log_likelihood, torch.rsub(negative.mean((-2, -1), dtype=dtype), -0.5 * len(rhos))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_likelihood: Tensor, by_divergence: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        mask, noise, z, *rhos = ctx.saved_tensors
        rows, (shape, noise_shape) = ctx.rows, ctx.shapes
        by_trained, by_noise, by_log_scale = torch.empty_like(z), torch.empty_like(z), None
        weight = torch.mul(by_likelihood, -1, out=z.new_empty(by_likelihood.shape))[:, None, None] * mask
        torch.mul(weight, rows.own(z)[0], out=rows.own(by_trained)[0])
        _times_one_less_square(weight, rows.own(z)[0], rows.own(by_noise)[0])
        if ctx.predicts:
            of_draws, log_share, *rhos = rhos
            by_log_scale = z.new_empty(shape)
            _times_one_less_square(log_share.exp().mul_(weight), of_draws, rows.own(by_log_scale))
        if rows.replays:
            weight = torch.div(by_divergence, rhos[0][0].numel(), out=z.new_empty(by_divergence.shape))[:, None, None]
            torch.mul(weight, rows.past(z), out=rows.past(by_trained))
            for rho, into in zip(rhos, (by_noise, by_log_scale), strict=False):
                _times_one_less_square(weight, rho, rows.past(into))
        by_trained.div_(rows.expanded(noise))
        return by_trained, None, rows.summed(by_noise, noise_shape), by_log_scale, None, None, None, None


def _times_one_less_square(weight: Tensor, z: Tensor, out: Tensor) -> None:
    """w (1 - z²), as one operation, which torch knows as the derivative of tanh."""
    torch.ops.aten.tanh_backward.grad_input(weight, z, grad_input=out)


class _Rows:
    """Which rows belong to the past that is replayed, `[B, R]`, and which to draws for the task, `[K, B, T]`."""

    def __init__(self, task: torch.Size, past: torch.Size | None) -> None:
        self.task, self.replayed, self.replays = task, past or (), past is not None
        self.num_past = 0 if past is None else past[:-1].numel()
        self.num_trained = self.num_past + task[:-1].numel()

    def trained(self, values: Tensor) -> Tensor:
        """The rows that train the mean: those of the past and of the first draw."""
        return values[: self.num_trained]

    def expanded(self, values: Tensor) -> Tensor:
        """Values of variables, `[V]`, or of locations too, `[B, 1, V]`, beside the rows that train the mean."""
        sizes = [self.replayed, self.task] if self.replays else [self.task]
        return values if values.ndim == 1 else torch.cat([values.expand(size).flatten(0, -2) for size in sizes])

    def summed(self, values: Tensor, shape: torch.Size) -> Tensor:
        """The adjoint of `expanded`: sums of rows, of this shape."""
        if len(shape) == 1:
            return values.sum_to_size(shape)
        parts = [self.own(values)[0], *([self.past(values)] if self.replays else [])]
        return torch.stack([part.sum_to_size(shape) for part in parts]).sum(0)

    def past(self, values: Tensor) -> Tensor:
        """Values for the past, `[B, R, V]`."""
        return values[: self.num_past].view(*self.replayed)

    def own(self, values: Tensor) -> Tensor:
        """Values for the task, `[K, B, T, V]`."""
        return values[self.num_past :].view(-1, *self.task)
