"""The gate's result beside the code: annotations of GitHub, and GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bdt_core.harmless import escaped_in_json
from bdt_core.report.gate_result import GateResult, judged, limit_text, limit_title

_SEVERITIES = {"low": "minor", "medium": "major", "high": "critical", "critical": "blocker"}


class Place(NamedTuple):
    """Where a limit is written down: a file, as the repository names it, and a line of it."""

    path: str
    line: int


def github_annotations(result: GateResult, places: Sequence[Place], say: Callable[[str], str] = str) -> str:
    """Workflow commands that GitHub shows beside the lines of the specification.

    Parameters
    ----------
    result : dict
        From :func:`bdt_core.report.gate_result.build_gate_result`.
    places : sequence of Place
        One per entry of `bdt_core.report.gate_result.judged`.
    say : callable
        What a text is in the report's language.

    Returns
    -------
    str
        One line per limit: ``::error`` where it stops the gate, ``::notice`` where it holds, else ``::warning``.
        Nothing in a name can end the command or begin another one.

    Examples
    --------
    >>> limit = {"check": "worst_cluster", "verdict": "fail", "outcome": "stops", "sentence": "50 % off.",
    ...          "change": None}
    >>> print(github_annotations({"name": "loans", "limits": [limit]}, [Place("loans.yaml", 7)]))
    ::error file=loans.yaml,line=7,title=Bias gate loans%3A Fail%3A worst_cluster::50 %25 off.
    """
    return "\n".join(
        _command(one, place, f"{say('Bias gate')} {result['name']}", say)
        for one, place in zip(judged(result), places, strict=True)
    )


def gitlab_code_quality(result: GateResult, places: Sequence[Place], say: Callable[[str], str] = str) -> str:
    """GitLab's code quality report, as JSON: one finding per limit that does not hold.

    Parameters
    ----------
    result : dict
        From :func:`bdt_core.report.gate_result.build_gate_result`.
    places : sequence of Place
        One per entry of `bdt_core.report.gate_result.judged`.
    say : callable
        What a text is in the report's language.

    Returns
    -------
    str
        Severities: that of the limit where it stops the gate (low is minor, medium major, high critical, critical
        blocker), else info. A finding keeps its fingerprint from run to run.
    """
    findings: list[dict[str, Any]] = []
    for limit, place in zip(judged(result), places, strict=True):
        if limit["outcome"] == "holds":
            continue
        findings.append(
            {
                "description": f"{limit_title(limit, say)}. {limit_text(limit, say)}",
                "check_name": f"bias-gate/{limit['check']}",
                "fingerprint": _fingerprint(result["name"], limit, findings),
                "severity": _SEVERITIES.get(limit["severity"], "major") if limit["outcome"] == "stops" else "info",
                "location": {"path": place.path, "lines": {"begin": place.line}},
            }
        )
    return escaped_in_json(json.dumps(findings, indent=2, ensure_ascii=False))


def _command(limit: dict[str, Any], place: Place, gate: str, say: Callable[[str], str]) -> str:
    level = {"stops": "error", "holds": "notice"}.get(limit["outcome"], "warning")
    title = f"{gate}: {limit_title(limit, say)}"
    at = f"file={_property(place.path)},line={place.line},title={_property(title)}"
    return f"::{level} {at}::{_data(limit_text(limit, say))}"


def _data(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")


def _fingerprint(name: str, limit: dict[str, Any], before: Sequence[dict[str, Any]]) -> str:
    """The same from run to run; limits of the same check are told apart by their order."""
    check = f"bias-gate/{limit['check']}"
    nth = sum(one["check_name"] == check for one in before)
    return hashlib.sha256(f"{name}\n{check}\n{nth}".encode(errors="backslashreplace")).hexdigest()
