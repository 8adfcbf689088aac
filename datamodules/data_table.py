"""A table of your own as a stream of tasks, which may grow from run to run."""

import shlex
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import torch
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from datamodules.growing_stream import GrowingStream
from datamodules.splits import Task
from datamodules.table_files import check_columns, column_values, is_time, read_tables
from gpvae.utils.checks import choice

Duplicates = Literal["refuse", "drop", "keep"]


class DataTable(GrowingStream):
    """A table of your own, as CSV, Parquet or netCDF files, with one target and one or more inputs.

    Rows without a target are left out. Times, such as 2020-01-31 06:00 (UTC unless they have an offset), become hours.
    You may add rows, to the same files or in new ones, after the existing ones. Run the command again, and it learns
    the tasks that have become complete.

    Args:
        paths: Names of files or patterns such as `data/*.csv`, read in order of name; all have the same columns.
        x: Names of the input columns. Not given: the first of two columns.
        y: Name of the target column. Not given: the second of two columns.
        order_by: Name of the column that rows are sorted by before they are divided into tasks, such as their time. Not
            given: the input if there is only one, and the order of the rows in the files if there are several.
        duplicates: What to do with rows that are equal in all these columns: `refuse` them; `drop` all but the first,
            for files that overlap; or `keep` them, for repeated measurements.
        points_per_task: The number of rows in each task, including those held out for test.
        extent_per_task: The extent of each task in the column `order_by`, in hours if that is a time, instead of a
            number of rows. A task is whole once there is a row after it; one with fewer than two rows is joined to the
            next.
        options: See `GrowingStream`.
    """

    resumable = GrowingStream.resumable | {"paths", "duplicates"}

    def __init__(
        self,
        paths: list[str] | str,
        x: list[str] | str | None = None,
        y: str | None = None,
        *,
        order_by: str | None = None,
        duplicates: Duplicates = "refuse",
        points_per_task: int = 100,
        extent_per_task: float | None = None,
        **options: Any,
    ) -> None:
        choice("duplicates", duplicates, get_args(Duplicates))
        x = [x] if isinstance(x, str) else x
        if (x is None) != (y is None) or x == []:
            raise ValueError(f"x is {x} and y is {y!r}: give both, or neither for a table of two columns.")
        if x is not None and y in x:
            raise ValueError(f"{y!r} is both an input and the target: leave it out of x.")
        super().__init__(points_per_task, extent_per_task, **options)
        self.hparams.update(x=x)  # a run may be resumed with a name or a list of one
        self.paths, self.x, self.y, self.order_by, self.duplicates = paths, x, y, order_by, duplicates
        self.input_dim = 1 if x is None else len(x)
        self._times: list[bool] = []
        self._keys: Tensor | None = None

    @property
    def input_names(self) -> list[str]:
        """The names of the input columns."""
        return super().input_names if self.x is None else list(self.x)

    @property
    def target_name(self) -> str:
        """The name of the target column."""
        return self.y or super().target_name

    def read(self) -> tuple[Tensor, Tensor]:
        """The rows with a target: inputs `[N, D]` and targets `[N]`."""
        table = read_tables(self.paths)
        if self.x is None or self.y is None:
            if len(table.columns) != 2:
                x, y = table.columns[:2] if len(table.columns) > 2 else ("time", "level")
                raise ValueError(
                    f"The table has the columns {', '.join(table.columns)}: name the inputs as x and the target as y, "
                    f"such as --data.x {shlex.quote(x)} --data.y {shlex.quote(y)}. A run learns one target."
                )
            (first, self.y) = table.columns
            self.x = [first]
        order_by = self.order_by or (self.x[0] if len(self.x) == 1 else None)
        others = list(dict.fromkeys([*self.x, *([order_by] if order_by else [])]))
        check_columns(table, [*others, self.y])
        self._times = [is_time(table[name]) for name in self.x]
        values = {name: column_values(table[name], allow_times=True) for name in others}
        values[self.y] = column_values(table[self.y], allow_times=False)
        rows = self._checked(pd.DataFrame({name: values[name] for name in [*others, self.y]}), others)
        self._keys = torch.from_numpy(
            np.arange(len(rows), dtype=np.float64) if order_by is None else rows[order_by].to_numpy(copy=True)
        )
        return torch.from_numpy(rows[self.x].to_numpy(copy=True)), torch.from_numpy(rows[self.y].to_numpy(copy=True))

    def order(self, x: Tensor) -> Tensor:
        """The key that rows are sorted by `[N]`, see `order_by`."""
        assert self._keys is not None
        return self._keys

    def _checked(self, rows: pd.DataFrame, others: list[str]) -> pd.DataFrame:
        """The rows to learn from: with a target, without a fault, each once unless duplicates are kept."""
        assert self.y is not None
        missing = rows[self.y].isna()
        if missing.all():
            raise ValueError(f"No row has a value of {self.y!r}, the target.")
        if missing.any():
            rank_zero_info(f"{int(missing.sum()):,} of {len(rows):,} rows have no {self.y}, and are left out.")
        rows = rows[~missing]
        for name in [*others, self.y]:
            bad = ~np.isfinite(rows[name])
            if bad.any():
                row = int(bad.idxmax()) + 1
                raise ValueError(
                    f"Column {name!r} is missing or infinite in {int(bad.sum())} row(s) that have a target; the first "
                    f"is row {row}: fill in or remove them."
                )
        repeated = rows.duplicated()
        if repeated.any() and self.duplicates == "refuse":
            raise ValueError(
                f"{int(repeated.sum()):,} of {len(rows):,} rows occur more than once; the first is row "
                f"{int(repeated.idxmax()) + 1}. Set duplicates to drop if the files overlap, or to keep if these are "
                "repeated measurements."
            )
        if repeated.any() and self.duplicates == "drop":
            rank_zero_info(f"{int(repeated.sum()):,} of {len(rows):,} rows occur more than once, and count once.")
            rows = rows[~repeated]
        return rows

    def input_values(self, x: Tensor) -> list[list[Any]]:
        """Inputs as they are written to tables: times as text, to a millisecond.

        Args:
            x: Inputs in the units of the data `[N, D]`.
        """
        columns: list[list[Any]] = []
        for values, time in zip(x.T.double().cpu(), self._times, strict=True):
            if time:
                instants = np.datetime64(0, "ms") + (values * 3_600_000).round().long().numpy().astype(
                    "timedelta64[ms]"
                )
                columns.append(np.datetime_as_string(instants, unit="ms").tolist())
            else:
                columns.append(values.tolist())
        return [list(row) for row in zip(*columns, strict=True)]

    def describe(self) -> dict[str, Any]:
        """Also the names of the columns, and which inputs are times, in hours since 1970."""
        known = super().describe()
        return {**known, "inputs": self.input_names, "times": self._times, "target": self.y} if known else {}

    def go_on(self, task: Task, num_learnt: int, known: dict[str, Any]) -> None:
        """Go on with a new task, see `PointStream`."""
        super().go_on(task, num_learnt, known)
        self.x, self.y, self._times = known["inputs"], known["target"], known["times"]

    def identity(self) -> dict[str, Any]:
        """The columns, and a digest of the rows of each task; empty until `setup`."""
        points = super().identity()
        return {"columns": f"{', '.join(self.x or [])} and {self.y}", **points} if points else {}
