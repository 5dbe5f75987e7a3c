"""From the specification to the verdict, the report and the CI files: the limit on the worst group."""

from __future__ import annotations

import copy
import math
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.errors import DataError, SpecError
from bdt_core.groups.scan.results import WorstGroups
from bdt_core.report.catalogue import say_in
from bdt_core.report.comment import render_comment
from bdt_core.report.figures import figure_data, figure_svg
from bdt_core.report.gate_result import build_gate_result
from bdt_core.report.junit import render_junit
from bdt_core.report.markdown import render_markdown
from bdt_core.report.printed import printed
from bdt_core.spec import WorstGroupLimit, parse_spec
from bdt_core.verdict import WorstGroupLimitResult, judge_worst_group
from bdt_core.verdict.worst_group import settled_limit
from tests.core.report.described import described

BASE: dict[str, Any] = {
    "name": "loans",
    "source": {"path": "(DataFrame)"},
    "bias_variable": {"column": "wrong"},
    "clustering": {"stability": 0, "n_init": 2, "max_iter": 2},
    "slices": None,
    "worst_groups": {"permutations": 79, "min_share": 0.1},
}


@cache
def people(harm: float, n: int = 4000) -> pd.DataFrame:
    """A fifth of the people, those from the west, are wronged more often."""
    rng = np.random.default_rng(7)
    town = rng.choice(["north", "south", "east", "mid", "west"], n)
    wrong = (rng.random(n) < 0.1 + harm * (town == "west")).astype(int)
    return pd.DataFrame({"town": town, "age": rng.integers(18, 80, n), "wrong": wrong})


@cache
def audited(harm: float, most: float | None) -> AuditResult:
    limit = {"check": "worst_group"} | ({} if most is None else {"max_difference": most})
    return audit(people(harm), BASE | {"gate": [limit]})


CASES = [(0.3, 0.1, "fail"), (0.0, 0.15, "pass"), (0.3, 0.29, "inconclusive"), (0.0, 0.02, "inconclusive")]


@pytest.mark.parametrize(("harm", "most", "verdict"), CASES)
def test_it_fails_passes_or_cannot_tell(harm, most, verdict):
    document = audited(harm, most).document
    (limit,) = document["gate"]
    assert (limit["kind"], limit["check"], limit["verdict"], limit["limit"]) == (
        "worst_group", "worst_group", verdict, most,
    )  # fmt: skip
    assert document["verdict"]["verdict"] == verdict
    assert document["verdict"]["sentence"].startswith(limit["sentence"])
    assert limit["low"] <= limit["difference"] <= limit["high"]
    assert (limit["group"] == "town is west") == (harm > 0)
    described().validate(document)
    told = " ".join(render_markdown(document).split())
    assert "Any group of conditions" in told
    (in_ci,) = build_gate_result(document, 1)["limits"]
    assert in_ci["sentence"] == limit["sentence"]
    assert WorstGroupLimitResult.from_dict(limit).to_dict() == limit


def test_the_verdict_is_that_of_the_bounds():
    failed, passed = audited(0.3, 0.1).document["gate"][0], audited(0.0, 0.15).document["gate"][0]
    assert failed["low"] > 0.1
    assert passed["high"] <= 0.15


def test_what_is_undecided_says_how_many_rows_would_tell():
    limit = audited(0.3, 0.29).document["gate"][0]
    assert limit["rows_to_settle"] > 4000
    assert f"About {limit['rows_to_settle']:,} rows would tell." in limit["sentence"]


def test_what_is_undecided_names_the_limit_that_these_rows_settle_and_it_passes():
    document = audited(0.0, 0.02).document
    (limit,) = document["gate"]
    settled = math.ceil(limit["high"] * 1000) / 1000
    assert f"These rows can settle a limit of {settled * 100:.1f} points." in limit["sentence"]
    assert audited(0.0, settled).document["gate"][0]["verdict"] == "pass"
    assert audited(0.0, settled - 0.001).document["gate"][0]["verdict"] == "inconclusive"
    dutch = document | {"spec": document["spec"] | {"language": "nl"}}
    size = f"{settled * 100:.1f}".replace(".", ",")
    sentence = f"Over een grens van {size} procentpunt kunnen deze rijen wel uitsluitsel geven."
    result = build_gate_result(dutch, 3)
    assert sentence in render_junit(result, say_in(printed(dutch)))
    assert sentence in render_comment(dutch, result).replace("\\", "")


@pytest.mark.parametrize(("harm", "most"), [(0.3, 0.1), (0.0, 0.15)])
def test_a_limit_that_is_settled_names_no_other(harm, most):
    assert "can settle" not in audited(harm, most).document["gate"][0]["sentence"]


def test_no_limit_is_named_that_anything_else_leaves_open():
    limit = WorstGroupLimit(max_difference=0.02)
    few = audit(people(0.0)[:400], BASE | {"worst_groups": {"permutations": 79}, "gate": []}).worst_groups
    assert few.certificate.min_share > 0.05
    assert settled_limit(limit, few) is None  # groups from 5 of 100 people on are too small to be searched
    assert settled_limit(limit.model_copy(update={"ruled_out_from": 0.1}), few) is not None
    harmed = people(0.0).assign(wrong=lambda table: table["wrong"].where(table["age"] > 19, 1))
    small = audit(harmed, BASE | {"worst_groups": {"permutations": 79}, "gate": []}).worst_groups
    assert settled_limit(limit.model_copy(update={"ruled_out_from": 0.4}), small) is None  # they are proven, and judged
    gate = [{"check": "worst_group", "max_difference": 0.02}]
    blank = people(0.0).assign(wrong=lambda table: table["wrong"].where((table["town"] != "mid") | (table["age"] > 50)))
    (undecided,) = audit(blank, BASE | {"gate": gate}).document["gate"]
    assert undecided["verdict"] == "inconclusive"
    assert "can settle" not in undecided["sentence"]  # if these people fared badly, it would be broken


def test_amounts_settle_a_limit_that_is_rounded_up_to_what_is_printed():
    frame = people(0.0).assign(wrong=np.random.default_rng(5).normal(1_000.0, 300.0, 4000))
    (limit,) = audit(frame, BASE | {"gate": [{"check": "worst_group", "max_difference": 3.0}]}).document["gate"]
    size = re.search("These rows can settle a limit of ([0-9.]+)[.]", limit["sentence"])[1]
    assert limit["high"] <= float(size) < limit["high"] * 1.011


def test_without_a_number_the_limit_is_that_of_clusters():
    assert audited(0.3, None).document["gate"][0]["limit"] == 0.05


@pytest.fixture(scope="module")
def found() -> WorstGroups:
    groups = audited(0.3, 0.1).worst_groups
    assert groups is not None
    return groups


def test_only_groups_of_the_share_asked_for_fail(found):
    assert judge_worst_group(WorstGroupLimit(max_difference=0.1, min_share=0.15), found, 1.0).verdict == "fail"
    assert judge_worst_group(WorstGroupLimit(max_difference=0.1, min_share=0.4), found, 1.0).verdict != "fail"


def test_a_pass_says_nothing_of_groups_that_are_smaller_than_those_searched():
    calm = audited(0.0, 0.15).worst_groups
    limit = WorstGroupLimit(max_difference=0.15)
    assert judge_worst_group(limit, calm, 1.0).verdict == "pass"
    assert judge_worst_group(limit.model_copy(update={"min_share": 0.2}), calm, 1.0).verdict == "pass"
    smaller = judge_worst_group(limit.model_copy(update={"min_share": 0.05}), calm, 1.0)
    assert smaller.verdict == "inconclusive"
    assert "groups from 5.0 % of the people are limited" in smaller.sentence
    assert "lower worst_groups.min_share" in smaller.sentence


def test_each_limit_is_held_against_what_is_ruled_out_for_groups_of_its_share():
    limits = [{"check": "worst_group", "max_difference": 0.08, "min_share": share} for share in (0.1, 0.2, 0.4)]
    result = audit(people(0.0), BASE | {"gate": limits})
    small, medium, large = result.document["gate"]
    assert (small["min_share"], medium["min_share"], large["min_share"]) == (0.1, 0.2, 0.4)
    assert small["high"] == audited(0.0, 0.15).document["gate"][0]["high"]  # the search looks for no smaller ones
    assert small["high"] > 0.08 > medium["high"] >= large["high"]
    assert (small["verdict"], medium["verdict"], large["verdict"]) == ("inconclusive", "pass", "pass")
    assert "no group of 40.0 % to 90.0 % of the people" in large["sentence"].lower()
    known = {float(share): float(size) for share, size in figure_data(result.document, "ruled_out")[1:]}
    assert known[0.4] == pytest.approx(large["high"])


def test_what_was_found_beside_a_limit_is_of_groups_of_its_share():
    limits = [{"check": "worst_group", "max_difference": 0.1, "min_share": share} for share in (0.1, 0.4)]
    result = audit(people(0.3), BASE | {"gate": limits, "worst_groups": BASE["worst_groups"] | {"max_groups": 1}})
    every, large = result.document["gate"]
    assert (every["verdict"], every["group"]) == ("fail", "town is west")
    assert (large["group"], large["difference"]) == (None, 0.0)
    found = result.worst_groups
    assert found is not None
    assert found.ruled_out(0.4).confirmed_difference == 0.0 < found.ruled_out(0.1).confirmed_difference
    assert found.ruled_out(0.05) == found.certificate
    assert [one.min_share for one in (found.certificate, *found.limited)] == [0.1, 0.2, 0.4, 0.5]
    assert WorstGroups.from_dict(found.to_dict()).limited == found.limited != ()


def test_a_pass_rules_out_groups_from_the_share_that_is_named_and_proven_ones_fail_however_small():
    spec = BASE | {"worst_groups": {"permutations": 79}}  # from 1 of 100 people on
    limits = [
        {"check": "worst_group", "max_difference": 0.2} | keys
        for keys in ({}, {"ruled_out_from": 0.05}, {"ruled_out_from": 0.4})
    ]
    result = audit(people(0.0), spec | {"gate": limits})
    usual, same, larger = result.document["gate"]
    assert [limit["verdict"] for limit in (usual, same, larger)] == ["pass", "pass", "pass"]
    assert [limit["scope"]["ruled_out_from"] for limit in (usual, same, larger)] == [0.05, 0.05, 0.4]
    assert usual["high"] == same["high"] > larger["high"]
    smaller = judge_worst_group(WorstGroupLimit(max_difference=0.2, ruled_out_from=0.01), result.worst_groups, 1.0)
    assert smaller.verdict == "inconclusive"
    assert smaller.high == result.worst_groups.certificate.largest_difference > 0.2 > usual["high"]
    assert "Smaller groups, from 1.0 % of the people on, were searched, and none is proven" in usual["sentence"]
    told = " ".join(render_markdown(result.document).split())
    assert "for groups of at least 40 of 100" in told  # all limits hold from there on
    harmed = people(0.0).assign(wrong=lambda table: table["wrong"].where(table["age"] > 19, 1))
    (few,) = audit(harmed, spec | {"gate": limits[2:]}).document["gate"]
    assert few["verdict"] == "fail"
    assert few["low"] > 0.2


def test_fewer_rows_never_make_a_pass_easier():
    limit = WorstGroupLimit(max_difference=0.36)
    verdicts = []
    for rows in (4000, 400):
        groups = audit(people(0.0)[:rows], BASE | {"worst_groups": {"permutations": 79}, "gate": []}).worst_groups
        judged = judge_worst_group(limit, groups, 1.0)
        verdicts.append(judged.verdict)
    assert groups.certificate.min_share == pytest.approx(30 / 400)
    assert judged.high < 0.36  # of groups of so many people it is ruled out, and smaller ones are limited
    assert "groups from 5.0 % of the people are limited" in judged.sentence
    assert verdicts == ["pass", "inconclusive"]


def test_what_is_ruled_out_is_less_for_smaller_groups_and_the_figure_says_so():
    result = audit(people(0.3), BASE | {"worst_groups": {"permutations": 79}, "gate": [{"check": "worst_group"}]})
    searched = result.worst_groups
    known = [searched.certificate, *searched.limited]
    assert [one.min_share for one in known] == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    assert [one.largest_difference for one in known] == sorted((one.largest_difference for one in known), reverse=True)
    head, *rows = figure_data(result.document, "ruled_out")
    assert len(head) == 2
    assert [float(share) for share, _ in rows] == [one.min_share for one in known]
    assert [float(size) for _, size in rows] == [pytest.approx(one.largest_difference, rel=1e-5) for one in known]
    assert "limit 5.0 points" in figure_svg(result.document, "ruled_out")
    told = " ".join(render_markdown(result.document).split())
    tenth, half = (math.ceil(searched.ruled_out(share).largest_difference * 100) for share in (0.1, 0.5))
    assert (
        f"up to {tenth} of 100 in groups of at least 10 of 100, up to {half} of 100 in groups of at least 50 of 100"
    ) in told


def test_a_column_that_is_no_feature_can_be_searched_and_a_missing_one_is_named():
    spec = BASE | {"features": {"include": ["age"]}}
    found = audit(people(0.3), spec | {"worst_groups": {"permutations": 79, "columns": ["town"]}}).worst_groups
    assert found is not None
    assert found.worst is not None
    assert found.worst.words == "town is west"
    with pytest.raises(DataError, match='no column "tonw", which legitimate, characteristics, worst_groups'):
        audit(people(0.3), spec | {"worst_groups": {"columns": ["tonw"]}})


def test_what_was_not_searched_is_not_testable(found):
    assert judge_worst_group(WorstGroupLimit(), None, 0.05).verdict == "not_testable"
    nothing = replace(found, certificate=None, groups=(), reason="no column is left to search")
    limit = judge_worst_group(WorstGroupLimit(), nothing, 0.05)
    assert (limit.verdict, limit.sentence) == (
        "not_testable", "No group could be searched for: no column is left to search.",
    )  # fmt: skip


def test_inconclusive_can_stop_the_gate(found):
    asked = WorstGroupLimit(max_difference=0.29, inconclusive="block")
    assert judge_worst_group(asked, found, 1.0).blocks
    assert not judge_worst_group(asked.model_copy(update={"inconclusive": "warn"}), found, 1.0).blocks


def test_clusters_within_a_limit_are_no_pass_beside_a_confirmed_group_beyond_it():
    gate = [{"check": "worst_cluster", "max_difference": 0.2}]
    limit = audit(people(0.35), BASE | {"gate": gate, "features": {"include": ["age"]}, "protected": ["town"]})
    (judged,) = limit.document["gate"]
    assert judged["verdict"] == "fail"
    assert judged["sentence"].startswith("town is west (")
    assert judged["broken_by"]["who"] == "town is west"
    assert judged["low"] == judged["broken_by"]["at_least"] > 0.2


def test_a_limit_asks_for_the_search():
    assert parse_spec(BASE | {"worst_groups": None, "gate": [{"check": "worst_group"}]}).worst_groups is not None
    assert parse_spec(BASE | {"worst_groups": None}).worst_groups is None


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"check": "worst_grup"}, 'did you mean "worst_group"?'),
        ({"check": "worst_group", "min_share": 0.7}, "gate.0.min_share"),
        ({"check": "worst_group", "max_gap": 0.1}, "gate.0.max_gap: unknown key"),
    ],
)
def test_what_is_misspelt_is_named(limit, message):
    with pytest.raises(SpecError, match=message.replace("?", r"\?")):
        parse_spec(BASE | {"gate": [limit]})


# Every key of the section changes what is found, or what is said of it.
@pytest.mark.parametrize(
    ("key", "value"), [("columns", ["age"]), ("min_share", 0.3), ("max_groups", 1), ("permutations", 199)]
)
def test_every_key_reaches_the_report(key, value):
    frame = people(0.3).assign(age=lambda one: np.where(one["wrong"] == 1, one["age"] * 0.7, one["age"]))
    changed = audit(frame, BASE | {"worst_groups": BASE["worst_groups"] | {key: value}}).document["worst_groups"]
    before = audit(frame, BASE).document["worst_groups"]
    kept = ("groups", "certificate", "searched")
    assert [changed[one] for one in kept] != [before[one] for one in kept]


def test_a_group_without_anything_that_remains_decides_nothing():
    found = audited(0.3, 0.1).worst_groups
    assert found is not None
    explained = replace(found, groups=(replace(found.groups[0], difference=1e-6, low=-1e-5, high=1e-5),))
    judged = judge_worst_group(WorstGroupLimit(check="worst_group", max_difference=0.02), explained, 0.1)
    assert (judged.group, judged.verdict) == (None, "inconclusive")
    assert judged.sentence.startswith("The search for the worst group confirms none")
    document = copy.deepcopy(audited(0.3, 0.1).document)
    assert "not proven" not in render_markdown(document)
    document["worst_groups"]["groups"][0] |= {"low": -1e-5, "high": 1e-5}
    assert "not proven (nothing remains for sure)" in render_markdown(document)
    assert "Groups that the search found, against everybody else" in render_markdown(document)


def test_a_later_group_is_worse_than_those_whom_it_is_compared_with():
    found = audited(0.3, 0.1).worst_groups
    assert found is not None
    first, second, *_ = found.groups
    limit = WorstGroupLimit(check="worst_group", max_difference=0.02)
    assert (
        f"{first.words} ({first.rows:,} people): higher (worse) in wrong than everybody else by"
        in judge_worst_group(limit, found, 0.1).sentence
    )
    worse = replace(found, groups=(first, replace(second, difference=0.6, low=0.5, high=0.7)))
    alike = "higher (worse) in wrong than people alike in the group found before by"
    assert f"{second.words} ({second.rows:,} people): {alike}" in judge_worst_group(limit, worse, 0.1).sentence
