"""A run that is given again when new data have arrived learns them, and nothing twice."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from gpvae.metrics import TaskTable
from tests.cli.program import assert_same, refused, run, run_here, weights, write_config
from tests.datamodules.era5.written import weather, write_new

MODEL: dict[str, Any] = {
    "class_path": "SVGPVAE",
    "num_inducing": 6,
    "latent_dim": 2,
    "hidden_dim": 4,
    "num_samples": 10,
}
DATA: dict[str, Any] = {
    "class_path": "ERA5",
    "source": "files",
    "paths": "*.nc",
    "points": None,
    "hours_per_task": 20,
    "epochs_per_task": 2,
    "batch_size": 4,
}
FIT = ("fit", "-c", "weather.yaml", "--ckpt_path", "last")
RUN = Path("runs") / "weather" / "seed_3"


@pytest.fixture
def pieces() -> list[xr.Dataset]:
    """Three pieces of 28, 17 and 25 hours: one whole task, two, and three with 10 hours more."""
    data = weather(70)
    return [data.isel(time=slice(*ends)) for ends in ((0, 28), (28, 45), (45, 70))]


def start(folder: Path, **options: Any) -> Path:
    folder.mkdir(exist_ok=True)
    on_disk = {"on_disk": True} if "sites_folder" in options else {}
    model = options if "class_path" in options else {**MODEL, "consolidation": "replay", **options}
    write_config(folder, "weather.yaml", model=model, data={**DATA, **on_disk})
    return folder


def same_results(one: Path, other: Path) -> None:
    for file in ("task_metrics.csv", "foresight.csv"):
        assert (one / RUN / file).read_bytes() == (other / RUN / file).read_bytes()
    assert_same(*(weights(folder / RUN / "checkpoints" / "last.ckpt") for folder in (one, other)))


CLOSED_FORM: dict[str, Any] = {"class_path": "SeriesGP", "num_inducing": 6, "periods": [24.0]}


@pytest.mark.filterwarnings("ignore:the stream is longer than:UserWarning")
@pytest.mark.parametrize("options", [{}, {"consolidation": "ewc"}, {"sites_folder": "sites"}, CLOSED_FORM], ids=str)
def test_files_that_arrive_one_by_one_give_the_bits_of_one_run(
    pieces: list[xr.Dataset],
    tmp_path: Path,
    options: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    whole, grown = (start(tmp_path / name, **options) for name in ("whole", "grown"))
    for number, piece in enumerate(pieces):
        write_new(piece, whole / f"{number}.nc")
    run_here(whole, *FIT)
    for number, piece in enumerate(pieces):
        write_new(piece, grown / f"{number}.nc")
        caplog.clear()
        run_here(grown, *FIT)
        num_tasks, waiting = ((1, 8), (2, 5), (3, 10))[number]
        assert f"The data make {num_tasks} whole task(s); the last {waiting} hours wait for more data" in caplog.text
        assert TaskTable.read(grown / RUN / "task_metrics.csv").num_tasks == num_tasks
    same_results(whole, grown)
    run_here(grown, *FIT)
    assert "All 3 tasks of the data are learnt: there is nothing new" in caplog.text
    same_results(whole, grown)


def test_hours_that_are_added_to_a_file_and_a_later_end_do_the_same(pieces: list[xr.Dataset], tmp_path: Path) -> None:
    whole = start(tmp_path / "whole")
    write_new(xr.concat(pieces, "time"), whole / "all.nc")
    run_here(whole, *FIT)
    longer = start(tmp_path / "longer")
    for count in (1, 2, 3):
        write_new(xr.concat(pieces[:count], "time"), longer / "all.nc")
        run_here(longer, *FIT)
    same_results(whole, longer)
    later = start(tmp_path / "later")
    shutil.copy(whole / "all.nc", later)
    for end in ("2020-01-30T21", "2020-02-01T00"):  # 21 and 48 hours
        run_here(later, *FIT, "--data.end", end)
    assert TaskTable.read(later / RUN / "task_metrics.csv").num_tasks == 2
    run_here(later, *FIT)
    same_results(whole, later)


@pytest.mark.slow
def test_two_processes_take_new_data(pieces: list[xr.Dataset], tmp_path: Path) -> None:
    whole, grown = (start(tmp_path / name) for name in ("whole", "grown"))
    write_new(xr.concat(pieces, "time"), whole / "all.nc")
    run_here(whole, *FIT)
    for number, piece in enumerate(pieces):
        write_new(piece, grown / f"{number}.nc")
        two = ("--trainer.devices", "2", "--trainer.strategy", "ddp", "--data.batch_size", "2", "--name", "weather")
        done = run(grown, *FIT, *two)
        assert done.returncode == 0, done.stderr
    one, other = (TaskTable.read(folder / RUN / "task_metrics.csv").scores for folder in (whole, grown))
    assert {key: value for key, value in other.items() if key[2] != "coverage"} == pytest.approx(
        {key: value for key, value in one.items() if key[2] != "coverage"}, rel=1e-4, abs=1e-4
    )


def test_what_may_not_differ_is_named(pieces: list[xr.Dataset], tmp_path: Path) -> None:
    folder = start(tmp_path)
    write_new(xr.concat(pieces[:2], "time"), folder / "0.nc")
    run_here(folder, *FIT)
    assert "hours_per_task is 20 in the checkpoint and 10 here" in refused(
        folder, *FIT, "--data.hours_per_task", "10", "--name", "weather"
    )
    write_new(pieces[0], folder / "0.nc")
    message = refused(folder, *FIT)
    assert "has learnt 2 tasks, but the data make 1" in message
    assert "Give the data that were learnt, and new ones after them" in message
    other = xr.concat(pieces, "time")
    write_new(other.assign(t2m=other["t2m"] + 5), folder / "0.nc")
    assert "values of the first task differ" in refused(folder, *FIT)
    (folder / "0.nc").unlink()
    write_new(pieces[1].isel(time=slice(0, 10)), folder / "short.nc")
    assert "The data span 10 hours, less than one task of 20 hours" in refused(folder, "fit", "-c", "weather.yaml")
