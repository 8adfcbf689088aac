"""Measurements in separate processes, so that they do not affect each other's memory."""

import json
import subprocess
import sys
from typing import Any


def in_a_process(module: str, *words: object) -> dict[str, Any]:
    """Run `python -m benchmarks.MODULE WORDS`; returns the JSON in the last line of its output."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])}: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])
