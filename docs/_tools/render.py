"""Runs examples and turns them into pages: `python docs/_tools/render.py counts weather`; all of them by default.

A cell that begins with `# %% [markdown]` is text; any other cell is code. Figure and output come after the title.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "docs" / "examples"
#: Where figures are, relative to the pages; the example shares that of the README.
PICTURES = {"stream": "../stream.png"}
CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n", flags=re.MULTILINE)


def page(name: str, printed: str) -> str:
    """The page of an example.

    Args:
        name: The name of the example.
        printed: What it prints.
    """
    _, *parts = CELL.split((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    cells = [_text(text) if kind else f"```python\n{text.strip()}\n```" for kind, text in _pairs(parts)]
    title, *rest = cells
    picture = f"![What the example draws]({PICTURES.get(name, f'{name}.png')})"
    printed = printed.strip("\n")
    source = f"`python examples/{name}.py` runs the code below, draws this figure and prints:"
    return "\n\n".join([title, picture, source, f"```text\n{printed}\n```", *rest]) + "\n"


def _pairs(parts: list[str]) -> list[tuple[str, str]]:
    return list(zip(parts[::2], parts[1::2], strict=True))


def _text(cell: str) -> str:
    return re.sub(r"^# ?", "", cell.strip(), flags=re.MULTILINE)


def run(name: str, picture: Path) -> str:
    """Run an example, and return what it prints.

    Args:
        name: The name of the example.
        picture: Where it is to draw.
    """
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--figure", str(picture)]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    every = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
    parser = argparse.ArgumentParser(description="Run examples and make pages of them.")
    parser.add_argument("names", nargs="*", metavar="NAME", default=every, help=f"some of {', '.join(every)}")
    for chosen in parser.parse_args().names:
        said = run(chosen, (PAGES / PICTURES.get(chosen, f"{chosen}.png")).resolve())
        lines = [line.rstrip() for line in said.splitlines()]
        (PAGES / f"{chosen}.md").write_text(page(chosen, "\n".join(lines)), encoding="utf-8")
