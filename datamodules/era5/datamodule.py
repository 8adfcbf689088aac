"""ERA5 as a stream of tasks: many locations and variables, some days at a time."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import xarray as xr
from lightning.pytorch.utilities import rank_zero_info

from datamodules.era5 import cds
from datamodules.era5.cells import check_location
from datamodules.era5.continuation import join_fields
from datamodules.era5.dates import parse_date
from datamodules.era5.description import SeriesDescription
from datamodules.era5.fields import Fields, open_fields
from datamodules.era5.files.containers import expand_patterns, file_versions
from datamodules.era5.series_stream import SeriesStream
from datamodules.era5.synthetic.sample import NOTE, START, sample_files
from datamodules.era5.variables import DEFAULT_VARIABLES
from datamodules.stream import check_minimum

if TYPE_CHECKING:
    Paths: TypeAlias = list[str] | str | xr.Dataset
else:
    Paths = list[str] | str  # the command line reads types at run time, and takes no datasets


class ERA5(SeriesStream):
    """Weather at many locations, as a stream of tasks of some days each.

    The stream begins at `start` and is divided into tasks of equal length. A fraction of the hours of each task is held
    out for test, the same at all locations. Values are transformed, and standardised by the training hours of the first
    task.

    Args:
        source: The source of the data: "sample" is synthetic weather over Britain, and needs no files or network;
            "files" are your own files; "cds" downloads from the Copernicus Climate Data Store, with the key that
            cdsapi finds, into the folder GPVAE_DATA_DIR.
        paths: Names of files or patterns such as `data/era5_*.nc`, for source "files": netCDF, GRIB, CSV, zip archives
            of them, and Zarr by folder or URL, of the Climate Data Store or any model. From Python also an xarray
            dataset.
        variables: Names of variables, long as in requests (2m_temperature) or short as in files (t2m). If not given,
            the seventeen defaults, and for source "files" all that change with time. A level is part of the name, as in
            t@850.
        points: The number of locations to draw at random from the grid. `all`, `none` and null all mean the whole
            grid, which is also taken if it has fewer cells.
        locations: Latitude and longitude of locations, whose nearest grid cells are taken; instead of `points`. A
            single one is also the location of files that state none.
        land_only: Whether to take locations on land only; files then need the land-sea mask, lsm.
        area: North, west, south and east edges of the region to download, in degrees.
        download_hours: Hours after which to give up downloads; a later run resumes the jobs in the queue.
        refetch_preliminary: Whether to download files again that were preliminary (ERA5T) when they were downloaded;
            they are final after two or three months.
        start: The first hour, such as 2020-01-01 or 2020-01-01T06:00, UTC; that of the files if not given.
        end: The end of the stream, exclusive, such as 2021-01-01; that of the files if not given. For source "cds",
            `latest` asks the store what it has by now, to the end of its last complete day, about five days ago. The
            last two or three months are preliminary (ERA5T), and may be revised.
        num_tasks: The number of tasks. If not given, as many whole tasks as there are data up to `end`; the hours after
            them wait until a later run finds more. For source "sample" 10.
        point_series: Whether to download the series of each of `locations` from the dataset that the store has for
            them, instead of `area`: without a queue, but not of all variables; for source "cds" and few locations.
        options: See `SeriesStream`. `seed` also fixes which locations are drawn.
    """

    def __init__(
        self,
        source: Literal["sample", "files", "cds"] = "sample",
        paths: Paths | None = None,
        *,
        variables: list[str] | None = None,
        points: int | Literal["all", "none"] | None = 32,
        locations: list[list[float]] | None = None,
        land_only: bool = False,
        area: tuple[float, float, float, float] = (61.0, -9.0, 49.5, 2.5),
        download_hours: float = 24.0,
        refetch_preliminary: bool = False,
        start: str | None = None,
        end: str | None = None,
        num_tasks: int | None = None,
        point_series: bool = False,
        **options: Any,
    ) -> None:
        if source == "sample" and num_tasks is None:
            num_tasks = 10
        given = paths
        if isinstance(paths, xr.Dataset):
            paths = "xarray.Dataset"  # options are saved in checkpoints, values are not
        super().__init__(num_tasks, **options)
        if isinstance(points, str):
            if points not in ("all", "none"):
                raise ValueError(f"points is {points!r}: it must be a number, or 'all' for the whole grid.")
            points = None
        self.hparams.update(num_tasks=num_tasks, points=points)  # a run may be resumed with other words for them
        check_minimum(points=(points, 1))
        if source not in ("sample", "files", "cds"):
            raise ValueError(f"source is {source!r}: it must be 'sample', 'files' or 'cds'.")
        if (source == "files") != (paths is not None):
            raise ValueError(
                f"source is {source!r} and paths is {paths!r}: source 'files' needs paths, the others take none."
            )
        if self.times_per_task is not None and source != "files":
            raise ValueError(
                f"times_per_task is {self.times_per_task} and source is {source!r}, which is hourly: give "
                "hours_per_task."
            )
        if not download_hours > 0:
            raise ValueError(f"download_hours is {download_hours}: it must be more than 0, such as 24.")
        if point_series and (source != "cds" or locations is None or variables is None or land_only):
            raise ValueError(
                "point_series needs source 'cds', `locations` and `variables`, as its dataset has a part of those of "
                "ERA5, and cannot be used with land_only, as it has no land-sea mask."
            )
        for option in ("download_hours", "refetch_preliminary", "point_series"):
            self.hparams.pop(option, None)  # a run may be resumed with other values: the data are the same
        self.source, self.paths, self.wanted, self.area = source, given, variables, area
        self.download_hours, self.refetch_preliminary = download_hours, refetch_preliminary
        for location in locations or ():
            check_location(location)
        self.points, self.locations, self.land_only = points, locations, land_only
        self.point_series = point_series
        self.latest = end == "latest"
        if self.latest and source != "cds":
            raise ValueError(
                f"end is 'latest' and source is {source!r}: only the Climate Data Store, source 'cds', is asked for "
                "its end. Leave it out, and all hours that there are make tasks."
            )
        self.start = None if start is None else parse_date("start", start)
        self.end = None if end is None or self.latest else parse_date("end", end)
        if source == "cds" and self.start is None:
            raise ValueError(
                "source is 'cds' and start is not given: give the first hour to download, such as 2020-01-01."
            )
        if source == "cds" and end is None and num_tasks is None:
            raise ValueError(
                "source is 'cds' and neither end nor num_tasks is given: give one, such as end 2021-01-01 or latest."
            )
        if not self.joint and source != "sample":  # a run may be resumed with more data
            self.resumable |= {"num_tasks", "end", "paths"}
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError(f"end is {end} and start is {start}: the end must be after the start.")
        if source == "sample" and self.start is not None and self.start < START:
            raise ValueError(f"start is {start}: the sample begins at {START}.")

    def prepare_data(self) -> None:
        """Create or download missing files; only the first process downloads."""
        if self._continuation is not None:
            return
        if self.source == "cds":
            if self.latest and self.end is None:
                self.end = self._find_end()
            cds.download(self._requests(), self.download_hours, self.refetch_preliminary)
            self.refetch_preliminary = False  # once is enough
        else:
            self._files()

    def setup(self, stage: str | None = None) -> None:
        """Read the values, split them into tasks and scale them, once; all processes use the same files.

        The program needs the data before its processes can synchronise, so process 0 may yet replace preliminary files
        that others have read. By the time the trainer calls `setup` it has done so, because the trainer waits for
        `prepare_data` on all processes; replaced files are then read again.
        """
        if self._data is not None and self.source == "cds" and self._process()[1] > 1 and self._replaced():
            self._data = None
        first = self._data is None and self._continuation is None
        super().setup(stage)
        if first and self.source == "files" and self.hparams["num_tasks"] is not None:
            assert self.num_parts is not None
            self.task_length.log_unused(self.num_parts, self.fields)
        if first and self.source == "cds" and (preliminary := cds.count_preliminary(self._requests())):
            rank_zero_info(
                f"{preliminary:,} of the downloaded hours are preliminary (ERA5T): they may be revised in two or three "
                "months. What is learnt from them stays; --data.refetch_preliminary true downloads the final values, "
                "for new runs."
            )

    def open(self) -> AbstractContextManager[Fields]:
        """Open the files, with the chosen variables, hours and locations."""
        if self.source == "sample":
            rank_zero_info(f"ERA5 source 'sample': {NOTE}")
        names = self.wanted
        if names is None and self.source != "files":
            names = [variable.name for variable in DEFAULT_VARIABLES]
        return open_fields(
            self._files(),
            names,
            self.start,
            None if self.num_parts is None or self.times_per_task is not None else self.num_hours,
            end=self.end,
            points=self.points,
            locations=self.locations,
            land_only=self.land_only,
            seed=self.seed,
            digest=self.on_disk and isinstance(self.paths, xr.Dataset),
        )

    def read_known(self, known: SeriesDescription) -> Fields:
        """The values of the configured files at known variables and locations, in memory.

        Args:
            known: What is known of the stream.
        """
        with open_fields(self._files(), None, None, None, like=known) as fields:
            return join_fields([fields])

    @property
    def synthetic(self) -> bool:
        """Whether the data are synthetic, which results should state."""
        known = self._continuation is not None and self._continuation.known.synthetic
        return known or self.source == "sample" or self.fields.note == NOTE

    def _files(self) -> Paths:
        if self.source == "sample":
            skipped = 0 if self.start is None else _num_hours(START, self.start)
            return sample_files(skipped + self.num_hours)
        if self.source == "cds":
            return cds.downloaded(self._requests(), self.download_hours)
        assert self.paths is not None
        return self.paths

    def _replaced(self) -> bool:
        return (
            file_versions(expand_patterns(cds.downloaded(self._requests(), self.download_hours))) != self.fields.sources
        )

    def _find_end(self) -> np.datetime64:
        end = cds.latest_end(self.download_hours)
        assert self.start is not None
        rank_zero_info(f"The Climate Data Store has complete days of ERA5 until {end}, exclusive.")
        if end <= self.start:
            raise ValueError(f"start is {self.start}, and the Climate Data Store has ERA5 until {end} only.")
        return end

    def _requests(self) -> list[dict[str, Any]]:
        assert self.start is not None
        if self.latest and self.end is None:
            raise RuntimeError("How far ERA5 goes is not known yet: call prepare_data() first.")
        if self.hparams["num_tasks"] is not None:
            num_hours = self.num_hours
        else:
            assert self.end is not None
            num_hours = _num_hours(self.start, self.end)
        locations = self.locations if self.point_series else None
        requests = cds.month_requests(self.wanted, self.area, self.start, num_hours, locations=locations)
        if locations is None and self.locations is not None:
            cds.check_inside(self.area, self.locations)
        return requests


def _num_hours(start: np.datetime64, end: np.datetime64) -> int:
    """The number of hours from one time to before another; one that has only begun counts."""
    return -int((start - end) // np.timedelta64(1, "h"))
