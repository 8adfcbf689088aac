"""Two processes that learn together: `python ddp_report.py FOLDER`; says who writes scores."""

import os
import sys
from pathlib import Path

from callbacks.report import TaskReport
from gpvae.metrics import TaskTable
from tests.callbacks.learner import learn


class Traced(TaskTable):
    def write(self, path: Path) -> None:
        print("written by process", os.environ.get("LOCAL_RANK", "0"), flush=True)
        super().write(path)


if __name__ == "__main__":
    report = TaskReport()
    report.table = Traced()
    learn(Path(sys.argv[1]), report, num_processes=2)
