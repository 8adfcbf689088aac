"""Downloads from the Copernicus Climate Data Store: one request for each calendar month, each saved as one file."""

from datamodules.era5.cds.downloads import count_preliminary, download, downloaded
from datamodules.era5.cds.latest import latest_end
from datamodules.era5.cds.monthly_requests import month_requests

__all__ = ["count_preliminary", "download", "downloaded", "latest_end", "month_requests"]
