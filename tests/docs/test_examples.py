"""The examples run, and their pages and notebooks are up to date."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import RENDERED, ROOT

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
#: Examples that need a library beyond those of gpvae, what they print, and a quick form: other values of constants.
INTERFACES = {
    "pipeline": ("sklearn", "online Gaussian process", {}),
    "river_loop": ("river", "Gaussian process", {"NUM_POINTS": "120"}),
    "bayesian_optimisation": ("botorch", "OnlineGP, 60 points", {"NUM_STEPS": "3"}),
}
#: Size of the largest figure on a page, and of the largest notebook.
MAX_BYTES, MAX_NOTEBOOK_BYTES = 150_000, 300_000
#: Types of cells and outputs, with the keys that format 4.5 of notebooks demands of them.
KEYS = {
    "markdown": {"id", "cell_type", "metadata", "source"},
    "code": {"id", "cell_type", "metadata", "source", "execution_count", "outputs"},
    "stream": {"output_type", "name", "text"},
    "display_data": {"output_type", "data", "metadata"},
}


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """The modules `cells` and `notebook`, which make pages and notebooks."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_tools"))
    import cells
    import notebook

    return cells, notebook


def run(name: str, folder: Path, **constants: str) -> str:
    """The output of an example, with other values of some of its constants."""
    source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    for constant, value in constants.items():
        source, replaced = re.subn(rf"^{constant} = .*$", f"{constant} = {value}", source, flags=re.MULTILINE)
        assert replaced == 1
    (folder / "example.py").write_text(source, encoding="utf-8")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"GPVAE_DATA_DIR": str(folder), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    environment = {**os.environ, **settings, "PATH": programs}
    command = [sys.executable, "example.py"]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_page_is_rendered_from_the_example(name: str, tools: tuple[ModuleType, ModuleType]) -> None:
    """`python docs/_tools/render.py` updates it."""
    cells, _ = tools
    page = (RENDERED / f"{name}.md").read_text(encoding="utf-8")
    assert page == cells.page(name, cells.outputs_on_page(name))
    pictures = re.findall(r"^!\[.+\]\((.+)\)$", page, flags=re.MULTILINE)
    assert pictures
    assert all((RENDERED / picture).stat().st_size < MAX_BYTES for picture in pictures)


@pytest.mark.parametrize("name", EXAMPLES)
def test_notebook_is_valid_and_has_the_outputs(name: str, tools: tuple[ModuleType, ModuleType]) -> None:
    """By format 4.5 of Jupyter."""
    _, notebook = tools
    text = notebook.notebook(name)
    made = json.loads(text)
    assert len(text) < MAX_NOTEBOOK_BYTES
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in made["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", number) for number in ids)
    outputs = [output for cell in made["cells"] for output in cell.get("outputs", [])]
    assert {output["output_type"] for output in outputs} == {"stream", "display_data"}
    for kind, part in [(cell["cell_type"], cell) for cell in made["cells"]] + [
        (output["output_type"], output) for output in outputs
    ]:
        assert part.keys() == KEYS[kind]
    compile("\n".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"), name, "exec")
    assert not any(".md" in cell["source"] for cell in made["cells"])


@pytest.mark.slow
def test_ten_tasks(tmp_path: Path) -> None:
    assert "OHSGPR" in run("stream", tmp_path, STEPS="10")


@pytest.mark.slow
def test_counts_lie_in_their_intervals(tmp_path: Path) -> None:
    rows = [line.split() for line in run("counts", tmp_path).splitlines()]
    coverage = {row[0]: [float(cell.strip("%")) for cell in row[-3:]] for row in rows if row[-1].endswith("%")}
    assert 90 < coverage["negative"][0] < 96
    assert min(coverage["negative"]) > 87
    assert coverage["Poisson"][0] < 75


@pytest.mark.slow
def test_weather(tmp_path: Path) -> None:
    shown = run("weather", tmp_path, **{"NUM_TASKS, EPOCHS": "2, 8"})
    assert "NLPD with replay" in shown
    assert "NLPD with no protection" in shown


@pytest.mark.slow
def test_a_daily_cycle_fills_the_outage_of_the_sensor(tmp_path: Path) -> None:
    shown = run("sensor", tmp_path)
    errors, inside = {}, {}
    for line in shown.splitlines():
        if "mean absolute error" in line:
            errors[line[:34].strip()], inside[line[:34].strip()], _ = numbers(line[34:])
    assert errors["the outage, with a daily cycle"] < 0.2 < errors["the outage, default kernel"]
    assert errors["the next day, with a daily cycle"] < 0.2
    assert inside["the outage, with a daily cycle"] > 75
    assert "4 tasks learnt" in shown


@pytest.mark.slow
def test_files_become_a_map(tmp_path: Path) -> None:
    shown = run("netcdf", tmp_path)
    assert "4 tasks learnt" in shown
    assert "4 variables at 120 locations" in shown
    (line,) = [line for line in shown.splitlines() if "skill_climatology " in line and "+" in line]
    assert numbers(line)[0] > 0.9


@pytest.mark.slow
def test_averages_reach_the_exact_process(tmp_path: Path) -> None:
    rows = {line.split()[0]: numbers(line) for line in run("inducing_family", tmp_path).splitlines()}
    assert rows["Averages"][-1] < 0.1 * rows["Averages"][1]


@pytest.mark.slow
def test_other_models_forget_less_with_replay(tmp_path: Path) -> None:
    rises = [numbers(line)[0] for line in run("other_models", tmp_path).splitlines() if "mean rise" in line]
    none, ewc, replay = rises
    assert replay < 0.1 < ewc < none


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERFACES)
def test_interfaces(name: str, tmp_path: Path) -> None:
    library, printed, constants = INTERFACES[name]
    pytest.importorskip(library, reason=f"needs the extra gpvae[{library}]")
    assert printed in run(name, tmp_path, **constants)
