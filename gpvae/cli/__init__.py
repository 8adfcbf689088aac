"""The command line. Of all packages only this one knows models, data and callbacks together."""

from gpvae.cli.commands import main

__all__ = ["main"]
