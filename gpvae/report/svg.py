"""Figures as SVG within the page: text stays text, and what is ink takes the colour of the page's text."""

import io
import re

from matplotlib import rc_context
from matplotlib.figure import Figure

from gpvae.plotting.canvas import GREY, INK
from gpvae.report.html import Markup, escaped

#: What a file of its own needs, and a part of a page does not.
_NEEDLESS = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|\s*xmlns(?::\w+)?=\"[^\"]*\"", re.DOTALL)
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)pt" height="([\d.]+)pt"')
_ID, _USED = re.compile(r' id="([^"]*)"'), re.compile(r'(?:href="|url\()#([^")]*)')
_OWN_FONT = re.compile(r"font: ([\d.]+)px [^;\"]+")


def to_svg(figure: Figure, salt: str, description: str) -> Markup:
    """The figure as an `svg` element.

    Args:
        figure: The figure; any text in it is our own.
        salt: Something unique on the page, for the ids within the element.
        description: What a reader who does not see it is told; empty for an ornament.
    """
    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(file, format="svg", transparent=True)
    text = file.getvalue()
    text = _NEEDLESS.sub("", text[text.index("<svg") :])
    label = f'role="img" aria-label="{escaped(description)}"' if description else 'aria-hidden="true"'
    text = _SIZE.sub(rf'<svg {label} \1width="\2" height="\3"', text, count=1)
    text = _OWN_FONT.sub(r"font-size: \1px", text)
    used = set(_USED.findall(text))  # the rest of the ids would be the same in every figure
    text = _ID.sub(lambda found: found[0] if found[1] in used else "", text)
    for ink in (INK, GREY):
        text = text.replace(f"fill: {ink.lower()}", "fill: currentColor")
        text = text.replace(f"stroke: {ink.lower()}", "stroke: currentColor")
    return Markup(re.sub(r"\n\s*", "\n", text))
