"""What is known of a stream of series once its data are read: variables, locations, scale and calendar."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.era5.description import Coordinates
from datamodules.era5.fields import Fields
from datamodules.era5.prepared import Prepared
from datamodules.era5.scaling import expected_means
from datamodules.era5.value_digests import Digest, from_plain, to_plain
from datamodules.era5.variables import Variable
from datamodules.stream import ChangedTask, TaskStream

DIGESTS = "digests of values"  # an entry of the identity


class SeriesData(TaskStream):
    """A stream that has read its series, or not yet.

    Args:
        num_tasks: The number of tasks; None if only the data tell.
        options: See `TaskStream`.
    """

    def __init__(self, num_tasks: int | None, **options: Any) -> None:
        super().__init__(num_tasks, **options)
        self._data: tuple[Fields, Prepared] | None = None
        self._learnt: list[Digest] = []

    def identity(self) -> dict[str, Any]:
        """Locations, variables, first hour, scale of the first task and digests of all values; empty until `setup`.

        Synthetic values have no digests: other processors compute other last bits.
        """
        if self._data is None:
            return {}
        fields, prepared = self._data
        mean, deviation = prepared.scaling.mean.mean(0), prepared.scaling.deviation
        values = {} if self.synthetic else {DIGESTS: to_plain(self._digests())}
        return {
            **values,
            "places": torch.from_numpy(np.stack([fields.latitude, fields.longitude])),
            "first hours": str(np.datetime_as_string(fields.origin, unit="m")),
            "variables": ", ".join(variable.short_name for variable in fields.variables),
            "values of the first task": torch.stack([mean / deviation, deviation.log()]),
        }

    def _digests(self) -> list[Digest]:
        """The digests of every task; of those whose data are not here, the ones that were learnt."""
        digests = self._prepared().digests
        known = self._learnt + digests[len(self._learnt) :]
        return [new if new.is_known else old for new, old in zip(digests, known, strict=False)]

    def changed_tasks(self, before: Mapping[str, Any], num_tasks: int) -> list[ChangedTask]:
        """The tasks whose values have changed since they were learnt, with variables and hours.

        The digests in the checkpoint are kept, as those of tasks whose data are not here.
        """
        if self._data is None or DIGESTS not in before or self.synthetic:
            return []
        fields, prepared = self._data
        self._learnt = from_plain(before[DIGESTS])[:num_tasks]
        names = [variable.short_name for variable in fields.variables]
        changed = []
        for number, (old, new) in enumerate(zip(self._learnt, prepared.digests, strict=False), start=1):
            if old.is_known and new.is_known and (detail := new.describe_changes(old, names, fields.origin)):
                changed.append(
                    ChangedTask(number, f"values of {'the first task' if number == 1 else f'task {number}'}", detail)
                )
        return changed

    @property
    def num_series(self) -> int:
        """S, the number of locations."""
        return len(self.fields.latitude)

    @property
    def num_variables(self) -> int:
        """V, the number of variables."""
        return len(self.variables)

    @property
    def variables(self) -> list[Variable]:
        """The variables, in the order of the last dimension of y."""
        return list(self.fields.variables)

    @property
    def units(self) -> list[str]:
        """The units of the variables, as in files and as `to_physical` gives them."""
        return [variable.units for variable in self.variables]

    @property
    def coordinates(self) -> Coordinates:
        """The locations of the series, and the time of hour 0."""
        return self.fields.coordinates

    @property
    def statics(self) -> Mapping[str, NDArray[np.float64]]:
        """What the files say of each location beside its values, such as its `height`, `[S]`."""
        return self.fields.statics

    @property
    def mean_errors(self) -> Tensor:
        """The variance of each variable at a location never seen that comes from not knowing its own mean `[V]`.

        It is on the scale of the model, and 0 for variables with a common mean.
        """
        fields, prepared = self._ready()
        scaling, held_out = prepared.scaling, fields.held_out
        known = torch.ones_like(scaling.mean, dtype=torch.bool)
        if held_out is not None:
            known[torch.from_numpy(held_out)] = False
        common = (scaling.mean * known).sum(0) / known.sum(0)
        _, errors = expected_means(torch.from_numpy(fields.positions), scaling.mean, known, common)
        own = torch.tensor([variable.per_location for variable in fields.variables])
        return torch.where(own, errors / scaling.deviation.square(), 0.0)

    @property
    def file_coordinates(self) -> Coordinates:
        """As `coordinates`, with latitudes and longitudes exactly as in the files, for output beside these."""
        return self.fields.exact_coordinates

    @property
    def synthetic(self) -> bool:
        """Whether the data are synthetic, which results should state."""
        return False

    def to_physical(self, values: Tensor, series: Tensor) -> Tensor:
        """Values in the units of files; monotone, so quantiles stay quantiles.

        Args:
            values: On the scale of the model `[..., B, T, V]`: means, samples or quantiles, not deviations.
            series: Which series these are `[B]`.
        """
        return self._prepared().scaling.to_physical(values, series)

    def calendar(self, times: Tensor) -> tuple[Tensor, Tensor]:
        """Hour of the day, 0 to 23, and month, 1 to 12, UTC, of hours since the start of the stream `[T]`.

        Args:
            times: The hours.
        """
        hours = self.fields.origin.astype("datetime64[s]") + (3600 * times.cpu().numpy()).round().astype(
            "timedelta64[s]"
        )
        months = hours.astype("datetime64[M]").astype(np.int64) % 12 + 1
        hour_of_day = hours.astype("datetime64[h]").astype(np.int64) % 24
        return torch.from_numpy(hour_of_day), torch.from_numpy(months)

    @property
    def fields(self) -> Fields:
        """The data of the stream, in the units of files."""
        return self._ready()[0]

    def _prepared(self) -> Prepared:
        return self._ready()[1]

    def _ready(self) -> tuple[Fields, Prepared]:
        if self._data is None:
            raise RuntimeError("The data are not read yet: call setup() first, or let the trainer call it.")
        return self._data
