"""One run of an experiment: its command, its folder, and how far it has come."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reproduce.experiment import Experiment
from gpvae.metrics.task_table import FILE_NAME
from gpvae.results.runs import read_runs
from gpvae.utils.atomic import replacing

#: Folders beside `runs/`: what the programs say, and what became of each run.
LOGS, RECORDS = "logs", "records"
#: Checkpoints of single tasks are worth gigabytes over all runs; to go on, the last one is enough.
ALWAYS = ("--checkpoint.keep_tasks=false",)
#: Pictures are of the first seed: after each task where there are few of them, else after the last.
PICTURES = {"toy": 1, "moons": 1}
#: About how long a run of the quick plan takes, at most.
QUICK_MINUTES = 0.3
NO_PICTURES = "--figures.enabled=false"


@dataclass(frozen=True)
class Run:
    """An experiment with a seed.

    Args:
        experiment: The experiment.
        seed: Seed of data and model.
        where: Folder of all runs.
        quick: Whether it is the short form of it.
        pictures: Whether it draws figures.
    """

    experiment: Experiment
    seed: int
    where: Path
    quick: bool = False
    pictures: bool = False

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.experiment.name}, seed {self.seed}"

    @property
    def minutes(self) -> float:
        """About how long it takes on one core."""
        return min(self.experiment.minutes, QUICK_MINUTES) if self.quick else self.experiment.minutes

    @property
    def folder(self) -> Path:
        """Where `gpvae fit` writes, relative to `where`."""
        return Path("runs") / self.experiment.name / f"seed_{self.seed}"

    @property
    def log(self) -> Path:
        """What the program says."""
        return self.where / LOGS / self.experiment.name / f"seed_{self.seed}.txt"

    @property
    def record(self) -> Path:
        """What became of it."""
        return self.where / RECORDS / self.experiment.name / f"seed_{self.seed}.json"

    @property
    def words(self) -> list[str]:
        """The command without the name of the program, and without going on."""
        options = {**self.experiment.options, **((self.experiment.quick or {}) if self.quick else {})}
        given = [
            f"--{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in options.items()
        ]
        common = [f"--name={self.experiment.name}", f"--seed_everything={self.seed}"]
        if not self.experiment.config:
            return [*common, *given]
        every = PICTURES.get(self.experiment.group, 100)
        drawn = f"--figures.every_n_tasks={every}" if self.pictures else NO_PICTURES
        return ["fit", "-c", str(self.experiment.file), *common, *given, *ALWAYS, drawn]

    @property
    def digest(self) -> str:
        """Tells its command from others."""
        return hashlib.sha256("\n".join(self._kept_words()).encode()).hexdigest()[:8]

    def finished(self) -> bool:
        """Whether this very run has ended well."""
        known = self.read()
        done = known.get("seconds") is not None and known.get("words") == self._kept_words()
        return done and (self.where / self.folder / FILE_NAME).is_file()

    def unfinished(self) -> str:
        """Why it does not count although its program ended well; empty if it does."""
        _, left_out = read_runs([self.where / self.folder])
        return left_out[0].reason if left_out else ""

    def to_go_on(self) -> list[str]:
        """The command: from the last checkpoint where this very run was begun and left one, else from the start."""
        begun = self.read().get("words") == self._kept_words()
        last = self.where / self.folder / "checkpoints" / "last.ckpt"
        goes_on = self.experiment.config and begun and last.is_file()
        return [*self.words, "--ckpt_path=last"] if goes_on else self.words

    def read(self) -> dict[str, Any]:
        """What is known of it; nothing if there is no record, or a damaged one."""
        try:
            known = json.loads(self.record.read_text())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def write(self, seconds: float | None = None, spent: float = 0.0) -> None:
        """Keep a record.

        Args:
            seconds: How long it took in all; None while it has not ended well.
            spent: Seconds so far, where it has not.
        """
        self.record.parent.mkdir(parents=True, exist_ok=True)
        known = {"words": self._kept_words(), "seconds": seconds, "spent": spent}
        with replacing(self.record) as unfinished:
            unfinished.write_text(json.dumps(known, indent=1) + "\n")

    def _kept_words(self) -> list[str]:
        """The words that make the run what it is: not where the checkout is, nor whether it is drawn."""
        words = [f"{self.experiment.config}.yaml" if word == str(self.experiment.file) else word for word in self.words]
        return [word for word in words if not word.startswith("--figures.")]
