"""Links, files and tests on pages exist, and tables are complete."""

import re
from pathlib import Path

import pytest

from tests.docs import shell
from tests.docs.pages import PAGES, ROOT, blocks, name

LINK = re.compile(r"\]\((?P<target>[^)\s#]*)(?:#(?P<anchor>[^)\s]*))?\)")
HEADING = re.compile(r"^#+ (?P<title>.+)$", flags=re.MULTILINE)
#: Files of the repository that are named in the text, such as `tests/vae/test_bound.py`.
FILE = re.compile(r"`((?:gpvae|tests|benchmarks|datamodules|callbacks|examples|configs)/[\w./]+)`")
#: Folders that runs create.
CREATED = {"benchmarks/results"}
BENCHMARK = re.compile(r"`(python -m benchmarks(?:\.[a-z][\w.]*)?(?:\s[^`]*)?)`")
TEST = re.compile(r"`(test_[a-z0-9]+_[a-z0-9]+_[a-z0-9_]+)`")


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page."""
    titles = [re.sub(r"[`*$\\]", "", found["title"]) for found in HEADING.finditer(prose(page))]
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_have_a_target(page: Path) -> None:
    for link in LINK.finditer(prose(page)):
        if "://" in link["target"]:
            continue
        target = page.parent / link["target"] if link["target"] else page
        assert target.is_file(), f"{name(page)} links to {link['target']}"
        if link["anchor"] and target.suffix == ".md":
            assert link["anchor"] in anchors(target), f"{name(page)} links to {link['target']}#{link['anchor']}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_and_tests_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    files = [*FILE.findall(prose(page)), *re.findall(r"configs/\w+\.yaml", text)]
    new = [block.file_name for block in blocks(page) if block.file_name]
    for file in files:
        assert (ROOT / file).exists() or Path(file).name in new or file in CREATED, f"{name(page)} names {file}"
    for benchmark in BENCHMARK.findall(prose(page)):
        shell.check(benchmark.split(), ROOT)
    tests = set(TEST.findall(prose(page)))
    if tests:
        defined = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
        assert all(f"def {test}(" in defined for test in tests), f"{name(page)} names tests that do not exist"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_rows_of_tables_have_a_cell_for_each_column(page: Path) -> None:
    columns = 0
    for row in re.sub(r"`[^`]*`", "", prose(page)).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", row)) - 1 if row.startswith("|") else 0
        assert not (columns and cells) or cells == columns, f"{name(page)} has {columns} columns, but: {row}"
        columns = cells
