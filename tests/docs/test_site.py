"""The site builds without warnings, and can be read without a network."""

import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import chromium
from tests.docs.pages import PAGES, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ("mkdocs", "material", "mkdocstrings_handlers", "ziamath")),
        reason="the tools to build the documentation are not installed: pip install -e '.[docs]'",
    ),
]
#: Files that a browser fetches by itself.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(?P<source>[^\"]+)\"|<link[^>]*\shref=\"(?P<link>[^\"]+)\""
)
#: Pages outside docs/ that the home page links to, with some of their words.
OUTSIDE_DOCS = {"benchmarks": "CPU seconds", "changes": "Unreleased", "contributing": "Set up", "citing": "cff-version"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_versions_of_the_tools_are_pinned() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["docs"]
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    names = [re.split(r"[\[><=]", requirement)[0] for requirement in wanted]
    assert all(any(line.startswith(f"{name}==") for line in pinned) for name in names)


def test_every_page_is_built(site: Path) -> None:
    docs = ROOT / "docs"
    for page in PAGES:
        if page.is_relative_to(docs):
            assert (site / page.relative_to(docs).with_suffix(".html")).is_file()
    assert "Gaussian processes that learn from a stream" in (site / "index.html").read_text()


def test_files_outside_docs_are_pages_too(site: Path) -> None:
    _, home = (site / "index.html").read_text().split("<article")
    for page, words in OUTSIDE_DOCS.items():
        assert f'href="{page}.html"' in home
        assert words in (site / f"{page}.html").read_text()
    benchmarks = (site / "benchmarks.html").read_text()
    assert 'href="scale.html">Many series, many devices' in benchmarks


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for found in FETCHED.finditer(page.read_text()):
            address = found["source"] or found["link"]
            assert "//" not in address or 'rel="canonical"' in found[0], f"{page.name} fetches {address}"
    styles = "".join(style.read_text() for style in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:https?:)?//", styles)
    assert "@import" not in styles


def test_long_lines_of_code_can_be_broken(site: Path) -> None:
    assert 'span[id^="__span"]' in (site / "style.css").read_text()
    assert (site / "index.html").read_text().count('<span id="__span-') > 20


def test_formulas_are_rendered(site: Path) -> None:
    text = (site / "concepts" / "sites.html").read_text()
    assert text.count("<math") > 20
    assert "arithmatex" not in text
    for page in (site / "concepts").glob("*.html"):
        assert not re.search(r"\\(?:frac|sum|top|tilde|mathcal)", page.read_text())
    assert (site / "STIXTwoMath-Regular.ttf").stat().st_size > 100_000


@chromium.needed
def test_pages_can_be_searched_offline(site: Path) -> None:
    page = f"{(site / 'concepts' / 'sites.html').as_uri()}?q=forgetting"
    shown = chromium.browse(page, "--virtual-time-budget=15000", "--dump-dom")
    assert re.search(r"[1-9]\d* matching documents", shown)


@pytest.mark.parametrize(
    "name",
    [
        *("gpvae.OnlineGP", "gpvae.inducing.LegS", "gpvae.inducing.Functionals", "gpvae.metrics.NLPD"),
        *("gpvae.hippo.absorb_path", "gpvae.sites.Site", "gpvae.kernels.covariance", "gpvae.inducing.ordering.order"),
        "callbacks.TaskReport",
    ],
)
def test_classes_are_documented(site: Path, name: str) -> None:
    pages = [page.read_text() for page in (site / "api").glob("*.html")]
    assert sum(f'id="{name}"' in page for page in pages) == 1
