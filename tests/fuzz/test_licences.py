"""The list of licences in the docs is complete."""

from tests.fuzz.licences import ROOT, direct_requirements, licence, normalise


def test_every_direct_dependency_is_listed_with_its_licence() -> None:
    page = (ROOT / "docs" / "hardening.md").read_text()
    for requirement in direct_requirements():
        name = normalise(requirement.name)
        assert f"| {name} | direct | {licence(name)} |" in page
