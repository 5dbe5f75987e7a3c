"""Characters of printed pages: which the fonts draw, and what stands for the others.

Typst brings a font along and matplotlib another, which have the alphabets of Europe and some more. The fonts in the
folder ``fonts`` have most that the world writes with; they are loaded where a name needs them. What no font has stands
as its code point, so that two names stay two.
"""

from __future__ import annotations

import re
import unicodedata
import xml.etree.ElementTree as ET
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path

FURTHER = Path(str(resources.files("bdt_core.report").joinpath("fonts")))
_LINES = "\n\t"
_REFUSED = "\ufeff"  # fonts have it, and PDF/UA does not
_ABOVE_OR_WITHIN = ("Mn", "Mc", "Me", "Cf")
_TEXT = "{http://www.w3.org/2000/svg}text"
_STYLE = re.compile(r"([\w-]+): ([^;]+)")


def has_letters(text: str) -> bool:
    """Whether the font that matplotlib brings along draws all characters of a text, in bold, too."""
    return _usual().issuperset(text)


def can_be_drawn(text: str) -> bool:
    """Whether all fonts together draw all characters of a text."""
    return has_letters(text) or _known().issuperset(text)


def with_code_points(text: str) -> str:
    """A text in which code points stand for the characters that no font draws.

    Examples
    --------
    >>> with_code_points("北 \\U00013000\\U00013001")
    '北 [U+13000 U+13001]'
    """
    if can_be_drawn(text):
        return text
    whole = unicodedata.normalize("NFC", text)  # of letters in parts a font may have the whole
    runs = [(known, "".join(run)) for known, run in groupby(whole, _known().__contains__)]
    return "".join(run if known else f"[{' '.join(f'U+{ord(one):04X}' for one in run)}]" for known, run in runs)


def set_apart(svg: str) -> tuple[str, list[dict[str, str]]]:
    """A figure without the texts that typst sets right beside an SVG only, and these texts.

    Within an SVG it sets letter after letter: it joins none, puts none above another, and has one font for a text.

    Returns
    -------
    svg : str
        As it was, where it has no such texts.
    texts : list of dict of str to str
        ``text``, ``x``, ``y``, and what the text's style says.
    """
    if _is_plain(svg):
        return svg, []
    figure, apart = ET.fromstring(svg), []
    for element in figure.iter(_TEXT):
        if element.text and not _is_plain(element.text):
            style = dict(_STYLE.findall(element.attrib["style"]))
            apart.append({"text": element.text, "x": element.attrib["x"], "y": element.attrib["y"], **style})
            element.text = ""
    return ET.tostring(figure, encoding="unicode"), apart


def _is_plain(text: str) -> bool:
    return has_letters(text) and not any(unicodedata.category(one) in _ABOVE_OR_WITHIN for one in set(text))


@cache
def _usual() -> frozenset[str]:
    """Characters of the font that ordinary reports need, in both weights."""
    import matplotlib as mpl

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    regular, bold = (_characters(folder / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"))
    return (regular & bold).union(_LINES).difference(_REFUSED)


@cache
def _known() -> frozenset[str]:
    """Characters of all fonts."""
    return _usual().union(*map(_characters, FURTHER.glob("*.ttf"))).difference(_REFUSED)


def _characters(font: Path) -> frozenset[str]:
    from matplotlib.font_manager import get_font

    return frozenset(map(chr, get_font(str(font)).get_charmap()))
