"""Limits of the axes of a series."""

import numpy as np
import pytest

from callbacks.figures.time_panels import value_limits


def test_limits_of_anything() -> None:
    assert value_limits(np.array([1.0, 2.0, np.nan])) == pytest.approx((0.85, 2.15))
    for values in ([], [np.nan], [0.0, 0.0], [5.0]):
        low, high = value_limits(np.array(values))
        assert low < high
