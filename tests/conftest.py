"""What all tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from datamodules.files import data_dir, fetch

settings.register_profile("gpvae", deadline=None)  # a busy machine is no reason to fail
settings.load_profile("gpvae")


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """`real_data("solar.mat")` gives the path of a real file, or skips the test if it is not there."""

    def find(name: str) -> Path:
        if not (data_dir() / name).exists():
            pytest.skip(f"no {name} in {data_dir()}; tests do not download: set GPVAE_DATA_DIR")
        return fetch(name)

    return find
