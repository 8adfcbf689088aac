"""New hours of a stream that goes on."""

import numpy as np
import xarray as xr

from datamodules.era5.continuation import Continuation, join_fields
from datamodules.era5.description import SeriesDescription
from datamodules.era5.fields import Fields, open_fields
from tests.datamodules.era5.streams import made
from tests.datamodules.era5.written import weather


def fields_of(data: xr.Dataset, known: SeriesDescription) -> Fields:
    with open_fields(data, None, None, None, like=known) as fields:
        return join_fields([fields])


def test_preliminary_hours_that_wait_stay_preliminary() -> None:
    data = weather(30)
    stream = made(source="files", paths=data, points=None, num_tasks=1, hours_per_task=20)
    versions = np.where(np.arange(30) < 25, 1, 5)
    new = fields_of(data.assign_coords(expver=("time", versions)), stream.description)
    assert new.preliminary(0, 30).sum() == 5
    waiting = Continuation(stream.description, 1, new).waiting()
    assert waiting is not None
    again = fields_of(waiting, stream.description)
    assert again.preliminary(0, 10).tolist() == [False] * 5 + [True] * 5
    np.testing.assert_array_equal(again.read(0, 10), new.read(20, 30))
    final = Continuation(stream.description, 1, fields_of(data, stream.description)).waiting()
    assert final is not None
    assert "expver" not in final.coords
