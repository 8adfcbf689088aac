"""Every public name has an entry in the reference."""

import re
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

import callbacks
import datamodules
import datamodules.era5
import gpvae
from gpvae import hippo, inducing, kernels, metrics, modules, posteriors, sites
from gpvae.inducing import ordering
from tests.docs.pages import ROOT

PUBLIC = [gpvae, inducing, hippo, modules, metrics, datamodules, datamodules.era5, callbacks]
#: Interfaces for other libraries, as far as these are installed.
PUBLIC += [import_module(f"gpvae.{name}") for name in ("sklearn", "river", "botorch") if find_spec(name)]
#: Modules documented as a whole.
WHOLE = [sites, posteriors, kernels, ordering, hippo.legendre]
#: Values and modules, which have no entry.
WITHOUT_ENTRY = {"gpvae.__version__", "gpvae.inducing", "gpvae.metrics.METRICS", "datamodules.era5.DEFAULT_VARIABLES"}
WITHOUT_ENTRY |= {"gpvae.metrics.LOWER", "gpvae.metrics.HIGHER"}
#: Second names of classes and functions.
ALIASES = {"datamodules.era5.ERA5", "gpvae.metrics.Aim", "gpvae.metrics.aim_of"}


@pytest.fixture(scope="module")
def listed() -> set[str]:
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    return set(re.findall(r"^::: (\S+)$", pages, flags=re.MULTILINE))


@pytest.mark.parametrize("package", PUBLIC, ids=lambda package: package.__name__)
def test_every_public_name_is_on_a_page(package: ModuleType, listed: set[str]) -> None:
    names = {f"{package.__name__}.{name}" for name in package.__all__}
    assert names - listed <= WITHOUT_ENTRY | ALIASES


@pytest.mark.parametrize("module", WHOLE, ids=lambda module: module.__name__)
def test_modules_are_on_a_page(module: ModuleType, listed: set[str]) -> None:
    assert module.__name__ in listed
