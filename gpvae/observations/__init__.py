"""Observations given by the user: batches, points that arrive one by one, and the function given these."""

from gpvae.observations.batch import Observations

__all__ = ["Observations"]
