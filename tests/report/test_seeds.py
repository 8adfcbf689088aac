"""Means over different seeds are not compared; none is thrown away."""

from pathlib import Path

import pytest

from gpvae.report.arrange import arrange
from gpvae.report.groups import Group
from gpvae.report.names import format_seeds
from gpvae.report.page import write_report
from gpvae.results.runs import find_run_folders, read_runs
from gpvae.results.summary import summarise
from tests.report.made import config, write_picture, write_run
from tests.report.reading import Page


def made(runs: Path, methods: dict[str, tuple[int, ...]]) -> Path:
    """Methods with the seeds that each has."""
    for method, numbers in methods.items():
        for seed in numbers:
            write_picture(write_run(runs / method / f"seed_{seed}", seed, config(method)), size=(20, 10))
    return runs


def group_of(runs: Path) -> Group:
    ((group,),) = (data_set.groups for data_set in arrange(read_runs(find_run_folders([runs]))[0]))
    return group


def page_of(runs: Path) -> Page:
    output = runs.parent / "page.html"
    write_report([runs], output)
    return Page(output.read_text())


UNEVEN = {"OSGPR": (2,), "OVC": (1, 2, 3), "OVFF": (1, 2, 3), "OHSGPR": (1, 2, 10)}


def test_each_method_over_all_its_seeds_and_all_on_the_common_ones(tmp_path: Path) -> None:
    runs = made(tmp_path / "runs", UNEVEN)
    page = page_of(runs)
    (own,), (alike,) = page.tables_called("After the last task"), page.tables_called("All methods on seed 2")
    whole = {experiment.name: experiment.scores[3, None, "nlpd", ""] for experiment in summarise([runs])}
    only = summarise([runs / name / "seed_2" for name in UNEVEN])
    second = {experiment.name: experiment.scores[3, None, "nlpd", ""] for experiment in only}
    assert [row[:2] for row in own.rows[2:]] == [[name, str(len(numbers))] for name, numbers in UNEVEN.items()]
    assert [row[3] for row in own.rows[2:]] == [str(whole[name]) for name in UNEVEN]
    assert [row[3] for row in alike.rows[2:]] == [str(second[name]) for name in UNEVEN]
    assert "Not all methods were run with the same seeds" in page.text
    assert "NLPD over all tasks seen, on seed 2 (lower is better)" in page.text
    assert "On seed 2, one scale" in page.text
    assert own.caption.startswith("After the last task: mean over the seeds that each method has ± half the width")
    assert alike.caption == "All methods on seed 2, after the last task. Bold: best."
    assert "The same over all seeds that each method has" in page.text


def test_bold_compares_only_the_same_seeds(tmp_path: Path) -> None:
    runs = made(tmp_path / "runs", UNEVEN)
    page = page_of(runs)
    (own,), (alike,) = page.tables_called("After the last task"), page.tables_called("All methods on seed 2")
    assert own.caption.endswith("Bold: best mean, of the methods with seeds 1–3.")
    assert [any(row) for row in own.bold[2:]][::3] == [False, False]
    for column in range(3, 7):
        assert sum(row[column] for row in own.bold[2:]) == sum(row[column] for row in alike.bold[2:]) == 1


def test_bold_is_not_explained_where_nothing_is_bold(tmp_path: Path) -> None:
    page = page_of(made(tmp_path / "runs", {"OVC": (1, 2), "OVFF": (1,)}))
    (own,), (alike,) = page.tables_called("After the last task"), page.tables_called("All methods on seed 1")
    assert not any(any(row) for row in own.bold)
    assert "Bold" not in own.caption
    assert any(any(row) for row in alike.bold)


def test_one_seed_has_no_mean_and_no_interval(tmp_path: Path) -> None:
    page = page_of(made(tmp_path / "runs", {"OVC": (4,), "OVFF": (4,)}))
    (table,) = page.tables_called("After the last task")
    assert table.caption == "After the last task, on seed 4. Bold: best."
    assert "On seed 4, one scale" in page.text


def test_means_on_several_common_seeds(tmp_path: Path) -> None:
    page = page_of(made(tmp_path / "runs", {"OVC": (1, 2), "OVFF": (1, 2, 3)}))
    (alike,) = page.tables_called("All methods on seeds 1, 2")
    assert alike.caption.startswith("All methods on seeds 1, 2, after the last task: mean ± half the width")
    assert "Mean over seeds, on seeds 1, 2, one scale" in page.text


def test_pictures_are_of_a_common_seed(tmp_path: Path) -> None:
    page = page_of(made(tmp_path / "runs", UNEVEN))
    assert "OVC, seed 2: stream" in page.text
    assert "OVC, seed 1: stream" not in page.text


def test_equal_seeds_are_not_mentioned(tmp_path: Path) -> None:
    page = page_of(made(tmp_path / "runs", {"OVC": (1, 2), "OVFF": (1, 2)}))
    assert "same seeds" not in page.text
    assert "on seed" not in page.text


def test_no_seed_in_common(tmp_path: Path) -> None:
    page = page_of(made(tmp_path / "runs", {"OVC": (1,), "OVFF": (2, 3)}))
    assert "No seed is common to all of them" in page.text
    assert len(page.tables_called("All methods")) == 0
    (own,) = page.tables_called("After the last task")
    assert not any(any(row) for row in own.bold)
    single = page_of(made(tmp_path / "single" / "runs", {"OVC": (1,), "OVFF": (2,)}))
    (own,) = single.tables_called("After the last task")
    assert own.caption == "After the last task, on the seed that each method has."


@pytest.mark.parametrize(("names", "text"), [(["seed_3"], "seed 3"), (["seed_10", "seed_9"], "seeds 9, 10")])
def test_seeds_are_formatted(names: list[str], text: str) -> None:
    assert format_seeds(names) == text
    assert format_seeds(f"seed_{number}" for number in range(1, 6)) == "seeds 1–5"
    assert format_seeds(f"seed_{number}" for number in range(0, 40, 2)) == "seeds 0 … 38"


def test_a_reference_keeps_what_it_has(tmp_path: Path) -> None:
    runs = made(tmp_path / "runs", {"OVC": (1, 2), "OVFF": (1,)})
    settings = config("Renewal")
    del settings["model"]["init_args"]["num_inducing"]
    write_run(runs / "renewal" / "seed_7", 7, settings)
    group = group_of(runs)
    assert group.common_seeds == {"seed_1"}
    alike = group.on_seeds(group.common_seeds)
    assert [sorted(entry.seeds) for entry in alike.entries] == [["seed_1"], ["seed_1"], ["seed_7"]]
