"""A figure as a part of a page: its text is the page's text, its colours are the page's, and little else is left of it.

What matplotlib writes is a file of its own, with a group around every line and six decimals. Here groups go, lengths
have two decimals, and colours become the page's variables, so that a dark page has dark figures.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html import escape

from bdt_core.report.sheet import CALM, CALM_TINT, FAINT, GREY, HARM, HARM_TINT, INK, SHADES

_COLOURS = {
    INK: "ink", GREY: "grey", FAINT: "faint", HARM: "f-harm", CALM: "f-calm", HARM_TINT: "harm-tint",
    CALM_TINT: "calm-tint", "#ffffff": "paper", "#f3f4f6": "soft", "#dfe3e8": "line", "#a9b3bd": "pale",
    "#f0eafa": "tag", "#8667c0": "tag-edge", "#4f2f8f": "tag-ink",
}  # fmt: skip
_USUAL = {
    ("text-anchor", "start"), ("stroke-dashoffset", "0"), ("fill", "var(--ink)"), ("stroke-width", "1"),
    ("stroke-linejoin", "round"), ("stroke-linejoin", "miter"), ("font-size", "8"), ("stroke-linecap", "butt"),
}  # fmt: skip
"""What the style sheet or SVG has where nothing is said; how corners of thin lines end is not seen."""
_NUMBER = re.compile(r"-?\d+\.\d+")
_HEX = re.compile("#[0-9a-f]{6}")
_REFERENCE = re.compile(r"url\(#([\w.-]+)\)")
_NOT_TURNED = re.compile(r"rotate\(-?0 [^)]*\)")
_BETWEEN = re.compile(r"(?<=[A-Za-z])\s+|\s+(?=[A-Za-z])")
_KEPT = ("d", "x", "y", "width", "height", "transform", "clip-path", "points", "patternUnits")


def inline_svg(svg: str, name: str, alt: str) -> str:
    """A figure as an element of an HTML page.

    Parameters
    ----------
    svg : str
        As `bdt_core.report.figures.figure_svg` draws it.
    name : str
        Unique in the page; what the figure refers to within itself begins with it.
    alt : str
        What is seen.
    """
    root = ET.fromstring(svg)
    referred = {
        target
        for one in root.iter()
        for key, x in one.attrib.items()
        for target in ([x[1:]] if key.endswith("href") else _REFERENCE.findall(x))
    }
    names = {target: f"{name}-{number}" for number, target in enumerate(sorted(referred), 1)}
    inner = "".join(part for one in root for part in _element(one, names))
    _, _, width, height = root.attrib["viewBox"].split()
    return f'<svg viewBox="0 0 {_short(width)} {_short(height)}" role="img" aria-label="{escape(alt)}">{inner}</svg>'


def _element(element: ET.Element, names: dict[str, str]) -> Iterator[str]:
    tag = element.tag.rpartition("}")[2]
    if tag in ("style", "metadata"):
        return
    attributes = dict(_attributes(element, tag, names))
    inner = "".join(part for each in element for part in _element(each, names))
    if tag == "text":
        inner = escape(element.text or "", quote=False)
    if tag in ("g", "defs") and not inner:
        return
    if tag == "g" and not attributes:
        yield inner
        return
    written = "".join(f' {key}="{escape(x)}"' for key, x in attributes.items())
    yield f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def _attributes(element: ET.Element, tag: str, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for full, x in element.attrib.items():
        key = full.rpartition("}")[2]
        if key == "id" and x in names:
            yield "id", names[x]
        elif key == "href":
            yield "href", f"#{names[x[1:]]}"
        elif key == "style":
            for part in x.split(";"):
                name, _, value = (side.strip() for side in part.partition(":"))
                value = _short(_HEX.sub(_colour, _renamed(value, names)).removesuffix("px"))
                if name not in ("", "font-family") and ((name, value) not in _USUAL or tag == "use"):
                    yield name, value
        elif key in ("fill", "stroke"):
            yield key, _HEX.sub(_colour, x)
        elif key in _KEPT:
            value = _short(_renamed(_NOT_TURNED.sub("", x), names))
            if key == "d":
                value = _BETWEEN.sub("", value).strip()
            if value:
                yield key, value


def _renamed(x: str, names: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda found: f"url(#{names[found[1]]})" if found[1] in names else found[0], x)


def _colour(match: re.Match[str]) -> str:
    known = _COLOURS.get(match[0])
    if known:
        return f"var(--{known})"
    light, dark, this = (int(colour[1:3], 16) for colour in (*SHADES, match[0]))
    share = round(100 * min(max((light - this) / (light - dark), 0.0), 1.0))
    return f"color-mix(in srgb,var(--shade-dark) {share}%,var(--shade-light))"


def _short(text: str) -> str:
    """Numbers with two decimals at most."""
    return _NUMBER.sub(lambda found: f"{round(float(found[0]), 2) + 0.0:g}", text)
