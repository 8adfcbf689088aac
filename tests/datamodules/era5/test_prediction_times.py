"""Times to predict: a grid over the stream, a forecast past its end, or both."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from datamodules.era5.continuation import Continuation
from datamodules.era5.prediction_times import check_options, prediction_times
from tests.callbacks.figures.toy_series import toy_series

ORIGIN = np.datetime64("2024-03-01T00:00", "ns")


def hours(**options: object) -> list[float]:
    return prediction_times(10.0, 1.0, ORIGIN, **{"every": None, "until": None} | options).tolist()  # type: ignore[arg-type]


def test_a_forecast_begins_after_the_last_hour_learnt() -> None:
    assert hours(until=3) == hours(until=3.5) == hours(until="2024-03-01T14:00+01:00") == [11.0, 12.0, 13.0]


def test_a_grid_covers_the_stream_and_goes_on_if_asked_to() -> None:
    assert hours(every=4.0) == [0.0, 4.0, 8.0]
    assert hours(every=4.0, until=6) == [0.0, 4.0, 8.0, 12.0, 16.0]
    assert hours(every=1 / 3)[:4] == [0.0, 1200 / 3600, 2400 / 3600, 1.0]


def test_files_with_other_steps_are_forecast_at_theirs() -> None:
    times = prediction_times(9.0, 3.0, ORIGIN, every=None, until=12)
    assert times.tolist() == [12.0, 15.0, 18.0, 21.0]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="learnt up to 2024-03-01T10:00: give a later time"):
        hours(until="2024-03-01")
    with pytest.raises(ValueError, match="less than one time step of the files, 1 h, after the last time learnt"):
        hours(until=0.5)
    with pytest.raises(ValueError, match="give a date or an hour, such as 2020-01-01"):
        check_options(None, "next week")
    with pytest.raises(ValueError, match="predict_until is -3"):
        check_options(None, -3)
    with pytest.raises(ValueError, match="predict_every is 0"):
        check_options(0.0, None)


def test_a_stream_loads_all_series_at_the_hours_to_forecast() -> None:
    stream = toy_series(predict_until=48)
    stream.setup()
    batches = [batch for loader in stream.predict_dataloader() for batch in loader]
    assert torch.cat([batch.series for batch in batches]).tolist() == [0, 1, 2]
    assert all(batch.times.tolist() == list(range(60, 108)) and not batch.mask.any() for batch in batches)


def test_tasks_whose_data_are_not_here_are_not_predicted() -> None:
    whole, later = toy_series(3), toy_series(3)
    whole.setup()
    fields = whole.fields
    new = replace(fields, hours=fields.hours[60:], read=lambda begin, end: fields.read(60 + begin, 60 + end))
    later.go_on(Continuation(whole.description, num_learnt=2, fields=new))
    later.setup()
    (loader,) = later.predict_dataloader()
    assert [batch.times.tolist() for batch in loader] == [whole.test_loader(2, 0, 1).times.tolist()]


def test_hours_and_months_are_those_of_the_calendar() -> None:
    stream = toy_series()
    stream.setup()  # from 2020-02-27T06:00, in a leap year
    hour, month = stream.calendar(torch.tensor([0.0, 17.5, 18.0, 65.0, 66.0], dtype=torch.float64))
    assert hour.tolist() == [6, 23, 0, 23, 0]
    assert month.tolist() == [2, 2, 2, 2, 3]
