"""ERA5 files: a folder for the sample, and the real ones where they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from datamodules.public_files import data_dir


@pytest.fixture(scope="session")
def real_era5() -> Callable[[str], str]:
    """`real_era5("finse_2018")` gives a pattern for real files, or skips the test if they are not there."""
    folder = data_dir() / "era5"  # before any test points it elsewhere

    def find(name: str) -> str:
        if not (folder / name).is_dir():
            pytest.skip(f"no {name} in {folder}; tests do not download: set GPVAE_DATA_DIR")
        return str(folder / name / "*.nc")

    return find


@pytest.fixture(scope="session")
def kept_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def sample_folder(kept_sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder where samples are made once for all tests."""
    monkeypatch.setenv("GPVAE_DATA_DIR", str(kept_sample))
    return kept_sample
