"""Label and prediction that are numbers, from the specification to the verdict and the report."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pypdf
import pytest
from jsonschema import Draft202012Validator

from bdt_core import audit
from bdt_core.audit import AuditResult
from bdt_core.errors import DataError, SourceError, SpecError
from bdt_core.report import for_publication
from bdt_core.report.html import render_html
from bdt_core.report.markdown import render_markdown
from bdt_core.report.pdf import render_pdf
from bdt_core.spec import MetricLimit, NumericLimit, json_schema, parse_spec
from bdt_core.verdict.baseline import compare_with_baseline
from bdt_core.verdict.comparable import ComparableReport, read_baseline

ALONE: dict[str, Any] = {"clustering": None, "worst_groups": None, "slices": None, "protected": ["sex"], "gate": []}
OF_ERRORS: dict[str, Any] = {"derive": "absolute_error", "label": "pay", "prediction": "model"}
OF_COLUMN: dict[str, Any] = {"outcome": "pay", "groups": {"numbers": True, "label": "pay", "prediction": "model"}}


def people(n: int = 600) -> pd.DataFrame:
    """A model is 1 too high for women and right for men on average, off by up to 3 for either; 12 are of neither."""
    rng = np.random.default_rng(4)
    sex = np.where(np.arange(n) < 12, "x", np.where(np.arange(n) % 2 == 0, "f", "m"))
    pay = np.round(rng.uniform(10.0, 30.0, n), 2)
    off = np.round(rng.uniform(-3.0, 3.0, n), 2) + (sex == "f")
    return pd.DataFrame({"sex": sex, "age": rng.integers(20, 60, n), "pay": pay, "model": pay + off})


def audited(**changes: Any) -> AuditResult:
    return audit(people(), **{**ALONE, **OF_ERRORS, **changes})


def numbers(result: AuditResult) -> dict[str, Any]:
    groups = result.document["numeric_groups"]["facets"][0]["groups"]
    return {one["group"]: one["rates"] for one in groups}


def test_a_bias_variable_of_numbers_has_them_of_each_declared_group():
    result = audited()
    frame = people()
    assert result.groups is None
    for sex in "fm":
        rows = frame[frame["sex"] == sex]
        rates = numbers(result)[sex]
        assert rates["mean_error"]["estimate"] == pytest.approx((rows["model"] - rows["pay"]).mean())
        assert rates["median_prediction"]["estimate"] == pytest.approx(rows["model"].median())
    assert numbers(result)["x"] is None  # 12 rows are too few to tell anything
    shown = result.numbers.to_frame()
    assert shown["rows"].tolist() == [294, 294, 12]
    assert shown["mean_absolute_error"].notna().tolist() == [True, True, False]
    assert result.declared.facet("sex").groups[0].mean == result.numbers["sex"]["mae"]["f"].estimate
    against = {
        one["metric"]: one["values"] for one in result.document["numeric_groups"]["facets"][0]["against_reference"]
    }
    assert [one["estimate"] for one in against["mean_error_difference"]][2] is None
    assert "mean_error_ratio" not in against


def test_the_tolerance_is_that_of_the_specification():
    frame = people()
    off = (frame["model"] - frame["pay"]).abs()[frame["sex"] == "m"]
    assert "within_tolerance" not in numbers(audited())["m"]
    for tolerance in (0.5, 2.0):
        result = audited(
            groups={"tolerance": tolerance}, gate=[{"metric": "within_tolerance", "facet": "sex", "min": 0.4}]
        )
        assert numbers(result)["m"]["within_tolerance"]["estimate"] == pytest.approx((off <= tolerance).mean())
        assert result.verdict == ("fail" if tolerance == 0.5 else "pass")
        assert f"off by at most {tolerance:g}" in render_html(result.document)


def test_groups_numbers_says_that_columns_are_numbers():
    result = audit(people(), **ALONE, **OF_COLUMN)
    assert result.groups is None
    assert numbers(result)["f"]["mean_error"] == numbers(audited())["f"]["mean_error"]
    counted = {**OF_COLUMN, "groups": {"label": "pay", "prediction": "model"}}
    with pytest.raises(DataError, match="favourable value|never has|groups.positive|No row"):
        audit(people(), **ALONE, **counted)
    one = audit(people(), **ALONE, outcome="pay", groups={"numbers": True, "label": "pay"})
    assert list(numbers(one)["f"]) == ["mean_outcome", "median_outcome"]


def test_the_reference_and_cuts_are_those_of_the_specification():
    result = audited(
        groups={"reference": "everybody else", "thresholds": {"age": 40}, "facets": ["sex", "age", ["sex", "age"]]}
    )
    facets = result.document["numeric_groups"]["facets"]
    assert [one["reference"] for one in facets] == ["everybody else"] * 3
    assert [one["group"] for one in facets[1]["groups"]] == ["<= 40", "> 40"]
    assert len(facets[2]["groups"]) == 6
    with pytest.raises(SpecError, match='groups.reference: no grouping has a group "y"'):
        audited(groups={"reference": "y"})
    lone = audited(protected=["sex", "age"]).document["numeric_groups"]
    assert [one["facet"] for one in lone["facets"]] == ["sex"]
    assert '"age" is numeric and makes no groups by itself' in lone["notes"][0]


LIMITS = [
    ({"metric": "mean_absolute_error_difference", "max": 0.6}, "pass"),
    ({"metric": "mean_absolute_error_difference", "max": 0.17}, "inconclusive"),
    ({"metric": "mean_error_difference", "max": 0.2}, "fail"),
    ({"metric": "mean_error", "max": 0.5}, "fail"),
    ({"metric": "mean_error", "min": -0.5, "max": 2.0}, "pass"),
    ({"metric": "median_outcome_ratio", "min": 0.7, "max": 1.4}, "pass"),
    ({"metric": "root_mean_squared_error", "max": 1.0}, "fail"),
    ({"metric": "mean_squared_error_ratio", "max": 0.75}, "inconclusive"),
]


@pytest.mark.parametrize(("limit", "verdict"), LIMITS)
def test_a_limit_is_judged_by_intervals(limit, verdict):
    result = audited(gate=[{**limit, "facet": "sex"}])
    (judged,) = result.document["gate"]
    assert (judged["kind"], judged["verdict"]) == ("numeric_metric", verdict)
    assert judged["left_out"] == ["x"]
    assert limit["metric"].replace("_", " ") in judged["sentence"].lower()


def test_the_largest_difference_with_a_sign_is_meant_both_ways():
    reversed_roles = audited(
        groups={"reference": "f"}, gate=[{"metric": "mean_error_difference", "facet": "sex", "max": 0.2}]
    )
    assert reversed_roles.verdict == "fail"
    assert reversed_roles.document["gate"][0]["minimum"] == -0.2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {**OF_ERRORS, "gate": [{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.1}]},
            'are numbers: limit a metric of numbers such as "mean_absolute_error_difference"',
        ),
        (
            {"outcome": "pay", "gate": [{"metric": "mean_absolute_error", "facet": "sex", "max": 1}]},
            'set "groups.numbers: true" with "groups.label" and "groups.prediction"',
        ),
        (
            {**OF_ERRORS, "gate": [{"metric": "within_tolerance", "facet": "sex", "min": 0.5}]},
            'needs "groups.tolerance": how far a prediction may be off',
        ),
        (
            {**OF_ERRORS, "gate": [{"metric": "mean_absolute_error", "facet": "sex", "min": 1}]},
            'lets every harm pass: lower values are the better ones; write "max: 1"',
        ),
        (
            {
                "outcome": "pay", "groups": {"numbers": True, "label": "pay"},
                "gate": [{"metric": "mean_error", "facet": "sex", "max": 1}],
            },
            'needs "groups.prediction"',
        ),
        ({"outcome": "pay", "groups": {"tolerance": 1}}, '"groups.tolerance" needs a label and a prediction'),
        ({**OF_ERRORS, "groups": {"tolerance": 0}}, "greater than 0"),
        ({"outcome": "pay", "groups": {"numbers": True}}, '"groups.numbers" needs numbers'),
        ({"outcome": "pay", "groups": {"numbers": True, "label": "pay", "score": "pay"}}, '"groups.score" goes with'),
        ({**OF_ERRORS, "gate": [{"metric": "mean_error_ratio", "facet": "sex", "max": 1}]}, "there is no metric"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_with_its_key_and_the_mend(changes, message):
    with pytest.raises(SpecError) as error:
        audit(people(), **{**ALONE, **changes})
    assert message in str(error.value)


def test_a_limit_from_python_is_of_its_own_kind():
    assert NumericLimit(metric="mean_error", facet="sex", max=1.0).check_name() == "mean_error"
    with pytest.raises(ValueError, match='a limit on "mean_error" is a NumericLimit'):
        MetricLimit(metric="mean_error", facet="sex", max=1.0)
    settings = {
        "name": "pay", "source": {"path": "pay.csv"}, "bias_variable": OF_ERRORS,
        "gate": [{"metric": "mean_error", "facet": "sex", "max": 1.0}],
    }  # fmt: skip
    assert isinstance(parse_spec(settings).gate[0], NumericLimit)
    Draft202012Validator(json_schema()).validate(settings)


@pytest.mark.parametrize("language", ["en", "nl"])
def test_every_form_of_the_report_shows_them_in_the_annex(language):
    limit = {"metric": "mean_error_difference", "facet": "sex", "max": 0.2}
    result = audited(language=language, groups={"tolerance": 1.0}, gate=[limit])
    title = {"en": "Numbers of declared groups", "nl": "Getallen van opgegeven groepen"}[language]
    share = {"en": "Share within the tolerance", "nl": "Aandeel binnen de marge"}[language]
    pages = pypdf.PdfReader(io.BytesIO(render_pdf(result.document))).pages
    texts = [" ".join(one.extract_text().split()) for one in pages]
    for text in (render_html(result.document), render_markdown(result.document), " ".join(texts)):
        assert title in text
        assert share in text
    assert title not in texts[0]
    again = json.loads(json.dumps(result.document))
    assert render_html(again) == render_html(result.document)


def test_a_form_for_publication_has_none_of_them():
    result = audited(gate=[{"metric": "mean_error_difference", "facet": "sex", "max": 0.2}])
    form = for_publication(result.document)
    assert "numeric_groups" not in form
    (limit,) = form["gate"]
    assert (limit["verdict"], limit["value"], limit["group"]) == ("fail", None, None)
    assert "2" in render_markdown(form)


def test_a_table_that_is_read_in_batches_gives_the_same(tmp_path):
    path = tmp_path / "people.csv"
    frame = people(1500).assign(person=np.arange(1500) // 2)
    frame.to_csv(path, index=False)
    changes: dict[str, Any] = {
        "groups": {"tolerance": 1.0, "facets": ["sex", ["sex", "age"]], "thresholds": {"age": 40}},
        "split": {"key": "person", "method": "hash"},
    }
    inside, outside = (
        audit(path, **{**ALONE, **OF_ERRORS, **changes, "clustering": {"memory": memory, "stability": 0}})
        for memory in ("in_memory", "out_of_core")
    )
    assert outside.document["numeric_groups"] == inside.document["numeric_groups"]
    assert inside.numbers["sex"].rows == 1500


def test_a_baseline_is_compared_group_by_group_where_it_measures_the_same(tmp_path):
    limits = [
        {"metric": "mean_error_difference", "facet": "sex", "max": 0.2},
        {"metric": "within_tolerance", "facet": "sex", "min": 0.1},
    ]
    before = audited(gate=limits, groups={"tolerance": 1.0})
    path = before.write(tmp_path)["json"]
    worse = people()
    worse.loc[worse["sex"] == "f", "model"] += 2.0
    now = audit(worse, **{**ALONE, **OF_ERRORS, "gate": limits, "groups": {"tolerance": 1.0}})
    baseline = read_baseline(path, now.test.spec)
    compared = compare_with_baseline(ComparableReport.of(now.document), baseline)
    assert [(one.change, one.group) for one in compared.limits] == [("worse", "m"), ("worse", "f")]
    other = audited(gate=limits, groups={"tolerance": 2.0})
    with pytest.raises(SourceError, match="its groups.tolerance is 1, that of the specification 2"):
        read_baseline(path, other.test.spec)
