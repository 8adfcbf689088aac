"""The page in a real browser, where there is one: nothing is wider than the screen, and it can be printed."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gpvae.report.page import write_report
from tests import chromium
from tests.report.made import config, write_picture, write_predictions, write_run
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


#: Uses the chart as a reader would, and writes the span that it shows after each step to the title.
USE = """<script>requestAnimationFrame = draw => setTimeout(draw, 1);  // without a screen, there are few frames
addEventListener("unhandledrejection", event => { document.title = event.reason; });
addEventListener("load", async () => {
  const canvas = document.querySelector("canvas"), spans = [];
  const send = (type, name, options) => canvas.dispatchEvent(new type(name, {cancelable: true, ...options}));
  const key = name => send(KeyboardEvent, "keydown", {key: name});
  const note = () => new Promise(done => setTimeout(() => {
    spans.push(canvas.ariaLabel.split(", from ")[1].replaceAll("2020-01-", ""));
    done();
  }, 20));
  canvas.setPointerCapture = () => {};
  await note();
  key("+"); await note();
  key("ArrowRight"); await note();
  send(PointerEvent, "pointerdown", {pointerId: 1, clientX: 400});
  send(PointerEvent, "pointermove", {pointerId: 1, clientX: 4000});
  send(PointerEvent, "pointerup", {pointerId: 1}); await note();
  send(WheelEvent, "wheel", {ctrlKey: true, deltaY: 1000}); await note();
  document.querySelector("[data-zoom='0.5']").click(); await note();
  document.querySelector("select").selectedIndex = 1;
  document.querySelector("select").onchange(); await note();
  document.querySelector("[data-zoom=Infinity]").click(); await note();
  const hidden = document.querySelector(".series + .pictures").hidden;
  document.title = [...spans, canvas.ariaLabel.split(",")[0], hidden].join("; ");
})</script></head>"""


def test_series_are_zoomed_by_keys_pointers_and_buttons(tmp_path: Path) -> None:
    for method in ("OVC", "OHSGPR"):
        folder = write_run(tmp_path / "runs" / method / "seed_0", 0, config(method))
        write_picture(folder)
        write_predictions(folder, 97, ("t2m", "u10"))
    path = tmp_path / "page.html"
    write_report([tmp_path / "runs"], path)
    text = path.read_text(encoding="utf-8")
    untouched = chromium.browse(path.as_uri(), "--virtual-time-budget=5000", "--dump-dom")  # under its own policy
    assert 'aria-label="t2m at 51.5° N, 0.25° W (K), from 2020-01-01 00:00 to 2020-01-05 00:00"' in untouched
    (policy,) = re.findall(r'content="(default-src[^"]*)"', text)
    path.write_text(text.replace(policy, "").replace("</head>", USE), encoding="utf-8")
    shown = chromium.browse(path.as_uri(), "--window-size=1280,900", "--virtual-time-budget=10000", "--dump-dom")
    (title,) = re.findall("<title>(.*)</title>", shown)
    assert "; " in title, title
    *spans, name, hidden = title.split("; ")
    assert spans == [
        "01 00:00 to 05 00:00",
        "02 00:00 to 04 00:00",
        "02 09:36 to 04 09:36",
        "01 00:00 to 03 00:00",
        "01 00:00 to 05 00:00",
        "02 00:00 to 04 00:00",
        "02 00:00 to 04 00:00",
        "01 00:00 to 05 00:00",
    ]
    assert (name, hidden) == ("u10 at 51.5° N", "true")
