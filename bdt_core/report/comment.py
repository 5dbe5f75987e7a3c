"""The gate's result as the body of a comment on a pull request, and as the summary of a CI step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.report.blocks import Bullets, Cell, Facts, Paragraph, Table
from bdt_core.report.catalogue import say_in
from bdt_core.report.first_page import short_parts
from bdt_core.report.gate_result import GateResult, shortened
from bdt_core.report.markdown import MarkdownWriter, escaped
from bdt_core.report.printed import printed
from bdt_core.report.prose import section
from bdt_core.verdict.baseline import CHANGE_WORDS

if TYPE_CHECKING:
    from bdt_core.report.document import Printed

_LONGEST_CELL = 200
_MOST_SENTENCES = 10
_SEVEREST_FIRST = ("stops", "warns", "accepted", "holds")
_WHAT_FOLLOWS = {
    "holds": "lets pass",
    "stops": "stops what comes after the gate",
    "accepted": "lets pass: not significantly worse than the baseline",
    "warns": "lets pass with a warning",
}
_CODES = {
    0: "The gate is open.",
    1: "The gate is shut.",
    3: "The gate cannot tell: nothing stops, but nothing is proven either.",
}


def comment_marker(name: str) -> str:
    """The hidden line by which a bot finds the comment of an audit again.

    Examples
    --------
    >>> comment_marker("loans")
    '<!-- bdt-gate:loans -->'
    """
    return f"<!-- bdt-gate:{name} -->"


def render_comment(document: dict[str, Any], result: GateResult) -> str:
    """Draw the gate's result as Markdown.

    Parameters
    ----------
    document : dict
        The report, as data.
    result : dict
        From :func:`bdt_core.report.gate_result.build_gate_result`, of the same report.

    Returns
    -------
    str
        A hidden marker, verdict, table of limits (severest first, ten at most), who fares worse, what has
        changed against the baseline, and warnings. Names from the data are escaped and shortened, so that the whole
        fits into a comment.
    """
    safe = printed(document)
    say = say_in(safe)
    word = say(words.VERDICT_WORDS[result["verdict"]])
    baseline = result["baseline"]
    parts = [
        comment_marker(result["name"]),
        f"## {word}: {say('bias gate')} {escaped(result['name'])}",
        f"**{escaped(shortened(say(result['sentence'])))}**",
        f"{say(_CODES[result['exit_code']])} {say('Exit code')} {result['exit_code']}."
        + (f" {say('Against the baseline')}: {escaped(shortened(say(baseline['sentence'])))}" if baseline else ""),
        _limits(safe, result, say),
        _who_is_worse_off(safe),
        _changes(result, say),
        *(f"> **{say('Warning')}:** {escaped(shortened(say(one)))}" for one in result["warnings"]),
    ]
    return "\n\n".join(one for one in parts if one) + "\n"


def _who_is_worse_off(document: Printed) -> str:
    """That part of the first page, in the report's language."""
    _, who, _ = short_parts(document)
    short = [
        replace(one, pairs=tuple((shortened(name, _LONGEST_CELL), shortened(told)) for name, told in one.pairs))
        if isinstance(one, Facts)
        else one
        for one in who.blocks
    ]
    return MarkdownWriter(say_in(document)).part(replace(who, blocks=tuple(short)), "###")


def _limits(document: Printed, result: GateResult, say: Callable[[str], str]) -> str:
    """The report's own table of limits, with what follows from them, and their sentences."""
    gate = section("gate", document)
    drawn = gate.blocks if gate else ()
    tables = [one for one in drawn if isinstance(one, Table)]
    if not tables:
        return "\n\n".join(MarkdownWriter(say).block(one) for one in drawn if isinstance(one, Paragraph))
    order = sorted(range(len(result["limits"])), key=lambda i: _SEVEREST_FIRST.index(result["limits"][i]["outcome"]))
    limits = [result["limits"][i] for i in order]
    follows = [Cell(say(_WHAT_FOLLOWS[one["outcome"]])) for one in limits]
    rows = [(*map(_short_cell, tables[0].rows[i][:-1]), what) for i, what in zip(order, follows, strict=True)]
    texts = dict.fromkeys(shortened(say(one["sentence"])) for one in limits[:_MOST_SENTENCES])
    sentences = tuple(one for one in texts if one != shortened(say(result["sentence"])))
    writer = MarkdownWriter(say)
    parts = (writer.block(replace(tables[0], rows=tuple(rows))), writer.block(Bullets(sentences)))
    return "\n\n".join(one for one in parts if one)


def _changes(result: GateResult, say: Callable[[str], str]) -> str:
    if result["baseline"] is None:
        return ""
    changes = [one["change"] for one in result["limits"]]
    changes.sort(key=lambda one: tuple(CHANGE_WORDS).index(one["change"]))
    sentences = tuple(shortened(say(one["sentence"])) for one in changes[:_MOST_SENTENCES])
    listed = MarkdownWriter(say).block(Bullets(sentences or (say("No limit is set."),)))
    return f"### {say('Against the baseline')}\n\n{listed}"


def _short_cell(cell: Cell) -> Cell:
    return replace(cell, text=shortened(cell.text, _LONGEST_CELL), note=shortened(cell.note, _LONGEST_CELL))
