"""Watches a process: it may neither use the network nor write elsewhere than where its input is."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.mkdir", "os.remove", "os.rename", "shutil.rmtree")
#: Caches of Python and of libraries, and devices.
ALLOWED = ("/dev/", "/proc/", "__pycache__", ".cache/", "matplotlib", "fontlist")


class Guard:
    """Notes the first trespass of an input, by the audit events of Python; C libraries raise none.

    Attributes:
        trespass: What it was; empty if there was none.
    """

    def __init__(self) -> None:
        self.trespass, self._folders = "", ["/"]
        sys.addaudithook(self._note)

    def watch(self, folder: Path) -> None:
        """Begin with a new input.

        Args:
            folder: The folder of the input, and of its temporary files.
        """
        temporary = folder / "temporary"
        temporary.mkdir(exist_ok=True)
        tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
        self.trespass, self._folders = "", [str(folder), os.path.realpath(folder)]

    def _note(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(args[1], tuple):
            self.trespass = self.trespass or f"connects to {args[1]}"
        opened = event == "open" and isinstance(args[2], int) and args[2] & WRITING
        changed = event in CHANGES and args[-1] in (-1, None)  # other paths begin at a folder that is open
        if opened or changed:
            self._note_path(args[0])

    def _note_path(self, path: Any) -> None:  # noqa: ANN401
        if isinstance(path, int) or path is None:
            return
        full = os.path.abspath(os.fsdecode(path))
        if not full.startswith(tuple(self._folders)) and not any(part in full for part in ALLOWED):
            self.trespass = self.trespass or f"writes to {full}"
