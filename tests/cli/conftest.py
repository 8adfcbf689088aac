"""Runs every test of the command line in the same environment."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove environment variables that runs set, and restore the filters of loggers."""
    for variable in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS", "GPVAE_TRACEBACK"):
        monkeypatch.delenv(variable, raising=False)
    names = [name for name in logging.root.manager.loggerDict if name.startswith("lightning")]
    before = {name: list(logging.getLogger(name).filters) for name in names}
    yield
    for name, filters in before.items():
        logging.getLogger(name).filters = filters


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings of the program; tests check those that matter."""
    for item in items:
        if item.path.parent.name == "cli":
            item.add_marker(pytest.mark.filterwarnings("ignore"))
