"""Local Law 144 and the four-fifths rule: from the specification to the verdict and the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core import words
from bdt_core.audit import AuditResult
from bdt_core.errors import SpecError
from bdt_core.report import for_publication
from bdt_core.report.groups import map_rate
from bdt_core.report.markdown import render_markdown
from bdt_core.report.printed import printed
from bdt_core.report.selection_rules import rule_lines
from bdt_core.spec import parse_spec
from tests.core.joined.made_tables import OUT_OF_CORE, quick_audit
from tests.core.verdict.against import against

SPEC: dict[str, Any] = {
    "bias_variable": {"derive": "error", "label": "good", "prediction": "hired"},
    "favourable": "positive",
    "protected": ["sex", "race"],
    "worst_groups": None,
    "characteristics": [],
    "clustering": {"stability": 0, "n_init": 1, "max_iter": 1},
}
BOTH = {"report": ["ll144", "four_fifths"]}
CHECK = {"check": "four_fifths"}


def applicants(rows: int = 2_000, women: float = 0.25) -> pd.DataFrame:
    """Women are hired in fewer cases than men (40 %); white people have higher scores; 1 % are of a rare origin."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m", None], rows, p=[0.45, 0.5, 0.05]),
            "race": rng.choice(["w", "b", "rare"], rows, p=[0.6, 0.39, 0.01]),
            "age": rng.integers(20, 60, rows),
            "good": rng.integers(0, 2, rows),
        }
    )
    frame["hired"] = (rng.random(rows) < np.where(frame.sex == "f", women, 0.4)).astype(int)
    frame["score"] = rng.normal(size=rows).round(1) + (frame.race == "w")
    return frame


def ruled(frame: pd.DataFrame | Path, **changes: Any) -> AuditResult:
    return quick_audit(frame, **{**SPEC, **changes})


def tables_of(result: AuditResult, rule: str = "ll144", kind: str = "selection rate") -> dict[str, Any]:
    """The tables of a rule by their columns."""
    found = result.document["selection_rules"][rule]
    return {" & ".join(one["columns"]): one for one in found if one.get("rate_kind", kind) == kind}


@pytest.fixture(scope="module")
def both() -> AuditResult:
    return ruled(applicants(), groups=BOTH | {"score": "score"}, gate=[CHECK])


def test_rates_and_ratios_are_those_that_pandas_counts(both: AuditResult) -> None:
    frame = applicants()
    above = frame.assign(hired=frame.score > frame.score.median())
    for kind, rows in (("selection rate", frame), ("scoring rate", above)):
        found = tables_of(both, kind=kind)
        assert set(found) == {"sex", "race", "sex & race"}
        for by, table in found.items():
            columns = by.split(" & ")
            known = rows.dropna(subset=columns)
            counted = known.groupby(columns).hired.agg(["size", "sum", "mean"])
            kept = counted[counted["size"] >= 0.02 * len(known)]
            assert table["unknown"] == len(rows) - len(known)
            assert [(one["n"], one["selected"], one["rate"]) for one in table["categories"]] == [
                (n, hired, pytest.approx(rate)) for n, hired, rate in counted.itertuples(index=False)
            ]
            for one, (group, line) in zip(table["categories"], counted.iterrows(), strict=True):
                assert one["excluded"] is (group not in kept.index)
                ratio = None if one["excluded"] else pytest.approx(line["mean"] / kept["mean"].max())
                assert one["impact_ratio"] == ratio
    assert tables_of(both, kind="scoring rate")["sex"]["median"] == frame.score.median()


def test_the_report_and_the_terminal_say_it(both: AuditResult) -> None:
    told = render_markdown(both.document)
    start = told.index("## Local Law 144 and the four-fifths rule")
    section = told[start : told.index("\n## ", start + 5)]
    table = tables_of(both)["sex"]
    unknown, women = table["unknown"], table["categories"][0]
    assert f"Selection rates by sex. Left out of the ratios: 0 categories. Unknown, and in no category: {unknown}" in (
        section
    )
    assert f"| f | {women['n']:,} | {women['selected']:,} | {100 * women['rate']:.1f} % |" in section
    assert "| left out (under 2.0 %) |" in section
    assert "Scoring rates by race; the median of score is" in section
    assert "The four-fifths rule by sex." in section
    assert "below 4/5 (and significant)" in section
    lines = list(rule_lines(both.document))
    ratio = f"{women['impact_ratio']:.3g}"
    assert lines[0].startswith(f"Local Law 144, selection rate by sex: lowest impact ratio {ratio}, f (")
    assert lines[-2].startswith("Four-fifths rule by sex: below 4/5 of m: f ")


def test_the_form_for_publication_has_tables_of_its_own_counts(both: AuditResult) -> None:
    published = for_publication(both.document)
    shown = {one["facet"]: one for one in published["groups"]["facets"]}
    ratios, rules = (published["selection_rules"][name] for name in ("ll144", "four_fifths"))
    assert [(one["columns"], one["rate_kind"]) for one in ratios] == [
        (["sex"], "selection rate"), (["race"], "selection rate"),
    ]  # fmt: skip
    assert [one["columns"] for one in rules] == [["sex"], ["race"]]
    for table, rule in zip(ratios, rules, strict=True):
        groups = {one["group"]: one for one in shown[" & ".join(table["columns"])]["groups"] if one["rows"] >= 50}
        assert {one["category"][0]: one["n"] for one in table["categories"]} == {
            name: one["rows"] for name, one in groups.items()
        }
        rates = {name: one["rates"]["selection_rate"] for name, one in groups.items()}
        assert [(one["selected"], one["rate"]) for one in table["categories"]] == [
            (rates[one["category"][0]]["events"], rates[one["category"][0]]["estimate"]) for one in table["categories"]
        ]
        assert [(one["applicants"], one["rate"], one["ratio"]) for one in rule["rule"]["groups"]] == [
            (one["n"], one["rate"], one["impact_ratio"]) for one in table["categories"]
        ]
        assert {one["p_value"] for one in (*table["categories"], *rule["rule"]["groups"])} == {None}
        assert (table["unknown"], rule["unknown"]) == (0, 0)
    told = render_markdown(published)
    assert "## Local Law 144 and the four-fifths rule" in told
    assert "below 4/5 (not tested)" in told
    assert "nknown, and in no" not in told
    assert "rare" not in told


def test_the_form_for_publication_has_no_rule_where_many_have_no_label() -> None:
    frame = applicants()
    frame["good"] = frame["good"].where(frame.index % 4 > 0)
    found = ruled(frame, groups=BOTH, missing="drop")
    assert found.document["selection_rules"]["ll144"]
    published = for_publication(found.document)["selection_rules"]
    assert (published["ll144"], published["four_fifths"]) == ([], [])


def test_the_form_for_publication_tells_the_verdict_on_a_rule(both: AuditResult) -> None:
    (limit,) = for_publication(both.document)["gate"]
    assert (limit["verdict"], limit["value"], limit["reference"], limit["left_out"]) == ("fail", None, "m", [])
    assert limit["sentence"] == (
        "Four-fifths rule by sex and race: at least 0.8 is required; what was found lies beyond that. The group that "
        "decides is f."
    )


def test_a_rule_that_is_not_asked_for_is_not_there() -> None:
    assert "selection_rules" not in ruled(applicants()).document
    only = ruled(applicants(), groups={"report": ["ll144"]})
    assert only.document["selection_rules"]["four_fifths"] == []
    assert "## Local Law 144\n" in render_markdown(only.document)
    other = ruled(applicants(), groups={"report": ["four_fifths"]})
    assert other.document["selection_rules"]["ll144"] == []
    assert "## The four-fifths rule\n" in render_markdown(other.document)
    assert set(tables_of(other, "four_fifths")) == {"sex", "race"}  # pairs are Local Law 144's


@pytest.mark.parametrize(
    ("women", "limit", "verdict", "says"),
    [
        (0.25, CHECK, "fail", "f is selected 0.527 times as often as m"),
        (0.25, CHECK | {"facet": "race"}, "inconclusive", "b is selected"),
        (0.4, CHECK | {"facet": "sex"}, "pass", "the whole interval is within it"),
        (0.32, CHECK | {"facet": "sex"}, "inconclusive", "the interval lies on both sides of it"),
        (0.25, CHECK | {"facet": ["race", "sex"]}, "fail", "Not judged, for too few people: rare & "),
    ],
)
def test_the_check_fails_passes_or_cannot_tell(women: float, limit: dict[str, Any], verdict: str, says: str) -> None:
    rows = 400 if verdict == "inconclusive" else 2_000
    result = ruled(applicants(rows, women), gate=[limit])
    (found,) = result.document["gate"]
    assert (found["kind"], found["verdict"], found["blocks"]) == ("four_fifths", verdict, verdict == "fail")
    assert says in found["sentence"]
    assert found["sentence"] in " ".join(render_markdown(result.document).replace("\\", "").split())
    strict = ruled(applicants(rows, women), gate=[limit | {"inconclusive": "block"}])
    assert strict.document["verdict"]["blocks"] is (verdict != "pass")


def test_below_four_fifths_but_not_significant_is_no_failure() -> None:
    frame = pd.DataFrame({"sex": ["f"] * 60 + ["m"] * 60, "race": "w", "age": range(120), "good": [0, 1] * 60})
    settings = {"gate": [CHECK | {"facet": "sex"}], "protected": ["sex"], "significance": {"min_rows": 10}}
    frame["hired"] = [1] * 22 + [0] * 38 + [1] * 30 + [0] * 30  # .733 of the men's rate, p about .14
    (found,) = ruled(frame, **settings).document["gate"]
    assert (found["verdict"], found["value"]) == ("inconclusive", pytest.approx(22 / 30))
    assert found["sentence"].endswith("the value is beyond it, without a significant difference.")
    frame["hired"] = [1] * 48 + [0] * 12 + [1] * 60  # exactly 4/5, and significantly lower
    (found,) = ruled(frame, **settings).document["gate"]
    assert (found["verdict"], found["value"]) == ("inconclusive", 0.8)
    assert found["sentence"].endswith("the interval lies on both sides of it. One other outcome would turn it.")


def test_where_a_negative_prediction_is_wanted_those_are_the_selected() -> None:
    frame = applicants()
    turned = frame.assign(hired=1 - frame.hired, score=-frame.score)
    settings = {"groups": BOTH | {"score": "score"}, "gate": [CHECK]}
    first, second = ruled(frame, **settings), ruled(turned, favourable="negative", **settings)
    one, two = (dict(x.document["selection_rules"]) for x in (first, second))
    assert (one["selected"], two["selected"]) == ([1], [0])
    assert one["four_fifths"] == two["four_fifths"]
    assert [x["categories"] for x in one["ll144"]] == [x["categories"] for x in two["ll144"]]
    assert [x["median"] for x in two["ll144"][3:]] == [-x["median"] for x in one["ll144"][3:]]
    assert first.document["gate"] == second.document["gate"]
    assert "below the median of all" in render_markdown(second.document)


def test_columns_cut_in_two_and_declared_groupings_of_three() -> None:
    settings = {"groups": BOTH | {"thresholds": {"age": 40}, "facets": ["sex", "age", ["race", "sex", "age"]]}}
    found = tables_of(ruled(applicants(), **settings))
    assert set(found) == {"sex", "age", "race", "sex & age", "sex & race", "age & race", "race & sex & age"}
    assert [one["category"] for one in found["age"]["categories"]] == [["<= 40"], ["> 40"]]
    plain = tables_of(ruled(applicants(), groups=BOTH, protected=["sex", "age"]))
    assert set(plain) == {"sex"}  # each age is no group


def test_people_without_a_decision_or_a_score_are_counted() -> None:
    frame = applicants()
    frame.loc[:9, "hired"] = np.nan
    frame.loc[:4, "score"] = np.nan
    frame.loc[:199, "good"] = np.nan  # a rule of selection asks for no label
    found = ruled(frame, groups=BOTH | {"score": "score"}).document["selection_rules"]
    assert (found["without_prediction"], found["without_score"]) == (10, 5)
    by_race = next(one for one in found["ll144"] if one["columns"] == ["race"])
    assert sum(one["n"] for one in by_race["categories"]) == len(frame) - 10


def test_what_a_broken_rule_means_is_no_word_of_the_interval() -> None:
    """A group is selected significantly less often, and its interval reaches beyond 4/5 all the same."""
    frame = pd.DataFrame({"sex": ["f"] * 300 + ["m"] * 300, "race": "w", "age": range(600), "good": [0, 1] * 300})
    frame["hired"] = [1] * 66 + [0] * 234 + [1] * 100 + [0] * 200
    result = ruled(frame, gate=[CHECK], protected=["sex"])
    (found,) = result.document["gate"]
    assert found["verdict"] == "fail"
    assert found["low"] < 0.8 < found["high"]
    drawn = render_markdown(result.document)
    assert words.SIGNIFICANTLY_BEYOND in drawn
    assert words.VERDICT_MEANINGS["fail"] not in drawn


def test_rows_that_the_check_does_not_see_are_counted() -> None:
    frame = applicants()
    lacking = int(frame.sex.isna().sum())
    (found,) = ruled(frame, gate=[CHECK | {"facet": "sex"}]).document["gate"]
    assert (found["rows_seen"], found["rows_unseen"]) == (len(frame) - lacking, lacking)
    assert f"{lacking} without a value of sex were not seen." in found["sentence"]
    frame.loc[frame.index[frame.sex.notna()][:10], "hired"] = np.nan
    (found,) = ruled(frame, gate=[CHECK | {"facet": "sex"}]).document["gate"]
    assert (found["rows_seen"], found["rows_unseen"]) == (len(frame) - lacking - 10, lacking + 10)
    assert "without a value of sex or hired were not seen." in found["sentence"]
    (whole,) = ruled(frame.dropna(), gate=[CHECK | {"facet": "sex"}]).document["gate"]
    assert whole["rows_unseen"] == 0
    assert "not seen" not in whole["sentence"]


def test_in_blocks_it_is_the_same(tmp_path: Path, both: AuditResult) -> None:
    path = tmp_path / "applicants.csv"
    applicants().to_csv(path, index=False)
    changes = {**OUT_OF_CORE, "clustering": {**OUT_OF_CORE["clustering"], "max_iter": 1, "n_init": 1}}
    found = ruled(path, groups=BOTH | {"score": "score"}, gate=[CHECK], **changes).document
    assert found["selection_rules"] == both.document["selection_rules"]
    assert found["gate"] == both.document["gate"]


def test_persons_with_several_rows_are_not_tested_as_if_they_had_one() -> None:
    frame = applicants(1_000).assign(person=np.arange(1_000) // 2)
    found = ruled(frame, groups=BOTH, split={"key": "person", "repeats": 1}).document["selection_rules"]
    assert found["key"] == "person"
    assert all(one["p_value"] is one["low"] is None for table in found["ll144"] for one in table["categories"])
    assert all(one["p_value"] is None for table in found["four_fifths"] for one in table["rule"]["groups"])
    with pytest.raises(SpecError, match="four_fifths_ratio, facet: COLUMN, min: 0.8} instead, which counts persons"):
        specified(split={"key": "person"}, gate=[CHECK])


def test_the_impact_ratio_is_a_limit_of_its_own() -> None:
    limits = [{"metric": name, "facet": "sex", "min": 0.8} for name in ("impact_ratio", "four_fifths_ratio")]
    one, two = ruled(applicants(), gate=limits).document["gate"]
    assert (one["metric"], one["verdict"]) == ("impact_ratio", "fail")
    assert [one[key] for key in ("value", "low", "high")] == [two[key] for key in ("value", "low", "high")]
    assert one["sentence"].startswith(
        "Impact ratio by sex (lowest over highest; favourable: hired is positive) is 0.527 ["
    )


def test_the_map_shows_what_an_impact_ratio_is_about() -> None:
    limit = {"metric": "impact_ratio", "facet": ["sex", "race"], "min": 0.8}
    document = printed(ruled(applicants(), gate=[limit]).document)
    assert document.groups is not None
    facet = next(one for one in document.groups.facets if one.facet == "sex & race")
    assert map_rate(document, facet) == "selection_rate"


def test_a_baseline_forgives_what_was_as_bad_before() -> None:
    before, same, worse = (ruled(applicants(women=one), gate=[CHECK]).document for one in (0.25, 0.24, 0.1))
    assert against(same, before).limits[0].accepted
    change = against(worse, before).limits[0]
    assert (change.change, change.is_ratio) == ("worse", True)
    assert change.difference == pytest.approx(worse["gate"][0]["value"] / before["gate"][0]["value"])
    other = ruled(applicants(), gate=[CHECK | {"facet": "race"}]).document
    assert against(other, before).limits[0].change == "not_in_baseline"


def specified(**changes: Any) -> Any:
    return parse_spec({"name": "jobs", "source": {"path": "jobs.csv"}, **SPEC, **changes})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"groups": BOTH, "favourable": None}, '"ll144" in groups.report depends on the prediction that people want'),
        ({"gate": [CHECK], "favourable": None}, '"four_fifths" in gate depends on the prediction that people want'),
        ({"groups": BOTH, "protected": []}, '"ll144" in groups.report needs groups: name their columns'),
        ({"groups": BOTH, "bias_variable": {"column": "good"}}, '"ll144" in groups.report needs to know who'),
        ({"groups": {"report": ["ll14"]}}, "groups.report.0"),
        ({"gate": [CHECK | {"facet": []}]}, '"facet" must name one column'),
        ({"gate": [CHECK | {"max_difference": 0.1}]}, "gate.0.max_difference: unknown key"),
        ({"gate": [{"check": "four_fifth"}]}, 'did you mean "four_fifths"?'),
    ],
)
def test_what_is_missing_is_named(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=".") as refused:
        specified(**changes)
    assert says in str(refused.value)
