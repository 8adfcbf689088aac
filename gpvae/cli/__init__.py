"""The command line, the only package that imports models, data and callbacks together."""

from gpvae.cli.commands import main

__all__ = ["main"]
