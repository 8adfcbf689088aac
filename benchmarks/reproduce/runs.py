"""A run of an experiment: its command, its folder and its record."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reproduce.experiment import Experiment
from gpvae.metrics.task_table import FILE_NAME
from gpvae.results.runs import read_runs
from gpvae.utils.atomic import replacing

#: Folders beside `runs/`: output of the programs, and a record of each run.
LOGS, RECORDS = "logs", "records"
#: Checkpoints of all tasks would take gigabytes; the last one is enough to resume.
ALWAYS = ("--checkpoint.keep_tasks=false",)
#: Figures are drawn for the first seed: after every n-th task, by group, else after the last.
PICTURES = {"toy": 1, "moons": 1}
#: Approximate upper bound of a run in the quick plan.
QUICK_MINUTES = 0.3
NO_PICTURES = "--figures.enabled=false"


@dataclass(frozen=True)
class Run:
    """An experiment with a seed.

    Args:
        experiment: The experiment.
        seed: Seed of data and model.
        where: Folder of all runs.
        quick: Whether it is the short form of the experiment.
        pictures: Whether it draws figures.
    """

    experiment: Experiment
    seed: int
    where: Path
    quick: bool = False
    pictures: bool = False

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.experiment.name}, seed {self.seed}"

    @property
    def minutes(self) -> float:
        """Approximate time on one core."""
        return min(self.experiment.minutes, QUICK_MINUTES) if self.quick else self.experiment.minutes

    @property
    def folder(self) -> Path:
        """Where `gpvae fit` writes, relative to `where`."""
        return Path("runs") / self.experiment.name / f"seed_{self.seed}"

    @property
    def log(self) -> Path:
        """The log of its output."""
        return self.where / LOGS / self.experiment.name / f"seed_{self.seed}.txt"

    @property
    def record(self) -> Path:
        """The file of its record."""
        return self.where / RECORDS / self.experiment.name / f"seed_{self.seed}.json"

    @property
    def words(self) -> list[str]:
        """The arguments of its program, without resuming."""
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
        """A digest of its command."""
        return hashlib.sha256("\n".join(self._kept_words()).encode()).hexdigest()[:8]

    def finished(self) -> bool:
        """Whether a run with this command has succeeded."""
        known = self.read()
        done = known.get("seconds") is not None and known.get("words") == self._kept_words()
        return done and (self.where / self.folder / FILE_NAME).is_file()

    def unfinished(self) -> str:
        """Why it is incomplete although its program succeeded; empty if it is complete."""
        _, left_out = read_runs([self.where / self.folder])
        return left_out[0].reason if left_out else ""

    def next_words(self) -> list[str]:
        """The arguments of its program, resuming from the last checkpoint of a run with this command, if any."""
        begun = self.read().get("words") == self._kept_words()
        last = self.where / self.folder / "checkpoints" / "last.ckpt"
        resumes = self.experiment.config and begun and last.is_file()
        return [*self.words, "--ckpt_path=last"] if resumes else self.words

    def read(self) -> dict[str, Any]:
        """Its record; empty if there is none or it is damaged."""
        try:
            known = json.loads(self.record.read_text())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def write(self, seconds: float | None = None, spent: float = 0.0) -> None:
        """Write its record.

        Args:
            seconds: Total seconds; None until it has succeeded.
            spent: Seconds so far, until it has succeeded.
        """
        self.record.parent.mkdir(parents=True, exist_ok=True)
        known = {"words": self._kept_words(), "seconds": seconds, "spent": spent}
        with replacing(self.record) as unfinished:
            unfinished.write_text(json.dumps(known, indent=1) + "\n")

    def _kept_words(self) -> list[str]:
        """The arguments that determine the results: without the path of the checkout and options of figures."""
        words = [f"{self.experiment.config}.yaml" if word == str(self.experiment.file) else word for word in self.words]
        return [word for word in words if not word.startswith("--figures.")]
