"""Which folders are runs, and what is said of those that are not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import xarray as xr

import gpvae
from tests.cli.program import environment

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's, about small data
SAVED = Path(__file__).parents[1] / "compatibility" / "saved"
SERIES, POINTS = Path("runs") / "weather" / "seed_3", Path("runs") / "small" / "seed_3"


def change(folder: Path, **entries: object) -> None:
    """Change entries of the last checkpoint; None removes one."""
    file = folder / "checkpoints" / "last.ckpt"
    checkpoint = {**torch.load(file, weights_only=True), **entries}
    torch.save({key: value for key, value in checkpoint.items() if value is not None}, file)


def test_importing_gpvae_stays_quick() -> None:
    code = "import sys, gpvae; print([m for m in ('lightning', 'xarray', 'pandas', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_folders_that_are_no_runs(series: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder nowhere: give the folder of a run"):
        gpvae.load("nowhere")
    with pytest.raises(FileNotFoundError, match=r"is not the folder of a run: it has no checkpoints/last.ckpt"):
        gpvae.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a run, but holds seed_3: give the folder of one of them"):
        gpvae.load(series / "runs" / "weather")
    shutil.rmtree(series / SERIES / "checkpoints")
    with pytest.raises(FileNotFoundError, match=r"has no checkpoint: there is no checkpoints/last.ckpt"):
        gpvae.load(series / SERIES)


def test_a_damaged_checkpoint(series: Path) -> None:
    file = series / SERIES / "checkpoints" / "last.ckpt"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ValueError, match="cannot be read as a checkpoint: it may be damaged"):
        gpvae.load(series / SERIES)


def test_a_checkpoint_cannot_name_other_classes(points: Path) -> None:
    file = points / POINTS / "checkpoints" / "last.ckpt"
    options = torch.load(file, weights_only=True)["hyper_parameters"]
    for name in ("os.system", "subprocess.Popen", "lightning.Trainer", "gpvae.cli.main"):
        change(points / POINTS, hyper_parameters={**options, "_class_path": name})
        with pytest.raises(ValueError, match=f"{name} is refused"):
            gpvae.load(points / POINTS)
    change(points / POINTS, hyper_parameters={**options, "_class_path": "callbacks.TaskReport"})
    with pytest.raises(ValueError, match="not a model that learns a stream"):
        gpvae.load(points / POINTS)


def test_a_checkpoint_that_runs_code_is_refused(points: Path) -> None:
    change(points / POINTS, code=print)
    with pytest.raises(ValueError, match="could run code"):
        gpvae.load(points / POINTS)


def test_a_run_of_another_version_says_which(points: Path) -> None:
    file = points / POINTS / "checkpoints" / "last.ckpt"
    state = torch.load(file, weights_only=True)["state_dict"]
    change(points / POINTS, state_dict={**state, "gp.something": torch.zeros(())})
    with pytest.raises(ValueError, match=r"cannot be loaded by gpvae.*; the run was made by gpvae.*gp.something"):
        gpvae.load(points / POINTS)


def test_a_description_of_another_version(series: Path) -> None:
    file = series / SERIES / "checkpoints" / "last.ckpt"
    description = torch.load(file, weights_only=True)["data_description"]
    change(series / SERIES, data_description={**description, "variables": [{"colour": "red"}]})
    with pytest.raises(ValueError, match="not one of this version"):
        gpvae.load(series / SERIES)


@pytest.mark.parametrize("name", ["toy", "era5"])
def test_old_runs_read_their_data(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPVAE_DATA_DIR", str(tmp_path / "data"))
    folder = Path(shutil.copytree(SAVED / name / "run", tmp_path / "runs" / name / "seed_1"))
    run = gpvae.load(folder)
    assert run.num_tasks == 2
    if name == "era5":
        assert run.predict().sizes == {"location": 3, "time": 48, "quantile": 5}
    else:
        assert run.predict([0.5]).sizes == {"x": 1, "quantile": 5}
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoints", "config.yaml", "task_metrics.csv"]


def test_old_runs_without_data_say_what_to_do(series: Path) -> None:
    change(series / SERIES, data_description=None, module_class=None)
    expected = gpvae.load(series / SERIES).predict()
    (series / "0.nc").unlink()
    with pytest.raises(ValueError, match=r"saved by an earlier version.*matches no file.*Put the data where"):
        gpvae.load(series / SERIES)
    (series / SERIES / "config.yaml").unlink()
    with pytest.raises(ValueError, match=r"saved by an earlier version.*has no config.yaml"):
        gpvae.load(series / SERIES)
    assert isinstance(expected, xr.Dataset)


def test_relative_and_moved_folders(series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(series)
    assert gpvae.load(str(SERIES)).folder == SERIES
    moved = Path(shutil.move(SERIES, tmp_path / "moved"))
    assert gpvae.load(moved).num_tasks == 2
