"""Downloads from the Copernicus Climate Data Store: one request for each calendar month, each kept as one file."""

from datamodules.era5.cds.downloads import download, downloaded
from datamodules.era5.cds.requested import month_requests

__all__ = ["download", "downloaded", "month_requests"]
