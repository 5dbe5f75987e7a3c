"""``require: majority`` in the specification decides the whole audit's verdict, and what is stopped."""

from __future__ import annotations

from typing import Any

import pytest

from bdt_core.audit import audit
from bdt_core.spec import parse_spec
from tests.core.joined.made_tables import QUICK, harmed, quick_audit

KEPT = {"check": "worst_cluster", "max_difference": 0.9}
BROKEN = {"check": "worst_cluster", "max_difference": 0.05}
UNCLEAR = {"check": "worst_cluster", "max_difference": 0.4}
ONE_SPLIT = {"clustering": {"stability": 0, "n_init": 1, "max_iter": 1}}


def verdict(require: str, *limits: dict[str, Any]) -> tuple[str, bool, str]:
    found = quick_audit(harmed(harm=0.4), **ONE_SPLIT, gate=list(limits), require=require).document["verdict"]
    return found["verdict"], found["blocks"], found["sentence"]


@pytest.mark.parametrize(
    ("limits", "majority", "every"),
    [
        ((KEPT, KEPT, BROKEN), "pass", "fail"),
        ((KEPT, BROKEN, BROKEN), "fail", "fail"),
        ((KEPT, BROKEN), "fail", "fail"),  # half is no majority
        ((KEPT, KEPT, UNCLEAR), "pass", "inconclusive"),
        ((KEPT, UNCLEAR), "inconclusive", "inconclusive"),
        ((KEPT, KEPT), "pass", "pass"),
    ],
)
def test_more_than_half_of_the_limits_must_hold(limits: tuple[dict[str, Any], ...], majority: str, every: str) -> None:
    told, blocks, sentence = verdict("majority", *limits)
    assert (told, blocks) == (majority, majority == "fail")
    judged = " Nothing but the most deviating cluster was judged." if majority == "pass" else ""
    broken = " Broken: the most deviating cluster." if BROKEN in limits else ""
    assert sentence == f"{limits.count(KEPT)} of {len(limits)} limits hold; more than half must.{broken}{judged}"
    assert verdict("all", *limits)[:2] == (every, every == "fail")


def test_what_is_unclear_may_block_only_when_the_majority_does_not_hold() -> None:
    unclear = {**UNCLEAR, "inconclusive": "block"}
    assert verdict("majority", KEPT, KEPT, unclear)[:2] == ("pass", False)
    assert verdict("majority", KEPT, unclear)[:2] == ("inconclusive", True)
    assert verdict("all", KEPT, KEPT, unclear)[:2] == ("inconclusive", True)


def test_a_specification_as_a_model_is_obeyed_too() -> None:
    settings = {**QUICK, **ONE_SPLIT, "source": {"path": "(DataFrame)"}, "gate": [KEPT, KEPT, BROKEN]}
    for require, expected in (("majority", "pass"), ("all", "fail")):
        assert audit(harmed(harm=0.4), parse_spec({**settings, "require": require})).verdict == expected
