"""Tables of predictions have the values of `predict` and the labels of their inputs."""

import gpytorch
import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from gpytorch.kernels import RBFKernel, ScaleKernel

import gpvae
from gpvae.inducing import CosS
from tests.toys import gaussian, rbf

HOURS = pd.date_range("2024-05-01", periods=48, freq="h", name="time")
VALUES = np.sin(np.arange(48) / 4)


def learnt() -> gpvae.OnlineGP:
    return gpvae.OnlineGP(CosS(20), rbf(5.0, 1.0), gaussian(0.01)).update(HOURS, VALUES)


@pytest.mark.parametrize(
    "x",
    [
        HOURS,
        pd.Series(VALUES, HOURS).index,
        pd.Series(HOURS),
        xr.DataArray(HOURS, dims="time", name="time"),
        HOURS.to_numpy(),
        list(HOURS),
    ],
    ids=["index", "index of a series", "series", "coordinate", "array", "list"],
)
def test_times(x: object) -> None:
    gp = learnt()
    table = gp.predict_table(x, quantiles=[0.05, 0.5, 0.95])
    y = gp.predict(HOURS)
    assert list(table) == ["mean", "std", "q0.05", "q0.5", "q0.95"]
    np.testing.assert_array_equal(table.index.to_numpy(), HOURS.to_numpy())
    np.testing.assert_allclose(table["mean"], y.mean)
    np.testing.assert_allclose(table["std"], y.stddev)
    np.testing.assert_allclose(table["q0.95"], y.icdf(torch.tensor(0.95)))
    assert table.loc["2024-05-01"].shape == (24, 5)  # labels are times


def test_the_name_of_the_index_is_kept() -> None:
    assert learnt().predict_table(HOURS).index.name == "time"
    assert learnt().predict_table(xr.DataArray(HOURS, dims="time", name="hour")).index.name == "hour"


def test_a_table_of_several_inputs_keeps_its_index() -> None:
    x = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0]}, index=["one", "two", "three"])
    gp = gpvae.OnlineGP(gpvae.inducing.PivotedPoints(3), rbf(1.0, 1.0), gaussian(0.01)).update(x, [0.0, 1.0, 2.0])
    assert list(gp.predict_table(x).index) == ["one", "two", "three"]
    assert list(gp.predict_table(x.to_numpy()).index) == [0, 1, 2]


def test_outputs_are_the_first_level_of_the_columns() -> None:
    batch = torch.Size([2])
    kernel = ScaleKernel(RBFKernel(batch_shape=batch), batch_shape=batch)
    gp = gpvae.OnlineGP(CosS(10), kernel, gpytorch.likelihoods.GaussianLikelihood(batch_shape=batch))
    x = torch.linspace(0, 3, 20)
    gp.update(x, torch.stack([x.sin(), x.cos()]))
    table = gp.predict_table(x)
    assert list(table.columns.unique("output")) == [0, 1]
    np.testing.assert_allclose(table[1]["mean"], gp.predict(x).mean[1])
    with pytest.raises(ValueError, match="make no table"):
        gp.predict_table(x.reshape(2, 10, 1))
