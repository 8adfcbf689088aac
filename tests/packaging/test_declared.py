"""Project files agree with the code."""

import re
import tomllib
from typing import Any

import yaml

from tests.packaging.sources import PACKAGES, ROOT
from tests.packaging.use_extra import USES

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_package_is_installed() -> None:
    folders = (path.parent for package in PACKAGES for path in (ROOT / package).rglob("__init__.py"))
    found = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    declared = set(PROJECT["tool"]["setuptools"]["packages"])
    inside = {name if name.split(".")[0] == "gpvae" else f"gpvae.{name}" for name in found}
    assert declared == inside | {"gpvae.configs"}, "write a new package into pyproject.toml, under [tool.setuptools]"


def test_every_tool_has_the_version_it_is_tested_with() -> None:
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in _lines("constraints.txt")}
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = [*PROJECT["project"]["dependencies"], *(requirement for extra in extras for requirement in extra)]
    names = {requirement.partition(">=")[0].partition("[")[0].lower() for requirement in wanted}
    assert names - pinned == {"setuptools", "gpvae"}  # torch restricts the version of setuptools


def test_every_extra_is_named_in_the_installation_guide() -> None:
    guide = (ROOT / "docs" / "install.md").read_text()
    extras = set(PROJECT["project"]["optional-dependencies"]) - {"dev", "docs", "reproduce"}
    assert {extra for extra in extras if f"`{extra}`" not in guide} == set()


def test_every_extra_is_tried() -> None:
    assert set(USES) == set(PROJECT["project"]["optional-dependencies"]) - {"dev", "docs", "reproduce", "all"}
    assert f"for extra in {' '.join(USES)}; do" in (ROOT / "tests" / "packaging" / "smoke.sh").read_text()


def test_every_error_names_an_extra_that_brings_the_package() -> None:
    """The arguments of `require`: a package, and the extra that installs it, directly or through others."""
    extras = PROJECT["project"]["optional-dependencies"]
    distributions = {"sklearn": "scikit-learn"}

    def brought(extra: str) -> set[str]:
        names = {re.split(r"[>=<]", requirement)[0] for requirement in extras[extra]}
        own = re.findall(r"gpvae\[([\w,]+)\]", " ".join(names))
        return names | {name for more in own for part in more.split(",") for name in brought(part)}

    calls = [
        match
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for match in re.findall(r"require\(\"(\w+)\", \"(\w+)\"", path.read_text())
    ]
    assert len(calls) > 10
    for package, extra in calls:
        assert distributions.get(package, package) in {name.partition("[")[0] for name in brought(extra)}


def test_the_citation_has_the_fields_of_its_format() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["authors"] == PROJECT["project"]["authors"]
    (paper,) = citation["references"]
    assert len(paper["authors"]) == 6


def test_the_bibtex_entry_agrees_with_the_citation() -> None:
    (paper,) = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    entry = " ".join((ROOT / "docs" / "citing.md").read_text().split()).replace("{Gaussian}", "Gaussian")
    people = " and ".join(f"{person['family-names']}, {person['given-names']}" for person in paper["authors"])
    for field in (paper["title"], people, paper["collection-title"], str(paper["year"])):
        assert f"{{{field}}}" in entry


def test_the_workflow_runs_what_the_readme_promises() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = {name: [step.get("run") for step in job["steps"]] for name, job in jobs.items()}
    assert ".ci/run" in commands["check"]
    assert "make smoke" in commands["wheel"]
    pythons = jobs["check"]["strategy"]["matrix"]["python"]
    assert f">={pythons[0]}" == PROJECT["project"]["requires-python"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert [named[0], named[-1]] == pythons


def _lines(name: str) -> list[str]:
    return [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
