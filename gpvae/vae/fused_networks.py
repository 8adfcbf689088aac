"""Encoder and decoder in a training step: few operations, and derivatives only for what they train.

Several draws of the latents train a predicted scale, but only the first of them trains the mean and the encoder. Inputs
are rows, one for each series and time; those that train the mean come first, as one block. Networks of other classes
are differentiated as they are.

In equations of docstrings, x are inputs, h hidden layers, o outputs, and dx is the derivative of the loss by x.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import silu, softplus

from gpvae.vae.networks import MAX_LOG_RATIO, MIN_VARIANCE, Decoded, Decoder, Encoder, joined

#: Latents `[..., L, T]`, and further inputs of the decoder: the clock, and those that depend on the location.
Given = tuple[Tensor, tuple[Tensor, ...]]


def encode(encoder: Encoder, y: Tensor, mask: Tensor, clock: Tensor, *location_inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Pseudo-observations and their precisions `[B, L, T]`: the same as `Encoder.forward`."""
    if type(encoder) is not Encoder:
        return encoder(y, mask, clock, *location_inputs)
    known = joined(observed(y, mask), mask, clock, *location_inputs)
    dtype = _dtype(encoder)
    with torch.autocast(y.device.type, enabled=False):
        inputs = known.to(dtype), mask.any(-1)[..., None], *_parameters(dtype, encoder.network, encoder.linear)
        mean, precision = _Encode.apply(*inputs)  # type: ignore[no-untyped-call]
    return mean.mT, precision.mT


def decode_draws(decoder: Decoder, replayed: Given | None, first: Tensor, own: Given) -> tuple[Tensor, Decoded]:
    """Outputs in rows `[N, V]`: for replayed latents, `[B, R]`, then for draws of those of a task, `[K, B, T]`.

    Replayed latents and the first draw train the mean; all of them train a predicted scale.

    Args:
        decoder: The decoder.
        replayed: Past latents, `[B, L, R]`; None without replay.
        first: The first draw, `[B, L, T]`, which is trained.
        own: All draws, `[K, B, L, T]`.

    Returns:
        The rows of the mean that are trained, and all outputs, whose mean has no derivatives.
    """
    draws, given = own
    past = [] if replayed is None else [replayed]
    if type(decoder) is not Decoder:
        others = [(draws[1:], given)] if len(draws) > 1 else []
        parts = [decoder.outputs(f, *beside) for f, beside in (*past, (first, given), *others)]
        means, _, scales = zip(*parts, strict=True)
        trained, mean = _rows(means[: len(past) + 1]), _rows(tuple(mean.detach() for mean in means))
        return trained, Decoded(mean, parts[0].log_noise, None if scales[0] is None else _rows(scales))
    dtype = _dtype(decoder)
    known = _beside([*past, own]).to(dtype)
    num_own = draws[:, :, 0].numel()
    rows = slice(len(known) - num_own, len(known) - num_own + first[:, 0].numel())
    with torch.autocast(known.device.type, enabled=False):
        inputs = known, rows, first.mT, *_parameters(dtype, decoder.network, decoder.linear)
        trained, mean = _Mean.apply(*inputs)  # type: ignore[no-untyped-call]
        log_scale = None
        if decoder.scale is not None:
            inputs = known, decoder.log_scale.detach(), *_parameters(dtype, decoder.scale)
            log_scale = _LogScale.apply(*inputs)  # type: ignore[no-untyped-call]
    return trained, Decoded(mean, decoder.log_scale, log_scale)


def observed(y: Tensor, mask: Tensor) -> Tensor:
    """The observed values of y, and 0 where there are none."""
    return torch.where(mask, y, _zero(y.dtype, y.device))


@lru_cache(maxsize=8)
def _zero(dtype: torch.dtype, device: torch.device) -> Tensor:
    """A zero that stays on the device: `torch.where` would fill one at each call."""
    return torch.zeros((), dtype=dtype, device=device)


@torch.no_grad()
def outputs(decoder: Decoder, f: Tensor, given: tuple[Tensor, ...]) -> Decoded:
    """The same as `Decoder.outputs`, without derivatives.

    Args:
        decoder: The decoder.
        f: Latents, `[B, L, T]`.
        given: Its further inputs.
    """
    if type(decoder) is not Decoder:
        return decoder.outputs(f, *given)
    _, (mean, log_noise, log_scale) = decode_draws(decoder, None, f, (f[None], given))
    shape = *f.mT.shape[:-1], -1
    return Decoded(mean.view(shape), log_noise, None if log_scale is None else log_scale.view(shape))


class _Encode(torch.autograd.Function):
    """ỹ and p = 1/ṽ, `[B, T, L]`, from the outputs (ỹ, ρ) of the network, where ṽ = softplus(ρ) + `MIN_VARIANCE`.

    dρ = -softplus'(ρ) p² dp. At times without observations, p and so dρ are 0.
    """

    @staticmethod
    def forward(ctx: Any, known: Tensor, seen: Tensor, *parameters: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401
        outputs, hidden, active = _network(known.flatten(0, -2), *parameters)
        mean, raw = outputs.unflatten(0, known.shape[:-1]).chunk(2, -1)
        precision = seen / softplus(raw).add_(MIN_VARIANCE)
        _, _, second, _, linear, _ = parameters
        ctx.save_for_backward(known, hidden, active, raw, precision, second, linear)
        return mean, precision

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_precision: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        known, hidden, active, raw, precision, second, linear = ctx.saved_tensors
        by_outputs = known.new_empty(*known.shape[:-1], 2 * raw.shape[-1])
        into_mean, into_raw = by_outputs.chunk(2, -1)
        into_mean.copy_(by_mean)
        by_variance = (precision * precision).mul_(by_precision).neg_()
        torch.ops.aten.softplus_backward.grad_input(by_variance, raw, 1, 20, grad_input=into_raw)
        rows = known.flatten(0, -2), by_outputs.flatten(0, -2)
        return None, None, *_derivatives(*rows, hidden, active, second, linear)[1]


class _Mean(torch.autograd.Function):
    """The outputs of the network as means of all rows; those up to the end of `of_first`, the first draw, are trained.

    Of the inputs, only the latents f of the first draw have derivatives: df = dh W₁ + do A, with columns of f in W₁.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        known: Tensor,
        of_first: slice,
        first_draw: Tensor,
        *parameters: Any,
    ) -> tuple[Tensor, Tensor]:
        mean, *between = _network(known, *parameters)
        first, _, second, _, linear, _ = parameters
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(mean)
        ctx.of_first, ctx.shape = of_first, first_draw.shape
        trained = slice(of_first.stop)
        ctx.save_for_backward(*(part[trained] for part in (known, *between)), first, second, linear)
        return mean[trained], mean

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_trained: Tensor, _: None) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        known, hidden, active, first, second, linear = ctx.saved_tensors
        by_hidden, by_parameters = _derivatives(known, by_trained, hidden, active, second, linear)
        by_first_draw = by_hidden[ctx.of_first] @ first[:, : ctx.shape[-1]]
        if linear is not None:
            by_first_draw.addmm_(by_trained[ctx.of_first], linear)
        return None, None, by_first_draw.view(ctx.shape), *by_parameters


class _LogScale(torch.autograd.Function):
    """s = log σ + c tanh(o / c), c = `MAX_LOG_RATIO`: do = (1 - tanh²(o / c)) ds. Inputs and σ have no derivatives."""

    @staticmethod
    def forward(ctx: Any, known: Tensor, log_noise: Tensor, *parameters: Tensor) -> Tensor:  # noqa: ANN401
        first, first_bias, second, second_bias, *_ = parameters
        hidden = torch.addmm(first_bias, known, first.mT)
        active, share = silu(hidden), 1 / MAX_LOG_RATIO
        ratio = torch.addmm(second_bias, active, second.mT, beta=share, alpha=share).tanh_()
        ctx.save_for_backward(known, hidden, active, ratio, second)
        return torch.add(log_noise, ratio, alpha=MAX_LOG_RATIO)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        known, hidden, active, ratio, second = ctx.saved_tensors
        by_outputs = torch.ops.aten.tanh_backward(gradient.to(ratio), ratio)
        return None, None, *_derivatives(known, by_outputs, hidden, active, second, None)[1]


def _network(
    known: Tensor,
    first: Tensor,
    first_bias: Tensor,
    second: Tensor,
    second_bias: Tensor,
    linear: Tensor | None,
    linear_bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """o = W₂ silu(h) + b₂ + (A x + a), h = W₁ x + b₁, of rows x `[N, I]`: o `[N, O]`, h and silu(h) `[N, H]`.

    The linear map, if there is one, reads the first inputs, and is added to the first outputs.
    """
    hidden = torch.addmm(first_bias, known, first.mT)
    active = silu(hidden)
    outputs = torch.addmm(second_bias, active, second.mT)
    if linear is not None and linear_bias is not None:
        outputs[:, : len(linear)].addmm_(known[:, : linear.shape[1]], linear.mT).add_(linear_bias)
    return outputs, hidden, active


def _derivatives(
    known: Tensor, by_outputs: Tensor, hidden: Tensor, active: Tensor, second: Tensor, linear: Tensor | None
) -> tuple[Tensor, tuple[Tensor | None, ...]]:
    """Derivatives of `_network`, given do: by the hidden layer, dh = silu'(h) (do W₂), and by the parameters.

    dW₁ = dhᵀ x, db₁ = Σ dh, dW₂ = doᵀ silu(h), db₂ = Σ do, dA = doᵀ x, and da = Σ do, which is the first part of db₂.
    """
    by_hidden = torch.ops.aten.silu_backward(by_outputs @ second, hidden)
    layers = by_hidden.mT @ known, by_hidden.sum(0), by_outputs.mT @ active, by_outputs.sum(0)
    if linear is None:
        return by_hidden, (*layers, None, None)
    by_linear = by_outputs[:, : len(linear)].mT @ known[:, : linear.shape[1]]
    return by_hidden, (*layers, by_linear, layers[-1][: len(linear)])


def _beside(parts: list[Given]) -> Tensor:
    """Rows of inputs of the decoder, `[N, L + ...]`: latents, and further inputs in other columns."""
    (f, given), *_ = parts
    widths = [f.shape[-2], *(part.shape[-1] for part in given)]
    sizes = [f[..., 0, :].numel() for f, _ in parts]
    known = f.new_empty(sum(sizes), sum(widths))
    for (f, given), rows in zip(parts, known.split(sizes), strict=True):
        columns = rows.unflatten(0, f.mT.shape[:-1]).split(widths, -1)
        for part, into in zip((f.mT, *given), columns, strict=True):
            into.copy_(part)
    return known


def _rows(parts: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([part.flatten(0, -2) for part in parts])


def _parameters(dtype: torch.dtype, network: nn.Module, linear: nn.Linear | None = None) -> list[Tensor | None]:
    """The parameters of a network of two layers and of a linear map."""
    beside = [None, None] if linear is None else list(linear.parameters())
    return [None if p is None else p.to(dtype) for p in (*network.parameters(), *beside)]


def _dtype(network: nn.Module) -> torch.dtype:
    """The type of computations: that of the parameters, unless autocast asks for another."""
    first = next(network.parameters())
    device = first.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else first.dtype
