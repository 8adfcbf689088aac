"""From names and patterns to files, Zarr stores and URLs; unpacks zip archives."""

import glob
import lzma
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from datamodules.era5.files.formats import first_bytes, is_readable
from datamodules.era5.files.tables import is_table
from datamodules.era5.files.zarr_store import is_store, is_url, store_version
from gpvae.utils.atomic import process_name, remove_leftovers

MAX_MEMBERS = 1000
MAX_BYTES = 64 * 2**30  # of an unpacked archive; a month of seventeen variables on the globe takes less

#: What zipfile raises for a damaged archive.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    UnicodeDecodeError,
    OverflowError,
    EOFError,
    OSError,
    RuntimeError,
)

ZIP = b"PK\x03\x04"


def expand_patterns(patterns: str | Iterable[str]) -> list[Path | str]:
    """The files and Zarr stores that match names and patterns, each once, in order of name; URLs as they are.

    Args:
        patterns: Names, patterns such as `data/era5_2020-*.nc`, or URLs of Zarr stores; `~` is the home folder.

    Raises:
        FileNotFoundError: One of them matches nothing.
    """
    patterns = [patterns] if isinstance(patterns, str | os.PathLike) else list(patterns)
    found: dict[Path | str, None] = {}
    for pattern in patterns:
        if not isinstance(pattern, str | os.PathLike):
            raise ValueError(
                f"`paths` has a {type(pattern).__name__}: give names of files, or one dataset of xarray, which its "
                "functions merge and concat make of several."
            )
        if is_url(pattern):
            found[str(pattern)] = None
            continue
        expanded = os.path.expanduser(os.path.expandvars(pattern))
        matches = [expanded] if os.path.isfile(expanded) else glob.glob(expanded, recursive=True)
        files = sorted(match for match in matches if os.path.isfile(match) or is_store(match))
        if not files:
            reason = "is a folder, not a file: add /*.nc" if os.path.isdir(expanded) else "matches no file"
            raise FileNotFoundError(f"{str(pattern)!r} {reason}. Relative names begin at {os.getcwd()}.")
        found.update((Path(file), None) for file in files)
    if not found:
        raise FileNotFoundError("No files are given: set `paths` to names or patterns such as 'data/era5_*.nc'.")
    return list(found)


def file_versions(files: Iterable[Path | str]) -> tuple[str, ...]:
    """Names, sizes and dates of files, which change when a file is replaced.

    Args:
        files: Files, Zarr stores and URLs.
    """

    def version(path: Path | str) -> str:
        if is_url(path) or Path(path).is_dir():
            return store_version(path)
        with Path(path).open("rb") as file:  # without opening it, a network disk may report the replaced one
            status = os.fstat(file.fileno())
        return f"{path} {status.st_size} {status.st_mtime_ns}"

    return tuple(version(path) for path in files)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for unpacked files, removed in the end; those that killed processes have left are removed now."""
    prefix = "gpvae-era5-"
    remove_leftovers(Path(tempfile.gettempdir()), prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, suffix=f"-{process_name()}") as folder:
        yield Path(folder)


def unpack(path: Path | str, folder: Path, max_bytes: int = MAX_BYTES) -> list[tuple[str, Path | str]]:
    """The files in a zip archive, or the file itself, each with a name for messages.

    The Climate Data Store delivers several files as one zip archive, under any name; so the first bytes decide, not the
    name.

    Args:
        path: The file.
        folder: The folder for the members of an archive, under new names.
        max_bytes: The maximum size of an unpacked archive.

    Raises:
        ValueError: It is an archive that is damaged, too large, or has no file that is read here.
    """
    if is_url(path) or Path(path).is_dir() or not first_bytes(Path(path)).startswith(ZIP):
        return [(str(path), path)]
    path = Path(path)
    try:
        return _unpack_zip(path, folder, max_bytes)
    except ZIP_ERRORS as error:
        raise ValueError(f"{path} is a zip archive that cannot be read: {error}. Download it again.") from error


def _unpack_zip(path: Path, folder: Path, max_bytes: int) -> list[tuple[str, Path | str]]:
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        size = sum(member.file_size for member in members)
        if len(members) > MAX_MEMBERS or size > max_bytes:
            raise ValueError(
                f"{path} is a zip archive of {len(members)} files and {size / 2**30:.1f} GiB unpacked, more than the "
                f"{MAX_MEMBERS} files and {max_bytes / 2**20:,.0f} MiB that are read: unpack it, and give the files."
            )
        if sum(member.compress_size for member in members) > path.stat().st_size:  # as in a zip bomb
            raise ValueError(f"{path} is a zip archive whose files overlap: it is damaged or malicious.")
        free = shutil.disk_usage(folder).free
        if size > free:
            raise ValueError(
                f"{path} needs {size / 2**30:.1f} GiB to be unpacked in {folder}, which has {free / 2**30:.1f} GiB "
                "left: set TMPDIR to a folder on a larger disk."
            )
        found: list[tuple[str, Path | str]] = []
        for member in members:
            name = os.path.basename(member.filename)
            target = folder / f"{len(os.listdir(folder))}{'.csv' if is_table(name) else '.other'}"
            with archive.open(member) as source, target.open("wb") as sink:  # at most file_size bytes
                shutil.copyfileobj(source, sink)
            if is_readable(first_bytes(target), name):  # not a licence, say
                found.append((f"{path} ({name!r})", target))
    if not found:
        raise ValueError(f"{path} is a zip archive without any netCDF file, GRIB or CSV: is it the right one?")
    return found
