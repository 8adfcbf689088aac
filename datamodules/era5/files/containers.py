"""From names and patterns to netCDF files: unpacks zip archives, and rejects files of other formats."""

import glob
import lzma
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from datamodules.era5.files.classic_netcdf import expected_size

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

HDF, CLASSIC, ZIP = b"\x89HDF", b"CDF", b"PK\x03\x04"
OTHERS = {
    b"GRIB": "It is a GRIB file: request data_format netcdf, or convert it.",
    b"<": "It looks like a web page, perhaps an error message saved under this name: look into it.",
    b"{": "It looks like JSON, perhaps an error message saved under this name: look into it.",
    b"PK": "It is an empty or broken zip archive.",
    b"\x1f\x8b": "It is compressed by gzip: unpack it first.",
}


def expand_patterns(patterns: str | Iterable[str]) -> list[Path]:
    """The files that match names and patterns, each once, in order of name.

    Args:
        patterns: Names, or patterns such as `data/era5_2020-*.nc`; `~` is the home folder.

    Raises:
        FileNotFoundError: One of them matches nothing.
    """
    patterns = [patterns] if isinstance(patterns, str | os.PathLike) else list(patterns)
    found: dict[Path, None] = {}
    for pattern in patterns:
        expanded = os.path.expanduser(os.path.expandvars(pattern))
        matches = [expanded] if os.path.isfile(expanded) else glob.glob(expanded, recursive=True)
        files = sorted(match for match in matches if os.path.isfile(match))
        if not files:
            reason = "is a folder, not a file: add /*.nc" if os.path.isdir(expanded) else "matches no file"
            raise FileNotFoundError(f"{str(pattern)!r} {reason}. Relative names begin at {os.getcwd()}.")
        found.update((Path(file), None) for file in files)
    if not found:
        raise FileNotFoundError("No files are given: set `paths` to names or patterns such as 'data/era5_*.nc'.")
    return list(found)


def file_versions(files: Iterable[Path]) -> tuple[str, ...]:
    """Names, sizes and dates of files, which change when a file is replaced.

    Args:
        files: The files.
    """

    def version(path: Path) -> str:
        with path.open("rb") as file:  # without opening it, a network disk may report the replaced one
            status = os.fstat(file.fileno())
        return f"{path} {status.st_size} {status.st_mtime_ns}"

    return tuple(version(path) for path in files)


def unpack(path: Path, folder: Path, max_bytes: int = MAX_BYTES) -> list[tuple[str, Path]]:
    """The netCDF files in a zip archive, or the file itself, each with a name for messages.

    The Climate Data Store delivers several files as one zip archive, under any name; so the first bytes decide, not the
    name.

    Args:
        path: The file.
        folder: The folder for the members of an archive, under new names.
        max_bytes: The maximum size of an unpacked archive.

    Raises:
        ValueError: It is neither netCDF nor such an archive, or it is damaged.
    """
    start = _start(path)
    if not start.startswith(ZIP):
        _check_netcdf(path, start, str(path))
        return [(str(path), path)]
    try:
        return _unpack_zip(path, folder, max_bytes)
    except ZIP_ERRORS as error:
        raise ValueError(f"{path} is a zip archive that cannot be read: {error}. Download it again.") from error


def _unpack_zip(path: Path, folder: Path, max_bytes: int) -> list[tuple[str, Path]]:
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
        found = []
        for number, member in enumerate(members):
            name, target = f"{path} ({os.path.basename(member.filename)!r})", folder / f"{len(os.listdir(folder))}.nc"
            with archive.open(member) as source, target.open("wb") as sink:  # at most file_size bytes
                shutil.copyfileobj(source, sink)
            start = _start(target)
            if start.startswith((HDF, CLASSIC)):
                _check_netcdf(target, start, name)
                found.append((name, target))
            else:  # a licence, say
                target.rename(folder / f"{len(os.listdir(folder))}-{number}.other")
    if not found:
        raise ValueError(f"{path} is a zip archive without any netCDF file in it: is it the right one?")
    return found


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)


def _check_netcdf(path: Path, start: bytes, name: str) -> None:
    if start.startswith(CLASSIC) and len(start) > 3:
        size = path.stat().st_size
        try:
            expected = expected_size(path)
        except ValueError as error:
            raise ValueError(f"{name} cannot be read: {error}. Download it again.") from error
        if size < expected:
            raise ValueError(
                f"{name} is truncated: it has {size:,} bytes of {expected:,}. Download it again: the values at its end "
                "are lost."
            )
    elif not start.startswith(HDF):
        reasons = (reason for magic, reason in OTHERS.items() if start.startswith(magic))
        reason = next(reasons, f"It begins with {start!r}." if start else "It is empty.")
        raise ValueError(f"{name} is not a netCDF file. {reason}")
