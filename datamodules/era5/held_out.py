"""Locations that are held out of training."""

from dataclasses import replace

import numpy as np

from datamodules.era5.fields import Fields


def hold_out_locations(fields: Fields, number: int | None, seed: int) -> Fields:
    """Hold out some locations, drawn at random.

    Args:
        fields: The data of the stream.
        number: The number of locations; none if not given.
        seed: Seed of the draw.

    Raises:
        ValueError: There are not more locations than this.
    """
    if number is None:
        return fields
    total = len(fields.latitude)
    if number >= total:
        raise ValueError(f"test_locations is {number}, and there are {total} locations: hold out fewer.")
    held_out = np.zeros(total, dtype=bool)
    held_out[np.random.default_rng([seed, 1]).permutation(total)[:number]] = True
    return replace(fields, held_out=held_out)
