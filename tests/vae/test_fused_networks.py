"""The networks of a step are those of `Encoder` and `Decoder`, and so are their derivatives."""

import pytest
import torch
from torch import Tensor, nn

from gpvae.vae.fused_networks import decode_draws, encode
from gpvae.vae.networks import Clock, Decoder, Encoder, Networks

B, K, L, R, T, V = 2, 3, 2, 5, 4, 3


def shuffled(network: nn.Module) -> None:
    """Start where nothing is zero."""
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5)


def close(ours: list[Tensor], expected: list[Tensor]) -> None:
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def latents(number: int, generator: torch.Generator, inputs: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Latents, the clock and inputs of locations."""
    f, place = (torch.randn(B, *shape, generator=generator) for shape in ((L, number), (number, inputs)))
    return f, (Clock([24.0])(torch.arange(number).double()), *([place] if inputs else []))


@pytest.mark.parametrize("inputs", [0, 2])
@pytest.mark.parametrize("networks", ["mlp", "residual"])
def test_encoder(networks: Networks, inputs: int) -> None:
    rng = torch.Generator().manual_seed(0)
    encoder = Encoder(V, L, 6, 1, networks=networks, num_inputs=inputs)
    shuffled(encoder)
    _, given = latents(T, rng, inputs)
    y, mask = torch.randn(B, T, V, generator=rng), torch.rand(B, T, V, generator=rng) > 0.5
    outputs, expected = encode(encoder, y, mask, *given), encoder(y, mask, *given)
    close(list(outputs), list(expected))
    weights = [torch.randn(B, L, T, generator=rng) for _ in range(2)]
    sums = (
        sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True)) for parts in (outputs, expected)
    )
    close(*(list(torch.autograd.grad(total, list(encoder.parameters()))) for total in sums))  # type: ignore[arg-type]


@pytest.mark.parametrize("inputs", [0, 2])
@pytest.mark.parametrize("replays", [False, True])
@pytest.mark.parametrize(("networks", "predicted"), [("mlp", False), ("residual", True)])
def test_decoder(networks: Networks, predicted: bool, replays: bool, inputs: int) -> None:
    """Means of the first draw and of the past train, scales of all draws."""
    rng = torch.Generator().manual_seed(0)
    decoder = Decoder(L, V, 6, num_phases=1, networks=networks, predicted_scale=predicted, num_inputs=inputs)
    shuffled(decoder)
    past, (first, given) = latents(R, rng, inputs), latents(T, rng, inputs)
    draws = torch.cat([first[None], torch.randn(K - 1, B, L, T, generator=rng)])
    first.requires_grad_()
    means, outputs = decode_draws(decoder, past if replays else None, first, (draws, given))
    parts = [decoder.outputs(first, *given), *(decoder.outputs(f, *given) for f in draws[1:])]
    parts = [decoder.outputs(past[0], *past[1]), *parts] if replays else parts
    mean = torch.cat([part.mean.flatten(0, 1) for part in parts])
    close([outputs.mean], [mean])
    trained = B * (R * replays + T)
    close([means], [mean[:trained]])
    assert not outputs.mean.requires_grad  # means of other draws train nothing
    weight = torch.randn(mean.shape, generator=rng)
    sums = [(some * weight[:trained]).sum() for some in (means, mean[:trained])]
    if predicted:
        scale = torch.cat([part.log_scale.flatten(0, 1) for part in parts if part.log_scale is not None])
        assert outputs.log_scale is not None
        close([outputs.log_scale], [scale])
        sums = [total + (some * weight).sum() for total, some in zip(sums, (outputs.log_scale, scale), strict=True)]
    parameters = [first, *(p for p in decoder.parameters() if p is not decoder.log_scale)]
    close(*(list(torch.autograd.grad(total, parameters)) for total in sums))


def test_autocast_chooses_the_type_of_the_networks() -> None:
    rng = torch.Generator().manual_seed(0)
    decoder = Decoder(L, V, 6, num_phases=1, networks="residual", predicted_scale=True)
    shuffled(decoder)
    first, given = latents(T, rng, 0)
    with torch.autocast("cpu", torch.bfloat16):
        means, outputs = decode_draws(decoder, None, first.requires_grad_(), (first.detach()[None], given))
    assert outputs.mean.dtype == torch.bfloat16
    means.float().sum().backward()
    assert first.grad is not None
    assert first.grad.dtype == torch.float32
    torch.testing.assert_close(outputs.mean.float(), decoder(first, *given)[0].flatten(0, 1), rtol=0.05, atol=0.05)
