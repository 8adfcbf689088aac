"""Runs examples and turns them into pages: `python docs/_tools/render.py counts weather`; all of them by default.

A cell that begins with `# %% [markdown]` is text; any other cell is code. On the page, a cell of code is followed by
what it prints and draws. `notebook.py` makes a notebook of the page.
"""

import argparse
import ast
import io
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from typing import Any

import matplotlib as mpl
from cells import EXAMPLES, PAGES, ROOT, cells, page
from matplotlib.figure import Figure

mpl.use("agg")
import matplotlib.pyplot as plt

#: Pixels per inch of pictures.
DPI = 80


def run(name: str) -> list[str]:
    """Run the cells of an example; return what is to follow each of them on the page, and save pictures next to it.

    Args:
        name: The name of the example.
    """
    plt.show = lambda *_, **__: None  # figures become pictures, not windows
    sys.path.insert(0, str(ROOT))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    outputs, num_pictures = [], 0
    for cell in cells(name):
        with redirect_stdout(io.StringIO()) as printed:
            figures = [] if cell.is_text else _execute(cell.source, namespace)
        lines = [line.rstrip() for line in printed.getvalue().strip("\n").splitlines()]
        parts = ["\n".join(["```text", *lines, "```"])] if lines else []
        for figure in figures:
            num_pictures += 1
            picture = f"{name}_{num_pictures}.png"
            figure.savefig(PAGES / picture, dpi=DPI)
            parts.append(f"![{figure.get_label() or 'Figure'}]({picture})")
        outputs.append("\n\n".join(parts))
    return outputs


def _execute(source: str, namespace: dict[str, Any]) -> list[Figure]:
    """Execute a cell; return its figures, of which the last may be its last expression, as in a notebook."""
    *body, last = ast.parse(source).body
    value = None
    if isinstance(last, ast.Expr):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), namespace)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    else:
        exec(compile(source, "<cell>", "exec"), namespace)
    figures = [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")
    return [*figures, value] if isinstance(value, Figure) else figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run examples and make pages of them.")
    parser.add_argument("names", nargs="*", metavar="NAME", default=EXAMPLES, help=f"some of {', '.join(EXAMPLES)}")
    names = parser.parse_args().names
    if len(names) > 1:  # each in a process of its own
        for chosen in names:
            subprocess.run([sys.executable, __file__, chosen], check=True)
    else:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            followed_by = run(names[0])
        (PAGES / f"{names[0]}.md").write_text(page(names[0], followed_by), encoding="utf-8")
