"""Degenerate streams: no extent, one point, duplicates, more variables than data."""

import pytest
import torch
from gpytorch.means import ZeroMean

from gpvae import OnlineGP
from gpvae.inducing import LegSRecurrence
from tests.toys import FAMILIES, assert_refused, gaussian, matern, model, wave

S = torch.linspace(0, 3, 11, dtype=torch.float64)


@pytest.mark.parametrize("num", [1, 4])
@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_a_first_task_without_extent(family: str, num: int) -> None:
    """All inputs are equal: the posterior is exact, and the stream continues. Windows need their length."""
    x, y = torch.full((num,), 0.5, dtype=torch.float64), torch.linspace(1.0, 1.2, num, dtype=torch.float64)
    gp = model(FAMILIES[family](8 if family != "FourierFeatures" else 101))
    if family in ("LegT", "LagT", "FouT"):
        assert_refused(gp, lambda: gp.update(x, y), "window=")
        return
    gp.update(x, y)
    gain = num * 1.3 / (num * 1.3 + 0.1)
    tolerance = 0.05 if family in ("FourierFeatures", "LegSRecurrence") else 1e-5
    assert gp.latent([0.5]).mean.item() == pytest.approx(gain * y.mean().item(), abs=tolerance)
    assert gp.latent([0.5]).variance.item() == pytest.approx(1.3 * (1 - gain), abs=tolerance)
    late = wave(30)
    gp.update(late[0] + 0.5, late[1])
    assert torch.isfinite(gp.predict(S).log_prob(torch.zeros(11))).all()


@pytest.mark.parametrize("family", ["LegT", "LagT", "FouT"])
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_a_window_that_is_given_needs_no_extent(family: str) -> None:
    """With a given window, one point is enough."""
    cls = type(FAMILIES[family](8))
    gp = model(cls(20, window=1.0)).update([0.5], [1.0])
    assert torch.isfinite(gp.predict(S).mean).all()


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"LegSPath", "Points"}))
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_duplicated_points_count_as_often_as_they_come(family: str) -> None:
    """Two copies of a point equal one with half the noise (on a path they also take twice as long)."""
    x, y = wave(15)
    num = 8 if "Points" not in family else 15
    twice = OnlineGP(FAMILIES[family](num), matern(), gaussian(0.2), mean=ZeroMean()).update(
        torch.cat([x, x]), torch.cat([y, y])
    )
    once = OnlineGP(FAMILIES[family](num), matern(), gaussian(0.1), mean=ZeroMean()).update(x, y)
    torch.testing.assert_close(twice.latent(S).mean, once.latent(S).mean, rtol=0, atol=1e-4)
    torch.testing.assert_close(twice.latent(S).variance, once.latent(S).variance, rtol=0, atol=1e-4)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_more_variables_than_points(family: str) -> None:
    """M = 40 for tasks of 1 to 5 points: finite, no jitter warning, and close to the exact GP."""
    x, y = wave(8)
    gp = model(FAMILIES[family](40 if family != "FourierFeatures" else 41))
    sizes = (2, 1, 5)
    for part, targets in zip(x.split(sizes), y.split(sizes), strict=True):
        gp.update(part, targets)
    if family in ("LegT", "LagT", "FouT"):
        return
    with torch.no_grad():
        K = matern()(x).to_dense() + 0.1 * torch.eye(8, dtype=torch.float64)
        exact = matern()(x).to_dense() @ torch.linalg.solve(K, y)
    torch.testing.assert_close(gp.latent(x).mean, exact, rtol=0, atol=0.1)


@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")
def test_recurrence_steps_that_are_too_long_for_the_data() -> None:
    """If dt exceeds the extent of the first task, there is one step."""
    gp = model(LegSRecurrence(6, dt=10.0, num_frequencies=64)).update(*wave(10))
    assert torch.isfinite(gp.predict(S).mean).all()
