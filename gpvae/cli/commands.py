"""The command line: `gpvae fit -c configs/solar_ohsgpr.yaml`, also spelt `lightning` and `python -m gpvae`."""

import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities.exceptions import SIGTERMException

from gpvae import __version__
from gpvae.cli.configs_command import ConfigsCommand
from gpvae.cli.errors import OURS, spoken
from gpvae.cli.lightning_cli import StreamCLI
from gpvae.report import command as report
from gpvae.results import summary
from gpvae.utils.checks import nearest
from gpvae.utils.distributed import leave_process_group

#: Sub-commands beside those of LightningCLI, each called with the arguments after its name.
SUBCOMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "summary": summary.main,
    "report": report.main,
    ConfigsCommand.name: ConfigsCommand().main,
}
COMMANDS = (*StreamCLI.subcommands(), *SUBCOMMANDS)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command, ours or that of another distribution that also has a `lightning`."""
    words = list(sys.argv[1:] if argv is None else argv)
    _quieten()
    command = words[0] if words and not words[0].startswith("-") else None
    if command is not None and command not in COMMANDS:
        if other := _another_lightning():
            other()
            return
        sys.exit(
            f"error: there is no command {command!r}{nearest(command, COMMANDS)}; commands are {', '.join(COMMANDS)}"
        )
    try:
        if command in SUBCOMMANDS:
            SUBCOMMANDS[command](words[1:])
        elif words == ["--version"]:
            print(f"gpvae {__version__}")
        else:
            StreamCLI(argv)
            leave_process_group()  # not after an error: others may be waiting in the midst of an exchange
    except SIGTERMException:
        sys.exit(128 + signal.SIGTERM)  # else it would pass for success
    except Exception as error:
        said = spoken(error)
        if os.environ.get("GPVAE_TRACEBACK") or said is None:
            raise
        sys.exit(f"error: {said}")


def _quieten() -> None:
    """Say in plain words what concerns the user, and leave out what Lightning says of other products and old code."""
    speaker = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    speaker.addFilter(lambda record: "Tip" not in record.getMessage())
    for message in (".*LeafSpec.*is deprecated", "Couldn't infer the batch indices"):
        warnings.filterwarnings("ignore", message)
    others = warnings.formatwarning

    def plain(message: Warning | str, category: type[Warning], *where: Any) -> str:
        """Our own warnings speak to people, who need no line of code."""
        ours = category.__module__.split(".")[0] in OURS
        return f"warning: {message}\n" if ours else others(message, category, *where)

    warnings.formatwarning = plain  # type: ignore[assignment]


def _another_lightning() -> Any | None:  # noqa: ANN401
    """The `lightning` command of another distribution, if this was called by that name and there is one."""
    if Path(sys.argv[0]).stem != "lightning":
        return None
    others = [
        point
        for point in entry_points(group="console_scripts", name="lightning")
        if point.dist is None or point.dist.name != "gpvae"
    ]
    return others[0].load() if others else None
