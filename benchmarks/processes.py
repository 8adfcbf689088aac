"""Cases that need a process each, so that the memory of one says nothing about that of another."""

import json
import subprocess
import sys
from typing import Any


def in_a_process(module: str, *words: object) -> dict[str, Any]:
    """What `python -m benchmarks.MODULE WORDS` prints as JSON in its last line."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])}: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])
