"""The table of experiments is consistent, and its commands can be parsed."""

import sys
from pathlib import Path

import pytest

from benchmarks.reproduce.experiments import EXPERIMENTS
from benchmarks.reproduce.experiments.counts import RENEWAL
from benchmarks.reproduce.plan import chosen, plan
from benchmarks.reproduce.runs import Run
from gpvae import cli
from tests.configs.runs import expect_warnings

#: One experiment of each kind.
SAMPLE = (
    "toy_figure_1",
    "solar_recurrence_M50",
    "audio_osgpr_trained_M200",
    "moons_osvgp",
    "covid_coss_natural_M30",
    "powerplant_l2_ohsvgp_k",
    "era5_sample_OVC-per-dim_ewc_M100",
)


def test_names_are_unique_and_configs_exist() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(names) == len(set(names))
    missing = [experiment.name for experiment in EXPERIMENTS if experiment.config and not experiment.file.is_file()]
    assert not missing
    assert [experiment for experiment in EXPERIMENTS if not experiment.config] == [RENEWAL]


def test_baselines_exist_and_have_as_many_inducing_variables() -> None:
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    for experiment in EXPERIMENTS:
        assert experiment.against is not None or experiment.group in ("toy", "moons")
        if experiment.against and experiment is not RENEWAL:
            other = known[experiment.against]
            assert other.group == experiment.group
            for key in ("model.num_inducing", "data.task_order", "model.consolidation"):
                assert other.options.get(key) == experiment.options.get(key)


def test_names_agree_with_options() -> None:
    for experiment in EXPERIMENTS:
        size = experiment.options.get("model.num_inducing")
        assert size is None or experiment.name.endswith(f"_M{size}")
        order = experiment.options.get("data.task_order")
        assert order is None or {"first_dimension": "_dim0_", "l2_norm": "_l2_"}[str(order)] in experiment.name


@pytest.mark.parametrize(
    ("group", "sizes"),
    [("solar", {50, 100, 150}), ("audio", {100, 150, 200}), ("covid", {15, 30}), ("era5_finse", {50, 100})],
)
def test_it_has_the_numbers_of_inducing_variables_of_the_paper(group: str, sizes: set[int]) -> None:
    found = {e.options["model.num_inducing"] for e in chosen(EXPERIMENTS, [group]) if e.config}
    assert found == sizes


def test_every_experiment_of_the_paper_has_its_seeds() -> None:
    assert {e.group: e.seeds for e in EXPERIMENTS} == {
        "toy": 5,
        "solar": 5,
        "audio": 5,
        "moons": 5,
        "covid": 5,
        "uci": 5,
        "era5_sample": 3,
        "era5_finse": 3,
    }
    sections = " ".join(experiment.paper for experiment in EXPERIMENTS)
    for section in ("figure 1", "figures 2 and 3", "figure 4", "figure 5", "figure 6", "D.1", "F.2", "F.3", "F.4"):
        assert section in sections


@expect_warnings
@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("quick", [False, True])
def test_the_command_reads_its_options(
    name: str, quick: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (experiment,) = chosen(EXPERIMENTS, [name])
    run = Run(experiment, 3, tmp_path, quick)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gpvae", *run.words, "--print_config"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (None, 0)
    shown = capsys.readouterr().out
    assert f"name: {name}" in shown
    assert "seed_everything: 3" in shown
    for key, value in experiment.options.items():
        if not (quick and key in (experiment.quick or {})):
            assert f"{key.rpartition('.')[2]}: {value}" in shown


def test_the_quick_plan_has_one_seed_of_what_it_names_and_nothing_long(tmp_path: Path) -> None:
    runs = plan(chosen(EXPERIMENTS, [], quick=True), None, tmp_path, quick=True)
    assert {run.seed for run in runs} == {1}
    assert {run.experiment.group for run in runs} == {e.group for e in EXPERIMENTS} - {"era5_finse"}
    assert len(runs) < 50
    for run in runs:
        words = " ".join(run.words)
        if run.experiment.minutes > 1:
            assert any(key in words for key in run.experiment.quick or {})
        assert "1000" not in words.partition("steps_per_epoch=")[2]


def test_short_runs_come_first_and_seed_by_seed(tmp_path: Path) -> None:
    runs = plan(chosen(EXPERIMENTS, ["solar_ohsgpr_M50", "covid_osvgp_M15", "toy_legs"]), 2, tmp_path)
    assert [(run.experiment.name, run.seed) for run in runs] == [
        ("toy_legs", 1),
        ("solar_ohsgpr_M50", 1),
        ("toy_legs", 2),
        ("solar_ohsgpr_M50", 2),
        ("covid_osvgp_M15", 1),
        ("covid_osvgp_M15", 2),
    ]


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'solar_ovc_M50'"):
        chosen(EXPERIMENTS, ["solar_ovx_M50"])
