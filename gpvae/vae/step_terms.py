"""What a training step has to say about the outputs of the decoder: how likely the data are, and how far it has moved.

Both terms and their derivatives are written out, which takes less than half of the operations that differentiating
each operation would take. With residuals in units of a scale, z = (mean - y) / exp(s), every part is ½ z² + s and
constants: the density by the noise of the variables, the density of a mixture by predicted scales, and divergences.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gpvae.vae.networks import Decoded
from gpvae.vae.normal import HALF_LOG_2_PI

#: Number of draws of the latents that train a predicted scale.
SCALE_DRAWS = 4


def step_terms(
    outputs: Decoded,
    y: Tensor,
    mask: Tensor,
    num_draws: int,
    before: Decoded | None,
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor]:
    """The log likelihood of each series, and the mean divergence of each, `[B]`; the latter 0 without replay.

    The mean is trained by its first draw and the noise of the variables. Predicted scales are trained on the side, with
    means held fixed: by the density of equal mixtures of all draws. Predictions are such mixtures, so a scale that is
    trained on their density does not count the variance of f twice.

    Args:
        outputs: Those of the decoder for latents that are replayed, `[B, R]`, then for K draws of the latents of the
            task, one after the other, `[B, K·T]`.
        y: Observations `[B, T, V]`.
        mask: Which of them are observed.
        num_draws: The number of draws K.
        before: Outputs of the previous decoder for replayed latents, `[B, R]`; None without replay.
        dtype: Floating point type of the log likelihood, a sum over all values of a series.
    """
    return _StepTerms.apply(*outputs, y, mask, num_draws, before, dtype)  # type: ignore[no-untyped-call]


class _StepTerms(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        mean: Tensor,
        log_noise: Tensor,
        log_scale: Tensor | None,
        y: Tensor,
        mask: Tensor,
        num_draws: int,
        before: Decoded | None,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        ctx.sizes = sizes = mean.shape[-2] - num_draws * y.shape[-2], num_draws * y.shape[-2]
        ctx.shape, ctx.num_draws, ctx.replays = log_noise.shape, num_draws, before is not None
        (past, own), noise = mean.split(sizes, -2), log_noise.exp()
        difference = own.unflatten(-2, (num_draws, -1)) - torch.where(mask, y, 0.0)[:, None]
        z = difference[:, 0] / noise
        constant = HALF_LOG_2_PI if log_scale is None else 2 * HALF_LOG_2_PI + math.log(num_draws)
        log_prob = torch.addcmul(torch.rsub(log_noise, -constant), z, z, value=-0.5)
        saved = [mask, noise, z]
        if log_scale is not None:
            scale = log_scale.exp()
            logs, scales = (part.split(sizes, -2)[1].unflatten(-2, (num_draws, -1)) for part in (log_scale, scale))
            of_draws = difference / scales
            densities = torch.addcmul(logs, of_draws, of_draws, value=0.5).neg_()
            log_share = densities.log_softmax(1)
            log_prob.add_(densities[:, 0]).sub_(log_share[:, 0])
            saved += [of_draws, log_share]
        log_likelihood = (log_prob * mask).sum((-2, -1), dtype=dtype)
        if before is None:
            ctx.save_for_backward(*saved)
            return log_likelihood, torch.zeros_like(log_likelihood)
        difference, ratio = past - before.mean, before.log_noise - log_noise
        past_z, halves = difference / noise, ratio.exp()
        square = torch.addcmul(halves * halves, past_z, past_z)
        saved += [past_z, square]
        if log_scale is None:
            divergence = torch.add(ratio, square, alpha=-0.5)
        else:
            assert before.log_scale is not None
            log_past, past_scale = (part.split(sizes, -2)[0] for part in (log_scale, scale))
            change, z = before.log_scale - log_past, difference / past_scale
            growth = change.exp()
            predicted_square = torch.addcmul(growth * growth, z, z)
            divergence = torch.add(change.add_(ratio), predicted_square + square, alpha=-0.5)
            saved.append(predicted_square)
        ctx.save_for_backward(*saved)
        return log_likelihood, torch.rsub(divergence.mean((-2, -1)), -0.5 if log_scale is None else -1.0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_likelihood: Tensor, by_divergence: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        mask, noise, z, *saved = ctx.saved_tensors
        replays, predicted = ctx.replays, len(saved) - 2 * ctx.replays >= 2
        weight = by_likelihood.neg().to(z)[:, None, None] * mask
        weighted = weight * z
        by_mean, by_log_scale = [weighted / noise], []
        by_noise = torch.addcmul(weight, weighted, z, value=-1).sum_to_size(ctx.shape)
        if predicted:
            of_draws, log_share, *saved = saved
            weights = log_share.exp() * weight[:, None]
            by_log_scale = [torch.addcmul(weights, weights * of_draws, of_draws, value=-1).flatten(1, 2)]
            by_mean.append(torch.zeros_like(of_draws[:, 1:]).flatten(1, 2))
        if replays:
            past_z, square, *squares = saved
            weight = (by_divergence / past_z[0].numel()).to(z)[:, None, None]
            by_mean.insert(0, weight * past_z / noise)
            by_noise = by_noise + torch.addcmul(weight, weight, square, value=-1).sum_to_size(ctx.shape)
            by_log_scale = [torch.addcmul(weight, weight, of_scale, value=-1) for of_scale in squares] + by_log_scale
        joined = [torch.cat(parts, -2) if len(parts) > 1 else parts[0] for parts in (by_mean, by_log_scale) if parts]
        return joined[0], by_noise, joined[1] if predicted else None, None, None, None, None, None
