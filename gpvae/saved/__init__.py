"""Saved runs in Python: predictions in physical units, new data, scores and figures."""

from gpvae.saved.loading import load
from gpvae.saved.point_run import SavedPointRun
from gpvae.saved.run import SavedRun
from gpvae.saved.series_run import SavedSeriesRun

__all__ = ["SavedPointRun", "SavedRun", "SavedSeriesRun", "load"]
