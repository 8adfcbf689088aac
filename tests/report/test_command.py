"""`gpvae report` by the command line."""

import io
import re
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from gpvae.cli import main
from tests.cli.program import CONFIG, run, write_config
from tests.report.made import write_run
from tests.report.reading import Page

pytestmark = pytest.mark.filterwarnings("ignore")


def refused(*words: str) -> str:
    """The error message of a command that fails."""
    errors = io.StringIO()
    with redirect_stderr(errors), pytest.raises(SystemExit) as exit_:
        main(["report", *words])
    assert exit_.value.code == 1
    return errors.getvalue()


def test_the_page_is_written_and_its_path_printed(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new" / "page.html"
    main(["report", str(runs / "moons"), str(runs / "solar_150"), "--output", str(output), "--title", "Two of them"])
    thousands = round(output.stat().st_size / 1e3)
    assert 10 < thousands < 100
    assert f"The report is in {output} ({thousands} kB)" in capsys.readouterr().out
    page = Page(output.read_text())
    assert page.headings[0] == (1, "Two of them")
    assert "2 experiments, 2 runs" in page.text
    assert [path.name for path in output.parent.iterdir()] == ["page.html"]


def test_the_default_output(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    main(["report", str(runs / "moons")])
    assert Page((tmp_path / "report.html").read_text()).headings[0] == (1, "OHSVGP on Two moons")


def test_a_title_names_few_methods_and_data_sets_and_counts_many(runs: Path, tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    main(["report", str(runs), "--output", str(output)])
    ((_, title), *_) = Page(output.read_text()).headings
    assert re.fullmatch(r"(\d+ methods|.+) on (\d+ data sets|.+ and .+)", title)


def test_refusals(tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    output.write_text("an earlier page")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    at = ("--output", str(output))
    assert "there is no" in refused(str(tmp_path / "none"), *at)
    assert f"no run in {tmp_path / 'empty'}: expected <experiment>/seed_<n>/task_metrics.csv" in refused(
        str(tmp_path / "empty"), *at
    )
    assert "notes.txt is a file: give folders of runs" in refused(str(tmp_path / "notes.txt"), *at)
    broken = write_run(tmp_path / "runs" / "toy" / "seed_0")
    (broken / "task_metrics.csv").write_text("nonsense")
    assert "there is no run to report. toy/seed_0: task_metrics.csv, line 1: expected" in refused(str(broken), *at)
    write_run(broken)
    assert "give --output a name that ends in .html" in refused(str(broken), "--output", str(tmp_path))
    assert "ends in .html" in refused(str(broken), "--output", str(broken / "task_metrics.csv"))
    assert output.read_text() == "an earlier page"


@pytest.mark.slow
def test_two_real_runs_by_the_installed_program(tmp_path: Path) -> None:
    configs = [
        write_config(tmp_path, f"{method.lower()}.yaml", model={"method": method}, figures={"dpi": 40})
        for method in ("OHSGPR", "OVC")
    ]
    for config in configs:
        done = run(tmp_path, "fit", "-c", str(config), "--figures.enabled", "true")
        assert done.returncode == 0, done.stderr
    done = run(tmp_path, "report", "runs")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The report is in report.html" in done.stdout
    page = Page((tmp_path / "report.html").read_text())
    num_inducing = CONFIG["model"]["init_args"]["num_inducing"]
    assert (3, f"Synthetic series (figure 1), M = {num_inducing}") in page.headings
    (scores,), (times,) = page.tables_called("After the last task"), page.tables_called("Seconds")
    assert [row[:3] for row in scores.rows[2:]] == [["OVC", "1", "3"], ["OHSGPR", "1", "3"]]
    assert [row[-1] for row in times.rows[1:]] == ["1 of 1", "1 of 1"]
    assert all(0 < float(row[3]) < 100 for row in times.rows[1:])
    assert sum(tag == "img" for tag, _ in page.elements) == 2
    assert str(tmp_path) not in page.text
