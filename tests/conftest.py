"""Settings and fixtures of all tests."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from datamodules.public_files import data_dir, fetch

# Tests neither time out on a busy machine nor depend on chance; --hypothesis-profile=explore draws new examples.
settings.register_profile("gpvae", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("gpvae")
# Hypothesis also draws constants from the modules imported so far, which depend on the tests that ran before.
providers._get_local_constants = lambda: providers._local_constants

FUZZ_HEADER = ["inputs", "tried", "refused", "taken", "crashes", "silent NaN"]


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Seed all generators, so that random numbers do not depend on earlier tests in the same process."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the generator that libraries use
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """`real_data("solar.mat")` returns the path of a real file, or skips the test if it is missing."""

    def find(name: str) -> Path:
        if not (data_dir() / name).exists():
            pytest.skip(f"no {name} in {data_dir()}; tests do not download: set GPVAE_DATA_DIR")
        return fetch(name)

    return find


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts that tests have recorded as `fuzz`; pytest calls this hook in the root conftest only."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    rows = [value for report in reports for name, value in getattr(report, "user_properties", ()) if name == "fuzz"]
    if not rows:
        return
    total = ["all", *(str(sum(int(row[column]) for row in rows)) for column in range(1, len(FUZZ_HEADER)))]
    terminalreporter.section("inputs tried")
    for row in [FUZZ_HEADER, *sorted(rows), total]:
        terminalreporter.line(f"{row[0]:40}" + "".join(f"{cell:>12}" for cell in row[1:]))
