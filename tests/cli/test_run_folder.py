"""The folder of a run: its name, its lock, and earlier results."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing import io_wrapper

from gpvae.cli import run_folder


@pytest.mark.parametrize(
    ("args", "name"),
    [
        ([], "solar"),
        (["--seed_everything", "3", "--ckpt_path", "last", "--trainer.devices", "2"], "solar"),
        (["--model.num_inducing", "150"], "solar_num_inducing_150"),
        (["--model.init_args.num_inducing=150"], "solar_num_inducing_150"),
        (["--data", "Audio", "--model.method=OVC-optZ"], "solar_Audio_method_OVC-optZ"),
        (["--model.inducing_options", "{ordering: kernel_max}"], "solar_inducing_options_ordering-kernel_max"),
        (["--data.stop_after", "2"], "solar"),
    ],
)
def test_a_run_is_named_after_its_config_and_options(args: list[str], name: str) -> None:
    assert run_folder.default_name(["configs/base.yaml", "configs/solar.yaml"], args) == name


@pytest.mark.parametrize("option", ["download_hours", "refetch_preliminary", "stop_after", "predict_every"])
@pytest.mark.parametrize("section", ["data", "data.init_args"])
def test_options_that_do_not_change_the_data_are_not_in_the_name(option: str, section: str) -> None:
    assert run_folder.default_name(["era5.yaml"], [f"--{section}.{option}", "1"]) == "era5"


def test_options_whose_change_is_accepted_are_not_in_the_name() -> None:
    args = ["--accept", "changed", "--model.lr", "0.1", "--model.num_inducing", "9"]
    assert run_folder.default_name(["era5.yaml"], args, ["model.lr"]) == "era5_num_inducing_9"


def test_a_name_never_leaves_the_folder() -> None:
    assert "/" not in run_folder.default_name(["a.yaml"], ["--data.paths", "../../etc/*.nc"])


def test_long_names_are_cut_and_stay_different(tmp_path: Path) -> None:
    names = [
        run_folder.default_name(["era5.yaml"], ["--data.variables", f"[{'2m_température, ' * 40}{last}]"])
        for last in ("sp", "tp")
    ]
    assert len(set(names)) == 2
    for name in names:
        run_folder.check_name(name)
        (tmp_path / name).mkdir()
        assert name.startswith("era5_variables_2m_température")
    with pytest.raises(ValueError, match="the name of a run has 300 bytes, more than the 255 of a folder"):
        run_folder.check_name("solar/" + 300 * "a")


@pytest.mark.parametrize("name", ["a\0b", "../up", "x/../../up", "/tmp/elsewhere", "two\nlines"])
def test_wrong_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"give a printable relative path without '\.\.'"):
        run_folder.check_name(name)
    run_folder.check_name("solar/first try")


def test_results_of_an_earlier_run_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "toy" / "seed_1"
    for content in ("first", "second"):
        run_folder.clear(folder)
        folder.mkdir(parents=True)
        (folder / "task_metrics.csv").write_text(content)
    run_folder.clear(folder)
    kept = sorted(file.read_text() for file in (tmp_path / ".earlier" / "toy").glob("*/task_metrics.csv"))
    assert kept == ["first", "second"]
    assert not folder.exists()


def test_tensorboard_does_not_list_earlier_runs(tmp_path: Path) -> None:
    older = tmp_path / ".earlier" / "toy" / "seed_1_2020-01-01_00-00-00"  # of a version that left it as it was
    folder = tmp_path / "toy" / "seed_1"
    for one in (older, folder):
        one.mkdir(parents=True)
        (one / "events.out.tfevents.123.machine.7.0").write_text("scores")
    run_folder.clear(folder)
    folder.mkdir()
    (folder / "events.out.tfevents.456.machine.8.0").touch()
    listed = [Path(found) for found in io_wrapper.GetLogdirSubdirectories(str(tmp_path))]
    assert listed == [folder]
    hidden = sorted((tmp_path / ".earlier").rglob("events.out.earlier-events.123.machine.7.0"))
    assert [log.read_text() for log in hidden] == ["scores", "scores"]


def test_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "LOCK_TIMEOUT", 0.0)
    folder = tmp_path / "toy" / "seed_1"
    with run_folder.claimed(folder):
        with pytest.raises(BlockingIOError, match=r"another process uses the run folder .*seed_1: wait .* --name"):
            run_folder.claimed(folder).__enter__()
        with run_folder.claimed(tmp_path / "toy" / "seed_2"):
            pass
    with run_folder.claimed(folder):
        pass
    assert sorted(path.name for path in (tmp_path / "toy").iterdir()) == ["seed_1", "seed_2"]


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"results cannot be written to .*file/toy/seed_1 .*--trainer.default_root_dir"):
        run_folder.claimed(tmp_path / "file" / "toy" / "seed_1").__enter__()
