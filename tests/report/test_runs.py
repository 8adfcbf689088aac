"""Which runs are reported, which are not, and why."""

from pathlib import Path

import pytest

from gpvae.report.page import write_report
from gpvae.results.runs import find_run_folders, read_runs
from tests.report.made import config, several, write_run, write_scores, write_times
from tests.report.reading import Page

BOMB = "a: &a [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1 or ''}, *a{n - 1 or ''}]\n" for n in range(1, 100))


def reasons(folder: Path) -> dict[str, str]:
    _, left_out = read_runs(find_run_folders([folder]))
    return {run.folder.name: run.reason for run in left_out}


def test_unfinished_runs_are_left_out_and_listed(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    write_run(runs / "toy" / "seed_0", 0, config())
    write_run(runs / "toy" / "seed_1", 1, config(), num_tasks=2)
    (runs / "toy" / "seed_2").mkdir()
    (runs / "toy" / "seed_2" / "config.yaml").write_text("model: {}\n")
    (runs / "toy" / "seed_3").mkdir()
    (runs / "toy" / "seed_3" / "task_metrics.csv").write_text("after_task,task,metric,value\n")
    assert reasons(runs) == {
        "seed_1": "unfinished: 2 of 3 tasks learnt",
        "seed_2": "unfinished: there is no task_metrics.csv, so no task has been learnt",
        "seed_3": "unfinished: task_metrics.csv holds no scores yet",
    }
    write_report([runs], tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    assert "toy/seed_1: unfinished: 2 of 3 tasks learnt" in page.text
    assert page.tables_called("After the last task")[0].caption == "After the last task, on seed 0. 3 tasks."
    assert "3 left out" in page.text


def test_without_configs_the_longest_run_says_how_many_tasks_there_are(tmp_path: Path) -> None:
    write_scores(tmp_path / "toy" / "seed_0", 0)
    write_scores(tmp_path / "toy" / "seed_1", 1, num_tasks=1)
    assert "it ends after task 1, others of the experiment after task 3" in reasons(tmp_path)["seed_1"]


def test_a_run_that_was_to_stop_early_is_whole(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "seed_0", 0, config(data_num_tasks=10, data_stop_after=3))
    write_run(tmp_path / "b" / "seed_0", 0, config(data_num_tasks=10, data_joint=True), num_tasks=1)
    assert not reasons(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("after_task,task,metric,value\n1,1,nlpd,much\n", "task_metrics.csv, line 2: '1,1,nlpd,much' is no row"),
        ("nonsense", "task_metrics.csv, line 1: expected the columns after_task,task,metric,variable,value"),
        ("after_task,task,metric,value\n1000000000,1,nlpd,1.0\n", "names 1000000000 tasks, but has 1 row(s)"),
        ('after_task,task,metric,value\n1,1,"' + "x" * 200_000, "field larger than field limit"),
    ],
    ids=["value", "columns", "tasks", "field"],
)
def test_malformed_tables_are_left_out(tmp_path: Path, content: str, reason: str) -> None:
    write_run(tmp_path / "toy" / "seed_0", 0, config())
    (tmp_path / "toy" / "seed_1").mkdir()
    (tmp_path / "toy" / "seed_1" / "task_metrics.csv").write_text(content)
    found = reasons(tmp_path)["seed_1"]
    assert reason in found
    assert str(tmp_path) not in found


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (None, "there is no config.yaml"),
        ("model: [", "config.yaml cannot be read as YAML"),
        ("- just a list", "config.yaml is not the config of a run"),
        (BOMB, "config.yaml cannot be read as YAML: it has aliases"),
        ("[" * 100_000, "config.yaml cannot be read as YAML"),
        ("# " + "x" * 1_000_001, "more than 1,000,000 bytes"),
    ],
    ids=["none", "broken", "list", "bomb", "deep", "long"],
)
def test_without_a_readable_config_a_run_goes_by_its_folder(tmp_path: Path, content: str | None, note: str) -> None:
    folder = write_run(tmp_path / "runs" / "nameless" / "seed_0")
    if content is not None:
        (folder / "config.yaml").write_text(content)
    write_report([tmp_path / "runs"], tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    assert page.tables_called("After the last task")[0].rows[0][0] == "nameless"
    assert {"Data not recorded", "Data not recorded, M not recorded"} <= {text for _, text in page.headings}
    assert f"nameless: seed_0: {note}" in page.text or note in page.text


def test_configs_of_odd_types_are_taken_as_text(tmp_path: Path) -> None:
    settings = config()
    settings["model"]["init_args"] |= {"method": [1, {"a": 2}], "num_inducing": "many", "inducing_options": [3]}
    settings["data"] = {"class_path": "datamodules.ERA5", "init_args": {"paths": [1, None], "num_tasks": "ten"}}
    write_run(tmp_path / "odd" / "seed_0", 0, settings)
    write_run(tmp_path / "none" / "seed_0", 0, {"model": None, "data": [1]})
    write_report([tmp_path], tmp_path / "page.html")
    assert "[1, {'a': 2}]" in Page((tmp_path / "page.html").read_text()).text


def test_hidden_folders_and_doubles_are_left_out(tmp_path: Path) -> None:
    several(tmp_path / "runs")
    write_run(tmp_path / "runs" / ".earlier" / "old" / "seed_0")
    once = find_run_folders([tmp_path / "runs"])
    assert len(once) == 8
    file = tmp_path / "runs" / "moons" / "seed_0" / "task_metrics.csv"
    assert find_run_folders([tmp_path / "runs", file, file.parent]) == once


def test_runs_of_one_folder_that_differ_are_pointed_out(tmp_path: Path) -> None:
    write_run(tmp_path / "toy" / "seed_0", 0, config(lr=0.1, seed=0))
    write_run(tmp_path / "toy" / "seed_1", 1, config(lr=0.2, seed=1))
    write_report([tmp_path], tmp_path / "page.html")
    text = Page((tmp_path / "page.html").read_text()).text
    assert "its runs differ in model.lr, or only some of them set it: they may not be one experiment" in text


def test_runs_without_times_are_listed(tmp_path: Path) -> None:
    write_run(tmp_path / "toy" / "seed_0", 0, config())
    write_times(write_run(tmp_path / "toy" / "seed_1", 1, config()), num_tasks=2)
    write_report([tmp_path], tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    assert "toy/seed_0: there is no task_times.csv" in page.text
    assert "toy/seed_1: task_times.csv: expected the tasks 1 to 3; got 1, 2" in page.text
    assert not page.tables_called("Seconds")
    assert "Time" not in {text for _, text in page.headings}
