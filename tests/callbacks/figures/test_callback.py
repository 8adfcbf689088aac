"""Figures after each task are logged and saved, and drawing does not change the module."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.demos.boring_classes import BoringModel
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import IMAGES, EventAccumulator

from callbacks import TaskFigures, TaskReport
from tests.callbacks.figures.toy_points import Learner, Stream, counts, five_dimensions, labels, wave
from tests.callbacks.figures.unchanged import Unchanged

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning 2.6 with torch 2.13
    pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning"),
]
QUICK = {"num_points": 50, "dpi": 40, "every_n_tasks": 1}


def fit(
    folder: Path,
    module: Learner,
    stream: Stream,
    *callbacks: Callback,
    epochs: int | None = None,
    resume_from: Path | None = None,
    **options: object,
) -> Trainer:
    """Learn a stream with some callbacks."""
    options.setdefault("logger", TensorBoardLogger(folder, name="", version=""))
    trainer = Trainer(
        accelerator="cpu",
        callbacks=list(callbacks),
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **{**stream.trainer_options, "max_epochs": epochs or stream.num_epochs},
        **options,
    )
    trainer.fit(module, datamodule=stream, ckpt_path=resume_from, weights_only=True)
    return trainer


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "figures").glob("*"))


def logged(folder: Path) -> dict[str, list[int]]:
    """Tags of the images that TensorBoard reads, and their steps."""
    events = EventAccumulator(str(folder), size_guidance={IMAGES: 0})
    events.Reload()
    return {tag: [event.step for event in events.Images(tag)] for tag in events.Tags()["images"]}


CASES: dict[str, tuple[Callable[[], Stream], Callable[[], Learner], str | None, tuple[int, int]]] = {
    "line": (wave, lambda: Learner("Points", 12), "stream", (288, 108)),
    "counts": (counts, lambda: Learner("CosS", 12, "poisson", 0.8), "stream", (288, 108)),
    "plane": (labels, lambda: Learner("PivotedPoints", 12, "bernoulli"), "decision_boundary", (224, 160)),
    "five dimensions": (five_dimensions, lambda: Learner("PivotedPoints", 12, lengthscale=3.0), None, (0, 0)),
}


@pytest.mark.parametrize(("case", "report_first"), [*((case, True) for case in CASES), ("five dimensions", False)])
def test_each_task_leaves_its_figures_in_the_log_and_in_files(case: str, report_first: bool, tmp_path: Path) -> None:
    make_stream, make_module, kind, size = CASES[case]
    callbacks: list[Callback] = [TaskFigures(**QUICK), TaskReport(print_table=False)]
    fit(tmp_path, make_module(), make_stream(), *(callbacks[::-1] if report_first else callbacks))
    pictures = [] if kind is None else [f"{kind}_{task:02d}.png" for task in (1, 2, 3)]
    assert files(tmp_path) == sorted(["forgetting_rmse.png", *pictures])
    assert logged(tmp_path) == {tag: [1, 2, 3] for tag in ("forgetting/rmse", kind) if tag}
    for name in pictures:
        with Image.open(tmp_path / "figures" / name) as image:
            assert image.size == size
            assert len(image.convert("RGB").getcolors(10**6)) > 20  # not blank
    with Image.open(tmp_path / "figures" / "forgetting_rmse.png") as image:
        assert image.size == (224, 176)


def test_without_a_report_or_anything_to_draw_there_are_no_figures(tmp_path: Path) -> None:
    fit(tmp_path, Learner("PivotedPoints", 12, lengthscale=3.0), five_dimensions(), TaskFigures(**QUICK))
    assert files(tmp_path) == []


@pytest.mark.filterwarnings("ignore::gpvae.MisfitWarning")  # targets depend on all five dimensions
def test_two_dimensions_without_labels_have_no_decision_boundary(tmp_path: Path) -> None:
    stream = five_dimensions()
    stream = Stream(
        torch.cat([t.x_train[:, :2] for t in stream.tasks]), torch.cat([t.y_train for t in stream.tasks]), 3
    )
    fit(tmp_path, Learner("PivotedPoints", 12, lengthscale=3.0), stream, TaskFigures(**QUICK))
    assert files(tmp_path) == []


def test_every_n_tasks_and_the_last(tmp_path: Path) -> None:
    fit(tmp_path, Learner("LegS", 12), wave(5), TaskFigures(**QUICK | {"every_n_tasks": 2}))
    assert logged(tmp_path) == {"stream": [2, 4, 5]}


def test_by_default_only_the_last_task_is_drawn(tmp_path: Path) -> None:
    fit(tmp_path, Learner("LegS", 12), wave(5), TaskFigures(num_points=50, dpi=40))
    assert logged(tmp_path) == {"stream": [5]}


def test_a_stream_that_stops_early_has_its_last_task_drawn(tmp_path: Path) -> None:
    fit(tmp_path, Learner("LegS", 12), wave(6, stop_after=3), TaskFigures(**QUICK | {"every_n_tasks": 2}))
    assert logged(tmp_path) == {"stream": [2, 3]}


def test_a_task_that_is_under_way_is_not_drawn(tmp_path: Path) -> None:
    module = Learner("LegS", 12)
    module.begun = 2
    fit(tmp_path, module, wave(), TaskFigures(**QUICK), epochs=2)
    assert logged(tmp_path) == {"stream": [2]}


def test_disabled_draws_nothing(tmp_path: Path) -> None:
    fit(tmp_path, Learner("LegS", 12), wave(), TaskFigures(enabled=False, **QUICK), TaskReport(print_table=False))
    assert files(tmp_path) == []
    assert logged(tmp_path) == {}


def test_only_the_first_process_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trainer, "is_global_zero", False)
    figures = TaskFigures(**QUICK)
    fit(tmp_path, Learner("LegS", 12), wave(), figures, TaskReport(print_table=False))
    assert figures.drawn == 3
    assert files(tmp_path) == []


@pytest.mark.parametrize("loggers", ["none", "csv"])
def test_files_are_written_without_tensorboard(loggers: str, tmp_path: Path) -> None:
    logger = CSVLogger(tmp_path, name="", version="") if loggers == "csv" else False
    fit(tmp_path, Learner("LegS", 12), wave(), TaskFigures(**QUICK), logger=logger)
    assert files(tmp_path) == ["stream_01.png", "stream_02.png", "stream_03.png"]


class MixedModes(Unchanged):
    """With one part of the module in evaluation mode."""

    def on_train_epoch_end(self, trainer: Trainer, pl_module: Learner) -> None:
        pl_module.gp.inducing.eval()
        super().on_train_epoch_end(trainer, pl_module)


class Noisy(Learner):
    """Draws random numbers when it predicts."""

    def predict(self, x: torch.Tensor) -> torch.distributions.Distribution:
        assert not self.training
        torch.rand(3)
        return super().predict(x)


@pytest.mark.parametrize("case", ["line", "counts", "plane"])
def test_drawing_changes_neither_model_nor_random_state(case: str, tmp_path: Path) -> None:
    make_stream, make_module, kind, _ = CASES[case]
    module = make_module()
    module.__class__ = Noisy
    unchanged = MixedModes(TaskFigures(**QUICK))
    fit(tmp_path, module, make_stream(), unchanged)
    assert unchanged.num_calls == 3
    assert logged(tmp_path) == {kind: [1, 2, 3]}


def test_a_resumed_run_continues_after_the_last_figure(tmp_path: Path) -> None:
    stream, module, figures = wave(), Learner("LegS", 12), TaskFigures(**QUICK)
    trainer = fit(tmp_path / "first", module, stream, figures, epochs=2)
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    resumed = TaskFigures(**QUICK)
    fresh = Learner("LegS", 12)
    fit(tmp_path / "second", fresh, stream, resumed, resume_from=tmp_path / "two.ckpt")
    assert files(tmp_path / "first") == ["stream_01.png", "stream_02.png"]
    assert files(tmp_path / "second") == ["stream_03.png"]


def test_one_callback_can_be_used_in_two_runs(tmp_path: Path) -> None:
    figures = TaskFigures(**QUICK)
    for run in ("first", "second"):
        fit(tmp_path / run, Learner("LegS", 12), wave(), figures)
        assert len(files(tmp_path / run)) == 3


@pytest.mark.parametrize("option", ["every_n_tasks", "num_points", "dpi"])
def test_impossible_options_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} is at least"):
        TaskFigures(**{option: 0})


def test_modules_and_data_without_tasks_are_refused(tmp_path: Path) -> None:
    trainer = Trainer(
        accelerator="cpu", max_epochs=1, callbacks=[TaskFigures()], logger=False, default_root_dir=tmp_path
    )
    with pytest.raises(TypeError, match=r"TaskFigures requires a datamodules.TaskStream, got NoneType"):
        trainer.fit(BoringModel())
