"""Accumulated sums and their derivatives are those of the whole."""

from functools import partial

import torch
from torch import Tensor, nn

from gpvae.modules import SVGPVAE
from gpvae.vae.gradient_accumulation import accumulate
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.step import Step
from tests.vae.learning import learn

SERIES, HOURS, VARIABLES = 7, 24, 3


def differentiated(values: tuple[Tensor, ...], parameters: list[nn.Parameter]) -> list[Tensor | None]:
    return list(torch.autograd.grad(3 * values[0], parameters, allow_unused=True))


def test_sums_of_parts() -> None:
    used, unused = nn.Parameter(torch.tensor([2.0, 1.0])), nn.Parameter(torch.tensor(1.0))

    def compute(x: float) -> tuple[Tensor, Tensor]:
        return (used * x).sum() ** 2, 5 * used[0]

    sums = accumulate(compute, [1.0, 2.0, 3.0], [used, unused])
    assert float(sums[0].detach()) == 9 * (1 + 4 + 9)
    assert float(sums[1]) == 30.0
    assert not sums[1].requires_grad
    by_used, by_unused = differentiated(sums, [used, unused])
    torch.testing.assert_close(by_used, torch.full((2,), 3 * 2.0 * 3 * (1 + 4 + 9)))
    assert by_unused is None


def data(first: float) -> tuple[Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(int(first))
    y = torch.randn(SERIES, HOURS, VARIABLES, generator=rng)
    return first + torch.arange(HOURS, dtype=torch.float64), y, torch.rand(y.shape, generator=rng) > 0.2


def test_a_step_in_parts_is_the_step() -> None:
    """Random numbers depend on the series, so parts draw those of the whole."""
    torch.manual_seed(0)
    options = {"consolidation": "replay", "hyperparameters": "fixed", "inducing": "CosS", "periods": [24.0]}
    module = SVGPVAE("OHSVGP", 10, num_variables=VARIABLES, latent_dim=2, **options)  # type: ignore[arg-type]
    learn(module, data(0.0))
    module.begin_task(*data(24.0))
    assert module._task is not None
    step = Step.of(module._task, torch.arange(SERIES), *data(24.0))
    networks = [*module.vae.encoder.parameters(), *module.vae.decoder.parameters()]

    def terms(part: Step, replay: nn.Module) -> tuple[Tensor, ...]:
        noise = part.noise(Draws(0, "train", 0), 0.1, replay)  # type: ignore[arg-type]
        value, disagreement = part.terms(noise, replay, 0, 2.0)  # type: ignore[arg-type]
        return disagreement - value, value, disagreement

    compute = partial(terms, replay=module.replay)
    whole, parts = (accumulate(compute, step.parts(size), networks) for size in (SERIES, 3))
    assert len(step.parts(3)) == 3
    torch.testing.assert_close(parts, whole)
    torch.testing.assert_close(differentiated(parts, networks), differentiated(whole, networks), rtol=1e-3, atol=1e-6)
