"""The command line of sub-commands that are no part of LightningCLI, such as `gpvae configs`."""

from abc import ABC, abstractmethod
from argparse import ArgumentError, ArgumentParser, Namespace
from collections.abc import Sequence
from typing import ClassVar


class Subcommand(ABC):
    """The sub-command `gpvae NAME`.

    Attributes:
        name: Name of the sub-command.
        description: What it does, for `--help`.
        epilog: The end of `--help`.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    epilog: ClassVar[str]

    @abstractmethod
    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments of the sub-command to its parser."""

    @abstractmethod
    def run(self, arguments: Namespace) -> None:
        """Run the sub-command; raise an ArgumentError if arguments exclude or require each other."""

    def main(self, argv: Sequence[str] | None = None) -> None:
        """Parse arguments and run. An OSError or ValueError becomes one line on stderr and exit code 1.

        Args:
            argv: Arguments after `gpvae NAME`; those of the process by default.
        """
        parser = ArgumentParser(prog=f"gpvae {self.name}", description=self.description, epilog=self.epilog)
        self.add_arguments(parser)
        arguments = parser.parse_args(argv)
        try:
            self.run(arguments)
        except ArgumentError as error:
            parser.error(str(error))
        except (OSError, ValueError) as error:
            parser.exit(1, f"{parser.prog}: {error}\n")
