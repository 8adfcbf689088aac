"""Families side by side; the laws of all families are in `tests/contracts`."""

import pytest
import torch
from gpytorch.kernels import RBFKernel

from gpvae import OnlineGP
from gpvae.inducing import Composed, CosS, FourierFeatures, LegS, LegSPath, LegT, PivotedPoints
from tests.toys import gaussian, model, rbf, snapshot, states_equal, tasks, wave


def test_families_add() -> None:
    """The sum knows its parts, their sizes, and whether it forgets."""
    family = CosS(6) + LegT(3, window=1.0) + PivotedPoints(2)
    assert isinstance(family, Composed)
    assert family.num_inducing == 11
    assert family.title == "CosS(6) + LegT(3) + PivotedPoints(2)"
    assert family.configuration.count("num_inducing") == 3
    assert not family.forgets
    assert (LegT(3) + LegT(2)).forgets


def test_blocks_are_those_of_the_parts() -> None:
    kernel = RBFKernel().double().requires_grad_(False)
    x = torch.linspace(0, 3, 20, dtype=torch.float64)[:, None]
    cosines, window = CosS(5).advance(kernel, x), LegT(4, window=1.0).advance(kernel, x)
    both = (CosS(5) + LegT(4, window=1.0)).advance(kernel, x)
    kuu = both.kuu(kernel)
    torch.testing.assert_close(kuu[:5, :5], cosines.kuu(kernel))
    torch.testing.assert_close(kuu[5:, 5:], window.kuu(kernel))
    torch.testing.assert_close(kuu[:5, 5:], cosines.kuv(kernel, window))
    torch.testing.assert_close(both.kuf(kernel, x), torch.cat([cosines.kuf(kernel, x), window.kuf(kernel, x)]))


@pytest.mark.parametrize("other", [LegSPath(4), FourierFeatures(5, 0.0, 3.0)])
def test_only_function_values_compose(other: object) -> None:
    with pytest.raises(TypeError, match="cannot be composed"):
        CosS(4) + other  # type: ignore[operator]


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_what_is_recent_is_known_in_detail() -> None:
    """With as many variables, the recent past is known better than by cosines over the whole past alone."""
    x = torch.linspace(0, 40, 1600, dtype=torch.float64)
    y = torch.sin(6 * x) + 0.01 * torch.randn(1600, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    errors = []
    for family in (CosS(60), CosS(40) + LegT(20, window=2.0)):
        gp = OnlineGP(family, rbf(0.4), gaussian(0.01))
        for part in torch.arange(1600).split(200):
            gp.update(x[part], y[part])
        errors.append(float((gp.predict(x[-80:]).mean - y[-80:]).square().mean().sqrt()))
    assert errors[1] < 0.05 < 0.3 < errors[0]


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_a_composed_memory_replaces_another_and_is_saved() -> None:
    (x1, y1), (x2, y2) = tasks(2, 40)
    gp = model(LegS(20)).update(x1, y1)
    before = gp.latent(x1).mean
    gp.replace_inducing(CosS(20) + LegT(8, window=1.0))
    torch.testing.assert_close(gp.latent(x1).mean, before, rtol=0, atol=0.05)
    gp.update(x2, y2)
    twin = model(CosS(20) + LegT(8, window=1.0))
    twin.load_state_dict(gp.state_dict())
    assert states_equal(snapshot(twin.update(*wave(9, seed=1))), snapshot(gp.update(*wave(9, seed=1))))
