"""Audits as metrics: what report and history say, and nothing of groups that are too small for it."""

from __future__ import annotations

import copy
import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from bdt_core.history import follow
from bdt_core.report.known_audit import KnownAudit
from bdt_core.report.openmetrics import openmetrics
from tests.core.history.made_batches import FIRST, days, history_spec
from tests.core.history.test_trend_drift_and_limits import EQUAL, RATES, WORSE
from tests.core.report.read_openmetrics import Family, read_openmetrics

GOLDENS = Path(__file__).parents[2] / "goldens"
DAY = datetime.datetime(2026, 1, 31, 6, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return dict(json.loads((GOLDENS / "everything.json").read_text()))


def known(**changes: Any) -> KnownAudit:
    parts = {"document": None, "written": None, "look": None, "history": None, "due": None}
    return KnownAudit("loans", **(parts | changes))  # type: ignore[arg-type]


def state(family: Family, **labels: str) -> set[str]:
    """The state that is 1, of those that are there."""
    of_it = {one: x for one, x in family.samples.items() if one > frozenset(labels.items())}
    assert len(of_it) >= 4
    assert set(of_it.values()) <= {0.0, 1.0}
    return {label for one, x in of_it.items() if x for name, label in one if name in ("verdict", "state")}


def test_a_report_as_metrics(document: dict[str, Any]) -> None:
    text = openmetrics([known(document=document, written=DAY, due=DAY + datetime.timedelta(days=1))])
    read = read_openmetrics(text)
    assert read["bdt_audit_looked_timestamp_seconds"].of(audit="loans") == DAY.timestamp()
    assert read["bdt_audit_due_timestamp_seconds"].of(audit="loans") == DAY.timestamp() + 86_400
    assert state(read["bdt_audit_verdict"], audit="loans") == {document["verdict"]["verdict"]}
    assert read["bdt_audit_rows"].of(audit="loans", part="test") == document["split"]["test_rows"]
    assert read["bdt_audit_findings"].of(audit="loans") == len(document["findings"]["findings"])
    for number, limit in enumerate(document["gate"], 1):
        labels = {"audit": "loans", "limit": limit["check"], "number": str(number)}
        assert state(read["bdt_limit_verdict"], **labels) == {limit["verdict"]}
        if limit.get("value") is not None:
            assert read["bdt_limit_value"].of(**labels) == limit["value"]
            assert read["bdt_limit_value_low"].of(**labels) == limit["low"]
    race = next(one for one in document["groups"]["facets"] if one["facet"] == "race")
    rates = next(one for one in race["groups"] if one["group"] == "c")["rates"]
    of_c = {"audit": "loans", "by": "race", "group": "c", "metric": "selection_rate"}
    assert read["bdt_group_rate_ratio"].of(**of_c) == rates["selection_rate"]["estimate"]
    assert read["bdt_group_rate_high_ratio"].of(**of_c) == rates["selection_rate"]["high"]
    assert read["bdt_group_rate_ratio"].unit == "ratio"
    assert "auc" not in {dict(one)["metric"] for one in read["bdt_group_rate_ratio"].samples}  # it is no ratio


def test_groups_with_too_few_rows_are_not_there(document: dict[str, Any]) -> None:
    few = copy.deepcopy(document)
    groups = next(one for one in few["groups"]["facets"] if one["facet"] == "race")["groups"]
    assert 'group="rare"' in openmetrics([known(document=document, written=DAY)])
    next(one for one in groups if one["group"] == "rare")["rates"] = None  # as the report has a group that is too small
    assert 'group="rare"' not in openmetrics([known(document=few, written=DAY)])
    spec = history_spec(groups={"reference": "m"})
    batches = days(spec, [{**EQUAL, "x": (1, 1, 1, 1)}] * 3)
    read = read_openmetrics(openmetrics([known(history=follow(batches, spec))]))
    assert {dict(one)["group"] for one in read["bdt_history_difference_ratio"].samples} == {"f"}


def test_a_history_as_metrics() -> None:
    spec = history_spec(gate=RATES, groups={"reference": "m"})
    history = follow(days(spec, [EQUAL] * 3 + [WORSE] * 40), spec)
    read = read_openmetrics(openmetrics([known(history=history)]))
    assert read["bdt_history_batches"].of(audit="loans") == 43
    latest = FIRST + datetime.timedelta(days=42)
    assert read["bdt_history_latest_timestamp_seconds"].of(audit="loans") == latest.timestamp()
    certain = set()
    for one in history.streams:
        labels = {"audit": "loans", "by": "sex", "group": "f", "reference": "m", "metric": one.metric}
        assert read["bdt_history_difference_ratio"].of(**labels) == one.difference
        assert read["bdt_history_difference_low_ratio"].of(**labels) == one.low
        assert read["bdt_history_difference_certain"].of(**labels) == float(one.discovered)
        certain.add(one.discovered)
        assert state(read["bdt_history_drift"], **labels) == {one.drift.state}
    assert certain == {True, False}
    limit = history.limits[0]
    assert state(read["bdt_history_limit_verdict"], audit="loans", limit=limit.check, number="1") == {limit.verdict}
    assert "bdt_audit_verdict" not in read  # no report, no look


def test_names_do_not_break_the_file() -> None:
    hostile = 'a"b\\c\nd{},=\u202e\x1b\r# EOF'
    spec = history_spec(groups={"reference": "m"})
    history = follow(days(spec, [{hostile: EQUAL["f"], "m": EQUAL["m"]}] * 2), spec)
    read = read_openmetrics(openmetrics([known(history=history)]))
    groups = {dict(one)["group"] for one in read["bdt_history_difference_ratio"].samples}
    assert groups == {'a"b\\c\nd{},=\ufffd\ufffd\ufffd# EOF'}


def test_several_audits_share_a_metric() -> None:
    one, other = known(written=DAY, due=DAY), KnownAudit("hiring", None, None, None, None, due=DAY)
    read = read_openmetrics(openmetrics([one, other]))
    assert len(read["bdt_audit_due_timestamp_seconds"].samples) == 2
    assert state(read["bdt_audit_verdict"], audit="loans") == set()  # looked at, and without an answer
