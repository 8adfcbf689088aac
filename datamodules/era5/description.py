"""What predictions need to know about a stream of series; checkpoints keep it, so that they need no data."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5.scaling import Scaling
from datamodules.era5.variables import Transform, Variable

if TYPE_CHECKING:
    from datamodules.era5.fields import Fields


class Coordinates(NamedTuple):
    """The coordinates of a stream in space and time.

    Args:
        latitude: Degrees north of each series `[S]`.
        longitude: Degrees east of each series `[S]`.
        origin: The time, UTC, from which hours are counted.
    """

    latitude: NDArray[np.generic]
    longitude: NDArray[np.generic]
    origin: np.datetime64


@dataclass(frozen=True, eq=False)
class SeriesDescription:
    """A stream of series without its values.

    Args:
        name: The class of the stream.
        scaling: The scaling, with the variables.
        coordinates: The locations of the series, and the time of hour 0.
        file_coordinates: As `coordinates`, with latitudes and longitudes exactly as in the files.
        hours_per_task: The length of each task in hours, including missing ones.
        step: The hours from one time of the files to the next.
        task_sizes: The number of hours with data in each task.
        synthetic: Whether the data are synthetic, which results should state.
        land: Which series are on land `[S]`; None if the files do not say.
    """

    name: str
    scaling: Scaling
    coordinates: Coordinates
    file_coordinates: Coordinates
    hours_per_task: int
    step: float
    task_sizes: tuple[int, ...]
    synthetic: bool = False
    land: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls,
        fields: "Fields",
        scaling: Scaling,
        hours_per_task: int,
        task_sizes: tuple[int, ...],
        *,
        name: str,
        synthetic: bool,
    ) -> Self:
        """The description of the data of a stream.

        Args:
            fields: The data in the units of files.
            scaling: Their scaling.
            hours_per_task: The length of each task in hours.
            task_sizes: The number of hours with data in each task.
            name: The class of the stream.
            synthetic: Whether the data are synthetic.
        """
        where = fields.coordinates, fields.exact_coordinates
        return cls(name, scaling, *where, hours_per_task, fields.step, task_sizes, synthetic, fields.land)

    @property
    def variables(self) -> list[Variable]:
        """The variables, in the order of the last dimension of values."""
        return list(self.scaling.variables)

    @property
    def num_variables(self) -> int:
        """V, the number of variables."""
        return len(self.scaling.variables)

    @property
    def num_series(self) -> int:
        """S, the number of locations."""
        return len(self.coordinates.latitude)

    @property
    def num_tasks(self) -> int:
        """The number of tasks."""
        return len(self.task_sizes)

    def to_physical(self, values: Tensor, series: Tensor) -> Tensor:
        """Values in the units of files, see `Scaling.to_physical`."""
        return self.scaling.to_physical(values, series)

    def to_plain(self) -> dict[str, Any]:
        """Tensors and plain values, from which `from_plain` makes the same description."""
        return {
            "name": self.name,
            "variables": [asdict(variable) for variable in self.variables],
            "mean": self.scaling.mean,
            "deviation": self.scaling.deviation,
            "latitude": _tensor(self.coordinates.latitude),
            "longitude": _tensor(self.coordinates.longitude),
            "file_latitude": _tensor(self.file_coordinates.latitude),
            "file_longitude": _tensor(self.file_coordinates.longitude),
            "origin": str(np.datetime_as_string(self.coordinates.origin, unit="ns")),
            "hours_per_task": self.hours_per_task,
            "step": self.step,
            "task_sizes": list(self.task_sizes),
            "synthetic": self.synthetic,
            "land": None if self.land is None else _tensor(self.land),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """The description that `to_plain` gave.

        Args:
            plain: Its result.

        Raises:
            ValueError: An entry is missing, or is not what it should be.
        """
        try:
            variables = tuple(
                Variable(**{**entry, "transform": Transform(**entry["transform"])}) for entry in plain["variables"]
            )
            origin, land = np.datetime64(plain["origin"], "ns"), plain["land"]
            return cls(
                name=plain["name"],
                scaling=Scaling(variables, plain["mean"], plain["deviation"]),
                coordinates=Coordinates(plain["latitude"].numpy(), plain["longitude"].numpy(), origin),
                file_coordinates=Coordinates(plain["file_latitude"].numpy(), plain["file_longitude"].numpy(), origin),
                hours_per_task=plain["hours_per_task"],
                step=plain["step"],
                task_sizes=tuple(plain["task_sizes"]),
                synthetic=plain["synthetic"],
                land=None if land is None else land.numpy(),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the description of the data is not one of this version: {error!r}") from error


def _tensor(array: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("=")))
