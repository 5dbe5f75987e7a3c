"""The fonts of names in print: ``python -m tests.fonts FOLDER`` makes them anew.

In FOLDER lie, unpacked (``apt-get download``, ``dpkg -x``), the Debian packages fonts-noto-core and
fonts-droid-fallback, and the file noto-emoji-emoji-400-normal.woff of the npm package @fontsource/noto-emoji. Of each
font there stays what names are written with, so that all are together less than 5 MB: the scripts below, the Han
characters, kana and hangul of the national standards of China, Taiwan, Japan and Korea, and emoji.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

FONTS = Path(str(resources.files("bdt_core.report").joinpath("fonts")))
SCRIPTS = {
    "Adlam": ((0x1E900, 0x1E95F),),
    "Arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)),
    "Bengali": ((0x980, 0x9FF),),
    "Devanagari": ((0x900, 0x97F), (0xA8E0, 0xA8FF)),
    "Ethiopic": ((0x1200, 0x137F),),
    "Gujarati": ((0xA80, 0xAFF),),
    "Gurmukhi": ((0xA00, 0xA7F),),
    "Hebrew": ((0x590, 0x5FF), (0xFB1D, 0xFB4F)),
    "Kannada": ((0xC80, 0xCFF),),
    "Khmer": ((0x1780, 0x17FF),),
    "Lao": ((0xE80, 0xEFF),),
    "Malayalam": ((0xD00, 0xD7F),),
    "MeeteiMayek": ((0xAAE0, 0xAAFF), (0xABC0, 0xABFF)),
    "Myanmar": ((0x1000, 0x109F),),
    "OlChiki": ((0x1C50, 0x1C7F),),
    "Oriya": ((0xB00, 0xB7F),),
    "Sinhala": ((0xD80, 0xDFF),),
    "Tamil": ((0xB80, 0xBFF),),
    "Telugu": ((0xC00, 0xC7F),),
    "Thaana": ((0x780, 0x7BF),),
    "Thai": ((0xE00, 0xE7F),),
}
"""Blocks of Unicode, by the name that Noto has for the script."""
_WITHIN_ALL = {0x200C, 0x200D, 0x25CC}  # what joins letters, what keeps them apart, and the circle of a lone mark
_DANDAS = {0x964, 0x965}
_ROWS = {"gb2312": (0xB0, 0xF7), "big5": (0xA4, 0xF9), "euc_jp": (0xB0, 0xF4), "euc_kr": (0xB0, 0xFD)}
"""First bytes of the Han characters, and in Korea of hangul, in the encodings that the standards are known by."""
_OF_EAST_ASIA = ((0x3000, 0x30FF), (0x3131, 0x318E), (0xFF01, 0xFFEF))
_FIRST_HAN, _FIRST_EMOJI = 0x2E80, 0x2000  # below them stand letters that other fonts have


def of_east_asia() -> set[int]:
    """Characters of the national standards."""
    pairs = [
        (encoding, bytes((first, second)))
        for encoding, (least, most) in _ROWS.items()
        for first in range(least, most + 1)
        for second in range(0x40, 0xFF)
    ]
    texts = [pair.decode(encoding, "ignore") for encoding, pair in pairs]
    return {ord(text) for text in texts if len(text) == 1 and ord(text) >= _FIRST_HAN} | set(_in(_OF_EAST_ASIA))


def _in(blocks: tuple[tuple[int, int], ...]) -> Iterator[int]:
    return (one for first, last in blocks for one in range(first, last + 1))


def wanted(folder: Path) -> Iterator[tuple[str, Path, set[int]]]:
    """Of each font its name, the file that it is cut out of, and its characters."""
    from fontTools.ttLib import TTFont

    noto = folder / "usr/share/fonts/truetype/noto"
    for script, blocks in SCRIPTS.items():
        yield f"NotoSans{script}", noto / f"NotoSans{script}-Regular.ttf", {*_in(blocks), *_WITHIN_ALL, *_DANDAS}
    droid = folder / "usr/share/fonts-droid-fallback/truetype/DroidSansFallback.ttf"
    yield "DroidSansFallback", droid, of_east_asia()
    emoji = folder / "noto-emoji-emoji-400-normal.woff"
    yield "NotoEmoji", emoji, {one for one in TTFont(emoji).getBestCmap() if one >= _FIRST_EMOJI}


def write(folder: Path) -> None:
    """Write the fonts, without the hints for screens and without names of glyphs."""
    from fontTools import subset
    from fontTools.ttLib import TTFont

    for name, source, characters in wanted(folder):
        font = TTFont(source, recalcTimestamp=False)
        options = subset.Options(hinting=False, glyph_names=False, notdef_outline=True, recalc_timestamp=False)
        cut = subset.Subsetter(options)
        cut.populate(unicodes=characters)
        cut.subset(font)
        font.flavor = None
        font.save(FONTS / f"{name}.ttf")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
