"""ERA5 as a stream of tasks: many locations, many variables, some days at a time."""

from contextlib import AbstractContextManager
from typing import Any, Literal

import numpy as np
from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5.cds import download, downloaded, month_requests
from datamodules.era5.fields import Fields, open_fields
from datamodules.era5.files.archive import sources_of
from datamodules.era5.files.containers import expand_patterns
from datamodules.era5.series_stream import SeriesStream
from datamodules.era5.synthetic.sample import NOTE, START, sample_files
from datamodules.era5.variables import DEFAULT_VARIABLES
from datamodules.stream import check_least


class ERA5(SeriesStream):
    """Hourly weather at many locations, some days at a time.

    The stream begins at `start` and is cut into tasks of equal length. A share of the hours of each task is held out
    for test, at all locations alike. Values are transformed and standardised by the training hours of the first task.

    Args:
        source: Where the data are from: "sample" is synthetic weather over Britain, and needs nothing; "files" are
            netCDF files of your own; "cds" downloads them from the Copernicus Climate Data Store, with the key that
            cdsapi finds, into the folder GPVAE_DATA_DIR.
        paths: Names of files or patterns such as `data/era5_*.nc`, for source "files": netCDF of the old or the new
            Climate Data Store, or zip archives of it.
        variables: Names of variables, long as in requests (2m_temperature) or short as in files (t2m). If not given,
            the usual seventeen, and for source "files" all that change with time.
        points: How many cells of the grid to take, drawn at random; the whole grid if null.
        locations: Latitude and longitude of places to take the nearest cells of, instead of `points`.
        land_only: Whether to take cells on land only; files then need the land-sea mask, lsm.
        area: North, west, south and east ends of the region to download, in degrees.
        download_hours: When to give up downloads, in hours; a later run goes on with what waits in the queue then.
        refetch_preliminary: Whether to download again what was preliminary (ERA5T) when it was downloaded; it is final
            after two or three months.
        start: The first hour, such as 2020-01-01 or 2020-01-01T06:00, UTC; the first there is if not given.
        num_tasks: How many tasks there are.
        hours_per_task: How long each task is; missing hours count.
        test_share: Which share of the hours of each task is held out for test.
        seed: Fixes which cells are taken, which hours are held out, and the order of minibatches.
        batch_size: Series in a minibatch on each device; all of them at every step if not given.
        epochs_per_task: Epochs each task is learnt for.
        stop_after: Learn only the first so many tasks; all if not given.
        predict_every: Hours between the times that `predict` is for, such as 0.5, from the start of the stream to the
            last hour of the tasks learnt; the held-out hours of every task if not given.
        joint: Whether to learn all tasks at once, as one: what a stream of tasks is measured against. Hours are held
            out, and values standardised, as in the stream.
        on_disk: Whether to keep the values in files of the folder GPVAE_DATA_DIR, made once, not in memory: for more
            series than memory holds.
    """

    def __init__(
        self,
        source: Literal["sample", "files", "cds"] = "sample",
        paths: list[str] | str | None = None,
        variables: list[str] | None = None,
        points: int | None = 32,
        locations: list[list[float]] | None = None,
        land_only: bool = False,
        area: tuple[float, float, float, float] = (61.0, -9.0, 49.5, 2.5),
        download_hours: float = 24.0,
        refetch_preliminary: bool = False,
        start: str | None = None,
        num_tasks: int = 10,
        hours_per_task: int = 186,
        test_share: float = 0.2,
        seed: int = 0,
        batch_size: int | None = None,
        epochs_per_task: int = 20,
        stop_after: int | None = None,
        predict_every: float | None = None,
        joint: bool = False,
        on_disk: bool = False,
    ) -> None:
        tasks = num_tasks, hours_per_task, test_share, seed, batch_size, epochs_per_task, stop_after
        super().__init__(*tasks, predict_every=predict_every, joint=joint, on_disk=on_disk)
        check_least(points=(points, 1))
        if source not in ("sample", "files", "cds"):
            raise ValueError(f"source is {source!r}: it must be 'sample', 'files' or 'cds'.")
        if (source == "files") != (paths is not None):
            raise ValueError(
                f"source is {source!r} and paths is {paths!r}: source 'files' needs paths, and no other takes them."
            )
        if not download_hours > 0:
            raise ValueError(f"download_hours is {download_hours}: it must be more than 0, such as 24.")
        for option in ("download_hours", "refetch_preliminary"):
            self.hparams.pop(option, None)  # a run may be resumed with others: the data are the same
        self.source, self.paths, self.wanted, self.area = source, paths, variables, area
        self.download_hours, self.refetch_preliminary = download_hours, refetch_preliminary
        self.points, self.locations, self.land_only = points, locations, land_only
        self.start = None if start is None else _parsed(start)
        if source == "cds" and self.start is None:
            raise ValueError("source is 'cds' and start is not given: say from when to download, such as 2020-01-01.")
        if source == "sample" and self.start is not None and self.start < START:
            raise ValueError(f"start is {start}: the sample begins at {START}.")

    def prepare_data(self) -> None:
        """Make or download what is not here yet; only the first process downloads."""
        if self.source == "cds":
            download(self._requests(), self.download_hours, self.refetch_preliminary)
            self.refetch_preliminary = False  # once is enough
        else:
            self._files()

    def setup(self, stage: str | None = None) -> None:
        """Read the values, make the tasks and scale them, once; of several processes, from the same files in all.

        The program needs the data before its processes know of each other. Process 0 may replace preliminary files that
        others have read by then; it has done so before any process gets here by a trainer, which has them all wait for
        `prepare_data`.

        Args:
            stage: What Lightning is about to do; the data are the same for all of it.
        """
        if self._made is not None and self.source == "cds" and self._process()[1] > 1 and self._replaced():
            self._made = None
        super().setup(stage)

    def open(self) -> AbstractContextManager[Fields]:
        """Look into the files for the chosen variables, hours and cells."""
        if self.source == "sample":
            rank_zero_info(f"ERA5 source 'sample': {NOTE}")
        names = self.wanted
        if names is None and self.source != "files":
            names = [variable.name for variable in DEFAULT_VARIABLES]
        cells = (self.points, self.locations, self.land_only, self.seed)
        return open_fields(self._files(), names, self.start, self.num_hours, *cells)

    @property
    def synthetic(self) -> bool:
        """Whether the data are made up, as results should then say."""
        return self.source == "sample" or self.fields.note == NOTE

    def _files(self) -> list[str] | str:
        if self.source == "sample":
            skipped = 0 if self.start is None else int((self.start - START) / np.timedelta64(1, "h"))
            return sample_files(skipped + self.num_hours)
        if self.source == "cds":
            return downloaded(self._requests(), self.download_hours)
        assert self.paths is not None
        return self.paths

    def _replaced(self) -> bool:
        return sources_of(expand_patterns(self._files())) != self.fields.sources

    def _requests(self) -> list[dict[str, Any]]:
        assert self.start is not None
        return month_requests(self.wanted, self.area, self.start, self.num_hours)


def _parsed(start: str) -> np.datetime64:
    try:
        return np.datetime64(start, "s")
    except ValueError as error:
        raise ValueError(
            f"start is {start!r}: give a date or an hour, such as 2020-01-01 or 2020-01-01T06:00."
        ) from error
