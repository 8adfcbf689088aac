"""The processes of one run: the first downloads, the others wait for it, and all learn from the same files."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import xarray as xr
from lightning.pytorch.utilities import rank_zero_only

from datamodules.era5 import ERA5, cds
from datamodules.era5.cds import retry
from datamodules.era5.cds.errors import DownloadFailed
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from tests.cli.program import run, run_here, script, write_config
from tests.datamodules.era5.cds import faults
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.runs import OPTIONS, REQUESTS, stream
from tests.datamodules.era5.cds.server import Fault, Store

pytestmark = pytest.mark.usefixtures("hurried")

MODEL = {"class_path": "SVGPVAE", "num_inducing": 4, "latent_dim": 2, "hidden_dim": 4}
DATA = {"class_path": "ERA5", **OPTIONS, "area": list(OPTIONS["area"]), "epochs_per_task": 1}
TORCHRUN = ["--standalone", "--nproc_per_node", "2"]
TWO = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]


class Revised(Weather):
    """Final data that differ from the preliminary ones."""

    def __init__(self, weather: Weather) -> None:
        self._answers, self._weather = {}, weather

    def fields(self, request: dict[str, Any]) -> dict[str, xr.Dataset]:
        files = {name: data.copy(deep=True) for name, data in self._weather.fields(request).items()}
        for data in files.values():
            if "t2m" in data:
                data["t2m"].values[:] = data["t2m"].values[::-1]
        return files


@pytest.fixture
def revised(store: Store, weather: Weather) -> Store:
    """A store with final data, where preliminary ones were downloaded before."""
    store.behaviour.preliminary = True
    stream().prepare_data()
    store.repair()
    store.weather = Revised(weather)
    return store


def as_process(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", number)


def set_up_by_trainer(data: ERA5, process: int) -> ERA5:
    """The data after Lightning has called `setup`, once all processes have passed the barrier after `prepare_data`."""
    data.trainer = SimpleNamespace(global_rank=process, world_size=2)  # type: ignore[assignment]
    data.setup("fit")
    return data


@pytest.mark.parametrize("on_disk", [False, True])
def test_all_processes_use_the_files_that_the_first_fetches_again(
    on_disk: bool, revised: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (stream(refetch_preliminary=True, on_disk=on_disk) for _ in range(2))
    as_process(1, monkeypatch)
    second.prepare_data()
    second.setup()  # before the processes know of each other, from what is there
    early = second.task_data(0).y.clone()
    as_process(0, monkeypatch)
    first.prepare_data()
    first.setup()
    assert not torch.equal(first.task_data(0).y, early)
    for task in range(3):
        pairs = zip(
            set_up_by_trainer(first, 0).task_data(task), set_up_by_trainer(second, 1).task_data(task), strict=True
        )
        assert all(torch.equal(*pair) for pair in pairs)
    assert len(revised.posts) == 4


def test_unchanged_files_are_read_once(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cds.download(REQUESTS, 1.0)
    as_process(1, monkeypatch)
    data = stream()
    data.setup()
    read = data.fields
    assert set_up_by_trainer(data, 1).fields is read


GIVEN_UP = (
    "Process 0 did not complete the download: 2 of 2 files of ERA5 are not in .*data, and no process has been "
    "downloading them for 0.01 minutes. See the messages of process 0; .* GPVAE_DATA_DIR to a folder that all machines "
    "share"
)


def test_nobody_waits_for_a_first_process_that_has_failed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "MAX_IDLE", 0.6)
    store.faults = [Fault("post", faults.refuse(403, "required licences not accepted"))]
    with pytest.raises(DownloadFailed, match="licence"):
        stream().prepare_data()
    as_process(1, monkeypatch)
    began, data = time.monotonic(), stream()
    data.prepare_data()
    with pytest.raises(DownloadFailed, match=GIVEN_UP):
        data.setup()
    assert 0.6 < time.monotonic() - began < 20


def test_others_wait_while_the_first_process_waits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "MAX_IDLE", 0.3)
    as_process(1, monkeypatch)
    store.behaviour.states = [["running"]] * 2  # until it has taken longer than processes may start apart
    first = threading.Thread(target=cds.download.__wrapped__, args=(REQUESTS, 1.0))
    first.start()
    while len(store.posts) < 2 and first.is_alive():
        time.sleep(0.01)
    found: list[str] = []
    second = threading.Thread(target=lambda: found.extend(cds.downloaded(REQUESTS, 1.0)))
    second.start()
    time.sleep(1.0)
    assert second.is_alive()
    store.repair()
    for thread in (first, second):
        thread.join(60)
    assert len(found) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_processes_end_with_the_first(store: Store, tmp_path: Path) -> None:
    write_config(tmp_path, model=MODEL, data=DATA)
    store.faults = [Fault("post", faults.refuse(403, "required licences not accepted"))]
    began = time.monotonic()
    two = run(tmp_path, "fit", "-c", "small.yaml", *TWO, program=[script("torchrun"), *TORCHRUN, script()])
    assert two.returncode != 0
    assert two.stderr.count("error: The licence of ERA5 is not accepted yet") == 1
    assert time.monotonic() - began < retry.MAX_IDLE / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the program are not meant here
@pytest.mark.usefixtures("_as_in_a_shell")
def test_two_processes_learn_from_final_data_what_one_does(revised: Store, tmp_path: Path) -> None:
    write_config(tmp_path, model=MODEL, data=DATA | {"refetch_preliminary": True, "batch_size": 2})
    program = [script("torchrun"), *TORCHRUN, script()]
    two = run(tmp_path, "fit", "-c", "small.yaml", "--name", "two", *TWO, program=program)
    assert two.returncode == 0, two.stderr
    assert len(revised.posts) == 4
    run_here(tmp_path, "fit", "-c", "small.yaml", "--name", "one", "--data.batch_size", "4")
    one, other = (TaskTable.read(tmp_path / "runs" / name / "seed_3" / FILE_NAME).scores for name in ("one", "two"))
    assert {key: other[key] for key in one if key[2] == "nlpd"} == pytest.approx(
        {key: value for key, value in one.items() if key[2] == "nlpd"}, abs=1e-4
    )
