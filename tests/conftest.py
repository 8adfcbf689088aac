"""What all tests share."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from datamodules.public_files import data_dir, fetch

# A busy machine is no reason to fail, nor is chance: other examples are drawn on request, --hypothesis-profile=explore.
settings.register_profile("gpvae", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("gpvae")
# Hypothesis also draws constants that it finds in modules imported so far, which hangs on the tests that ran before.
providers._get_local_constants = lambda: providers._local_constants

FUZZ_HEADER = ["inputs", "tried", "refused", "taken", "crashes", "silent NaN"]


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    """Seed all generators, so that a test's numbers do not hang on the tests that ran before it in its process."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the one that libraries draw from
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """`real_data("solar.mat")` gives the path of a real file, or skips the test if it is not there."""

    def find(name: str) -> Path:
        if not (data_dir() / name).exists():
            pytest.skip(f"no {name} in {data_dir()}; tests do not download: set GPVAE_DATA_DIR")
        return fetch(name)

    return find


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have recorded as `fuzz`, and the sum; here, for pytest asks only conftests it loads at once."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    rows = [value for report in reports for name, value in getattr(report, "user_properties", ()) if name == "fuzz"]
    if not rows:
        return
    total = ["all", *(str(sum(int(row[column]) for row in rows)) for column in range(1, len(FUZZ_HEADER)))]
    terminalreporter.section("inputs tried")
    for row in [FUZZ_HEADER, *sorted(rows), total]:
        terminalreporter.line(f"{row[0]:40}" + "".join(f"{cell:>12}" for cell in row[1:]))
