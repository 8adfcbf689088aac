"""`end: latest` asks the store how far it goes, takes complete days only, and says what is preliminary."""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightning.pytorch.utilities import rank_zero_only

from datamodules.era5 import ERA5
from datamodules.era5.cds import latest, latest_end, retry
from datamodules.era5.cds.errors import DownloadFailed
from gpvae.metrics import TaskTable
from tests.cli.program import assert_same, run_here, weights, write_config
from tests.datamodules.era5.cds import faults
from tests.datamodules.era5.cds.runs import OPTIONS, stream
from tests.datamodules.era5.cds.server import Fault, Store

pytestmark = pytest.mark.usefixtures("hurried", "no_answer_yet")
LATEST: dict[str, Any] = {"num_tasks": None, "end": "latest"}
MODEL = {"class_path": "SVGPVAE", "num_inducing": 4, "latent_dim": 2, "hidden_dim": 4}
DATA = {"class_path": "ERA5", **OPTIONS, **LATEST, "area": list(OPTIONS["area"]), "epochs_per_task": 1}


@pytest.fixture
def no_answer_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(latest.VARIABLE, "")


@pytest.mark.parametrize(
    ("last", "end"),
    [
        ("2020-02-01T00:00:00Z", "2020-02-01"),
        ("2020-02-01T05:00:00+00:00", "2020-02-01"),
        ("2020-01-31T23:00:00", "2020-02-01"),
        ("2020-02-01T00:30:00+02:00", "2020-01-31"),
    ],
)
def test_only_complete_days_are_taken(last: str, end: str, store: Store) -> None:
    store.latest = last
    assert latest_end(1.0) == np.datetime64(end)


def test_the_stream_ends_there(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.behaviour.preliminary = True
    data = stream(**LATEST)
    with pytest.raises(RuntimeError, match=r"How far ERA5 goes is not known yet: call prepare_data\(\) first"):
        data.setup()
    data.prepare_data()
    data.setup()
    assert data.num_tasks == 2  # 48 hours
    assert [request["day"] for request in store.posts] == [["30", "31"]]
    assert "has complete days of ERA5 until 2020-02-01T00:00:00, exclusive" in caplog.text
    assert "the last 8 hours wait for more data" in caplog.text
    assert "48 of the downloaded hours are preliminary (ERA5T): they may be revised" in caplog.text
    assert data.hparams["end"] == "latest"
    caplog.clear()
    again = stream(**LATEST)
    again.prepare_data()
    again.setup()
    assert len(store.posts) == 1
    assert "48 of the downloaded hours are preliminary" in caplog.text


@pytest.mark.filterwarnings("ignore")  # those of the program are not meant here
@pytest.mark.usefixtures("_as_in_a_shell")
def test_a_run_goes_on_with_what_the_store_has_by_now(store: Store, tmp_path: Path) -> None:
    whole, grown = tmp_path / "whole", tmp_path / "grown"
    for folder in (whole, grown):
        folder.mkdir()
        write_config(folder, model=MODEL, data=DATA)
    fit = ("fit", "-c", "small.yaml", "--ckpt_path", "last", "--report.print_table", "false")
    run = Path("runs") / "small" / "seed_3"
    for last, num_tasks in (("2020-01-31T23:00:00Z", 2), ("2020-02-02T04:00:00Z", 3)):
        store.latest = last
        run_here(grown, *fit)
        assert TaskTable.read(grown / run / "task_metrics.csv").num_tasks == num_tasks
    run_here(whole, *fit)
    assert (whole / run / "task_metrics.csv").read_bytes() == (grown / run / "task_metrics.csv").read_bytes()
    assert_same(*(weights(folder / run / "checkpoints" / "last.ckpt") for folder in (whole, grown)))


def test_other_processes_wait_for_the_answer_of_the_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under torchrun; those that process 0 starts itself find it in their environment."""
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    answers: list[object] = []
    waiting = threading.Thread(target=lambda: answers.append(latest_end(1.0)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    monkeypatch.setattr(rank_zero_only, "rank", 0)
    asked = latest_end(1.0)
    waiting.join(20)
    assert answers == [asked]
    assert os.environ[latest.VARIABLE] == str(asked)
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    store.shutdown()
    assert latest_end(1.0) == asked


def test_a_process_that_waits_in_vain_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    monkeypatch.setattr(retry, "MAX_IDLE", 0.1)
    with pytest.raises(DownloadFailed, match="Process 0 has not asked the Climate Data Store for the end of ERA5"):
        latest_end(1.0)


def test_failures(store: Store) -> None:
    store.latest = None
    with pytest.raises(DownloadFailed, match="does not say how far ERA5 goes: give `end` as a date"):
        stream(**LATEST).prepare_data()
    store.latest = "2020-01-30T05:00:00Z"
    with pytest.raises(ValueError, match=r"start is 2020-01-30T.*, and the Climate Data Store has ERA5 until .* only"):
        stream(**LATEST).prepare_data()
    store.faults = [Fault("collection", faults.refuse(503, "maintenance"))]
    with pytest.raises(DownloadFailed, match="has a server error"):
        stream(**LATEST).prepare_data()


def test_other_sources_have_no_latest_end() -> None:
    with pytest.raises(ValueError, match="end is 'latest' and source is 'files': only the Climate Data Store"):
        ERA5("files", "a.nc", end="latest")
    with pytest.raises(ValueError, match="give one, such as end 2021-01-01 or latest"):
        ERA5("cds", start="2020-01-01")
