"""Every block of code on every page runs or can be parsed."""

import importlib
import sys
from contextlib import chdir
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.docs import shell
from tests.docs.pages import LANGUAGES, PAGES, RENDERED, ROOT, Block, blocks, name

#: Pages on which something is trained or many commands are parsed.
SLOW = {
    "README.md",
    "docs/install.md",
    "docs/streams.md",
    "docs/howto/netcdf.md",
    "docs/howto/forgetting.md",
    "docs/howto/resume.md",
    "docs/howto/saved_run.md",
}
WITH_CODE = [page for page in PAGES if page.parent != RENDERED and any(blocks(page))]


def parameters() -> list[object]:
    marks = {page: [pytest.mark.slow] if name(page) in SLOW else [] for page in WITH_CODE}
    marks[ROOT / "README.md"].append(pytest.mark.ci)
    return [pytest.param(page, id=name(page), marks=marks[page]) for page in WITH_CODE]


# Lightning warns about loaders other than torch's, which does not matter on pages.
@pytest.mark.filterwarnings("ignore:Couldn't infer the batch indices")
@pytest.mark.parametrize("page", parameters())
def test_blocks_run_one_after_the_other(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page share a namespace and a folder."""
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    known = set(sys.modules)
    with torch.random.fork_rng():
        for block in blocks(page):
            if block.reason_not_to_run:
                continue
            if block.language == "python":
                run_python(block, module, tmp_path)
            elif block.language == "sh":
                run_shell(block, tmp_path)
    for imported in set(sys.modules) - known:  # modules written by blocks of the page
        if (getattr(sys.modules[imported], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[imported]


def run_python(block: Block, module: ModuleType, folder: Path) -> None:
    """Execute a block; tracebacks refer to lines of the page."""
    if block.file_name:
        (folder / block.file_name).write_text(block.text)
        importlib.invalidate_caches()
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
    with chdir(folder):
        exec(code, module.__dict__)


def run_shell(block: Block, folder: Path) -> None:
    """Run or parse the commands of a block."""
    for words in shell.commands(block):
        (shell.run if block.is_run else shell.check)(words, folder)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_have_a_language_and_reasons(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block}: name the language, one of {', '.join(LANGUAGES)}"
        if block.note.startswith("not run"):
            assert block.reason_not_to_run, f"{block}: give a reason, <!-- not run: needs two machines -->"
