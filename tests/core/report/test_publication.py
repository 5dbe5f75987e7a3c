"""The form for publication: what it is made of, and that it is made of nothing else."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bdt_core.errors import SourceError
from bdt_core.metrics import RATES
from bdt_core.report import for_publication
from bdt_core.report.noise import DEVIATION
from bdt_core.spec import parse_spec
from bdt_core.verdict.comparable import read_baseline

GOLDENS = Path(__file__).parents[2] / "goldens"
AUDITS = ("compas", "everything", "higher_is_better", "large", "limits", "persons_and_repeats", "too_few")


def _golden(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", AUDITS)
def test_published_rates_agree_with_the_owners(name: str) -> None:
    """An exact rate is off by more than the interval of the published one in few of many groups."""
    owners, published = _golden(name), for_publication(_golden(name))
    exact = {
        (facet["facet"], one["group"]): one
        for facet in (owners["groups"] or {"facets": ()})["facets"]
        for one in facet["groups"]
    }
    for facet in (published["groups"] or {"facets": ()})["facets"]:
        for one in facet["groups"]:
            true = exact[facet["facet"], one["group"]]
            assert abs(one["rows"] - true["rows"]) <= 4 * 5 * len(facet["groups"]) + 30
            assert set(one["rates"]) == set(true["rates"]) & set(RATES)
            for rate, told in one["rates"].items():
                assert (told["estimate"] is None) == (told["n"] < 100)
                if told["estimate"] is not None:
                    assert told["low"] <= true["rates"][rate]["estimate"] <= told["high"]


def test_counts_of_a_group_are_those_of_its_parts() -> None:
    document = _golden("compas")
    race, sex = document["groups"]["facets"]
    both = _crossed(race, sex)
    document["groups"]["facets"] = [race, sex, both]
    published = {one["facet"]: one for one in for_publication(document)["groups"]["facets"]}
    crossed = published["both"]["groups"]
    assert len(crossed) == 8
    for one in published[race["facet"]]["groups"]:
        parts = [x for x in crossed if x["values"][0] == one["values"][0]]
        if not parts:
            continue  # a race of too few people to be crossed
        for rate in ("selection_rate", "true_positive_rate"):
            assert one["rates"][rate]["n"] == sum(x["rates"][rate]["n"] for x in parts)


def _crossed(race: dict[str, Any], sex: dict[str, Any]) -> dict[str, Any]:
    """Groups of both columns, seven tenths of a race's people of one sex and three tenths of the other."""
    groups = []
    for one in race["groups"]:
        if one["rates"] is None or one["rows"] < 300:
            continue
        counts = [
            one["rates"][name][key]
            for name, key in (
                ("true_positive_rate", "events"), ("true_positive_rate", "n"),
                ("false_positive_rate", "events"), ("false_positive_rate", "n"),
            )
        ]  # fmt: skip
        first = [round(0.7 * x) for x in counts]
        for other, (tp, p, fp, n) in zip(
            sex["groups"], (first, [x - y for x, y in zip(counts, first, strict=True)]), strict=True
        ):
            rates = copy.deepcopy(one["rates"])
            rates["true_positive_rate"] |= {"events": tp, "n": p}
            rates["false_positive_rate"] |= {"events": fp, "n": n}
            rates["selection_rate"] |= {"events": tp + fp, "n": p + n}
            groups.append(
                {
                    "group": f"{one['group']} & {other['group']}",
                    "values": [one["values"][0], other["values"][0]],
                    "rows": p + n,
                    "rates": rates,
                }
            )
    return {**race, "facet": "both", "columns": [*race["columns"], *sex["columns"]], "groups": groups}


def test_conditions_name_no_rare_level_and_no_value_of_one_person() -> None:
    document = _golden("compas")
    finding = document["findings"]["findings"][0]
    condition = finding["conditions"][0]
    finding["conditions"] = [
        {**condition, "values": ["African-American", "Native American"]},
        {**condition, "column": "income", "kind": "interval", "values": [], "low": 98765.43, "high": 987654.25},
        {**condition, "column": "age", "kind": "interval", "values": [], "low": 26, "high": 45, "whole": True},
    ]
    published = for_publication(document)["findings"]["findings"][0]
    assert published["conditions"][0]["values"] == ["African-American", "a small group"]
    assert [(one["low"], one["high"]) for one in published["conditions"][1:]] == [(99000.0, 990000.0), (26.0, 45.0)]
    assert published["who"] == (
        "race is African-American or a small group and income above 99000 and up to 990000 and age 27 to 45"
    )


def test_findings_on_declared_groups_are_made_of_their_counts() -> None:
    published = for_publication(_golden("compas"))
    race = next(one for one in published["groups"]["facets"] if one["columns"] == ["race"])
    rates = {one["group"]: one["rates"]["false_positive_rate"] for one in race["groups"]}
    found, own = published["findings"]["findings"][0], rates.pop("African-American")
    assert (found["who"], found["rows"], found["mean_inside"]) == (
        "race is African-American", own["n"], own["estimate"],
    )  # fmt: skip
    assert found["mean_outside"] == round(
        sum(one["events"] or 0 for one in rates.values()) / sum(one["n"] for one in rates.values()), 2
    )


def test_a_level_that_all_of_a_finding_have_is_no_rare_one() -> None:
    document = _golden("compas")
    document["findings"]["findings"][0]["conditions"][0] |= {"column": "town", "values": ["north"]}
    assert for_publication(document)["findings"]["findings"][0]["who"] == "town is north"


def test_what_remains_among_people_alike_is_told_where_it_is_proven() -> None:
    document = _golden("compas")
    first, second = document["findings"]["findings"]
    second["remaining"]["remaining_low"] = -0.01
    proven, open_ = for_publication(document)["summary"]["findings"]
    assert proven.endswith("Among people alike in priors_count and age they fare about 12 points worse in FPR.")
    assert open_.endswith("Among people alike in priors_count and age it is not proven that they fare worse.")
    alike = for_publication(document)["findings"]["findings"][0]["remaining"]
    assert (alike["remaining"], alike["remaining_low"], alike["rows"] % 10) == (0.12, 0.0, 0)
    assert first["remaining"]["remaining_low"] > 0.0


def test_findings_of_few_people_and_of_places_are_left_out() -> None:
    document = _golden("compas")
    first, second = document["findings"]["findings"]
    first["found_by"], second["rows"] = "local_bias", 25
    published = for_publication(document)
    assert published["findings"]["findings"] == []
    assert published["publication"]["findings_left_out"] == 2
    assert published["summary"]["headline"] == ("People were found to fare worse; this form does not say who they are.")


def test_limits_keep_their_verdict_and_lose_their_numbers() -> None:
    document = _golden("everything")
    published = for_publication(document)
    assert [one["verdict"] for one in published["gate"]] == [one["verdict"] for one in document["gate"]]
    assert published["verdict"] | {"sentence": ""} == document["verdict"] | {"sentence": ""}
    numbers = ("value", "difference", "low", "high", "p_value", "smallest_visible", "rows_seen", "rows_unseen")
    assert {one.get(name) for one in published["gate"] for name in numbers} == {None}
    assert published["gate"][0]["sentence"] == (
        "Difference in error rate of the most deviating cluster: at most 5.0 points is allowed; what was found lies "
        "beyond that. This limit is on the most deviating cluster, compared with everybody else; confidence 95 %, "
        "higher is worse."
    )


def test_the_four_fifths_rule_names_whom_the_form_names() -> None:
    document = _golden("compas")
    rule = {
        "kind": "four_fifths", "check": "four_fifths", "facet": "race", "facets": ["race"], "group": "Hispanic",
        "reference": "Caucasian", "minimum": 0.8, "verdict": "fail", "blocks": True, "inconclusive": "warn",
        "sentence": "17 of 93", "value": 0.61, "low": 0.5, "high": 0.7, "confidence": 0.95, "p_value": 0.012,
        "severity": "high", "groups_judged": 4, "left_out": ["Native American"], "rows_seen": 7000, "rows_unseen": 214,
    }  # fmt: skip
    document["gate"] = [rule, {**rule, "group": "Native American"}]
    named, hidden = for_publication(document)["gate"]
    numbers = ("value", "low", "high", "p_value", "rows_seen", "rows_unseen")
    nothing = {**dict.fromkeys(numbers), "left_out": []}
    told = "Four-fifths rule by race: at least 0.8 is required; what was found lies beyond that."
    assert named == {**rule, **nothing, "sentence": f"{told} The group that decides is Hispanic."}
    assert hidden == {**rule, **nothing, "group": None, "reference": None, "sentence": told}


def test_nothing_of_where_the_table_lies() -> None:
    document = _golden("compas")
    document["spec"] |= {
        "title": "Risk", "language": "nl", "units": {}, "reference": {"race": {"Native American": 7}},
        "labels": {"race": {"name": "origin", "levels": {"Native American": "of the first nations"}}},
        "about": {"owner": "the city", "model_file": "model.bin", "hazards": {"Native American": "jail"}},
    }  # fmt: skip
    published = for_publication(document)
    assert set(published["spec"]) == {
        "name", "require", "bias_variable", "legitimate", "favourable", "significance", "groups",
        "title", "language", "units", "labels", "about",
    }  # fmt: skip
    assert published["spec"]["labels"] == {"race": {"name": "origin", "levels": {}}}
    assert published["spec"]["about"] == {"owner": "the city"}
    rows = {name: published["data"].pop(name) for name in ("rows", "rows_audited")}
    assert published["data"] == {
        "source": "a table that this form does not name", "fingerprint": "", "columns": [], "rows_left_out": [],
    }  # fmt: skip
    for name, told in rows.items():
        assert told % 10 == 0
        assert abs(told - document["data"][name]) < 5 + 4 * DEVIATION


def test_labels_of_rare_levels_are_left_out() -> None:
    document = _golden("compas")
    document["spec"]["labels"] = {
        "race": {"name": "origin", "levels": {"Caucasian": "white", "Native American": "indigenous"}},
        "high_risk": {"name": None, "levels": {"1": "high risk"}},
    }
    labels = for_publication(document)["spec"]["labels"]
    assert labels["race"] == {"name": "origin", "levels": {"Caucasian": "white"}}
    assert labels["high_risk"]["levels"] == {"1": "high risk"}


def test_it_is_no_baseline(tmp_path: Path) -> None:
    document = _golden("compas")
    file = tmp_path / "report.json"
    file.write_text(json.dumps(for_publication(document)), encoding="utf-8")
    spec = parse_spec(document["spec"])
    with pytest.raises(SourceError, match="is a form for publication, whose numbers are rounded"):
        read_baseline(file, spec)
