"""ERA5, hourly weather on a grid: a synthetic sample of it, files of either Climate Data Store, or downloads."""

from datamodules.era5.datamodule import ERA5
from datamodules.era5.description import Coordinates, SeriesDescription
from datamodules.era5.files.archive import Archive
from datamodules.era5.loader import SeriesBatch, SeriesLoader
from datamodules.era5.reading import read_era5
from datamodules.era5.series_stream import SeriesStream
from datamodules.era5.variables import DEFAULT_VARIABLES, Variable

__all__ = [
    "DEFAULT_VARIABLES",
    "ERA5",
    "Archive",
    "Coordinates",
    "SeriesBatch",
    "SeriesDescription",
    "SeriesLoader",
    "SeriesStream",
    "Variable",
    "read_era5",
]
