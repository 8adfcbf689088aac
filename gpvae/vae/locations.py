"""Latitude, longitude and other inputs of each location, such as its height and the sun above it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from gpvae.utils.resizable import Resizable, assign
from gpvae.utils.sun import sun_path

StaticInput = Literal["latitude", "longitude", "height", "land", "sun"]

#: Inputs that change with the hour.
CHANGING = frozenset({"sun"})
#: Number of tensors of times for which the path of the sun is kept: those of the task, and of what is replayed.
MAX_PATHS = 8
#: Inputs that positions already contain.
WHERE = frozenset({"latitude", "longitude"})


class Locations(Resizable):
    """Locations of series, and inputs of encoder and decoder that depend on them, each of variance one.

    Args:
        names: The inputs: `latitude`, `longitude`, `height`, `land` (the share of land) and `sun` (the mean of the
            cosine of the sun's zenith angle over the hour before).
    """

    coordinates: Tensor
    values: Tensor
    standard: Tensor
    origin: Tensor
    seen: Tensor
    mean_errors: Tensor

    def __init__(self, names: Sequence[StaticInput] = ()) -> None:
        super().__init__()
        self.names = list(names)
        self._paths: list[tuple[Tensor, Tensor]] = []
        self.register_buffer("coordinates", torch.zeros(0, 2, dtype=torch.float64))  # degrees north and east
        self.register_buffer("values", torch.zeros(0, len(self._constant), dtype=torch.float64))
        self.register_buffer("standard", torch.zeros(2, len(self._constant), dtype=torch.float64))  # centre, scale
        self.register_buffer("origin", torch.zeros((), dtype=torch.int64))  # seconds since 1970
        self.register_buffer("seen", torch.zeros(0, dtype=torch.bool))  # in the first task
        self.register_buffer("mean_errors", torch.zeros(1, dtype=torch.float64))

    @property
    def configuration(self) -> str:
        """The names of the inputs."""
        return f"Locations({', '.join(self.names)})"

    @property
    def _constant(self) -> list[str]:
        return [name for name in self.names if name not in CHANGING]

    @property
    def known(self) -> bool:
        """Whether any locations are known."""
        return len(self.coordinates) > 0

    def set(
        self,
        coordinates: Tensor,
        statics: Mapping[str, Tensor],
        origin: np.datetime64,
        mean_errors: Tensor | None = None,
    ) -> None:
        """Set all locations, once. Their inputs are standardised over all of them.

        Args:
            coordinates: Latitude and longitude in degrees, `[S, 2]`.
            statics: Other inputs, such as `height`, `[S]` each.
            origin: The time, UTC, from which hours are counted.
            mean_errors: Variance of each variable at locations never seen that comes from not knowing their own mean,
                `[V]`; none if not given.

        Raises:
            ValueError: An input is missing.
        """
        values = self._stack(coordinates, statics)
        assign(self.coordinates, coordinates)
        assign(self.values, values)
        scale = (values - values.mean(0)).square().mean(0).sqrt()
        assign(self.standard, torch.stack([values.mean(0), scale.where(scale > 0, 1.0)]))
        assign(self.seen, torch.zeros(len(coordinates), dtype=torch.bool))
        if mean_errors is not None:
            assign(self.mean_errors, mean_errors)
        self.origin.fill_(int(origin.astype("datetime64[s]").astype(np.int64)))
        self._paths = []

    def add(self, coordinates: Tensor, statics: Mapping[str, Tensor]) -> Tensor:
        """Add locations, standardised like the known ones, and return their indices."""
        values = self._stack(coordinates, statics)
        indices = torch.arange(len(self.coordinates), len(self.coordinates) + len(coordinates))
        assign(self.coordinates, torch.cat([self.coordinates, coordinates.to(self.coordinates)]))
        assign(self.values, torch.cat([self.values, values.to(self.values)]))
        assign(self.seen, torch.cat([self.seen, torch.zeros_like(self.seen[:1]).expand(len(coordinates))]))
        return indices

    def keep_first(self, number: int) -> None:
        """Keep only the first locations."""
        for buffer in (self.coordinates, self.values, self.seen):
            assign(buffer, buffer[:number])

    def excess(self, locations: Tensor) -> Tensor:
        """The variance at locations never seen that comes from not knowing their own means, `[B, V]`."""
        return self.mean_errors * (~self.seen[locations])[:, None]

    def _stack(self, coordinates: Tensor, statics: Mapping[str, Tensor]) -> Tensor:
        given = {"latitude": coordinates[:, 0], "longitude": coordinates[:, 1], **statics}
        missing = [name for name in self._constant if name not in given]
        if missing:
            raise ValueError(
                f"static_inputs has {', '.join(missing)}, which the data do not have: height needs a file with the "
                "geopotential z of the surface, land one with the land-sea mask lsm. Add one, or leave it out; for "
                "predictions elsewhere give a table with columns latitude, longitude and these"
            )
        columns = [given[name].double() for name in self._constant]
        return torch.stack(columns, -1) if columns else coordinates.new_zeros(len(coordinates), 0).double()

    def column(self, name: str) -> Tensor:
        """A constant input of each location, as it was given, `[S]`."""
        return self.values[:, self._constant.index(name)]

    def positions(self, locations: Tensor) -> Tensor:
        """Points on the unit sphere, and constant inputs other than latitude and longitude, `[B, 3 + K]`."""
        latitude, longitude = self.coordinates[locations].deg2rad().unbind(-1)
        point = [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()]
        others = [i for i, name in enumerate(self._constant) if name not in WHERE]
        return torch.cat([torch.stack(point, -1), self._standardised(locations)[:, others]], -1)

    def inputs(self, times: Tensor, locations: Tensor) -> Tensor:
        """The inputs at times `[T]` and locations `[B]`, `[B, T, K]`."""
        constant = self._standardised(locations)[:, None].expand(-1, len(times), -1)
        return torch.cat([constant, self._sun(times, locations)], -1) if "sun" in self.names else constant

    def _standardised(self, locations: Tensor) -> Tensor:
        centre, scale = self.standard
        return (self.values[locations] - centre) / scale

    def _sun(self, times: Tensor, locations: Tensor) -> Tensor:
        """As `mean_cos_zenith`, `[B, T, 1]`, on the device."""
        declination, turn = self._sun_path(times)[:, :, None]  # [steps, 1, T]
        latitude, longitude = self.coordinates[locations].unbind(-1)
        latitude = latitude.deg2rad()[:, None]
        around = (2 * math.pi * (turn + longitude[:, None] / 360)).cos()
        cosine = latitude.sin() * declination.sin() + latitude.cos() * declination.cos() * around
        return cosine.clamp_min(0).mean(0)[..., None]

    def _sun_path(self, times: Tensor) -> Tensor:
        """The path of the sun, `[2, steps, T]`, computed once for tensors of times that are used again and again."""
        found = next((path for known, path in self._paths if known is times), None)
        if found is None:
            hours = (3600 * times.cpu().numpy()).round().astype("timedelta64[s]")
            found = torch.from_numpy(np.stack(sun_path(np.datetime64(int(self.origin), "s") + hours))).to(times)
            self._paths = [*self._paths[1 - MAX_PATHS :], (times, found)]
        return found

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._paths = []
        super()._load_from_state_dict(*args, **kwargs)


def located(stream: Any) -> tuple[Tensor, dict[str, Tensor], np.datetime64, Tensor]:  # noqa: ANN401
    """Coordinates, statics, origin and errors of means of the locations of a stream, for `Locations.set`.

    Args:
        stream: A stream of series with `coordinates`, `statics` and `mean_errors`.

    Raises:
        ValueError: The stream has no locations.
    """
    if not hasattr(stream, "statics"):
        raise ValueError(
            "location_features and static_inputs need data with locations, such as ERA5; or call "
            "vae.locations.set(...) before the first task"
        )
    latitude, longitude, origin = stream.coordinates
    coordinates = torch.from_numpy(np.stack([latitude, longitude], -1).astype(np.float64))
    statics = {name: torch.from_numpy(values) for name, values in stream.statics.items()}
    return coordinates, statics, origin, stream.mean_errors
