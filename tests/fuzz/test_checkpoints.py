"""However a checkpoint is damaged, it is refused in words, or it is what was saved, bit for bit."""

from pathlib import Path

import pytest

from tests.cli.program import run_here, write_config
from tests.fuzz.checkpoints import WHOLE, go_on
from tests.fuzz.damage import damaged
from tests.fuzz.trials import Record, try_inputs


@pytest.mark.filterwarnings("ignore")  # what Lightning asks of jsonargparse
def test_damaged_checkpoints(tmp_path: Path, record_property: Record) -> None:
    write_config(tmp_path)
    run_here(tmp_path, "fit", "-c", "small.yaml", "--report.print_table", "false", "--trainer.logger", "false")
    path = (tmp_path / "runs" / "small" / "seed_3" / "checkpoints" / "last.ckpt").rename(tmp_path / "damaged.ckpt")
    (tmp_path / WHOLE).write_bytes(path.read_bytes())
    try_inputs("checkpoints", go_on, damaged(path.read_bytes()), 60, lambda: path, record_property, whole=path)
