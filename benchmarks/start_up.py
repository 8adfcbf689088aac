"""CPU seconds until commands answer: the first step of the ERA5 run, `summary` and `--version`, beside `import torch`.

With `--other`, the folder of another checkout, both take turns, and the ratios of their medians are reported.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import console, parser, save, table

#: Runs a command of gpvae, and ends it where the first step would begin.
FIRST_STEP = """
import os
from lightning.pytorch.loops.optimization.automatic import _AutomaticOptimization
_AutomaticOptimization._optimizer_step = lambda *args, **kwargs: os._exit(0)
from gpvae.cli import main
main()
"""
SCORES = "after_task,task,metric,variable,value\n1,1,nlpd,,0.5\n2,1,nlpd,,0.75\n2,2,nlpd,,0.25\n"
FIT = ("fit", "-c", "era5_ohsvgp", "--trainer.enable_progress_bar", "false", "--trainer.logger", "false")
COMMANDS = {
    "import torch": ("-c", "import torch"),
    "--version": ("-m", "gpvae", "--version"),
    "summary": ("-m", "gpvae", "summary", "task_metrics.csv"),
    "fit, first step": ("-c", FIRST_STEP, *FIT),
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--other", type=Path, help="folder of another checkout")
    options.add_argument("--repeats", type=int, default=3)
    args = options.parse_args()
    checkouts = {"this": Path(__file__).parents[1], **({"other": args.other.resolve()} if args.other else {})}
    measured: dict[str, dict[str, list[float]]] = {name: {side: [] for side in checkouts} for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "task_metrics.csv").write_text(SCORES)
        for _ in range(1 if args.quick else args.repeats):
            for name, words in COMMANDS.items():
                for side, checkout in checkouts.items():
                    measured[name][side].append(cpu_seconds(words, checkout, Path(folder)))
    medians = {name: {side: statistics.median(v) for side, v in sides.items()} for name, sides in measured.items()}
    ratios = {name: sides["this"] / sides["other"] for name, sides in medians.items() if "other" in sides}
    rows = [
        [name, *(f"{v:.2f}" for v in sides.values()), *([f"{ratios[name]:.2f}"] if ratios else [])]
        for name, sides in medians.items()
    ]
    table("CPU seconds", ["command", *checkouts, *(["ratio"] if ratios else [])], rows)
    headline = {f"{name} / import torch": medians[name]["this"] / medians["import torch"]["this"] for name in COMMANDS}
    save("start_up", {"seconds": measured, "ratios": ratios}, args.output, headline)


def cpu_seconds(words: tuple[str, ...], checkout: Path, folder: Path) -> float:
    """CPU seconds of a Python command with the packages of a checkout."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode:
        console.print(done.stderr.decode()[-2000:])
        raise RuntimeError(f"{words[:2]} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
