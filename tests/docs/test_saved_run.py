"""The README's lines about a saved run work on a run that is smaller than the one they name."""

from contextlib import chdir
from pathlib import Path

import pytest

import gpvae
from datamodules.era5 import read_era5
from datamodules.era5.synthetic.sample import sample_files
from tests.docs import shell
from tests.docs.pages import ROOT, blocks

NOTE = "not run: tests/docs/test_saved_run.py runs it on a small run"
RUN = Path("runs") / "era5_ohsvgp" / "seed_1"


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")  # Lightning's, about small data
def test_the_lines_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = [block for block in blocks(ROOT / "README.md") if block.note == NOTE]
    assert len(block.text.splitlines()) <= 10
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    small = "--data.points 3 --data.num_tasks 2 --data.hours_per_task 24 --data.epochs_per_task 1 --name era5_ohsvgp"
    shell.run(["gpvae", "fit", "-c", "configs/era5_ohsvgp.yaml", *small.split()], tmp_path)
    hours = read_era5(sample_files(96)).sel(time=slice("2020-01-03", "2020-01-04T20"))
    hours.to_netcdf(tmp_path / "next_week.nc")
    names: dict[str, object] = {}
    with chdir(tmp_path):
        exec(compile(block.text, str(block.page), "exec"), names)
    weather = names["weather"]
    assert weather["t2m"].sizes == {"location": 3, "time": 97}  # type: ignore[index]
    run = gpvae.load(tmp_path / RUN)
    assert run.num_tasks == 3
    assert run.num_waiting == hours.sizes["time"] - 24 == 21
    assert (tmp_path / "weather.png").stat().st_size > 10_000
