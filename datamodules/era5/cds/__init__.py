"""Downloads from the Copernicus Climate Data Store: one request for each calendar month, each saved as one file."""

from datamodules.era5.cds.downloads import download, downloaded
from datamodules.era5.cds.monthly_requests import month_requests

__all__ = ["download", "downloaded", "month_requests"]
