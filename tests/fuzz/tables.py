"""Passes a table of scores to `gpvae summary`."""

import contextlib
import io
import traceback

from gpvae.cli import main
from tests.fuzz.outcomes import Outcome


def summarise(path: str) -> Outcome:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            main(["summary", path, "--tasks", "--variables"])
        except SystemExit as refusal:
            return Outcome("refused", str(refusal.code))
        except Exception:
            return Outcome("crash", traceback.format_exc(limit=-6))
    return Outcome("taken")
