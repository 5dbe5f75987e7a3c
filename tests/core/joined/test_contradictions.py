"""Answers that do not contradict their own audit: some of the random audits of the study, and rules that can fail."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest

from bdt_core.report.gate_result import build_gate_result
from bdt_pipeline.commands.run_gate import exit_code
from benchmarks.contradictions import RULES, answered, case, contradictions, read
from tests.core.joined.made_tables import harmed, quick_audit

AUDITS = range(20)
NOT_YET: set[str] = set()
"""Rules that answers still break."""


def test_random_audits_do_not_contradict_themselves() -> None:
    read_all = [read(case(number)) for number in AUDITS]
    assert not [one for one in read_all if one["refused"]]
    found = [(one["number"], *each) for one in read_all for each in one["found"] if each[0] not in NOT_YET]
    assert found == []


@cache
def breach() -> dict[str, Any]:
    """A report of a quarter of the people who are worse off by much more than the limit."""
    gate = [{"check": "worst_group", "max_difference": 0.05}]
    return quick_audit(harmed(harm=0.4), gate=gate).document


def rules(document: dict[str, Any], **changes: Any) -> set[str]:
    code = exit_code(document["verdict"])
    gate = build_gate_result(document, code) | changes
    return {rule for language in ("en", "nl") for rule, _ in contradictions(document, gate, language=language)}


def changed(verdict: str, *, limits: bool = True) -> dict[str, Any]:
    other = copy.deepcopy(breach())
    other["verdict"]["verdict"], other["verdict"]["blocks"] = verdict, False
    if not limits:
        other["gate"] = []
    return other


def test_each_rule_can_fail() -> None:
    told = changed("pass")
    told["gate"][0]["verdict"] = "pass"
    outvoted = copy.deepcopy(told)
    outvoted["gate"][0]["broken_by"] = {
        "who": "sex is f", "found_by": "groups", "rows": 9, "share": 0.1, "as_found": 0.3, "at_least": 0.2,
        "at_most": 0.4, "p_value": 0.01, "better": "lower", "conditions": [],
    }  # fmt: skip
    assert "yes" in rules(outvoted)
    assert {"denied", "any"} >= rules(told) & {"denied"} == {"denied"}
    more = changed("inconclusive")
    more["gate"][0] |= {"verdict": "inconclusive", "broken_by": outvoted["gate"][0]["broken_by"]}
    more |= {"findings": more["findings"] | {"findings": []}, "declared_outcomes": None}
    assert "more" in rules(more)
    assert "none" in rules(changed("pass", limits=False))
    assert "apart" in rules(breach(), verdict="pass")
    unscoped = copy.deepcopy(breach())
    unscoped["gate"][0]["sentence"] = "Any group is worse off by more."
    unscoped["gate"][0]["scope"]["min_share"] = 0.1
    assert {"any", "scope"} <= rules(unscoped)
    nobody = copy.deepcopy(breach())
    nobody["findings"]["findings"] = []
    gate = build_gate_result(nobody, exit_code(nobody["verdict"]))
    for language in ("en", "nl"):
        assert "nobody" in {rule for rule, _ in contradictions(nobody, gate, certain=True, language=language)}
    tried = {"yes", "denied", "more", "none", "apart", "any", "scope", "nobody"}
    assert tried == set(RULES)


@pytest.mark.parametrize("number", [5, 12])
def test_a_case_is_the_same_each_time(number: int) -> None:
    one, other = case(number), case(number)
    assert one.frame.equals(other.frame)
    assert one.spec == other.spec
    assert answered(one)[0] == answered(other)[0]
