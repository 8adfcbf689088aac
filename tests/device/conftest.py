"""The second device, for the tests of this folder."""

import pytest

from tests.device import second_device


@pytest.fixture(scope="session", autouse=True)
def _device() -> None:
    """Compile and register the device, or skip."""
    if (reason := second_device.missing()) is not None:
        pytest.skip(f"{reason}: the second device cannot be compiled")
    second_device.load()
