"""Every test of the program starts from the same surroundings."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _as_in_a_shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loggers as they were; nothing that an earlier seed has left in the environment."""
    for variable in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS", "GPVAE_TRACEBACK"):
        monkeypatch.delenv(variable, raising=False)
    names = [name for name in logging.root.manager.loggerDict if name.startswith("lightning")]
    before = {name: list(logging.getLogger(name).filters) for name in names}
    yield
    for name, filters in before.items():
        logging.getLogger(name).filters = filters


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The program speaks in warnings of its own; what it says is checked where it matters."""
    for item in items:
        if item.path.parent.name == "cli":
            item.add_marker(pytest.mark.filterwarnings("ignore"))
