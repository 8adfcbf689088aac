"""Observations as a user gives them: batches, points that arrive one by one, and the function given these."""

from gpvae.observations.batch import Observations

__all__ = ["Observations"]
