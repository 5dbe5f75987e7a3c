"""Pairs of statements of which one report may make only one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

_NUMBER = r"[+\u2212-]?[\d,]+(?:\.\d+)?"
_DIRECTED = re.compile(
    rf"({_NUMBER}) (?:points )?(higher|lower)( \((?:worse|better)\))?(?: in .{{1,80}}?)? than everybody else(?:'s)? "
    rf"\[[^\]]*?CI[^\]]*? ({_NUMBER}) to ({_NUMBER})\]"
)
_END = r"([+\u2212][\d.,]+|0(?:\.0)?)"
_SIGNED = re.compile(rf"({_NUMBER})(?: points)? [\[(][^\[\])+\u2212]*\[?(?:[\d.]+ % CI )?{_END} to {_END}\]")
_SEEN = re.compile(rf"rows that it never saw it is ({_NUMBER})")


def plain(form: str) -> str:
    """The words of a form, without its markup, on one line."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", form, flags=re.DOTALL)
    text = unescape(re.sub(r"<[^>]+>", " ", text)) if "<html" in form else text
    text = text.replace("\\", "").replace("**", "").replace("\xa0", " ")
    return " ".join(text.split())


def number(told: str) -> float:
    """A printed number."""
    return float(told.replace("\u2212", "-").replace(",", ""))


def contradictions(form: str, document: dict[str, Any]) -> list[str]:
    """What a form of a report says twice and differently; empty when it says one thing."""
    text = plain(form)
    return [*_directions(text), *_values(text), *_main_test(text, document), *_never_together(text, document)]


def _directions(text: str) -> Iterator[str]:
    """'23.1 points lower (worse) [+20.3 to +26.0]', and '(worse)' of what may as well be better."""
    for found in _DIRECTED.finditer(text):
        size, way, judged, low, high = found.groups()
        value = number(size) if way == "higher" else -number(size)
        ends = number(low), number(high)
        if not ends[0] - 0.06 <= value <= ends[1] + 0.06:
            yield f"not in its own interval: {found.group()}"
        if judged and ends[0] < -0.05 and ends[1] > 0.05 and min(map(abs, ends)) > 0.2 * max(map(abs, ends)):
            yield f"called{judged} though its interval has both signs: {found.group()}"


def _values(text: str) -> Iterator[str]:
    for found in _SIGNED.finditer(text):
        value, low, high = map(number, found.groups())
        if not low - 0.06 <= value <= high + 0.06:
            yield f"not in its own interval: {found.group()}"


def _main_test(text: str, document: dict[str, Any]) -> Iterator[str]:
    """Cluster 0 differs, or it does not: the same in the headline, the table and the section on its columns."""
    compared = document["primary_test"]["comparison"]
    if compared is None or compared["p_value"] is None:
        return
    splits = document["primary_test"]["repeated_splits"]
    p = (splits["together"] if splits else compared)["p_value"]
    differs = p <= document["spec"]["significance"]["alpha"]
    row = re.search(r"\| \[?0\]? \|[^\n]*?(worse off|better off|no significant difference)", text)
    wrong = (
        (differs, "does not differ significantly from everybody else's"),
        (not differs, "differs significantly from everybody else's"),
        (differs, "No cluster is significantly worse off") if document["clusters"][0]["worse"] else (False, "-"),
    )
    yield from (f"p = {p:.3g}, yet: {told}" for when, told in wrong if when and told in text)
    if row and differs and row.group(1) == "no significant difference":
        yield f"p = {p:.3g}, yet cluster 0: {row.group(1)}"
    word = (document["clusters"][0]["stability"] or {}).get("word")
    said = document["summary"]["cluster"].split(". ")[0]
    if word == "do not interpret" and "unstable" not in said:
        yield f"unstable, and this does not say so: {said}"
    if compared["difference"]:
        sign = compared["difference"] > 0
        for told in _SEEN.finditer(text):
            if number(told.group(1)) and (number(told.group(1)) > 0) != sign:
                yield f"another sign than {compared['difference']:+.3f}: {told.group()}"


def _never_together(text: str, document: dict[str, Any]) -> Iterator[str]:
    groups, local = document["groups"], document["local_bias"]
    differ = groups and any(one["significant"] and one["low"] for facet in groups["facets"] for one in facet["ranges"])
    confirmed = local and any(one["held_out"]["confirmed"] for one in local["logan"]["clusters"])
    pairs = (
        (differ, "no sign of bias"),
        (confirmed, "no sign of local bias"),
        (confirmed, "In none of the"),
        (True, "counted as positive whichever way"),
        (document["bias_variable"]["better"] == "higher", "the whole interval is above it"),
        (True, '"everybody"'),
    )
    yield from (f"said beside what was found: {told}" for found, told in pairs if found and told in text)
