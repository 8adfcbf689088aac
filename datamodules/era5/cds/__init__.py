"""Downloads from the Copernicus Climate Data Store: one request for each calendar month, each saved as one file."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpvae.utils.extras import require

if TYPE_CHECKING:
    from datamodules.era5.cds.downloads import count_preliminary, download, downloaded
    from datamodules.era5.cds.latest import latest_end
    from datamodules.era5.cds.monthly_requests import check_inside, month_requests

__all__ = ["check_inside", "count_preliminary", "download", "downloaded", "latest_end", "month_requests"]

#: Modules of the names above, imported when first asked for: only downloads need the client of the store.
_MODULES = {
    "check_inside": "monthly_requests",
    "count_preliminary": "downloads",
    "download": "downloads",
    "downloaded": "downloads",
    "latest_end": "latest",
    "month_requests": "monthly_requests",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("cdsapi", "era5", "source: cds downloads from the Climate Data Store")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
