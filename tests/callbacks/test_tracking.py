"""What loggers show beside scalars."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger, WandbLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2

from callbacks.report import TaskReport
from callbacks.tracking import COLUMNS, lay_out, log_image
from tests.callbacks.learner import NLPD, learn

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
]
PIXELS = np.zeros((4, 6, 3), dtype=np.uint8)


class Recorder(CSVLogger):
    """Has the methods of `WandbLogger` for pictures and tables, with its signatures."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, name="", version="")
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def log_image(self, *args: Any, **kwargs: Any) -> None:
        self.calls.append(("image", inspect.signature(WandbLogger.log_image).bind(self, *args, **kwargs).arguments))

    def log_table(self, *args: Any, **kwargs: Any) -> None:
        self.calls.append(("table", inspect.signature(WandbLogger.log_table).bind(self, *args, **kwargs).arguments))


class Client:
    """Has the methods of MLflow's client that are used."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def log_image(self, *args: Any) -> None:
        self.calls.append(args)


class Tracked(MLFlowLogger):
    """An MLflow logger without MLflow."""

    def __init__(self) -> None:
        self.client = Client()

    @property
    def experiment(self) -> Client:
        return self.client

    @property
    def run_id(self) -> str:
        return "run"


def test_tensorboard_opens_on_the_nlpd_of_all_tasks_and_compares_runs(tmp_path: Path) -> None:
    board = TensorBoardLogger(tmp_path, "board", "", default_hp_metric=False)
    learn(tmp_path, TaskReport(print_table=False), loggers=[board])
    board.finalize("success")
    events = EventAccumulator(board.log_dir).Reload()
    (config,) = events.Tensors("custom_scalars__config__")
    layout = layout_pb2.Layout.FromString(config.tensor_proto.string_val[0])
    first, second, *_ = layout.category[0].chart
    assert first.title == "NLPD, each task"
    assert list(first.multiline.tag) == ["nlpd/task_.*", "nlpd/seen"]
    assert second.title == "Accuracy, each task"  # the learner logs no memory
    (table,) = events.Tensors("nlpd_of_tasks/text_summary")
    assert b"| 3 | 2.000 | 2.250 | 0.333 |" in table.tensor_proto.string_val[0]
    assert events.Scalars("end/nlpd")[0].value == pytest.approx(NLPD[2].mean())
    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    options = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert options["model"].string_value == "Learner"
    content = events.SummaryMetadata("_hparams_/experiment").plugin_data.content
    columns = plugin_data_pb2.HParamsPluginData.FromString(content).experiment.hparam_infos
    assert {column.name for column in columns if column.differs} == set(COLUMNS)


def test_coverage_and_memory_are_beside_the_nlpd(tmp_path: Path) -> None:
    board = TensorBoardLogger(tmp_path, "board", "")
    lay_out(board, ["nlpd", "rmse", "coverage"], {"memory/numbers", "nlpd/seen"})
    board.finalize("success")
    (config,) = EventAccumulator(board.log_dir).Reload().Tensors("custom_scalars__config__")
    layout = layout_pb2.Layout.FromString(config.tensor_proto.string_val[0])
    titles = [chart.title for chart in layout.category[0].chart]
    assert titles[:3] == ["NLPD, each task", "Coverage of 90 % intervals, each task", "numbers kept"]
    assert titles[3] == "RMSE, each task"


def test_pictures_and_tables_go_to_every_logger_that_takes_them(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "recorder")
    learn(tmp_path, TaskReport(print_table=False), loggers=[recorder])
    (kind, table), *others = recorder.calls
    assert (kind, table["key"], others) == ("table", "nlpd_of_tasks", [])
    assert table["columns"] == ["after task", "task 1", "task 2", "task 3"]
    assert table["data"][1] == [2, "1.500", "2.000", ""]
    log_image(recorder, "skill", PIXELS, 3)
    assert recorder.calls[-1][1]["key"] == "skill"
    tracked = Tracked()
    log_image(tracked, "skill", PIXELS, 3)
    assert tracked.client.calls[0][0::2] == ("run", "skill_03.png")
    plain: Logger = CSVLogger(tmp_path / "plain")
    log_image(plain, "skill", PIXELS, 3)  # it takes none


@pytest.mark.filterwarnings("default")  # those of the library
def test_weights_and_biases_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    logger = WandbLogger(save_dir=tmp_path, offline=True, project="tasks")
    learn(tmp_path, TaskReport(print_table=False), loggers=[logger])
    log_image(logger, "skill", PIXELS, 3)
    summary = dict(logger.experiment.summary)
    assert summary["end/nlpd"] == pytest.approx(NLPD[2].mean())
    assert {"nlpd_of_tasks", "skill"} <= summary.keys()
    assert logger.experiment.config["model"] == "Learner"
    logger.experiment.finish()


@pytest.mark.filterwarnings("default")
def test_mlflow_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    logger = MLFlowLogger("tasks", tracking_uri=f"file:{tmp_path / 'mlruns'}")
    learn(tmp_path, TaskReport(print_table=False), loggers=[logger])
    log_image(logger, "skill", PIXELS, 3)
    found = {artifact.path for artifact in logger.experiment.list_artifacts(logger.run_id)}
    assert found == {"nlpd_of_tasks.json", "skill_03.png"}
    run = logger.experiment.get_run(logger.run_id).data
    assert run.metrics["end/nlpd"] == pytest.approx(NLPD[2].mean())
    assert run.params["model"] == "Learner"
