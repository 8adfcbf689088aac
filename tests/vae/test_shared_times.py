"""Condensed features of a task give the same bound, posterior and gradients."""

import gpytorch
import pytest
import torch
from torch import Tensor

from gpvae.inducing import CosS, InducingVariables, LegS, PerDimPoints, PivotedPoints
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.vae.model import GPVAE
from gpvae.vae.networks import Decoder, Encoder

HOURS, TASKS = 20, 4


def streamed(inducing: InducingVariables) -> tuple[GPVAE, Tensor, Tensor, Tensor]:
    """A model that has learnt all tasks but the last, and the data of that one."""
    torch.manual_seed(0)
    kernel = gpytorch.kernels.RBFKernel(batch_shape=torch.Size([3])).double()
    kernel.lengthscale = torch.tensor([1.0, 4.0, 15.0], dtype=torch.float64)[:, None, None]
    vae = GPVAE(Encoder(5, 3, 8), Decoder(3, 5, 8), kernel, inducing)
    mask = torch.rand(2, HOURS, 5) < 0.9
    for task in range(TASKS):
        times = HOURS * task + torch.arange(HOURS, dtype=torch.float64)
        y = torch.randn(2, HOURS, 5)
        vae.posterior.begin(vae.kernel, times[:, None])
        if task < TASKS - 1:
            vae.consolidate(times, y, mask)
    return vae, times, y, mask


@pytest.mark.parametrize("family", [LegS, CosS, PivotedPoints, PerDimPoints])
def test_bound_and_gradients_are_those_of_all_variables(family: type[InducingVariables]) -> None:
    vae, times, y, mask = streamed(family(24))
    noise = torch.randn(2, 3, HOURS, dtype=torch.float64)
    parameters = [*vae.encoder.parameters(), *vae.decoder.parameters()]
    with torch.no_grad():
        whole = vae.task(times)
        features, U = whole[0].condensed()
        few = features, whole[1].project(U)
    assert few[0].a.shape[-2] < whole[0].a.shape[-2]
    bounds = [vae.bound(*seen, y, mask, noise) for seen in (whole, few)]
    torch.testing.assert_close(*bounds, rtol=1e-7, atol=1e-6)
    gradients = [torch.autograd.grad(bound.sum(), parameters) for bound in bounds]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_bound_and_gradients_do_not_depend_on_chunks_of_latent_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """If kernels are trained, bound and gradients are the same for chunks of one, two or three latent dimensions."""
    vae, times, y, mask = streamed(CosS(10))
    noise = torch.randn(2, 3, HOURS, dtype=torch.float64)
    found = []
    for max_elements in (1, 2 * 2 * 10 * HOURS, 3 * 2 * 10 * HOURS):
        monkeypatch.setattr("gpvae.vae.shared_times.MAX_ELEMENTS", max_elements)
        bound = vae.bound(*vae.task(times), y, mask, noise)
        found.append((bound, *torch.autograd.grad(bound.sum(), [*vae.encoder.parameters(), *vae.kernel.parameters()])))
    for one, two, three in zip(*found, strict=True):
        torch.testing.assert_close(one, three)
        torch.testing.assert_close(two, three)


def test_projection_on_all_directions_rotates_a_site() -> None:
    torch.manual_seed(0)
    root, h, c = (
        torch.randn(3, 6, 6, dtype=torch.float64),
        torch.randn(3, 6, dtype=torch.float64),
        torch.zeros(3).double(),
    )
    site = Site(c, h, root @ root.mT)
    U = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64)).Q
    rotated = site.project(U)
    torch.testing.assert_close(rotated.G, U.mT @ site.G @ U)
    torch.testing.assert_close(rotated.h, site.h @ U)
    torch.testing.assert_close(rotated.c, site.c, atol=1e-9, rtol=0)


def test_projection_on_some_directions_keeps_the_marginal_posterior_and_the_evidence() -> None:
    torch.manual_seed(0)
    root, h = torch.randn(2, 6, 6, dtype=torch.float64), torch.randn(2, 6, dtype=torch.float64)
    site = Site(torch.randn(2, dtype=torch.float64), h, root @ root.mT)
    U = torch.linalg.qr(torch.randn(6, 2, dtype=torch.float64)).Q
    whole, part = Posterior.from_site(site), Posterior.from_site(site.project(U))
    torch.testing.assert_close(part.mean, whole.mean @ U)
    torch.testing.assert_close(part.root @ part.root.mT, U.mT @ whole.root @ whole.root.mT @ U)
    torch.testing.assert_close(site.project(U).log_evidence(), site.log_evidence())
