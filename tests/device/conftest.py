"""The second device, for the tests of this folder."""

from pathlib import Path

import pytest

from tests.device import second_device


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Register the device before any test: autograd counts the devices of a process when it is used first."""
    if second_device.missing() is None and any(Path(__file__).parent in item.path.parents for item in items):
        second_device.load()


@pytest.fixture(autouse=True)
def _device() -> None:
    """Skip if there is no device."""
    if (reason := second_device.missing()) is not None:
        pytest.skip(f"{reason}: the second device cannot be compiled")
