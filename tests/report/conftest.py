"""Pages that several tests read."""

from pathlib import Path

import pytest

from gpvae.report.page import write_report
from tests.report.made import several
from tests.report.reading import Page


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of several experiments; read only."""
    return several(tmp_path_factory.mktemp("report") / "runs")


@pytest.fixture(scope="session")
def page_file(runs: Path) -> Path:
    """The page about them."""
    path = runs.parent / "report.html"
    write_report([runs], path, "Several")
    return path


@pytest.fixture(scope="session")
def page(page_file: Path) -> Page:
    """The page about them, read."""
    return Page(page_file.read_text(encoding="utf-8"))
