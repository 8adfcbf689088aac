"""The command line: `gpvae fit -c configs/solar_ohsgpr.yaml`, also called `lightning` and `python -m gpvae`."""

import logging
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities.exceptions import SIGTERMException

from gpvae import __version__
from gpvae.cli.configs_command import ConfigsCommand
from gpvae.cli.errors import OWN_PACKAGES, user_message
from gpvae.cli.lightning_cli import StreamCLI
from gpvae.cli.report_command import ReportCommand
from gpvae.cli.subcommand import Subcommand
from gpvae.cli.summary_command import SummaryCommand
from gpvae.utils.checks import nearest
from gpvae.utils.distributed import leave_process_group

#: Sub-commands beside those of LightningCLI.
SUBCOMMANDS: dict[str, Subcommand] = {
    command.name: command for command in (SummaryCommand(), ReportCommand(), ConfigsCommand())
}
COMMANDS = (*StreamCLI.subcommands(), *SUBCOMMANDS)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command: one of `COMMANDS`, or that of another distribution with a `lightning` script."""
    args = list(sys.argv[1:] if argv is None else argv)
    _filter_messages()
    command = args[0] if args and not args[0].startswith("-") else None
    if command is not None and command not in COMMANDS:
        if other_main := _find_other_lightning():
            other_main()
            return
        sys.exit(
            f"error: there is no command {command!r}{nearest(command, COMMANDS)}; commands are {', '.join(COMMANDS)}"
        )
    try:
        if command in SUBCOMMANDS:
            SUBCOMMANDS[command].main(args[1:])
        elif args == ["--version"]:
            print(f"gpvae {__version__}")
        else:
            StreamCLI(argv)
            leave_process_group()  # not after an error, when other processes may be waiting in a collective operation
    except SIGTERMException:
        sys.exit(128 + signal.SIGTERM)  # by default it would exit with code 0
    except Exception as error:
        message = user_message(error)
        if os.environ.get("GPVAE_TRACEBACK") or message is None:
            raise
        sys.exit(f"error: {message}")


def _filter_messages() -> None:
    """Hide tips and deprecations of Lightning, and print our own warnings without the line of code."""
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    logger.addFilter(lambda record: "Tip" not in record.getMessage())
    for message in (".*LeafSpec.*is deprecated", "Couldn't infer the batch indices"):
        warnings.filterwarnings("ignore", message)
    default_format = warnings.formatwarning

    def format_warning(message: Warning | str, category: type[Warning], *args: Any) -> str:
        is_own = category.__module__.split(".")[0] in OWN_PACKAGES
        return f"warning: {message}\n" if is_own else default_format(message, category, *args)

    warnings.formatwarning = format_warning  # type: ignore[assignment]


def _find_other_lightning() -> Any | None:  # noqa: ANN401
    """Return the `lightning` script of another distribution if this program was called by that name."""
    if Path(sys.argv[0]).stem != "lightning":
        return None
    scripts = entry_points(group="console_scripts", name="lightning")
    other = next((script for script in scripts if script.dist is None or script.dist.name != "gpvae"), None)
    return None if other is None else other.load()
