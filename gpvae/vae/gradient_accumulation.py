"""Gradient accumulation within a step: large sums whose parts stay in caches while their derivatives are computed."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Part = TypeVar("Part")


def accumulate(
    compute: Callable[[Part], tuple[Tensor, ...]], parts: Sequence[Part], parameters: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The sums over parts of a loss and of other values, with the derivatives of the loss.

    These are computed part by part, before the next part begins. Other values have no derivatives.

    Args:
        compute: The loss of a part, and other values of it.
        parts: The parts. A single one is differentiated as always.
        parameters: What the loss is differentiated by.
    """
    if len(parts) == 1:
        return compute(parts[0])
    sums: tuple[Tensor, ...] = _Accumulate.apply(lambda: map(compute, parts), *parameters)  # type: ignore[no-untyped-call]
    return sums


class _Accumulate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, compute: Callable[[], Any], *parameters: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN401
        sums: list[Tensor] = []
        gradients: list[Tensor | None] = []
        with torch.enable_grad():
            for loss, *others in compute():
                values = [value.detach() for value in (loss, *others)]
                with torch.autocast(loss.device.type, enabled=False):
                    found = torch.autograd.grad(loss, parameters, allow_unused=True)
                sums = [torch.add(*pair) for pair in zip(sums, values, strict=True)] if sums else values
                gradients = [_sum(*pair) for pair in zip(gradients, found, strict=True)] if gradients else list(found)
        ctx.mark_non_differentiable(*sums[1:])
        ctx.gradients = gradients
        return tuple(sums)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_loss: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        return None, *(None if part is None else by_loss.to(part) * part for part in ctx.gradients)


def _sum(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return other if one is None else one if other is None else one + other
