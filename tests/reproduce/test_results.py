"""The page of scores has all finished runs, from the folder and from the table."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.reproduce import results
from benchmarks.reproduce.experiments import EXPERIMENTS
from benchmarks.reproduce.plan import plan
from benchmarks.reproduce.record import gather, missing_from, read, write
from benchmarks.reproduce.runs import Run
from tests.report.made import write_times
from tests.reproduce.run_folders import make

FEW = EXPERIMENTS[:3]


def test_the_page_has_finished_runs_and_lists_missing_experiments(tmp_path: Path) -> None:
    make(tmp_path, "toy_legs", 1)
    make(tmp_path, "toy_legs", 2, shift=2.0)
    make(tmp_path, "toy_legs", 3, learnt=2, shift=100.0)
    results.main(["--folder", str(tmp_path), "--output", str(tmp_path / "page.md")], FEW)
    page = (tmp_path / "page.md").read_text()
    assert f"2 of {sum(experiment.seeds for experiment in FEW)} runs" in page
    assert "| `toy_legs` | appendix F.4 | 2 | 4.000 ± 12.706 |" in page
    assert "Not run: `toy_figure_1`, `toy_legt`." in page

    Run(replace(EXPERIMENTS[1], options={"model.num_inducing": 3}), 2, tmp_path).write(seconds=1.0)
    results.main(["--folder", str(tmp_path), "--output", str(tmp_path / "new.md")], FEW)
    assert (
        "| `toy_legs` | appendix F.4 | 1 | 3.000 |" in (tmp_path / "new.md").read_text()
    )  # seed 2 now has another command


def test_methods_are_compared_on_the_seeds_that_both_have(tmp_path: Path) -> None:
    for seed, shift in ((1, 0.0), (2, 5.0), (3, 50.0)):
        make(tmp_path, "solar_ohsgpr_M50", seed, 10, 10, shift)
    for seed, shift in ((1, 1.0), (2, 6.0)):
        make(tmp_path, "solar_ovc_M50", seed, 10, 10, shift)
    named = [experiment for experiment in EXPERIMENTS if experiment.name.endswith("_M50")][:2]
    results.main(["--folder", str(tmp_path), "--output", str(tmp_path / "page.md")], named)
    ohsgpr, ovc = [line.split(" | ") for line in (tmp_path / "page.md").read_text().splitlines() if "`solar" in line]
    assert ohsgpr[2:5] == ["3", "28.333 ± 68.408", "-1.000 ± 0.000"]
    assert ovc[2:5] == ["2", "13.500 ± 31.766", "–"]


def test_a_page_without_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        results.main(["--folder", str(tmp_path), "--output", str(tmp_path / "page.md")])
    assert "there is no finished run" in capsys.readouterr().err
    assert not (tmp_path / "page.md").exists()


def test_earlier_runs_are_kept_until_they_are_repeated_or_the_plan_changes(tmp_path: Path) -> None:
    here, elsewhere, page = tmp_path / "here", tmp_path / "elsewhere", tmp_path / "page.md"
    make(elsewhere, "toy_legs", 1)
    make(elsewhere, "toy_legs", 2, shift=2.0)
    results.main(["--folder", str(elsewhere), "--output", str(page)], FEW)
    make(here, "toy_legs", 2, shift=4.0)
    make(here, "toy_legt", 1, shift=1.0)
    results.main(["--folder", str(here), "--output", str(page)], FEW)
    kept = {line.key: line.nlpd for line in read(page.with_suffix(".csv"))}
    assert kept == {("toy_legs", 1): 3.0, ("toy_legs", 2): 7.0, ("toy_legt", 1): 4.0}
    assert "| `toy_legs` | appendix F.4 | 2 | 5.000 ± 25.412 |" in page.read_text()

    changed = [replace(FEW[1], options={"model.num_inducing": 3}), FEW[2]]
    left = gather(changed, tmp_path / "nowhere", page.with_suffix(".csv"))
    assert [line.key for line in left] == [("toy_legt", 1)]


def test_a_table_with_other_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="expected the columns experiment,seed,"):
        read(tmp_path / "page.csv")


def test_only_runs_that_are_not_in_a_table_are_left(tmp_path: Path) -> None:
    make(tmp_path, "toy_legs", 1)
    results.main(["--folder", str(tmp_path), "--output", str(tmp_path / "page.md")], FEW)
    table = tmp_path / "page.csv"
    left = missing_from(table, plan([FEW[1]], 2, tmp_path / "other machine"))
    assert [run.label for run in left] == ["toy_legs, seed 2"]

    changed = replace(FEW[1], options={"model.num_inducing": 3})
    assert len(missing_from(table, plan([changed], 2, tmp_path))) == 2  # the same name, but another command
    with pytest.raises(FileNotFoundError, match="there is no such table of runs"):
        missing_from(tmp_path / "nowhere.csv", [])


def test_seconds_are_those_of_the_run_or_else_of_the_table(tmp_path: Path) -> None:
    make(tmp_path, "toy_legs", 1)
    table = tmp_path / "page.csv"
    (line,) = gather([FEW[1]], tmp_path, table)
    assert math.isnan(line.seconds)
    write(table, [replace(line, seconds=7.5)])
    assert gather([FEW[1]], tmp_path, table)[0].seconds == 7.5
    seconds = write_times(tmp_path / "runs" / "toy_legs" / "seed_1")
    counted = sum(value for (_, activity), value in seconds.items() if activity != "drawing")
    assert gather([FEW[1]], tmp_path, table)[0].seconds == counted
