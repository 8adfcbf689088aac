"""What mkdocs does not do by itself: the README as the home page, and mathematics that needs no script to be read."""

import re
import shutil
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert  # type: ignore[import-not-found,import-untyped,unused-ignore]

README = Path(__file__).parent.parent.parent / "README.md"
#: What a page says where the README is to stand.
INCLUDE = '--8<-- "README.md"'
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


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the README in, with its links as they are seen from `docs`."""
    if INCLUDE not in markdown:
        return markdown
    return markdown.replace(INCLUDE, LINK.sub(_from_docs, README.read_text(encoding="utf-8")))


def on_page_content(html: str, **_: Any) -> str:
    """Turn TeX into MathML, which browsers draw by themselves."""
    return FORMULA.sub(_mathml, html)


def on_post_build(config: Any, **_: Any) -> None:  # noqa: ANN401
    """Put the font where style.css looks for it."""
    package = find_spec("ziamath")
    assert package is not None
    assert package.origin is not None
    shutil.copyfile(Path(package.origin).parent / "fonts" / FONT, Path(config["site_dir"]) / FONT)


def _from_docs(link: re.Match[str]) -> str:
    target = link["target"]
    if target.startswith("docs/"):
        return f"[{link['text']}]({target.removeprefix('docs/')})"
    return link[0] if "://" in target or target.startswith("#") else link["text"]  # no page of the site


def _mathml(formula: re.Match[str]) -> str:
    inline = formula["tag"] == "span"
    drawn = convert(unescape(formula["tex"]).strip(), display="inline" if inline else "block")
    for place in SPACES:
        drawn = place.sub(r'\1<mspace width="0.17em"/>', drawn)
    return drawn if inline else f'<div class="formula">{drawn}</div>'
