"""Everything public has an entry in the reference."""

import re
from types import ModuleType

import pytest

import callbacks
import datamodules
import datamodules.era5
import gpvae
from gpvae import inducing, metrics, modules
from tests.docs.pages import ROOT

PUBLIC = [gpvae, inducing, modules, metrics, datamodules, datamodules.era5, callbacks]
#: Values and modules, not classes or functions.
LEFT_OUT = {"gpvae.__version__", "gpvae.inducing", "gpvae.metrics.METRICS", "datamodules.era5.DEFAULT_VARIABLES"}
#: The same under a shorter name.
TWICE = {"datamodules.era5.ERA5"}


@pytest.mark.parametrize("package", PUBLIC, ids=lambda package: package.__name__)
def test_every_public_name_is_on_a_page(package: ModuleType) -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    listed = set(re.findall(r"^::: (\S+)$", pages, flags=re.MULTILINE))
    names = {f"{package.__name__}.{name}" for name in package.__all__}
    assert names - listed <= LEFT_OUT | TWICE
