"""`gpvae configs` lists and copies the configs, and `-c` finds them by name."""

from pathlib import Path

import pytest

from gpvae.cli.configs_command import list_configs
from gpvae.cli.shipped_configs import read_description, resolve_config_names, shipped_configs
from tests.cli.program import refused, run_here
from tests.configs.runs import CONFIGS, expect_warnings

NAME = "solar_ohsgpr"
FILE = str(CONFIGS / "solar_ohsgpr.yaml")


def test_all_files_of_the_checkout_are_shipped_configs() -> None:
    assert list(shipped_configs().values()) == sorted(CONFIGS.glob("*.yaml"))


@pytest.mark.parametrize("name", shipped_configs())
def test_every_config_begins_with_its_description(name: str) -> None:
    assert shipped_configs()[name].read_text().startswith("# ")
    assert read_description(shipped_configs()[name]).endswith((".", ":"))


def test_listed_by_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_here(tmp_path, "configs")
    lines = capsys.readouterr().out.splitlines()
    headings = [line for line in lines if not line.startswith(" ")]
    assert headings == ["audio", "covid", "era5", "moons", "own", "powerplant", "skillcraft", "solar", "toy"]
    assert [line.split()[0] for line in lines if line.startswith(" ")] == list(shipped_configs())
    (line,) = (line for line in lines if line.split()[0] == NAME)
    assert line.endswith("  OHSGPR on solar irradiance (paper, section 5.1, figures 2 and 3).")
    assert lines.index("solar") < lines.index(line) < lines.index("toy")


def test_descriptions_are_wrapped_beside_the_names() -> None:
    lines = "\n".join(list_configs(80)).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(list_configs(10_000)).split())


def test_one_is_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_here(tmp_path, "configs", NAME, "toy_legs.yaml", "--output", "new/mine")
    assert capsys.readouterr().out.split() == ["new/mine/solar_ohsgpr.yaml", "new/mine/toy_legs.yaml"]
    assert (tmp_path / "new/mine/solar_ohsgpr.yaml").read_bytes() == Path(FILE).read_bytes()
    run_here(tmp_path, "configs", NAME)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "solar_ohsgpr.yaml"]


def test_all_are_copied_and_may_be_copied_again(tmp_path: Path) -> None:
    for _ in range(2):
        run_here(tmp_path, "configs", "--copy", "mine")
        copies = {path.stem: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
        assert copies == {name: path.read_bytes() for name, path in shipped_configs().items()}


@pytest.mark.parametrize("args", [["--copy", "."], ["toy_legs", NAME], ["toy_legs", NAME, "--output", "."]])
def test_a_file_that_differs_is_never_replaced(
    args: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "solar_ohsgpr.yaml").write_text("mine")
    message = refused(tmp_path, "configs", *args)
    assert "solar_ohsgpr.yaml exists and differs" in message
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("solar_ohsgpr.yaml", "mine")]
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["solar_ohsgrp"], "there is no config 'solar_ohsgrp' (did you mean 'solar_ohsgpr'?)"),
        ([NAME, "--copy", "x"], "give --output FOLDER instead"),
        (["--output", "x"], "no NAME is given"),
    ],
)
def test_refused(args: list[str], reason: str, tmp_path: Path) -> None:
    assert reason in refused(tmp_path, "configs", *args)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["fit", "-c", NAME], ["fit", "-c", FILE]),
        (["fit", "--config", "solar_ohsgpr.yaml"], ["fit", "--config", FILE]),
        (["fit", "-c", "configs/solar_ohsgpr.yaml", "--name", NAME], ["fit", "-c", FILE, "--name", NAME]),
        (["fit", f"--config={NAME}"], ["fit", "--config", FILE]),
        (["fit", "-c", "mine.yaml", "-c", NAME], ["fit", "-c", "mine.yaml", "-c", FILE]),
        (["fit", "-c", "{seed_everything: 3}"], ["fit", "-c", "{seed_everything: 3}"]),
        (["fit", "-c", "some_folder"], ["fit", "-c", "some_folder"]),  # the parser says what is wrong with it
        (["fit", "-c"], ["fit", "-c"]),
    ],
)
def test_found_by_name(args: list[str], found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("seed_everything: 3")
    (tmp_path / "some_folder").mkdir()
    assert resolve_config_names(args) == found


@pytest.mark.parametrize("given", [NAME, "solar_ohsgpr.yaml", "configs/solar_ohsgpr.yaml"])
def test_a_file_of_that_name_takes_precedence(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / given).parent.mkdir(exist_ok=True)
    (tmp_path / given).write_text("mine")
    assert resolve_config_names(["-c", given]) == ["-c", given]


@pytest.mark.parametrize("given", ["solar_ohsgrp", "configs/solar_ohsgrp.yaml", "elsewhere/solar_ohsgpr.yaml"])
def test_neither_file_nor_config(given: str, tmp_path: Path) -> None:
    message = refused(tmp_path, "fit", "-c", given)
    assert f"File does not exist: {given} (did you mean 'solar_ohsgpr'?)" in message
    assert "gpvae configs --copy FOLDER" in message


@expect_warnings
def test_runs_by_name(tmp_path: Path) -> None:
    run_here(tmp_path, "fit", "-c", "toy_legs", "--data.stop_after", "1", "--figures.enabled", "false")
    assert (tmp_path / "runs" / "toy_legs" / "seed_1" / "task_metrics.csv").is_file()


def test_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run_here(tmp_path, "--version")
    assert exit_.value.code == 0
    name, version = capsys.readouterr().out.split(maxsplit=1)
    assert name == "gpvae"
    assert version.strip() == "(not installed)" or version[0].isdigit()
