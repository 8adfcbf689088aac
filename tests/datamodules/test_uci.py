"""The UCI tables, as the real files give them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from datamodules.uci import powerplant, skillcraft


@pytest.mark.parametrize(
    ("name", "load", "shape"),
    [("skillcraft.csv.gz", skillcraft, (3338, 19)), ("powerplant.txt", powerplant, (9568, 4))],
)
def test_table(
    name: str,
    load: Callable[[], tuple[Tensor, Tensor]],
    shape: tuple[int, int],
    real_data: Callable[[str], Path],
) -> None:
    real_data(name)
    x, y = load()
    assert x.shape == shape
    assert y.shape == shape[:1]
    assert x.dtype == y.dtype == torch.float64
    ones = torch.ones(shape[1], dtype=torch.float64)
    torch.testing.assert_close(x.amin(dim=0), -ones)
    torch.testing.assert_close(x.amax(dim=0), ones)
    torch.testing.assert_close(y.mean().item(), 0.0, atol=1e-9, rtol=0)
    torch.testing.assert_close(y.square().mean().item(), 1.0)
