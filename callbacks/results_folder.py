"""Where callbacks leave their files."""

from pathlib import Path

from lightning import Trainer


class LeavesFiles:
    """A callback that leaves files in the folder of a run.

    Attributes:
        folder: The folder; that of the trainer's logger if not given.
    """

    folder: Path | None = None

    def results_folder(self, trainer: Trainer) -> Path | None:
        """The folder of the run, or nothing where nothing is to be left behind; every process must ask.

        Args:
            trainer: The trainer, whose first process tells the others where its logger writes.
        """
        logged = trainer.log_dir
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return None
        return self.folder or Path(logged or trainer.default_root_dir)
