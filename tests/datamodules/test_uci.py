"""The UCI tables, as the real files give them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from datamodules import Powerplant, Skillcraft
from datamodules.splits import first_dimension, l2_norm, split_tasks
from datamodules.uci import TableStream, TaskOrder, powerplant, skillcraft
from tests.datamodules.streams import assert_same_tasks


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


@pytest.mark.parametrize(
    ("stream", "load"), [(Skillcraft, skillcraft), (Powerplant, powerplant)], ids=["skillcraft", "powerplant"]
)
@pytest.mark.parametrize(("task_order", "key"), [("first_dimension", first_dimension), ("l2_norm", l2_norm)])
def test_global_statistics_are_those_of_the_paper_bit_for_bit(
    stream: type[TableStream],
    load: Callable[[], tuple[Tensor, Tensor]],
    task_order: TaskOrder,
    key: Callable[[Tensor], Tensor],
    real_data: Callable[[str], Path],
) -> None:
    real_data(stream.files[0])
    data = stream(task_order=task_order, statistics="global", seed=3)
    data.setup()
    assert_same_tasks(data.tasks, split_tasks(*load(), num_tasks=10, num_test=0.1, seed=3, key=key))


@pytest.mark.parametrize("stream", [Skillcraft, Powerplant])
@pytest.mark.parametrize("task_order", ["first_dimension", "l2_norm"])
def test_both_statistics_give_the_same_tasks(
    stream: type[TableStream], task_order: TaskOrder, real_data: Callable[[str], Path]
) -> None:
    real_data(stream.files[0])
    first, paper = (stream(task_order=task_order, statistics=kind) for kind in ("first_task", "global"))
    first.setup()
    paper.setup()
    x, y = first.task_data(0)
    assert x.shape[1] == stream.input_dim
    assert float(x.min()) == -1.0
    assert float(x.max()) == 1.0
    torch.testing.assert_close(y.mean().item(), 0.0, atol=1e-9, rtol=0)
    for ours, theirs in zip(first.tasks, paper.tasks, strict=True):  # affine images of one another
        both = torch.stack([ours.y_train, theirs.y_train])
        assert float(torch.corrcoef(both)[0, 1]) > 1 - 1e-9


def test_unknown_order() -> None:
    with pytest.raises(ValueError, match="task_order must be one of first_dimension, l2_norm; got 'random'"):
        Skillcraft(task_order="random")
