"""Two real processes: every point once, equally many steps, and test points that do not divide by two."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("two_processes.py")


@pytest.mark.slow
def test_two_processes_share_a_stream(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(SCRIPT.parents[2]), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, SCRIPT, tmp_path], env=environment, check=True, capture_output=True, timeout=300)
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    assert first["mean"] == second["mean"] != 0
    assert len(first["trained"]) == len(second["trained"]) == 3 * 6  # 78 points a task, 39 for each, 7 in a batch
    for epoch in range(3):
        seen = [point for run in (first, second) for when, index in run["trained"] for point in index if when == epoch]
        assert sorted(seen) == list(range(78))
    sizes = first["test_points"]
    assert any(size % 2 for size in sizes)
    assert min(sizes) == 1  # the second process has nothing to evaluate there
    for epoch in range(3):
        for task in range(epoch + 1):
            evaluated = first["evaluated"] + second["evaluated"]
            assert sum(size for *place, size in evaluated if place == [epoch, task]) == sizes[task]
