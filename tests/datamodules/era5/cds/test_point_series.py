"""Few locations by the dataset of point series: the same stream as by region."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from datamodules.era5 import ERA5, cds
from datamodules.era5.cds.monthly_requests import POINT_DATASET, dataset_and_body, file_name, title
from tests.datamodules.era5.cds.runs import AREA, START, stream
from tests.datamodules.era5.cds.server import Store

pytestmark = pytest.mark.usefixtures("hurried")

WHERE = [[52.1, -0.9], [51.0, 0.0]]


def ready(**options: Any) -> ERA5:
    data = stream(**options)
    data.prepare_data()
    data.setup()
    return data


def test_the_same_stream_as_by_region(store: Store, tmp_path: Path) -> None:
    points = ready(locations=WHERE, point_series=True)
    assert [sorted(request) for request in store.posts] == [["data_format", "date", "location", "variable"]] * 4
    assert [request["date"] for request in store.posts[:2]] == [["2020-01-30/2020-01-31"], ["2020-02-01/2020-02-01"]]
    assert all(request["variable"] == ["2m_temperature", "total_precipitation"] for request in store.posts)
    region = ready(locations=WHERE)
    assert len(store.posts) == 6
    for task in range(3):
        assert all(torch.equal(a, b) for a, b in zip(points.task_data(task), region.task_data(task), strict=True))
    for here, there in zip(points.file_coordinates, region.file_coordinates, strict=True):
        np.testing.assert_array_equal(here, there)
    assert str(points.identity()) == str(region.identity())
    assert points.hparams == region.hparams  # a run may be resumed with either
    ready(locations=WHERE, point_series=True)
    assert len(store.posts) == 6  # the files are here


def test_requests_of_locations() -> None:
    requests = cds.month_requests(["t2m"], AREA, np.datetime64(START), 60, locations=WHERE)
    assert len({file_name(request) for request in requests}) == len(requests) == 4
    assert title(requests[0]) == "ERA5 of 2020-01-30 to 31 at 52.1 °N, -0.9 °E (2m_temperature)"
    dataset, body = dataset_and_body(requests[-1])
    assert dataset == POINT_DATASET
    assert body["location"] == {"latitude": 51.0, "longitude": 0.0}


@pytest.mark.parametrize("wrong", [{"locations": None}, {"variables": None}, {"land_only": True}, {"source": "sample"}])
def test_what_point_series_need(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="point_series needs source 'cds', `locations` and `variables`"):
        stream(**{"locations": WHERE, "point_series": True, **wrong})


def test_locations_outside_of_the_area_are_refused_before_it_is_downloaded(store: Store) -> None:
    for outside in ([40.4, -3.7], [51.5, 0.3], [51.5, 359.7 - 2]):
        with pytest.raises(ValueError, match=r"is outside of the area to download, which is \[53.0, -2.0, 51.0, 0.0\]"):
            stream(locations=[WHERE[0], outside]).prepare_data()
    assert not store.posts
    with pytest.raises(ValueError, match=r"\[52.1\] in `locations` is not a latitude and a longitude"):
        stream(locations=[[52.1]])
    cds.check_inside(AREA, [[53.2, 358.0], [50.9, -2.2], [52.0, 0.2], [52.0, 359.9]])
    cds.check_inside([10.0, 170.0, -10.0, 190.0], [[0.0, -175.0], [0.0, 175.0]])
