import pytest
import torch

from datamodules.point_scale import PointScale
from datamodules.scaling import minmax_scale, standardise


def test_minmax_scale_maps_each_column_to_the_whole_interval() -> None:
    x = torch.tensor([[1.0, 5.0], [2.0, 3.0], [5.0, 4.0]], dtype=torch.float64)
    expected = torch.tensor([[-1.0, 1.0], [-0.5, -1.0], [1.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(minmax_scale(x, -1.0, 1.0), expected)


def test_standardise_has_mean_0_and_variance_1() -> None:
    y = standardise(torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=torch.float64))
    torch.testing.assert_close(y.mean().item(), 0.0)
    torch.testing.assert_close(y.square().mean().item(), 1.0)


def test_constant_values_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Columns \[1\] of x"):
        minmax_scale(torch.tensor([[1.0, 2.0], [3.0, 2.0]]), 0.0, 1.0)
    with pytest.raises(ValueError, match="y is constant"):
        standardise(torch.ones(3))


def test_the_scale_of_some_points_puts_others_on_it() -> None:
    like = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    scale = PointScale.fit(like, torch.tensor([3.0, 7.0]), 0.0, 1.0, standardises=True)
    x = torch.tensor([[0.0, 3.0], [4.0, 7.0]])  # the second column, constant there, is only shifted
    torch.testing.assert_close(scale.inputs(x), torch.tensor([[-0.5, -1.5], [1.5, 2.5]]))
    torch.testing.assert_close(scale.targets(torch.tensor([0.0, 10.0])), torch.tensor([-2.5, 2.5]))


def test_inputs_as_measured_come_back() -> None:
    like = torch.tensor([[1.0, 5.0], [3.0, 5.0]], dtype=torch.float64)
    scale = PointScale.fit(like, torch.tensor([0.0, 1.0]), -1.0, 2.0, standardises=True)
    x = torch.tensor([[0.0, 3.0], [4.0, 7.0]], dtype=torch.float64)
    torch.testing.assert_close(scale.measured_inputs(scale.inputs(x)), x)
