"""Data modules: public data sets, ERA5 and toy problems as streams of tasks."""

from gpvae.utils.extras import require

require("lightning", "train", "datamodules has data modules of Lightning", ImportError)

from datamodules.covid import Covid  # noqa: E402
from datamodules.data_table import DataTable  # noqa: E402
from datamodules.era5 import ERA5  # noqa: E402
from datamodules.growing_stream import GrowingStream  # noqa: E402
from datamodules.loader import Batch, TaskLoader  # noqa: E402
from datamodules.moons import TwoMoons  # noqa: E402
from datamodules.point_stream import PointStream  # noqa: E402
from datamodules.scaled_stream import MeasuredStream  # noqa: E402
from datamodules.solar_audio import Audio, Solar  # noqa: E402
from datamodules.stream import TaskStream  # noqa: E402
from datamodules.toy import Toy  # noqa: E402
from datamodules.uci import Powerplant, Skillcraft  # noqa: E402

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
