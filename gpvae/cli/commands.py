"""The command line: `gpvae fit -c configs/solar_ohsgpr.yaml`, also called `lightning` and `python -m gpvae`.

A command imports what it needs when it runs: `--version`, `--help` and `configs` answer without torch.
"""

import gc
import logging
import os
import signal
import sys
import threading
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from gpvae import __version__
from gpvae.cli.errors import OWN_PACKAGES, user_message
from gpvae.utils import own_packages
from gpvae.utils.extras import require
from gpvae.utils.spelling import nearest

#: Commands of LightningCLI, and what they do.
LIGHTNING_COMMANDS = {
    "fit": "learn the tasks of a stream, one after the other; resume a run, or go on with new data",
    "validate": "score the held-out data of the tasks that a run has learnt",
    "test": "score the held-out data of all tasks of the stream",
    "predict": "write predictions with intervals to a file",
}
#: Commands beside them: what they do, and the classes that run them.
SUBCOMMANDS = {
    "summary": ("means and intervals of scores over runs", "gpvae.cli.summary_command:SummaryCommand"),
    "report": ("write an HTML page about runs", "gpvae.cli.report_command:ReportCommand"),
    "configs": ("list or copy the configs that come with the package", "gpvae.cli.configs_command:ConfigsCommand"),
}
COMMANDS = (*LIGHTNING_COMMANDS, *SUBCOMMANDS)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command: one of `COMMANDS`, or that of another distribution with a `lightning` script."""
    args = list(sys.argv[1:] if argv is None else argv)
    command = args[0] if args and not args[0].startswith("-") else None
    if command is not None and command not in COMMANDS:
        if other_main := _find_other_lightning():
            other_main()
            return
        sys.exit(
            f"error: there is no command {command!r}{nearest(command, COMMANDS)}; commands are {', '.join(COMMANDS)}"
        )
    if not args or args[0] in ("-h", "--help", "--version"):
        _overview().parse_args(args[:1])
    _filter_messages()
    try:
        own_packages.claim()
        if command in SUBCOMMANDS:
            resolve_name(SUBCOMMANDS[command][1])().main(args[1:])
        else:
            _run_lightning(argv)
    except Exception as error:
        message = user_message(error)
        if os.environ.get("GPVAE_TRACEBACK") or message is None:
            raise
        sys.exit(f"error: {message}")


def _overview() -> ArgumentParser:
    """Return the parser that shows all commands; `gpvae COMMAND --help` shows the options of each."""
    parser = ArgumentParser(
        prog="gpvae",
        description="Learn a stream of tasks without forgetting.",
        epilog="`gpvae COMMAND --help` shows the options of a command. `gpvae fit -c NAME` runs one of the configs "
        "that `gpvae configs` lists, or your own file. `--allow PACKAGE` lets configs name classes of another "
        "package; repeat it for several.",
    )
    parser.add_argument("--version", action="version", version=f"gpvae {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, dest="command")
    for name, text in (LIGHTNING_COMMANDS | {name: text for name, (text, _) in SUBCOMMANDS.items()}).items():
        commands.add_parser(name, help=text)
    return parser


def _run_lightning(argv: Sequence[str] | None) -> None:
    require("lightning", "train", "this command trains and evaluates models", ImportError)
    with _importing():
        from lightning.pytorch.utilities.exceptions import SIGTERMException

        from gpvae.cli.lightning_cli import StreamCLI
        from gpvae.utils.distributed import leave_process_group

    try:
        StreamCLI(argv)
    except SIGTERMException:
        sys.exit(128 + signal.SIGTERM)  # by default it would exit with code 0
    leave_process_group()  # not after an error, when other processes may be waiting in a collective operation


@contextmanager
def _importing() -> Iterator[None]:
    """Pause the garbage collector: imports create a million objects, and no garbage.

    It does not look through these objects later either, if they are new.
    """
    is_first, was_enabled = "gpvae.cli.lightning_cli" not in sys.modules, gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_first:
            gc.freeze()
        if was_enabled:
            gc.enable()


def _filter_messages() -> None:
    """Hide tips and deprecations of Lightning, and print our own warnings without the line of code."""
    threading.excepthook = _explain_thread
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    logger.addFilter(lambda record: "Tip" not in record.getMessage())
    for message in (".*LeafSpec.*is deprecated", "Couldn't infer the batch indices"):
        warnings.filterwarnings("ignore", message)
    default_format = warnings.formatwarning

    def format_warning(message: Warning | str, category: type[Warning], *args: Any) -> str:
        is_own = category.__module__.split(".")[0] in OWN_PACKAGES
        return f"warning: {message}\n" if is_own else default_format(message, category, *args)

    warnings.formatwarning = format_warning  # type: ignore[assignment]


def _explain_thread(failure: threading.ExceptHookArgs) -> None:
    """Show an exception of a thread, except for those of TensorBoard's writer, which also raises them in the run."""
    if type(failure.thread).__name__ != "_AsyncWriterThread":
        threading.__excepthook__(failure)


def _find_other_lightning() -> Any | None:  # noqa: ANN401
    """Return the `lightning` script of another distribution if this program was called by that name."""
    if Path(sys.argv[0]).stem != "lightning":
        return None
    scripts = entry_points(group="console_scripts", name="lightning")
    other = next((script for script in scripts if script.dist is None or script.dist.name != "gpvae"), None)
    return None if other is None else other.load()
