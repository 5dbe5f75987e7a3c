"""A figure as a part of a page: its text is the page's text, its colours are the page's, and little else is left of it.

What matplotlib writes is a file of its own, with a group around every line, six decimals and a ground. Here these go,
what neighbours have in common is said once, paths go from point to point, lengths are rounded to a tenth of a point,
and colours become the page's variables, so that a dark page has dark figures.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

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
_INHERITED = (
    "fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "text-anchor", "font-size", "font-weight"
)  # fmt: skip
"""What an element has of the group that it stands in, where it does not say it."""
_NUMBER = re.compile(r"-?\d+\.\d+")
_STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_HREF = "{http://www.w3.org/1999/xlink}href"
_STRAIGHT = re.compile(r"(M[^A-Za-z]*[lhv][^A-Za-z]*)+")
_HEX = re.compile("#[0-9a-f]{6}")
_REFERENCE = re.compile(r"url\(#([\w.-]+)\)")
_NOT_TURNED = re.compile(r"rotate\(-?0 [^)]*\)")
_SMALL = 10.0
"""Lengths in points, of which a hundredth can be seen: lines, marks and letters."""
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
    styles = {f"#{one.attrib['id']}": one.attrib.get("style", "") for one in root.iter() if "id" in one.attrib}
    for mark in root.iter():
        if mark.tag.endswith("use"):  # what is drawn says by itself how it looks
            own = re.findall(r"(stroke|stroke-width):", styles.get(mark.attrib[_HREF], ""))
            kept = [x for x in mark.attrib.get("style", "").split(";") if x.partition(":")[0].strip() not in own]
            mark.set("style", ";".join(kept))
    referred = {
        target
        for one in root.iter()
        for key, x in one.attrib.items()
        for target in ([x[1:]] if key.endswith("href") else _REFERENCE.findall(x))
    }
    names = {target: f"{name}-{number}" for number, target in enumerate(sorted(referred), 1)}
    drawn = list(_elements(root, names))
    inner = _written(drawn[1:] if drawn[0].attributes.get("fill") == "var(--paper)" else drawn)  # the page has a ground
    _, _, width, height = root.attrib["viewBox"].split()
    return f'<svg viewBox="0 0 {_short(width)} {_short(height)}" role="img" aria-label="{escape(alt)}">{inner}</svg>'


@dataclass(frozen=True)
class _Drawn:
    """An element as it is written: its attributes, and what is in it."""

    tag: str
    attributes: dict[str, str]
    inner: str

    def __str__(self) -> str:
        written = "".join(f' {key}="{escape(x)}"' for key, x in self.attributes.items())
        return f"<{self.tag}{written}>{self.inner}</{self.tag}>" if self.inner else f"<{self.tag}{written}/>"

    @property
    def is_line(self) -> bool:
        """Whether it is a line, or several: nothing that could be filled."""
        if self.tag != "path" or "id" in self.attributes:
            return False
        return self.attributes.get("fill") == "none" or bool(_STRAIGHT.fullmatch(self.attributes["d"]))

    @property
    def look(self) -> dict[str, str]:
        """All that it says but where it goes."""
        return {key: x for key, x in self.attributes.items() if key != "d"}

    def has(self, key: str, x: str) -> bool:
        """Whether it looks no other where what it stands in says this of all; what is only referred to never does."""
        return self.attributes.get(key) == x or (self.tag == "defs" and "<pattern" not in self.inner)

    def without(self, key: str) -> _Drawn:
        """Itself in a group that says this."""
        return replace(self, attributes={name: x for name, x in self.attributes.items() if name != key})


def _written(drawn: Sequence[_Drawn]) -> str:
    """Elements one after the other; what several of them have in common is said once, by a group around them."""
    return "".join(map(str, _grouped(list(_joined(drawn)))))


def _joined(drawn: Sequence[_Drawn]) -> Iterator[_Drawn]:
    """Elements, neighbouring lines that look alike as one path."""
    for _, alike in groupby(enumerate(drawn), lambda pair: pair[1].look if pair[1].is_line else pair[0]):
        (_, first), *others = alike
        goes = "".join(one.attributes["d"] for _, one in others)
        yield replace(first, attributes=first.attributes | {"d": first.attributes["d"] + goes}) if goes else first


def _grouped(drawn: Sequence[_Drawn]) -> list[_Drawn]:
    saved, start, end, key = max(_runs(drawn), default=(0, 0, 0, ""))
    if saved <= 0:
        return list(drawn)
    within = _grouped([one.without(key) for one in drawn[start:end]])
    said = {key: drawn[start].attributes[key]}
    match within:
        case [_Drawn("g", attributes, inner)]:  # a group in a group, and nothing else
            group = _Drawn("g", said | attributes, inner)
        case _:
            group = _Drawn("g", said, "".join(map(str, within)))
    return [*_grouped(drawn[:start]), group, *_grouped(drawn[end:])]


def _runs(drawn: Sequence[_Drawn]) -> Iterator[tuple[int, int, int, str]]:
    """The bytes that a group would save, where it would begin and end, and what it would say."""
    for key in _INHERITED:
        start = 0
        while start < len(drawn):
            x, end = drawn[start].attributes.get(key), start + 1
            if x is not None:
                while end < len(drawn) and drawn[end].has(key, x):
                    end += 1
                times = sum(key in one.attributes for one in drawn[start:end])
                yield (times - 1) * len(f' {key}="{x}"') - len("<g></g>"), start, end, key
            start = end


def _elements(parents: Iterable[ET.Element], names: dict[str, str]) -> Iterator[_Drawn]:
    for element in parents:
        tag = element.tag.rpartition("}")[2]
        if tag in ("style", "metadata"):
            continue
        attributes = dict(_attributes(element, names))
        if _STRAIGHT.fullmatch(attributes.get("d", "")):
            attributes.pop("fill", None)  # a line has nothing to fill
        within = list(_elements(element, names))
        if tag == "g" and not attributes:
            yield from within
            continue
        if tag == "text":
            inner = escape(element.text or "", quote=False)
        else:  # what is referred to is drawn without the group that it stands in
            inner = "".join(map(str, within)) if tag == "defs" else _written(within)
        if inner or tag not in ("g", "defs"):
            yield _Drawn(tag, attributes, inner)


def _attributes(element: ET.Element, names: dict[str, str]) -> Iterator[tuple[str, str]]:
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
                if name not in ("", "font-family") and (name, value) not in _USUAL:
                    yield name, value
        elif key in ("fill", "stroke"):
            yield key, _HEX.sub(_colour, x)
        elif key in _KEPT:
            value = _path(x) if key == "d" else _short(_renamed(_NOT_TURNED.sub("", x), names))
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


def _path(d: str) -> str:
    """A path from point to point: its start, and from there how far right and down.

    Level and upright lines have one number. Points are rounded before they are subtracted, so that no error adds up; of
    small shapes, which are marks, a hundredth of a point is kept.
    """
    x = y = 0.0
    points = [[float(one) for one in numbers.split()] for _, numbers in _STEP.findall(d)]
    digits = 1 if any(abs(one) >= _SMALL for numbers in points for one in numbers) else 2
    written = ""
    for (letter, _), numbers in zip(_STEP.findall(d), points, strict=True):
        rounded = [round(one, digits) for one in numbers]
        by = [_plain(one - (y if place % 2 else x)) for place, one in enumerate(rounded)]
        if letter == "M":
            written += "M" + _row([_plain(one) for one in rounded])
        elif letter == "L" and "0" in by:
            written += f"h{by[0]}" if by[1] == "0" else f"v{by[1]}"
        else:
            written += letter.lower() + _row(by)
        x, y = rounded[-2:] or (x, y)
    return written


def _row(numbers: Sequence[str]) -> str:
    """Numbers one after the other; a minus divides them as well as a space."""
    return " ".join(numbers).replace(" -", "-")


def _plain(x: float) -> str:
    """A number with two decimals at most, without a nought before the point."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{round(x, 2) + 0.0:g}")


def _short(text: str) -> str:
    """Its numbers with one decimal, those below ten with two."""
    return _NUMBER.sub(lambda found: f"{round(x := float(found[0]), 2 if abs(x) < _SMALL else 1) + 0.0:g}", text)
