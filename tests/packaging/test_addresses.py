"""PyPI shows the README without the repository, so the build gives addresses to its links."""

import re

import pytest
import yaml

from tests.packaging.sources import ROOT
from tests.packaging.test_declared import PROJECT

pytest.importorskip("setuptools_scm", reason="needs the extra gpvae[dev]")

from setup import with_addresses

HOST = "https://example.org/gpvae"


@pytest.mark.parametrize(
    ("link", "version", "address"),
    [
        ("[a](docs/a.md)", "0.2.0", f"[a]({HOST}/blob/v0.2.0/docs/a.md)"),
        ("[a](docs/a.md#b)", "0.2.0", f"[a]({HOST}/blob/v0.2.0/docs/a.md#b)"),
        ("![a\nb](docs/a.png)", "0.2.0", f"![a\nb]({HOST}/raw/v0.2.0/docs/a.png)"),
        ("[a](b.md), [c](d.md)", "0.3.dev1", f"[a]({HOST}/blob/HEAD/b.md), [c]({HOST}/blob/HEAD/d.md)"),
        ("[a](https://a.org/b.md)", "0.2.0", "[a](https://a.org/b.md)"),
        ("[a](#b)", "0.2.0", "[a](#b)"),
        ("`x[0](y z)`", "0.2.0", "`x[0](y z)`"),
    ],
)
def test_links(link: str, version: str, address: str) -> None:
    assert with_addresses(link, HOST, version) == address
    assert with_addresses(link, f"{HOST}/", version) == address


def test_the_readme_keeps_no_relative_link() -> None:
    text = with_addresses((ROOT / "README.md").read_text(), HOST, "0.2.0")
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    assert len(targets) > 30
    assert {link + tag for link, tag in targets if not (link + tag).startswith("https://")} == set()


def test_the_citation_names_the_same_repository() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation.get("repository-code") == PROJECT.get("urls", {}).get("Repository")
