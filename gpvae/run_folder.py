"""The folder of a run: one for each experiment and seed."""

import shutil
from datetime import datetime
from pathlib import Path

from lightning.pytorch.utilities import rank_zero_info

EARLIER = ".earlier"


def clear(folder: Path) -> None:
    """Move what an earlier run has left in a folder out of the way, so that results of two runs never mix.

    Args:
        folder: The folder of the run, `runs/<name>/seed_<n>`; what is in it goes to `runs/.earlier/<name>/`.
    """
    if not folder.exists() or not any(folder.iterdir()):
        return
    stamp = datetime.fromtimestamp(folder.stat().st_mtime).strftime("%Y-%m-%d_%H-%M-%S")
    target = folder.parent.parent / EARLIER / folder.parent.name / f"{folder.name}_{stamp}"
    while target.exists():
        target = target.with_name(target.name + "_")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, target)
    rank_zero_info(f"The results of an earlier run are now in {target}")
