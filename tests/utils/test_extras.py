"""An interface whose library is not installed names the extra that brings it; none is imported unasked."""

import subprocess
import sys

CODE = """
import sys, gpvae
print(sorted({"river", "botorch", "gpvae.sklearn"} & sys.modules.keys()))
for name in ("sklearn", "river", "botorch"):
    sys.modules[name] = None
    try:
        __import__(f"gpvae.{name}")
    except ImportError as error:
        print(error)
"""


def test_the_extra_is_named() -> None:
    unasked, *errors = subprocess.check_output([sys.executable, "-c", CODE], text=True).splitlines()
    assert unasked == "[]"
    for name, error in zip(("sklearn", "river", "botorch"), errors, strict=True):
        assert error.startswith(f"gpvae.{name} is an interface for ")
        assert f"which needs {name}: pip install 'gpvae[{name}]'" in error
