"""Times as inputs, gradients by inputs, and how a model presents itself."""

import datetime

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from gpytorch.kernels import MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood, PoissonLikelihood

from gpvae import OnlineGP
from gpvae.inducing import CosS, LegS, PivotedPoints
from tests.toys import assert_refused, gaussian, matern, model, wave

HOURS = np.arange(96)
TIMES = np.datetime64("2026-01-01T00", "h") + HOURS.astype("timedelta64[h]")
Y = 280 + np.sin(HOURS / 8)


def stream(**options: object) -> OnlineGP:
    return OnlineGP(CosS(40), matern(10.0), gaussian(0.01), **options)


@pytest.mark.parametrize(
    "convert",
    [
        lambda t: t,
        lambda t: t.astype("datetime64[s]"),
        pd.DatetimeIndex,
        lambda t: pd.DatetimeIndex(t, tz="UTC").tz_convert("Asia/Kolkata"),
        lambda t: pd.Series(t),
        lambda t: xr.DataArray(t, dims="time"),
        lambda t: t.astype("datetime64[s]").astype(datetime.datetime).tolist(),
        lambda t: [x.replace(tzinfo=datetime.UTC) for x in t.astype("datetime64[s]").astype(datetime.datetime)],
    ],
    ids=["numpy", "seconds", "index", "zone", "series", "xarray", "datetime", "datetime with a zone"],
)
def test_times_are_hours_since_the_first(convert: object) -> None:
    """Whatever type they come in, over several batches."""
    by_number, by_time = stream(), stream()
    for part in (slice(0, 50), slice(50, 96)):
        by_number.update(HOURS[part], Y[part])
        by_time.update(convert(TIMES[part]), Y[part])
    expected, found = by_number.predict(HOURS[::5] + 0.5), by_time.predict(TIMES[::5] + np.timedelta64(30, "m"))
    assert torch.equal(found.mean, expected.mean)
    assert torch.equal(found.stddev, expected.stddev)


def test_the_unit_of_time_is_that_of_the_lengthscale() -> None:
    """A lengthscale of ten hours is one of 10 / 24 days."""
    hours = stream().update(TIMES, Y)
    days = OnlineGP(CosS(40), matern(10.0 / 24), gaussian(0.01), time_unit="D").update(TIMES, Y)
    torch.testing.assert_close(days.predict(TIMES).mean, hours.predict(TIMES).mean, rtol=1e-9, atol=0)
    with pytest.raises(ValueError, match="time_unit must be one of s, m, h, D; got 'hour'"):
        stream(time_unit="hour")


def test_times_and_numbers_do_not_mix() -> None:
    """Neither way, and missing times are named; nothing changes."""
    times, numbers = stream().update(TIMES, Y), stream().update(HOURS, Y)
    assert_refused(times, lambda: times.update(HOURS, Y), "the stream so far has times.*such as 2026-01-01T00:00")
    assert_refused(numbers, lambda: numbers.update(TIMES, Y), "the inputs of the stream so far are numbers")
    gaps = TIMES.copy()
    gaps[3] = np.datetime64("NaT")
    assert_refused(times, lambda: times.update(gaps, Y), r"1 missing time\(s\)")
    assert_refused(times, lambda: times.update(TIMES.astype(str), Y), "convert text by pandas.to_datetime", TypeError)
    with pytest.raises(ValueError, match="the stream so far has times"):
        times.predict([1.0])


def test_an_update_that_fails_leaves_no_origin() -> None:
    """A first batch with bad targets does not decide where time begins."""
    gp = stream()
    with pytest.raises(ValueError, match="infinite"):
        gp.update(TIMES + np.timedelta64(7, "D"), np.full(96, np.inf))
    gp.update(TIMES, Y)
    assert gp.inputs.times([0.0])[0] == TIMES[0]


def test_a_saved_stream_knows_its_times() -> None:
    """The origin is part of the state."""
    gp, again = stream().update(TIMES, Y), stream()
    again.load_state_dict(gp.state_dict())
    assert torch.equal(again.predict(TIMES).mean, gp.predict(TIMES).mean)


@pytest.mark.parametrize("family", [CosS(30), LegS(30), PivotedPoints(30)], ids=lambda f: type(f).__name__)
def test_predictions_have_gradients_by_inputs(family: object) -> None:
    """They agree with differences; without a tensor that asks for them there are none."""
    gp = model(family).update(*wave(60))
    x, step = torch.tensor([0.4, 1.7], dtype=torch.float64, requires_grad=True), 1e-5
    for statistic in ("mean", "stddev"):
        (found,) = torch.autograd.grad(getattr(gp.predict(x), statistic).sum(), x)
        after, before = (getattr(gp.predict(x.detach() + s), statistic) for s in (step, -step))
        torch.testing.assert_close(found, (after - before) / (2 * step), rtol=1e-4, atol=1e-6)
    assert gp.latent(x, joint=True).covariance_matrix.requires_grad
    with torch.no_grad():
        assert not gp.predict(x).mean.requires_grad
    assert not gp.predict(x.detach()).mean.requires_grad


def test_a_model_presents_itself() -> None:
    """Family, kernel values, noise, mean and number of points."""
    gp = OnlineGP(LegS(20), matern(), gaussian())
    assert repr(gp) == (
        "OnlineGP(LegS(20), 1.3 * Matern(nu=1.5, lengthscale=0.5), Gaussian(noise=0.1), mean not fitted yet; "
        "0 points learnt)"
    )
    x, y = wave(1200)
    assert "Constant(constant=7" in repr(gp.update(x, y + 7))
    assert repr(gp).endswith("; 1,200 points learnt)")
    shape = torch.Size([2])
    kernel = ScaleKernel(RBFKernel(batch_shape=shape)) * (PeriodicKernel() + MaternKernel(nu=0.5))
    kernel.kernels[0].base_kernel.lengthscale = torch.tensor([0.25, 4.0])[:, None, None]
    assert "RBF(lengthscale=0.25...4) * (Periodic(" in repr(OnlineGP([CosS(5), LegS(5)], kernel, PoissonLikelihood()))
    assert repr(OnlineGP("auto", matern(), GaussianLikelihood(), num_inducing=9)).startswith(
        "OnlineGP([LegS(9), CosS(9)]"
    )


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (
            TIMES,
            pd.Series([1.0, *["error"] * 95]),
            r"y has .* such as 'error' at index 1, expected numbers;.*to_numeric",
        ),
        (TIMES, TIMES, "y has datetimes, expected numbers; are inputs and targets exchanged?"),
        (TIMES.astype(str), Y, r"x has .* '2026-01-01T00' at index 0, expected numbers or datetimes;.*to_datetime"),
        (pd.DataFrame({"time": TIMES, "level": Y}), Y, "x has times and other values side by side"),
    ],
    ids=["text", "exchanged", "times as text", "whole table"],
)
def test_columns_of_a_table_that_are_not_numbers_are_named(x: object, y: object, message: str) -> None:
    """The first value that is wrong, and what converts it; nothing changes."""
    gp = stream().update(TIMES, Y)
    assert_refused(gp, lambda: gp.update(x, y), message, TypeError)
