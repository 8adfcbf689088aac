"""Writers of predictions: a csv table for points, netCDF for series."""

from callbacks.predictions.csv import PredictionTable
from callbacks.predictions.netcdf import NetCDFPredictions

__all__ = ["NetCDFPredictions", "PredictionTable"]
