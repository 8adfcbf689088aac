"""However a checkpoint is damaged, it is refused in words, or it is what was saved, bit for bit."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from tests.cli.program import run_here, write_config
from tests.fuzz.checkpoints import WHOLE, go_on
from tests.fuzz.damage import damaged
from tests.fuzz.outcomes import Tally, tried
from tests.fuzz.worker import Worker


@pytest.mark.filterwarnings("ignore")  # what Lightning asks of jsonargparse
def test_damaged_checkpoints(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    write_config(tmp_path)
    run_here(tmp_path, "fit", "-c", "small.yaml", "--report.print_table", "false", "--trainer.logger", "false")
    path = (tmp_path / "runs" / "checkpoints" / "last.ckpt").rename(tmp_path / "damaged.ckpt")
    (tmp_path / WHOLE).write_bytes(path.read_bytes())
    tally, read = Tally("checkpoints"), Worker(go_on)
    whole = read(str(path))
    assert whole.kind == "taken", whole.detail

    @tried(60)
    @given(damaged(path.read_bytes()))
    def try_one(content: bytes) -> None:
        path.write_bytes(content)
        tally.add(read(str(path)))

    try_one()
    read.close()
    record_property("fuzz", tally.row)
    assert not tally.faults, tally.report
