"""`python -m benchmarks` lists everything, and a failing benchmark does not stop the others."""

import json
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.__main__ import main
from benchmarks.registry import BENCHMARKS, COMMANDS, PARTS, Benchmark, find

FOLDER = Path(registry.__file__).parent
GOOD = """
import argparse, json, pathlib
options = argparse.ArgumentParser()
options.add_argument("--output", type=pathlib.Path)
options.add_argument("--quick", action="store_true")
args = options.parse_args()
where = {"date": "today", "cpu": "abacus", "cores": 1, "commit": "0123456789", "uncommitted_changes": False}
headline = {"slow / fast": 20.0 if args.quick else 30.0}
contents = {"environment": where | {"versions": {"beads": "2"}}, "headline": headline}
args.output.mkdir(exist_ok=True)
(args.output / "good.json").write_text(json.dumps(contents))
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark that fails, followed by one that succeeds."""
    package = tmp_path / "fakes"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "bad.py").write_text("raise SystemExit(3)")
    (package / "good.py").write_text(GOOD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    chosen = tuple(Benchmark(name, "", (1, 1), package="fakes") for name in ("bad", "good"))
    monkeypatch.setattr(registry, "BENCHMARKS", chosen)
    return tmp_path / "results"


def test_the_list_names_every_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "__main__"}
    assert not [name for name in modules if name not in listed]
    known = [*(benchmark.name for benchmark in BENCHMARKS), *COMMANDS, *PARTS]
    assert modules <= set(known)
    assert len(known) == len(set(known))


def test_a_failure_does_not_stop_the_others_and_shows_in_the_exit_code(fakes: Path) -> None:
    assert main(["--quick", "--output", str(fakes)]) == 1
    summary = json.loads((fakes / "summary.json").read_text())
    assert summary["benchmarks"]["bad"]["exit_code"] == 3
    assert summary["benchmarks"]["good"]["headline"] == {"slow / fast": 20.0}
    page = (fakes / "summary.md").read_text()
    assert "commit 0123456; beads 2." in page
    assert "| good | slow / fast | 20 |" in page
    assert "| bad | FAILED (exit code 3) |" in page


def test_without_a_failure_the_exit_code_is_zero(fakes: Path) -> None:
    assert main(["good", "--output", str(fakes)]) == 0
    summary = json.loads((fakes / "summary.json").read_text())
    assert summary["environment"]["commit"] == "0123456789"
    assert list(summary["benchmarks"]) == ["good"]


def test_a_failed_run_does_not_report_figures_of_an_earlier_one(fakes: Path) -> None:
    assert main(["good", "--output", str(fakes)]) == 0
    (fakes.parent / "fakes" / "good.py").write_text("raise SystemExit(1)")
    assert main(["good", "--output", str(fakes)]) == 1
    assert json.loads((fakes / "summary.json").read_text())["benchmarks"]["good"]["headline"] == {}


def test_twice_reports_how_much_figures_changed(fakes: Path) -> None:
    assert main(["good", "--twice", "--output", str(fakes)]) == 0
    (row,) = json.loads((fakes / "twice.json").read_text())["rows"]
    assert (row["first"], row["second"], row["moved"]) == (30.0, 30.0, "+0 %")


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["solar"])
    assert "no benchmark solar; there are solar_stream" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"kills is a separate command: python -m benchmarks\.kills"):
        find(["kills"])
