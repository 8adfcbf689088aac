"""Streams: which task an epoch learns, which test points judge it, and what is refused before training."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.trainer.states import TrainerFn

from datamodules import TaskStream, Toy
from tests.datamodules.streams import Made, Witness, trainer

# torch 2.13 warns of how Lightning 2.6 walks through nested lists.
pytestmark = pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec")


def sizes(stream: TaskStream) -> list[int]:
    return [len(task.x_test) for task in stream.tasks]


def as_process(stream: TaskStream, rank: int, world_size: int) -> TaskStream:
    """The stream as one of several processes has it, during validation."""
    stream.trainer = SimpleNamespace(  # type: ignore[assignment]
        global_rank=rank,
        world_size=world_size,
        current_epoch=1,
        reload_dataloaders_every_n_epochs=1,
        state=SimpleNamespace(fn=TrainerFn.VALIDATING),
    )
    return stream


def test_each_epoch_learns_its_task_and_is_judged_by_all_tasks_so_far() -> None:
    stream, model = Toy(epochs_per_task=2, batch_size=25), Witness()
    trainer(max_epochs=stream.num_epochs).fit(model, stream)
    assert stream.num_epochs == 6
    assert [epoch for epoch, _, _ in model.trained] == [epoch for epoch in range(6) for _ in range(3)]
    expected = [(epoch, task, sizes(stream)[task]) for epoch in range(6) for task in range(epoch // 2 + 1)]
    assert model.evaluated == expected


def test_outside_of_fit_all_tasks_are_judged() -> None:
    for stop_after, validated in ((None, 3), (2, 2)):
        stream, lone = Toy(stop_after=stop_after), Witness()
        trainer().validate(lone, stream, verbose=False)
        assert lone.evaluated == [(0, task, size) for task, size in enumerate(sizes(stream)[:validated])]
        for run in (trainer().test, trainer().predict):
            lone.evaluated.clear()
            run(lone, datamodule=stream)
            assert lone.evaluated == [(0, task, size) for task, size in enumerate(sizes(stream))]


def test_epochs_and_tasks() -> None:
    stream = Toy(num_tasks=5, epochs_per_task=3, stop_after=2)
    assert (stream.num_learnt, stream.num_epochs) == (2, 6)
    assert [stream.task_of_epoch(epoch) for epoch in range(8)] == [0, 0, 0, 1, 1, 1, 1, 1]


def test_whole_tasks_are_the_default_and_come_as_often_as_asked() -> None:
    stream = Toy(steps_per_epoch=4)
    stream.setup()
    x, y = stream.task_data(0)
    batches = list(stream.train_dataloader())
    assert len(batches) == 4
    assert all(batch.x is x and batch.y is y for batch in batches)


def test_processes_share_points() -> None:
    stream = Toy(batch_size=8)
    stream.setup()
    trained, judged = [], []
    for rank in range(4):
        as_process(stream, rank, 4)
        trained += [point for batch in stream.train_dataloader() for point in batch.index.tolist()]
        judged += [
            (task, y) for task, loader in enumerate(stream.val_dataloader()) for b in loader for y in b.y.tolist()
        ]
    assert sorted(trained) == list(range(len(stream.task_data(1)[0])))
    assert sorted(judged) == sorted((task, y) for task, data in enumerate(stream.tasks) for y in data.y_test.tolist())


def test_some_process_without_any_test_point_is_refused() -> None:
    stream = as_process(Toy(num_test=10), 0, 9)
    stream.setup()
    with pytest.raises(ValueError, match="No task has a test point for each of 9 processes"):
        stream.val_dataloader()


def test_tasks_are_made_once() -> None:
    x = torch.linspace(0, 1, 40, dtype=torch.float64)
    stream = Made(x[:, None], x, num_tasks=2)
    for stage in ("fit", "validate", None):
        stream.setup(stage)
    assert stream.reads == 1


def test_seed_changes_the_split_of_the_same_points() -> None:
    one, again, other = Toy(seed=1), Toy(seed=1), Toy(seed=2)
    for stream in (one, again, other):
        stream.setup()
    assert torch.equal(one.task_data(0)[0], again.task_data(0)[0])
    assert not torch.equal(one.task_data(0)[0], other.task_data(0)[0])
    assert torch.equal(one.read()[1], other.read()[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_tasks": 0}, "num_tasks is 0: it must be 1 or more"),
        ({"seed": -1}, "seed is -1: it must be 0 or more"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"steps_per_epoch": 0}, "steps_per_epoch is 0"),
        ({"epochs_per_task": 0}, "epochs_per_task is 0"),
        ({"stop_after": 0}, "stop_after is 0: it must be between 1 and num_tasks, which is 3"),
        ({"stop_after": 4}, "stop_after is 4"),
        ({"kind": "figure_2"}, "kind must be one of figure_1, figure_f4; got 'figure_2'"),
    ],
)
def test_wrong_options_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Toy(**options)


def test_tasks_without_test_points_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"tasks 1 to 3, these have no test points: \[1, 2, 3\]. Raise num_test \(now 0\)"
    ):
        Toy(num_test=0).setup()


def test_more_tasks_than_points() -> None:
    with pytest.raises(ValueError, match="Cannot make 300 tasks of 180 training points"):
        Toy(num_tasks=300).setup()


def test_data_of_tasks_that_are_not_there() -> None:
    stream = Toy()
    for ask in (stream.train_dataloader, stream.val_dataloader, lambda: stream.task_data(0)):
        with pytest.raises(RuntimeError, match=r"call setup\(\) first"):
            ask()
    stream.setup()
    for task in (-1, 3):
        with pytest.raises(ValueError, match=f"no task {task}: tasks are numbered from 0 to 2"):
            stream.task_data(task)


@pytest.mark.parametrize("reload", [0, 2])
def test_a_trainer_that_would_miss_the_next_task_is_refused(reload: int) -> None:
    with pytest.raises(ValueError, match=f"reload_dataloaders_every_n_epochs={reload} .* set it to 1"):
        trainer(max_epochs=3, reload_dataloaders_every_n_epochs=reload).fit(Witness(), Toy())


def test_a_checkpoint_holds_every_option_as_plain_values(tmp_path: Path) -> None:
    stream = Toy("figure_1", num_tasks=2, batch_size=5, stop_after=1)
    run = trainer(max_epochs=1)
    run.fit(Witness(), stream)
    run.save_checkpoint(tmp_path / "model.ckpt")
    saved = torch.load(tmp_path / "model.ckpt", weights_only=True)["datamodule_hyper_parameters"]
    assert saved == {
        "kind": "figure_1",
        "num_tasks": 2,
        "num_test": 0.25,
        "seed": 0,
        "batch_size": 5,
        "steps_per_epoch": None,
        "epochs_per_task": 1,
        "stop_after": 1,
    }
    again = Toy.load_from_checkpoint(tmp_path / "model.ckpt", weights_only=True)
    assert again.hparams == stream.hparams
