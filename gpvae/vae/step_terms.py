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
    outputs: Decoded, y: Tensor, mask: Tensor, before: Decoded | None, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """The log likelihood of each series, and the mean divergence of each, `[B]`; the latter 0 without replay.

    The mean is trained by its first draw and the noise of the variables. Predicted scales are trained on the side, with
    means held fixed: by the density of equal mixtures of all draws. Predictions are such mixtures, so a scale that is
    trained on their density does not count the variance of f twice.

    Args:
        outputs: Those of the decoder in rows `[N, V]`: for latents that are replayed, `[B, R]`, then for K draws of the
            latents of the task, `[K, B, T]`.
        y: Observations `[B, T, V]`.
        mask: Which of them are observed.
        before: Outputs of the previous decoder for replayed latents, `[B, R, V]`; None without replay.
        dtype: Floating point type of the log likelihood, a sum over all values of a series.
    """
    return _StepTerms.apply(*outputs, y, mask, before, dtype)  # type: ignore[no-untyped-call]


class _StepTerms(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        mean: Tensor,
        log_noise: Tensor,
        log_scale: Tensor | None,
        y: Tensor,
        mask: Tensor,
        before: Decoded | None,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        rows = _Rows(y.shape, None if before is None else before.mean.shape)
        ctx.rows, ctx.shapes = rows, (mean.shape, log_noise.shape)
        noise = log_noise.exp()
        difference = rows.own(mean) - torch.where(mask, y, 0.0)
        z = difference[0] / noise
        constant = HALF_LOG_2_PI if log_scale is None else 2 * HALF_LOG_2_PI + math.log(len(difference))
        log_prob = torch.addcmul(torch.rsub(log_noise, -constant), z, z, value=-0.5)
        saved = [mask, noise, z]
        if log_scale is not None:
            scale = log_scale.exp()
            of_draws = difference.div_(rows.own(scale))
            densities = torch.addcmul(rows.own(log_scale), of_draws, of_draws, value=0.5).neg_()
            log_share = densities.log_softmax(0)
            log_prob.add_(densities[0]).sub_(log_share[0])
            saved += [of_draws, log_share]
        log_likelihood = (log_prob * mask).sum((-2, -1), dtype=dtype)
        if before is None:
            ctx.save_for_backward(*saved)
            return log_likelihood, torch.zeros_like(log_likelihood)
        difference, ratio = rows.past(mean) - before.mean, before.log_noise - log_noise
        past_z, halves = difference / noise, ratio.exp()
        square = torch.addcmul(halves * halves, past_z, past_z)
        saved += [past_z, square]
        if log_scale is None:
            divergence = torch.add(ratio, square, alpha=-0.5)
        else:
            assert before.log_scale is not None
            change, z = before.log_scale - rows.past(log_scale), difference.div_(rows.past(scale))
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
        rows, (shape, noise_shape) = ctx.rows, ctx.shapes
        by_mean, by_log_scale = z.new_zeros(shape), None
        weight = by_likelihood.neg().to(z)[:, None, None] * mask
        weighted = weight * z
        torch.div(weighted, noise, out=rows.own(by_mean)[0])
        by_noise = torch.addcmul(weight, weighted, z, value=-1).sum_to_size(noise_shape)
        if len(saved) - 2 * rows.replays >= 2:
            of_draws, log_share, *saved = saved
            by_log_scale = torch.empty_like(by_mean)
            weights = log_share.exp().mul_(weight)
            torch.addcmul(weights, weights * of_draws, of_draws, value=-1, out=rows.own(by_log_scale))
        if rows.replays:
            past_z, square, *squares = saved
            weight = (by_divergence / past_z[0].numel()).to(z)[:, None, None]
            torch.div(weight * past_z, noise, out=rows.past(by_mean))
            by_noise = by_noise + torch.addcmul(weight, weight, square, value=-1).sum_to_size(noise_shape)
            for of_scale in squares:
                torch.addcmul(weight, weight, of_scale, value=-1, out=rows.past(by_log_scale))
        return by_mean, by_noise, by_log_scale, None, None, None, None


class _Rows:
    """Which rows belong to the past that is replayed, `[B, R]`, and which to draws for the task, `[K, B, T]`."""

    def __init__(self, task: torch.Size, past: torch.Size | None) -> None:
        self.task, self.replayed, self.replays = task, past or (), past is not None
        self.num_past = 0 if past is None else past[:-1].numel()

    def past(self, values: Tensor) -> Tensor:
        """Values for the past, `[B, R, V]`."""
        return values[: self.num_past].view(*self.replayed)

    def own(self, values: Tensor) -> Tensor:
        """Values for the task, `[K, B, T, V]`."""
        return values[self.num_past :].view(-1, *self.task)
