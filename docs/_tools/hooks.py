"""Extends mkdocs: pages for files outside `docs`, notebooks of examples, and formulas that need no script."""

import re
import shutil
import sys
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from latex2mathml.converter import convert  # type: ignore[import-not-found,import-untyped,unused-ignore]
from mkdocs.structure.files import File  # type: ignore[import-not-found,import-untyped,unused-ignore]

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs does not
from cells import EXAMPLES
from notebook import notebook

ROOT = Path(__file__).parent.parent.parent
#: Files of the repository that are pages of the site.
PAGES = {"benchmarks/README.md": "benchmarks.md", "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md"}
#: Files whose links lead to a page that takes their place, or includes them by a line such as `--8<-- "CITATION.cff"`.
INCLUDED = {"README.md": "index.md", "CITATION.cff": "citing.md"}
INCLUDE = re.compile(r'^--8<-- "(?P<file>[^"]+)"$', flags=re.MULTILINE)
#: What follows the title of an example.
OFFER = '[Jupyter notebook]({name}.ipynb){{download="{name}.ipynb" .notebook}} · `python examples/{name}.py`\n'
#: A font that has mathematics, of the package ziamath: what the reader's system has may not.
FONT = "STIXTwoMath-Regular.ttf"
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
#: What the extension arithmatex makes of $...$ and $$...$$.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*\\[(\[](?P<tex>.*?)\\[)\]]\s*</(?P=tag)>', flags=re.DOTALL
)
#: The name of a function.
NAME = r"<mi>(?:log|exp|cos|sin|det)</mi>"
#: Where some space belongs: before such a name, unless after an operator, and after it, unless before a bracket.
SPACES = [
    re.compile(rf"(</(?:mi|mn|msub|mstyle)>)(?={NAME})"),
    re.compile(rf"({NAME})(?!<mo[^>]*>&#x00028;|</mrow>|<mspace)"),
]


def on_files(files: Any, config: Any, **_: Any) -> Any:  # noqa: ANN401
    """Add the pages out of files that are not in `docs`, and a notebook of each example."""
    for file, page in PAGES.items():
        files.append(File.generated(config, page, content=_read(file)))
    for name in EXAMPLES:
        files.append(File.generated(config, f"examples/{name}.ipynb", content=notebook(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    """Include files where a page asks for them, lead links to files outside `docs` to their pages, offer notebooks."""
    folder, name = dirname(page.file.src_uri), Path(page.file.src_uri).stem
    if folder == "examples" and name in EXAMPLES:
        title, newline, rest = markdown.partition("\n")
        markdown = f"{title}{newline}\n{OFFER.format(name=name)}\n{rest}"

    def to_page(link: re.Match[str]) -> str:
        path, hash_sign, anchor = link["target"].partition("#")
        target = {**PAGES, **INCLUDED}.get(normpath(join("docs", folder, path)))
        if target is None:
            return link[0]
        return f"[{link['text']}]({relpath(target, folder or '.')}{hash_sign}{anchor})"

    return LINK.sub(to_page, INCLUDE.sub(lambda found: _read(found["file"]).rstrip(), markdown))


def on_page_content(html: str, **_: Any) -> str:
    """Turn TeX into MathML, which browsers draw by themselves."""
    return FORMULA.sub(_mathml, html)


def on_post_build(config: Any, **_: Any) -> None:  # noqa: ANN401
    """Put the font where style.css looks for it."""
    package = find_spec("ziamath")
    assert package is not None
    assert package.origin is not None
    shutil.copyfile(Path(package.origin).parent / "fonts" / FONT, Path(config["site_dir"]) / FONT)


def _read(file: str) -> str:
    """A file of the repository, with its links as they are seen from `docs`."""

    def from_docs(link: re.Match[str]) -> str:
        if "://" in link["target"] or link["target"].startswith("#"):
            return link[0]
        path, hash_sign, anchor = link["target"].partition("#")
        target = normpath(join(dirname(file), path))
        page = {**PAGES, **INCLUDED}.get(target, target.removeprefix("docs/"))
        return f"[{link['text']}]({page}{hash_sign}{anchor})"

    return LINK.sub(from_docs, (ROOT / file).read_text(encoding="utf-8"))


def _mathml(formula: re.Match[str]) -> str:
    inline = formula["tag"] == "span"
    drawn = convert(unescape(formula["tex"]).strip(), display="inline" if inline else "block")
    for place in SPACES:
        drawn = place.sub(r'\1<mspace width="0.17em"/>', drawn)
    return drawn if inline else f'<div class="formula">{drawn}</div>'
