"""Methods and data have their names in the paper; labels are unique and styles differ within a group."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import datamodules
from gpvae.report.arrange import arrange, make_unique, shorten
from gpvae.report.names import DATA, SPATIAL_DATA, data_options, data_title, family_name, method_name
from gpvae.report.palette import COLOURS, MARKERS, Identity, assign_styles
from gpvae.results.run_config import ConfigSection, RunConfig
from gpvae.results.runs import find_run_folders, read_runs
from tests.report.made import config, write_run

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))


def parsed(settings: dict[str, Any]) -> RunConfig:
    return RunConfig("", ConfigSection.parse(settings["model"]), ConfigSection.parse(settings["data"]))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_has_a_name_for_all_it_is_made_of(path: Path) -> None:
    known = parsed(yaml.safe_load(path.read_text()))
    assert method_name(known)
    assert family_name(known)
    assert data_title(known.data).startswith(DATA.get(known.data.class_name, known.data.class_name))


def test_spatial_data_are_those_with_several_input_dimensions() -> None:
    dims = {name: getattr(getattr(datamodules, name), "input_dim", 1) for name in datamodules.__all__}
    assert {name for name, dim in dims.items() if dim > 1} == SPATIAL_DATA


@pytest.mark.parametrize(
    ("settings", "method", "family"),
    [
        (config("OHSGPR"), "OHSGPR", "HiPPO-LegS"),
        (config("OHSVGP", inducing="CosS"), "CosS", "cosines over the whole past (CosS)"),
        (
            config("OHSVGP", data="Skillcraft", inducing_options={"ordering": "kernel_max"}),
            "OHSVGP-k",
            "HiPPO-LegS along a path by kernel_max",
        ),
        (config(inducing="LegSRecurrence"), "OHSGPR by recurrence", "HiPPO-LegS by recurrence"),
        (config("OVC-optZ"), "OVC-optZ", "points by pivoted Cholesky"),
        (config("Mine"), "Mine", ""),
    ],
)
def test_methods(settings: dict[str, Any], method: str, family: str) -> None:
    known = parsed(settings)
    assert (method_name(known), family_name(known)) == (method, family)


@pytest.mark.parametrize(
    ("data", "options", "name"),
    [
        ("Skillcraft", {"task_order": "l2_norm"}, "Skillcraft (L2)"),
        ("Powerplant", {"task_order": "first_dimension"}, "Powerplant (1st dimension)"),
        ("ERA5", {"source": "sample", "paths": None}, "ERA5, synthetic sample"),
        ("ERA5", {"source": "files", "paths": "/home/me/finse_2018/*.nc"}, "ERA5, files finse_2018/*.nc"),
        ("Toy", {"kind": "figure_f4"}, "Synthetic series (appendix F.4)"),
        ("Tides", {}, "Tides"),
    ],
)
def test_data(data: str, options: dict[str, Any], name: str) -> None:
    assert data_title(ConfigSection(data, options)) == name


def test_where_data_are_kept_does_not_make_other_data() -> None:
    options = {"source": "cds", "start": "2020-01-01"}
    kept = {"on_disk": True, "point_series": True, "download_hours": 2.0, "batch_size": 8}
    assert data_options(ConfigSection("ERA5", options | kept)) == options


def labels(folder: Path, made: dict[str, dict[str, Any]]) -> dict[int | None, list[str]]:
    """Labels of the methods on one data set, by M."""
    for name, settings in made.items():
        write_run(folder / name / "seed_0", 0, settings)
    runs, _ = read_runs(find_run_folders([folder]))
    (data_set,) = arrange(runs)
    return {group.num_inducing: [entry.label for entry in group.entries] for group in data_set.groups}


def test_variants_are_described_in_words(tmp_path: Path) -> None:
    counts = {"data": "Covid", "likelihood": "negative_binomial"}
    made = {
        "adam": config("OHSVGP", 15, **counts, inference="free_form", data_steps_per_epoch=5000),
        "natural": config("OHSVGP", 15, **counts, inference="collapsed", data_steps_per_epoch=1),
        "cosines": config("OHSVGP", 15, **counts, inducing="CosS", inference="collapsed"),
        "more": config("OVC", 30, **counts, inference="collapsed", kernel="matern52"),
    }
    assert labels(tmp_path, made) == {
        15: ["OHSVGP", "OHSVGP, natural gradients", "CosS, natural gradients"],
        30: ["OVC, Matérn-5/2, natural gradients"],  # though nothing of M = 30 is otherwise
    }


def test_defaults_and_what_all_share_are_not_described(tmp_path: Path) -> None:
    usual = {"likelihood": "gaussian", "hyperparameters": "fixed", "data": "Powerplant"}
    made = {
        "closed": config("OVC", **usual, inference=None, lr=0.01, kernel="rbf"),
        "iterated": config("OVC", **usual, inference="free_form", lr=0.005, data_steps_per_epoch=2000),
        "path": config("OHSVGP", **usual, inference="free_form", inducing_options={"ordering": "given"}),
        "features": config("OVFF", **usual, inference=None, kernel="matern52"),
    }
    assert labels(tmp_path, made) == {50: ["OVC", "OVC, iterated", "OVFF", "OHSVGP-o"]}


def test_consolidation_and_options_without_words(tmp_path: Path) -> None:
    made = {
        "ewc": config("OVC", consolidation="ewc", lr=0.1),
        "slow": config("OVC", consolidation="ewc", lr=0.001),
        "replay": config("OVC", consolidation="replay", inducing_options={"start": 0, "end": [1, 2]}),
        "also": config("OVC", consolidation="replay"),
    }
    assert set(labels(tmp_path, made)[50]) == {
        "OVC, EWC, lr 0.1",
        "OVC, EWC, lr 0.001",
        "OVC, replay",
        "OVC, replay, end=1 2 start=0",
    }


names = st.sampled_from(["OVC", "OSGPR"])
options = st.dictionaries(st.sampled_from(["lr", "steps", "kernel", "power", "noise"]), st.integers(0, 2))


@given(st.lists(st.tuples(names, options), max_size=6))
def test_names_always_differ(drawn: list[tuple[str, dict[str, int]]]) -> None:
    unique = make_unique(
        [name for name, _ in drawn], [of for _, of in drawn], [f"folder{n}" for n in range(len(drawn))]
    )
    assert len(set(unique)) == len(drawn)
    assert all(label.startswith(name) for label, (name, _) in zip(unique, drawn, strict=True))


@given(st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), min_size=1))
def test_short_names_of_folders_differ(parts: set[tuple[str, ...]]) -> None:
    folders = {Path("/somewhere/deep", *part) for part in parts}
    found = shorten(folders)
    assert len(set(found.values())) == len(folders)
    assert not any("somewhere" in name for name in found.values())


@given(st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=6, unique=True), max_size=4))
def test_methods_that_are_compared_look_different(groups: list[list[str]]) -> None:
    styles = assign_styles([[Identity(label) for label in group] for group in groups])
    for group in groups:
        found = [styles[Identity(label)] for label in group]
        assert len({(style.colour, style.marker) for style in found}) == len(group)


def test_methods_that_are_never_compared_may_share_colours() -> None:
    groups = [["OVC", "OHSVGP", "moons"], ["OSGPR", "OVC", "OVFF", "OHSGPR", "CosS"], ["rand", "kmin", "kmax"]]
    styles = assign_styles([[Identity(label) for label in group] for group in groups])
    for group in groups:
        found = [styles[Identity(label)] for label in group]
        assert len({style.colour for style in found}) == len({style.marker for style in found}) == len(group)
    many = [Identity(str(number)) for number in range(len(COLOURS) * len(MARKERS))]
    assert len({(style.colour, style.marker) for style in assign_styles([many]).values()}) == len(many)


def test_methods_that_are_compared_most_often_differ_first() -> None:
    often = ["OVC", "CosS"]
    once = [str(number) for number in range(2 * len(COLOURS))]
    groups = [[*once[:4], "OVC", *once[4:], "CosS"], *3 * [often]]
    styles = assign_styles([[Identity(name) for name in group] for group in groups])
    assert styles[Identity("OVC")].colour != styles[Identity("CosS")].colour
    alone = [style.colour for identity, style in styles.items() if identity.method in once]
    assert set(alone) == set(COLOURS)


def test_variants_of_a_method_share_its_colour() -> None:
    group = [Identity(name, variant) for name in ("OVC", "OHSVGP") for variant in ("EWC", "replay")]
    styles = assign_styles([group])
    assert [styles[identity].colour for identity in group] == [*2 * [COLOURS[0]], *2 * [COLOURS[1]]]
    assert len({styles[identity].marker for identity in group}) == 4
    assert styles[group[0]].line != styles[group[1]].line


def test_the_style_of_a_method_does_not_depend_on_its_section(tmp_path: Path) -> None:
    """A label depends on the other variants in the section, the style does not."""
    made = {
        "small": config("OHSGPR", 50, lr=0.1),
        "small_slow": config("OHSGPR", 50, lr=0.01),
        "small_trained": config("OHSGPR", 50, hyperparameters="train_always"),
        "small_twice": config("OSGPR", 50),
        "small_again": config("OSGPR", 50),
        "large": config("OHSGPR", 100, lr=0.1),
        "large_points": config("OVC", 100),
    }
    for name, settings in made.items():
        write_run(tmp_path / name / "seed_0", 0, settings)
    (data_set,) = arrange(read_runs(find_run_folders([tmp_path]))[0])
    entries = {entry.folder: entry for group in data_set.groups for entry in group.entries}
    assert entries["small"].label != entries["large"].label
    assert entries["small"].identity == entries["large"].identity
    assert len({entry.identity for entry in entries.values()}) == len(entries) - 1
    styles = assign_styles([entry.identity for entry in group.entries] for group in data_set.groups)
    assert all(entry.identity.method in entry.label for entry in entries.values())
    same = ("small", "small_slow", "small_trained")
    assert len({styles[entries[name].identity].colour for name in same}) == 1


def test_only_what_is_on_the_same_data_is_compared(tmp_path: Path) -> None:
    made = {
        "plain": config("OVC"),
        "trained": config("OVC", hyperparameters="train_always"),
        "quick": config("OHSGPR", data_steps_per_epoch=10),
        "other": config("OVC", data_num_test=50),
        "more": config("OVC", 150),
        "covid": config("OVC", data="Covid"),
    }
    for name, settings in made.items():
        write_run(tmp_path / name / "seed_0", 0, settings)
    runs, _ = read_runs(find_run_folders([tmp_path]))
    found = {
        (data_set.title, group.num_inducing): [entry.label for entry in group.entries]
        for data_set in arrange(runs)
        for group in data_set.groups
    }
    assert found == {
        ("COVID-19 deaths in Santa Catarina", 50): ["OVC"],
        ("Solar irradiance", 50): ["OVC", "OVC, kernel trained in every task", "OHSGPR"],
        ("Solar irradiance", 150): ["OVC"],
        ("Solar irradiance, num_test 50", 50): ["OVC"],
    }
