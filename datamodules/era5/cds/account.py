"""The account at the Climate Data Store: its address and the user's key, which is never shown."""

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from cdsapi.api import get_url_key_verify

from datamodules.era5.cds.errors import DownloadFailed

ADDRESS = "https://cds.climate.copernicus.eu/api"
PROFILE = "https://cds.climate.copernicus.eu/profile"
MIN_PIECE = 8  # characters of the key, in a row, that are not shown either
HOW_TO = "See https://cds.climate.copernicus.eu/how-to-api, or use source: sample or files."


@dataclass(frozen=True)
class Account:
    """An account at the store.

    Args:
        url: The address of the API.
        key: The user's key.
        verify: Whether to verify the certificate of the server.
    """

    url: str
    key: str = field(repr=False)
    verify: bool

    @property
    def host(self) -> str:
        """The host name, for messages."""
        return self.without_key(urlsplit(self.url).hostname or self.url)

    def without_key(self, text: str) -> str:
        """A text with the key, and pieces of it, replaced by asterisks.

        Args:
            text: The text.
        """
        return mask(text, self.key)


def mask(text: str, key: str) -> str:
    """A text in which each stretch that a key also has is replaced by asterisks, in upper or lower case.

    Args:
        text: The text.
        key: The key; stretches shorter than `MIN_PIECE` are shown, unless they are all of it.
    """
    size = min(len(key), MIN_PIECE)
    pieces = {key[i : i + size].lower() for i in range(len(key) - size + 1)} if key else set()
    masked, lowered = "", "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    end = 0  # of the last piece
    for i, character in enumerate(text):
        if lowered[i : i + size] in pieces:
            masked += "***" if i >= end else ""
            end = i + size
        masked += character if i >= end else ""
    return masked


def find_account() -> Account:
    """The account that cdsapi finds in the environment or in the user's file.

    Raises:
        DownloadFailed: There is no key, or it cannot be valid.
    """
    file = os.environ.get("CDSAPI_RC", "~/.cdsapirc")
    try:
        url, key, verify = get_url_key_verify(None, None, None)
    except Exception:  # cdsapi raises nothing more specific
        url, key, verify = "", "", True
    url, key = url.strip().rstrip("/"), key.strip()
    if not url or not key:
        raise DownloadFailed(
            "There is no key for the Climate Data Store: CDSAPI_URL and CDSAPI_KEY are not set, and "
            f"{file} lacks a line for url or one for key. {HOW_TO}"
        )
    if ":" in key or url.endswith("/v2"):
        raise DownloadFailed(
            "The key for the Climate Data Store is of the old kind, with a colon or for an address that ends in v2, "
            f"which is no longer accepted: get the new address and key from {PROFILE}. {HOW_TO}"
        )
    if not _is_address(url):
        raise DownloadFailed(f"The address of the Climate Data Store is {mask(url, key)!r}: it should be {ADDRESS}.")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise DownloadFailed(
            f"The key for the Climate Data Store has characters that no key has: copy it again from {PROFILE}."
        )
    return Account(url, key, bool(verify))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets or a port that are none
        return False
