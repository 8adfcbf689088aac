"""Elastic weight consolidation: its Fisher information, and its penalty."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from gpvae.modules.svgpvae import SVGPVAE
from gpvae.vae.ewc import EWC, fisher, flat
from gpvae.vae.keyed_noise import Draws
from gpvae.vae.task import SeriesTask


def learnt_once(consolidation: str = "ewc") -> tuple[SVGPVAE, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    module = SVGPVAE(num_inducing=6, num_variables=3, latent_dim=2, hidden_dim=5, consolidation=consolidation)
    times = torch.arange(12, dtype=torch.float64)
    y = torch.randn(4, 12, 3)
    data = (times, y, torch.rand(4, 12, 3) > 0.1)
    module.begin_task(*data)
    module.end_task()
    later = (times + 12, torch.randn(4, 12, 3), torch.ones(4, 12, 3, dtype=torch.bool))
    module.begin_task(*later)
    return module, later


def test_the_fisher_information_is_a_sum_over_series_of_squared_gradients() -> None:
    module, (times, y, mask) = learnt_once()
    found = fisher(SeriesTask(module.vae, times, y, mask, fixed=False), Draws(module.seed, "fisher", 1))
    vae = module.vae
    features, _ = vae.task(times)
    noise = Draws(module.seed, "fisher", 1).normal(torch.arange(len(y)), *features.prior.shape)
    expected = torch.zeros_like(found)
    networks = [*vae.encoder.parameters(), *vae.decoder.parameters()]
    for b in range(len(y)):
        features, past = vae.task(times, torch.tensor([b]))
        value = vae.bound(features, past, y[b : b + 1], mask[b : b + 1], noise[b : b + 1]).sum()
        expected += torch.cat([g.reshape(-1) for g in torch.autograd.grad(value, networks)]) ** 2
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_the_penalty_is_zero_where_the_first_task_ended_and_not_elsewhere() -> None:
    module, _ = learnt_once()
    here = flat([module.vae.encoder, module.vae.decoder])
    assert module.ewc(here) == 0
    assert module.ewc(here + 0.1) > 0


numbers = st.lists(st.floats(0, 10, width=32), min_size=4, max_size=4)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5), numbers)
def test_a_sum_of_parabolas_is_a_parabola(tasks: list[tuple[list[float], list[float]]], at: list[float]) -> None:
    penalty = EWC(4).double()
    for anchor, information in tasks:
        penalty.consolidate(torch.tensor(anchor).double(), torch.tensor(information).double())
    theta = torch.tensor(at).double()
    terms = [torch.tensor(f).double() * (theta - torch.tensor(a).double()) ** 2 for a, f in tasks]
    torch.testing.assert_close(penalty(theta), 0.5 * torch.stack(terms).sum(), rtol=1e-8, atol=1e-8)


def test_the_running_form_is_anchored_at_the_last_task() -> None:
    penalty = EWC(2, running=True, decay=0.5)
    penalty.consolidate(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 4.0]))
    penalty.consolidate(torch.tensor([3.0, 3.0]), torch.tensor([1.0, 0.0]))
    assert penalty(torch.tensor([3.0, 3.0])) == 0
    assert penalty(torch.tensor([4.0, 4.0])) == 0.5 * (3.0 + 2.0)
