"""The pictures of first pages in README and docs: ``python -m tests.pictures`` takes them anew from the frozen reports.

Each holds a digest of the words that it shows, so that a test sees when the page says something else.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin

from bdt_core.report.first_page import first_section
from bdt_core.report.html import render_html
from bdt_core.report.markdown import Written
from bdt_core.report.printed import printed
from tests.core.report.browser import chromium

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PICTURES = {"report.png": "compas", "grants.png": "grants"}
"""Files, and the frozen report whose first page each shows."""
_SIZE = {"width": 1200, "height": 1500}
_KEY = "words"


def words_of(golden: str) -> str:
    """A digest of what the first page of a frozen report says."""
    told = "\n".join(Written().block(one) for one in first_section(printed(_document(golden))).blocks)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def words_in(picture: str) -> str | None:
    """The digest that a picture was taken with."""
    with Image.open(IMAGES / picture) as opened:
        found = opened.info.get(_KEY)
    return None if found is None else str(found)


def take(picture: str, golden: str) -> None:
    """Take a picture of the first page as a browser shows it."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        (Path(folder) / "report.html").write_text(render_html(_document(golden)), encoding="utf-8")
        page = browser.new_page(viewport=_SIZE)  # type: ignore[arg-type]
        page.goto(f"file://{folder}/report.html")
        page.screenshot(path=Path(folder) / "taken.png")
        note = PngImagePlugin.PngInfo()
        note.add_text(_KEY, words_of(golden))
        with Image.open(Path(folder) / "taken.png") as taken:
            taken.convert("P", palette=Image.Palette.ADAPTIVE).save(IMAGES / picture, pnginfo=note, optimize=True)


def _document(golden: str) -> dict:
    return json.loads((ROOT / "tests" / "goldens" / f"{golden}.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    for picture, golden in PICTURES.items():
        take(picture, golden)
