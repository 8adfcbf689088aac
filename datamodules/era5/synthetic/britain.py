"""A coarse map of Britain and Ireland for the synthetic sample."""

import numpy as np
from numpy.typing import NDArray

LATITUDES = np.arange(59.0, 49.0, -1.0)
LONGITUDES = np.arange(-8.0, 4.0, 1.0)

# Rows from north to south, columns from west to east, one grid cell for every degree. A dot is sea; a digit is land,
# whose height is the digit times 50 m.
MAP = """
    .....1......
    .1.56.......
    .13875......
    ..1622......
    213243......
    223..361....
    212.4422.0..
    2..124221...
    ....2221112.
    ...1.....123
"""


def land_and_height() -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which cells are land, and their heights in metres `[10, 12]` each."""
    rows = [list(row) for row in MAP.split()]
    land = np.array([[cell != "." for cell in row] for row in rows])
    height = np.array([[50.0 * int(cell) if cell != "." else 0.0 for cell in row] for row in rows])
    return land, height
