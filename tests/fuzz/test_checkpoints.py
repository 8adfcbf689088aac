"""A damaged checkpoint is refused by an error message, or equals the saved one, bit for bit."""

from pathlib import Path

import pytest

from tests.cli.program import run_here, write_config
from tests.fuzz.checkpoints import WHOLE, load
from tests.fuzz.damage import damaged
from tests.fuzz.trials import Record, try_inputs


@pytest.mark.filterwarnings("ignore")  # of Lightning about jsonargparse
def test_damaged_checkpoints(tmp_path: Path, record_property: Record) -> None:
    write_config(tmp_path)
    run_here(tmp_path, "fit", "-c", "small.yaml", "--report.print_table", "false", "--trainer.logger", "false")
    path = (tmp_path / "runs" / "small" / "seed_3" / "checkpoints" / "last.ckpt").rename(tmp_path / "damaged.ckpt")
    (tmp_path / WHOLE).write_bytes(path.read_bytes())
    try_inputs("checkpoints", load, damaged(path.read_bytes()), 60, lambda: path, record_property, whole=path)
