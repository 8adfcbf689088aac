"""How far ERA5 goes in the Climate Data Store by now: the same answer for all processes of a run."""

import json
import os
import time
from contextlib import closing

import numpy as np
from lightning.pytorch.utilities import rank_zero_only

from datamodules.data_folder import find_cached, writable_folder
from datamodules.era5.cds import retry
from datamodules.era5.cds.account import find_account
from datamodules.era5.cds.client import Store
from datamodules.era5.cds.errors import DownloadFailed
from datamodules.era5.cds.job_records import FOLDER
from datamodules.era5.cds.retry import Deadline
from gpvae.utils.atomic import replacing

FILE = "latest.json"
#: By this variable process 0 tells the processes that it starts.
VARIABLE = "GPVAE_ERA5_LATEST"
STARTED = time.time()


def latest_end(hours: float) -> np.datetime64:
    """The end of the last complete day of ERA5, exclusive. Process 0 asks the store; others wait for its answer.

    Args:
        hours: Hours after which to give up.

    Raises:
        DownloadFailed: The store cannot be reached or does not say, or process 0 has not asked it.
    """
    deadline = Deadline(hours)
    if rank_zero_only.rank == 0:  # type: ignore[attr-defined]  # set from outside
        with closing(Store(find_account(), deadline)) as store:
            last = store.last_hour()
        end = (last + np.timedelta64(1, "h")).astype("datetime64[D]").astype("datetime64[s]")
        with replacing(writable_folder(FOLDER) / FILE) as path:
            path.write_text(json.dumps({"end": str(end)}))
        os.environ[VARIABLE] = str(end)
        return end
    return np.datetime64(os.environ.get(VARIABLE) or _wait_for_answer(deadline), "s")


def _wait_for_answer(deadline: Deadline) -> str:
    """The answer that process 0 has saved since this process started, or shortly before."""
    began = time.monotonic()
    while time.monotonic() - began <= retry.MAX_IDLE:
        path = find_cached(f"{FOLDER}/{FILE}")
        if path is not None and path.stat().st_mtime > STARTED - retry.MAX_IDLE:  # clocks of machines may differ
            return str(json.loads(path.read_text())["end"])
        deadline.sleep(retry.POLL_INTERVAL)
    raise DownloadFailed(
        f"Process 0 has not asked the Climate Data Store for the end of ERA5 within {retry.MAX_IDLE / 60:g} minutes. "
        "See its messages; if it has, set GPVAE_DATA_DIR to a folder that all machines share."
    )
