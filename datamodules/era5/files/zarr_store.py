"""Zarr stores: folders, or anything that fsspec opens by a URL."""

import os
from contextlib import ExitStack
from pathlib import Path

import xarray as xr

from datamodules.era5.files.sizes import StoredArray, check_arrays, check_number
from gpvae.utils.extras import require

METADATA = ("zarr.json", ".zmetadata", ".zgroup")


def is_url(name: str | os.PathLike[str]) -> bool:
    """Whether this is a URL, such as `gs://bucket/era5.zarr`.

    Args:
        name: The name of a file, a pattern, or a URL.
    """
    return "://" in str(name)


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is a Zarr store.

    Args:
        path: The folder.
    """
    return any(os.path.isfile(os.path.join(path, name)) for name in METADATA)


def open_store(path: Path | str, name: str, stack: ExitStack) -> xr.Dataset:
    """Open a Zarr store and read its coordinates, but no values: of these, later, only the chunks that are needed.

    Args:
        path: The folder, or a URL.
        name: Its name in messages.
        stack: Closes the store.

    Raises:
        ValueError: zarr is missing, or the store cannot be opened.
    """
    require("zarr", "zarr", f"{name} is a Zarr store")
    if not is_url(path):
        with os.scandir(path) as entries:
            check_number(sum(entry.is_dir() for entry in entries), "variables", name)
    try:
        arrays, consolidated = _arrays(path)
    except Exception as error:  # anything that zarr, fsspec and the packages behind a URL raise
        raise _not_opened(name, error) from error
    check_arrays(arrays, name)
    try:
        # Metadata that are not in one piece are read one by one: xarray would warn, and do the same.
        data = xr.open_zarr(str(path), chunks=None, decode_timedelta=False, consolidated=consolidated)
        stack.callback(data.close)
        for variable in data.variables.values():
            if variable.ndim <= 1:
                variable.load()
    except Exception as error:  # anything that zarr, fsspec and the packages behind a URL raise
        raise _not_opened(name, error) from error
    return data


def _not_opened(name: str, error: Exception) -> ValueError:
    remedy = "Only Zarr stores are read by URL" if is_url(name) else "Copy it again"
    return ValueError(f"{name} cannot be opened as a Zarr store: {error}. {remedy}.")


def _arrays(path: Path | str) -> tuple[list[StoredArray], bool]:
    """The shapes and chunks of all variables, without reading any, and whether their metadata are in one piece."""
    import zarr

    group = zarr.open_group(str(path), mode="r")
    return [StoredArray(array.shape, array.chunks) for _, array in group.arrays()], (
        group.metadata.consolidated_metadata is not None
    )


def store_version(path: Path | str) -> str:
    """The name of a store and what changes when its values do: sizes and dates of its files, or those of its metadata.

    Args:
        path: The folder, or a URL.
    """
    if not is_url(path):
        files = [os.stat(os.path.join(folder, file)) for folder, _, names in os.walk(path) for file in names]
        return f"{path} {sum(file.st_size for file in files)} {max(file.st_mtime_ns for file in files)}"
    require("fsspec", "zarr", f"{path} is a URL")
    import fsspec

    try:
        filesystem, root = fsspec.core.url_to_fs(str(path))
        there = [f"{root}/{name}" for name in METADATA if filesystem.exists(f"{root}/{name}")]
        return " ".join([str(path), *(filesystem.ukey(file) for file in there)])
    except Exception as error:  # anything that the packages behind a URL raise
        raise _not_opened(str(path), error) from error
