"""The page in a real browser, where there is one: nothing is wider than the screen, and it can be printed."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests import chromium
from tests.report.reading import POLICY

#: Tells the page around it how wide page and window are, and what reaches beyond the window where no box scrolls.
MEASURE = """<script>addEventListener("load", () => {
  const page = document.documentElement;
  const beyond = [...document.querySelectorAll("body *")].filter(part =>
    !part.closest(".scroll, pre, svg") && part.getBoundingClientRect().right > page.clientWidth + 1);
  parent.postMessage(`page ${page.scrollWidth} window ${page.clientWidth} beyond ${beyond.map(p => p.tagName)}`, "*");
})</script></head>"""
#: No window of this browser is as narrow as a phone, but a frame can be.
FRAME = """<script>onmessage = message => { document.title = message.data }</script>
<iframe src="copy.html" width="%d" height="800" style="border: 0"></iframe>"""

pytestmark = [pytest.mark.slow, chromium.needed]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("opened", [False, True], ids=["closed", "opened"])
def test_nothing_is_wider_than_the_window(page_file: Path, tmp_path: Path, width: int, opened: bool) -> None:
    text = page_file.read_text(encoding="utf-8")
    assert POLICY in text
    text = text.replace(POLICY, "").replace("</head>", MEASURE)  # the policy would forbid to measure
    copy = tmp_path / "copy.html"
    copy.write_text(text.replace("<details>", "<details open>") if opened else text, encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME % width)
    shown = chromium.browse(frame.as_uri(), "--window-size=1400,900", "--virtual-time-budget=10000", "--dump-dom")
    assert f"<title>page {width} window {width} beyond </title>" in shown


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
def test_it_is_shown(page_file: Path, tmp_path: Path, width: int, scheme: int) -> None:
    copy = Path(shutil.copy(page_file, tmp_path / "copy.html"))
    picture = tmp_path / "shot.png"
    settings = f"--blink-settings=preferredColorScheme={scheme}"
    chromium.browse(copy.as_uri(), settings, f"--window-size={width},1000", f"--screenshot={picture}")
    pixels = np.asarray(Image.open(picture).convert("L"))
    assert pixels.shape == (1000, width)
    assert pixels.std() > 5
    assert (np.median(pixels) > 128) == bool(scheme)  # most of it is the page, which is light or dark


def test_it_can_be_printed(page_file: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(page_file, tmp_path / "copy.html"))
    chromium.browse(copy.as_uri(), f"--print-to-pdf={tmp_path / 'page.pdf'}")
    content = (tmp_path / "page.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(content) > 20_000
