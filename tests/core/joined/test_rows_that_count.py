"""Which rows reach a metric: a value costs a row its place only where it is needed, and who was not seen is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from bdt_core.fairness import bias_metrics
from bdt_core.fairness.declared_groups import GroupMetrics, compare_groups, count_groups
from bdt_core.report.gate_result import build_gate_result
from bdt_core.spec import AuditSpec, MetricLimit, parse_spec
from bdt_core.table.source_blocks import SourceBlocks
from bdt_core.verdict import judge_metric
from tests.core.joined.made_tables import quick_audit
from tests.core.report.described import described
from tests.core.tables_in_blocks import SourceInBlocks

N = 4_000
BIAS = {"derive": "error", "label": "hired", "prediction": "advice"}
LIMITS = [{"metric": "DI", "facet": "sex", "min": 0.8}, {"metric": "CDDPL", "facet": "sex", "max": 0.1}]
INSIDE_STRATA = {"CDDL", "CDDPL"}


def people(gaps: bool = True) -> pd.DataFrame:
    """Women are advised .62 times as often; most of the women who are not have no department."""
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], N)
    advice = rng.random(N) < np.where(sex == "f", 0.31, 0.5)
    dept = rng.choice(["sales", "law"], N).astype(object)
    if gaps:
        dept[(sex == "f") & ~advice & (rng.random(N) < 0.6)] = None
    score = np.round(np.clip(0.3 + 0.3 * advice + rng.normal(0, 0.15, N), 0, 1), 3)
    hired = np.where(rng.random(N) < 0.8, advice, ~advice).astype(int)
    return pd.DataFrame(
        {"sex": sex, "advice": advice.astype(int), "hired": hired, "dept": dept, "score": score, "x": rng.random(N)}
    )


def audited(frame: pd.DataFrame, **groups: Any) -> AuditResult:
    said = {"bias_variable": BIAS, "favourable": "positive", "protected": ["sex"], "require": "all"}
    return quick_audit(frame, **said, groups=groups, gate=LIMITS)


def test_a_stratum_with_gaps_takes_rows_out_of_nothing_else() -> None:
    frame = people()
    gaps = int(frame["dept"].isna().sum())
    without, found = (audited(frame, score="score", **more).document for more in ({}, {"stratum": "dept"}))
    impact, disparity = found["gate"]
    assert impact == {**without["gate"][0]}
    assert (impact["verdict"], impact["rows_seen"], impact["rows_unseen"]) == ("fail", N, 0)
    assert impact["value"] < 0.7
    assert "not seen" not in impact["sentence"]
    assert (disparity["rows_seen"], disparity["rows_unseen"]) == (N - gaps, gaps)
    assert f"Judged on {N - gaps:,} rows; {gaps:,} without a value of dept were not seen." in disparity["sentence"]
    (one,), (other,) = found["groups"]["facets"], without["groups"]["facets"]
    for part in ("groups", "ranges", "against_reference", "bias_score", "overall", "rows"):
        assert one[part] == other[part], part
    assert [x for x in one["clarify"] if x["metric"] not in INSIDE_STRATA] == [
        x for x in other["clarify"] if x["metric"] not in INSIDE_STRATA
    ]
    described().validate(found)
    written = build_gate_result(found, 1)["limits"]
    assert [limit["rows_unseen"] for limit in written] == [0, gaps]


def test_disparity_inside_strata_is_that_of_the_rows_that_have_one() -> None:
    frame = people()
    asked = {"facet": "sex", "label": "hired", "prediction": "advice", "group": "dept"}
    found, complete = bias_metrics(frame, **asked), bias_metrics(frame.dropna(subset=["dept"]), **asked)
    for name in INSIDE_STRATA:
        assert found[name]["f"] == complete[name]["f"]
    assert found["prevalence"]["f"].n == (frame["sex"] == "f").sum() > complete["prevalence"]["f"].n
    assert any("CDDL and CDDPL alone are without them" in note for note in found.notes)


def settled(**changes: Any) -> AuditSpec:
    return parse_spec(
        {"name": "a", "source": {"path": "a.csv"}, "bias_variable": BIAS, "protected": ["sex"], **changes}
    )


def compared(source: pd.DataFrame | SourceBlocks, spec: AuditSpec) -> GroupMetrics:
    return compare_groups(count_groups(source, spec), spec.significance, source)


@pytest.mark.parametrize("large_rows", [1_000_000, 1_000])
def test_blocks_see_the_same_rows(large_rows: int) -> None:
    """Metrics that need the rows (AUC, flip test) among them, of all rows and of drawn ones."""
    frame = people()
    groups = {"score": "score", "similar_by": ["x"]}
    spec = settled(groups={**groups, "stratum": "dept"}, large_rows=large_rows)
    source = SourceInBlocks(frame, (700, 2_500))
    whole, blocks = compared(frame, spec), compared(source, spec)
    assert whole == blocks
    plain = compared(frame, settled(groups=groups, large_rows=large_rows))
    for one, other in zip(whole.facets[0].metrics.metrics, plain.facets[0].metrics.metrics, strict=True):
        if one.name not in INSIDE_STRATA:
            assert one == other


@pytest.mark.parametrize(
    ("metric", "lacking", "columns"),
    [
        ("demographic_parity_difference", {"sex": 200}, "sex"),
        ("demographic_parity_difference", {"sex": 200, "advice": 100}, "sex or advice"),
        ("selection_rate", {"hired": 1}, "hired"),
        ("auc", {"score": 300}, "score"),
        ("selection_rate", {"score": 300}, None),
        ("bias_score", {"sex": 200}, "sex"),
    ],
)
def test_rows_that_a_limit_does_not_see_are_counted(metric: str, lacking: dict[str, int], columns: str | None) -> None:
    frame = people(gaps=False).astype({"hired": "Int64", "advice": "Int64"})
    at = 0
    for name, n in lacking.items():
        frame.loc[at : at + n - 1, name] = None
        at += n
    spec = settled(groups={"score": "score"})
    limit = judge_metric(MetricLimit(metric=metric, facet="sex", min=0.0, max=0.9), compared(frame, spec))
    unseen = 0 if columns is None else at
    assert (limit.rows_seen, limit.rows_unseen) == (N - unseen, unseen)
    were = "was" if unseen == 1 else "were"
    told = f"Judged on {N - unseen:,} rows; {unseen:,} without a value of {columns} {were} not seen."
    assert (told in limit.sentence) == (columns is not None), limit.sentence
    assert ("not seen" in limit.sentence) == (columns is not None)
