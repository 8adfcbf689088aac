"""Two processes gather their rows on the first, in parts: exactly, and with little memory beside the result."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.program import run, script

pytestmark = [pytest.mark.slow, pytest.mark.ci]
PROGRAM = """
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from benchmarks.process_memory import Peak
from gpvae.utils import distributed

dist.init_process_group("gloo")
rank = dist.get_rank()
distributed.gather_rows(torch.zeros(1, 2))  # starts the threads of the group
found = []
for total, max_bytes in ((7, 200), (6, 1), (1, 2**24), (2**12 + 1, 2**22)):
    distributed.MAX_BYTES = max_bytes
    width = 2**11 if total > 10 else 5
    rows = torch.arange(rank, total, 2)[:, None] * width + torch.arange(width, dtype=torch.float64)
    with Peak() as peak:
        whole = distributed.gather_rows(rows)
    expected = torch.arange(total * width, dtype=torch.float64).view(total, width) if rank == 0 else rows
    found.append({"same": torch.equal(whole, expected), "beyond": peak.bytes - (whole.nbytes if rank == 0 else 0)})
Path(f"rank_{rank}.json").write_text(json.dumps(found))
dist.destroy_process_group()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_rows_are_gathered_exactly_and_in_parts(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    here = str(Path(__file__).parents[2])
    torchrun = [script("torchrun"), "--standalone", "--nproc_per_node", "2"]
    result = run(tmp_path, "program.py", program=torchrun, PYTHONPATH=here, OMP_NUM_THREADS="1")
    assert result.returncode == 0, result.stderr
    for rank in (0, 1):
        found = json.loads((tmp_path / f"rank_{rank}.json").read_text())
        assert all(case["same"] for case in found)
        assert found[-1]["beyond"] < 67e6, found  # the size of the result; parts are of 4 MB
