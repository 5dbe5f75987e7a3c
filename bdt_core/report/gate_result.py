"""The gate's answer as data, from which every form for CI systems is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from bdt_core import words
from bdt_core.harmless import harmless
from bdt_core.said import changed
from bdt_core.sentences import with_sentences
from bdt_core.spec.gate import name_of_check
from bdt_core.verdict.baseline import BaselineComparison

GateResult = dict[str, Any]
Outcome = Literal["holds", "stops", "accepted", "warns"]
GATE_SCHEMA_VERSION = 1
LONGEST_TEXT = 1000


def build_gate_result(
    document: Mapping[str, Any], exit_code: int, comparison: BaselineComparison | None = None
) -> GateResult:
    """Put verdict, limits and exit code into one JSON-able document.

    Parameters
    ----------
    document : mapping
        The report, as data.
    exit_code : int
    comparison : BaselineComparison, optional
        With an earlier report.

    Returns
    -------
    dict
        ``schema_version``, ``name``, ``verdict`` (the report's own), ``exit_code``, ``blocks``, ``sentence``,
        ``held_back`` (what is no limit and keeps it from being a pass),
        ``headline`` (the first finding), ``bias_variable`` (its name, which way of it is better for people, and who
        says so), ``rows`` of the table and ``rows_audited`` (those with a bias variable, which
        every search sees at most), ``limits`` as in the report, each with its ``outcome`` and its
        ``change`` since the baseline, ``baseline`` (verdict, blocks and sentence against it, or null), ``seal`` (when
        the plan was fixed, and what differs from it; null where no seal was found), ``looks`` (which
        came before at the same people, and what was changed since; null where none are recorded) and ``warnings``.
        Every text is on one line, without characters that control a terminal, and never a command to a
        CI runner that reads along.

        ``outcome`` is ``holds``; ``stops``: the gate is shut, and by this limit; ``accepted``: it would be, but the
        limit is not significantly worse than the baseline; ``warns``: any other, such as a broken limit that the
        majority outvotes.
    """
    document = with_sentences(document)
    changes = comparison.limits if comparison else (None,) * len(document["gate"])
    blocks = comparison.blocks if comparison else document["verdict"]["blocks"]
    result = {
        "schema_version": GATE_SCHEMA_VERSION,
        "name": document["name"],
        "verdict": document["verdict"]["verdict"],
        "exit_code": exit_code,
        "blocks": blocks,
        "sentence": document["verdict"]["sentence"],
        "held_back": list(document["verdict"].get("held_back") or ()),
        "headline": document["summary"]["headline"],
        "bias_variable": {
            key: document["bias_variable"][key]
            for key in ("name", "better", "better_by")
            if key in document["bias_variable"]
        },
        "rows": document["data"]["rows"],
        "rows_audited": document["data"]["rows_audited"],
        "limits": [
            {
                **one,
                "outcome": _outcome(one, shut=blocks, accepted=change is not None and change.accepted),
                "change": change.to_dict() | {"sentence": change.sentence} if change else None,
            }
            for one, change in zip(document["gate"], changes, strict=True)
        ],
        "baseline": None
        if comparison is None
        else {"verdict": comparison.verdict, "blocks": comparison.blocks, "sentence": comparison.sentence},
        "seal": document.get("seal"),
        "looks": document.get("looks"),
        "warnings": document["warnings"],
    }
    safe: GateResult = _harmless(words.printable(result))
    return safe


def judged(result: GateResult) -> list[dict[str, Any]]:
    """What a form has one entry for: what holds the gate back besides limits, in the words of one, and each limit."""
    shared = {"check": "plan", "verdict": "inconclusive", "outcome": "stops", "severity": None, "change": None}
    return [*({**shared, "sentence": one} for one in result.get("held_back") or ()), *result["limits"]]


def limit_title(limit: dict[str, Any], say: Callable[[str], str] = str) -> str:
    """A limit and its verdict in a few words, in a language.

    Examples
    --------
    >>> limit_title({"check": "disparate_impact by sex", "verdict": "not_testable"})
    'Not testable: disparate_impact by sex'
    """
    return f"{say(words.VERDICT_WORDS[limit['verdict']])}: {say(name_of_check(limit['check']))}"


def limit_text(limit: dict[str, Any], say: Callable[[str], str] = str) -> str:
    """Why a limit's verdict is what it is, and what has changed since the baseline, in a language."""
    change = limit["change"]
    sentence = shortened(say(limit["sentence"]))
    return sentence if change is None else f"{sentence} {say('Baseline')}: {shortened(say(change['sentence']))}"


def shortened(phrase: str, longest: int = LONGEST_TEXT) -> str:
    """A text that a name from the data cannot blow up.

    Examples
    --------
    >>> shortened("abcdefgh", 5)
    'abcd…'
    """
    return phrase if len(phrase) <= longest else phrase[: longest - 1] + "…"


def _outcome(limit: dict[str, Any], *, shut: bool, accepted: bool) -> Outcome:
    if limit["verdict"] == "pass":
        return "holds"
    if accepted:
        return "accepted"
    return "stops" if shut and limit["blocks"] else "warns"


def _harmless(x: Any) -> Any:
    """Every text made harmless: CI runners read along."""
    if isinstance(x, dict):
        return {_harmless(key): _harmless(one) for key, one in x.items()}
    if isinstance(x, list):
        return [_harmless(one) for one in x]
    return changed(x, harmless) if isinstance(x, str) else x
