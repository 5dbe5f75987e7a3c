"""The gate's result as JUnit XML, which most CI systems show as tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from bdt_core import words
from bdt_core.report.gate_result import GateResult, judged, limit_text, limit_title

# What XML 1.0 has no way to write.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(result: GateResult, say: Callable[[str], str] = str) -> str:
    """Draw the gate's result as JUnit XML.

    Parameters
    ----------
    result : dict
        From :func:`bdt_core.report.gate_result.build_gate_result`.
    say : callable
        What a text is in the report's language; names of suites and cases, by which CI systems know them, stay.

    Returns
    -------
    str
        One test case per limit. A limit that stops the gate is a failure, and so is one that is broken; one that
        cannot tell or could not be tested is skipped, with the sentence that says why, and so is one that is accepted
        because it is not significantly worse than the baseline. Without limits: an empty suite.
    """
    entries = judged(result)
    cases = [_case(one, result["name"], f"{n}. " if len(entries) > 1 else "", say)
             for n, one in enumerate(entries, start=1)]  # fmt: skip
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(one.find("failure") is not None for one in cases)),
        "errors": "0",
        "skipped": str(sum(one.find("skipped") is not None for one in cases)),
        "time": "0",
    }
    suites = ElementTree.Element("testsuites", {"name": "bias gate", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _xml(f"bias gate {result['name']}"), **counts})
    suite.extend(cases)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode")


def _case(limit: dict[str, Any], name: str, number: str, say: Callable[[str], str]) -> ElementTree.Element:
    text = _xml(limit_text(limit, say))
    case = ElementTree.Element(
        "testcase", {"classname": f"bias_gate.{name}", "name": _xml(f"{number}{limit['check']}"), "time": "0"}
    )
    if limit["outcome"] == "stops" or (limit["verdict"] == "fail" and limit["outcome"] == "warns"):
        failure = ElementTree.SubElement(
            case, "failure", {"type": limit["verdict"], "message": _xml(limit_title(limit, say))}
        )
        failure.text = text
    elif limit["outcome"] != "holds":
        accepted = "not significantly worse than the baseline" if limit["outcome"] == "accepted" else ""
        why = say(words.capital(accepted or words.VERDICT_WORDS[limit["verdict"]].lower()))
        ElementTree.SubElement(case, "skipped", {"message": _xml(f"{why}. {text}")})
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return case


def _xml(phrase: str) -> str:
    return _NOT_XML.sub("\ufffd", phrase)
