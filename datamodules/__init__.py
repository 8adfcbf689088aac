"""Data modules: public data sets, ERA5 and toy problems as streams of tasks."""

from gpvae.utils.extras import require

require("lightning", "train", "datamodules defines LightningDataModules", ImportError)

from datamodules.covid import Covid
from datamodules.data_table import DataTable
from datamodules.era5 import ERA5
from datamodules.growing_stream import GrowingStream
from datamodules.loader import Batch, TaskLoader
from datamodules.moons import TwoMoons
from datamodules.point_stream import PointStream
from datamodules.scaled_stream import MeasuredStream
from datamodules.solar_audio import Audio, Solar
from datamodules.stream import TaskStream
from datamodules.toy import Toy
from datamodules.uci import Powerplant, Skillcraft

__all__ = [
    "ERA5",
    "Audio",
    "Batch",
    "Covid",
    "DataTable",
    "GrowingStream",
    "MeasuredStream",
    "PointStream",
    "Powerplant",
    "Skillcraft",
    "Solar",
    "TaskLoader",
    "TaskStream",
    "Toy",
    "TwoMoons",
]
