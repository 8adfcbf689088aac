"""A saved run on series."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import xarray as xr
from lightning.pytorch.utilities import rank_zero_info
from matplotlib.figure import Figure

from callbacks.figures.predicted import predicted_series_figure
from callbacks.predictions.dataset import PredictionRequest, predict_dataset
from callbacks.predictions.summary import QUANTILES
from datamodules import TaskStream
from datamodules.era5 import SeriesDescription, SeriesStream
from datamodules.era5.continuation import Continuation
from gpvae.modules import SeriesModule
from gpvae.saved.new_hours import NewData, check_gap, new_fields, with_earlier
from gpvae.saved.new_locations import with_locations
from gpvae.saved.run import DPI, SavedRun, counted
from gpvae.saved.selection import find_times, find_variables
from gpvae.saved.updating import Accepted
from gpvae.utils.atomic import replacing
from gpvae.utils.netcdf_lock import LOCK, TURNS

#: The file of a run folder with hours that wait for more.
WAITING = "waiting.nc"
#: Variables and locations that a figure shows if they are not chosen.
MAX_VARIABLES, MAX_LOCATIONS = 4, 2


class SavedSeriesRun(SavedRun[SeriesModule]):
    """A run of `SVGPVAE` or `SeriesGP` on series of several variables; `gpvae.load` makes one.

    Attributes:
        description: Variables, locations, first hour and scale of the data.
    """

    def __init__(
        self,
        folder: Path,
        module: SeriesModule,
        checkpoint: Path,
        description: SeriesDescription,
        allow: Sequence[str] = (),
    ) -> None:
        super().__init__(folder, module, checkpoint, allow)
        self.description = description
        self._waiting = self._saved_waiting()

    @property
    def variables(self) -> list[str]:
        """Short names of the variables."""
        return [variable.short_name for variable in self.description.variables]

    @property
    def locations(self) -> pd.DataFrame:
        """Latitude and longitude of every location, exactly as in the files."""
        latitude, longitude, _ = self.description.file_coordinates
        return pd.DataFrame({"latitude": latitude, "longitude": longitude})

    @property
    def period(self) -> tuple[np.datetime64, np.datetime64]:
        """The first hour that was learnt, and the end of the last task, exclusive."""
        origin = self.description.coordinates.origin
        begins = self.description.task_begins
        return origin, origin + np.timedelta64(round(3600 * begins[min(self.num_tasks, len(begins) - 1)]), "s")

    def predict(
        self,
        times: Any = None,  # noqa: ANN401
        locations: Any = None,  # noqa: ANN401
        *,
        variables: Sequence[str] | str | None = None,
        quantiles: Sequence[float] = QUANTILES,
        samples: bool = False,
    ) -> xr.Dataset:
        """Predict in physical units: the values that `gpvae predict` writes to `predictions.nc`.

        Args:
            times: Anything that converts to times: an index of pandas, strings, a coordinate of xarray, one time. After
                the end of what was learnt this is a forecast. By default every hour that was learnt, or as often as
                the data are.
            locations: Indices of locations; pairs of latitude and longitude; a table of pandas with these columns; or a
                dataset or array of xarray with these coordinates. All by default. A field with `location_features`
                also predicts at other locations than it has learnt; static inputs such as `height` are columns too.
            variables: Short or long names; all by default.
            quantiles: Probabilities of the quantiles.
            samples: Whether to add the samples that everything else is estimated from. They are independent from time
                to time; their number is the module's option `num_samples`.

        Returns:
            For each variable, such as t2m: `t2m`, the mean, `t2m_std`, `t2m_quantiles` and perhaps `t2m_samples`; over
            `time`, `latitude` and `longitude` if the locations form a grid, else over `location` and `time`. Latitudes
            and longitudes are exactly those of the files, times those that were given.

        Raises:
            ValueError: A variable or location was not learnt, or times are not times.
        """
        levels = list(map(float, quantiles))
        if not all(0 < level < 1 for level in levels):
            raise ValueError(f"quantiles are {levels}: each must be between 0 and 1, such as 0.05")
        if self.num_tasks == 0:
            raise ValueError(f"the run in {self.folder} has not learnt a task yet, so there is nothing to predict from")
        given = self._all_times() if times is None else find_times(times, self.description.coordinates.origin)
        unique, position = np.unique(given, return_inverse=True)
        chosen = find_variables(variables, self.description.variables)
        with self._evaluating(), with_locations(self.module, self.description, locations) as (description, series):
            request = PredictionRequest(unique, series, chosen, levels, samples)
            predicted = predict_dataset(self.module, description, request)
        return predicted if len(given) == len(unique) and (given == unique).all() else predicted.isel(time=position)

    def update(self, data: NewData, *, accept: Accepted | None = None) -> Self:
        """Learn new hours, exactly as `gpvae fit --ckpt_path last` would with these data added to the earlier ones.

        Hours that were learnt are skipped. Hours that do not make a whole task wait for the next update; `num_waiting`
        says how many. Earlier tasks are scored again if their data are still where the run's config names them. The
        run folder stays as it is until `save`; on any error the run stays as it was.

        Args:
            data: A dataset of xarray, or names of files or patterns, with the variables and locations of the run.
            accept: `"changed"` continues although data of learnt tasks have changed since, except for the first task;
                what was learnt stays, and `config_history.yaml` records the change.

        Returns:
            The run itself.

        Raises:
            ValueError: Variables, locations or units do not fit, hours before these are missing, or data that were
                learnt have changed.
        """
        known, num_learnt = self.description, self.num_tasks
        new = new_fields([*([] if self._waiting is None else [self._waiting]), data], known)
        continuation = Continuation(known, num_learnt, new)

        def change_stream(stream: TaskStream) -> None:
            nonlocal continuation
            assert isinstance(stream, SeriesStream)
            continuation = Continuation(known, num_learnt, with_earlier(new, stream, known))
            check_gap(continuation)
            stream.go_on(continuation)

        if continuation.num_tasks > num_learnt:
            stream = self._learn(change_stream, accept)
            assert isinstance(stream, SeriesStream)
            self.description = stream.description
        self._waiting, self._waiting_is_saved = continuation.waiting(), False
        learnt = counted(self.num_tasks - num_learnt, "new task")
        rank_zero_info(
            f"{learnt} learnt, {self.num_tasks} in all; {counted(self.num_waiting, 'hour')} wait for more data."
        )
        return self

    @property
    def num_waiting(self) -> int:
        """The number of hours that were given to `update` and wait for more, as they do not make a whole task."""
        return 0 if self._waiting is None else self._waiting.sizes["time"]

    def _saved_waiting(self) -> xr.Dataset | None:
        """Hours that waited when the run was saved, and were not learnt since."""
        self._waiting_is_saved = True
        path = self.folder / WAITING
        if not path.is_file():
            return None
        with LOCK:
            waiting = xr.load_dataset(path, engine="netcdf4", lock=LOCK)
        waiting = waiting.sel(time=waiting["time"] >= self.period[1])
        return waiting if waiting.sizes["time"] else None

    def _unsaved(self) -> bool:
        return super()._unsaved() or not self._waiting_is_saved

    def _save_waiting(self) -> None:
        path = self.folder / WAITING
        if self._waiting is None:
            path.unlink(missing_ok=True)
        else:
            with replacing(path) as unfinished, TURNS:
                self._waiting.to_netcdf(unfinished, engine="netcdf4")
        self._waiting_is_saved = True

    def _all_times(self) -> np.ndarray:
        begin, end = self.period
        return np.arange(begin, end, np.timedelta64(round(3600 * self.description.step), "s"))

    def plot(
        self,
        times: Any = None,  # noqa: ANN401
        locations: Any = None,  # noqa: ANN401
        *,
        variables: Sequence[str] | str | None = None,
        observed: xr.Dataset | None = None,
        dpi: int = DPI,
    ) -> Figure:
        """Draw mean and 90 % interval of a few variables at a few locations, by default over the last task.

        Args:
            times: See `predict`.
            locations: See `predict`.
            variables: See `predict`.
            observed: Observations to draw as well.
            dpi: Pixels per inch.
        """
        if times is None:
            begin = self.description.task_begins[max(0, self.num_tasks - 1)]
            every = self._all_times()
            times = every[every >= self.period[0] + np.timedelta64(round(3600 * begin), "s")]
        if locations is None:
            locations = list(range(min(MAX_LOCATIONS, self.description.num_series)))
        chosen = self.variables[:MAX_VARIABLES] if variables is None else variables
        predicted = self.predict(times, locations, variables=chosen, quantiles=(0.05, 0.95)).sortby("time")
        return predicted_series_figure(predicted, observed, learnt_until=self.period[1], note=self._note, dpi=dpi)

    @property
    def _note(self) -> str:
        return ", synthetic data" if self.description.synthetic else ""

    def _describe_data(self) -> str:
        begin, end = (np.datetime_as_string(time, unit="m") for time in self.period)
        variables = counted(self.description.num_variables, "variable")
        return f"{variables} at {counted(self.description.num_series, 'location')}, {begin} to {end}{self._note}"
