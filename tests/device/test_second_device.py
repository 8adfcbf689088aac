"""The second device refuses what an accelerator refuses, and counts what it is asked to do."""

import pytest
import torch

from tests.device.second_device import NAME, counting, without_float64


def test_operations_on_tensors_of_two_devices_are_refused() -> None:
    x = torch.ones(3, 3, device=NAME)
    for operation in (torch.add, torch.matmul, lambda a, b: torch.cat([a, b])):
        with pytest.raises(RuntimeError, match=r"on the same device|on different devices"):
            operation(x, torch.ones(3, 3))
    with pytest.raises(TypeError, match="convert"):
        x.numpy()
    assert bool((x + torch.tensor(1.0) == 2).all())  # a single number may come from the host


def test_generators_of_the_host_are_refused_and_those_of_the_device_are_seeded() -> None:
    with pytest.raises(RuntimeError, match="generator"):
        torch.randn(3, device=NAME, generator=torch.Generator())
    draws = [torch.randn(3, device=NAME, generator=torch.Generator(NAME).manual_seed(1)) for _ in range(2)]
    assert torch.equal(*(draw.cpu() for draw in draws))


def test_launches_synchronisations_and_draws_are_counted() -> None:
    x = torch.ones(4, device=NAME)
    with counting() as counts:
        y = (2 * x).sum()  # two launches
        torch.randn(3)
    assert (counts.launches, counts.synchronisations, counts.uploads, counts.host_draws) == (2, 0, 0, 1)
    with counting() as counts:
        y.item()
        x.cpu()
        x[x > 0]
        torch.ones(2).to(NAME)
    assert (counts.synchronisations, counts.uploads, counts.host_draws) == (3, 1, 0)


def test_gradients_stay_on_the_device() -> None:
    x = torch.linspace(0, 1, 5, device=NAME, requires_grad=True)
    (x.sin() * x).sum().backward()
    assert x.grad is not None
    assert x.grad.device.type == NAME
    expected = x.detach().cpu()
    torch.testing.assert_close(x.grad.cpu(), expected.sin() + expected * expected.cos())


def test_float64_can_be_refused() -> None:
    with without_float64(), pytest.raises(TypeError, match="no float64"):
        torch.zeros(2, dtype=torch.float64, device=NAME)
    assert torch.zeros(2, dtype=torch.float64, device=NAME).dtype == torch.float64


def test_any_seed_of_the_host_is_one_of_the_device() -> None:
    for seed in (0, -1, 2**63, 2**64 - 1):
        torch.manual_seed(seed)
    torch.manual_seed(0)
