"""Who is harmed by a positive prediction is said once, and turns ratios, limits and sentences: below 1 is harm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from bdt_core.errors import SourceError, SpecError
from bdt_core.fairness.declared_groups import GroupMetrics, compare_groups, count_groups
from bdt_core.metrics import CLARIFY
from bdt_core.report.markdown import render_markdown
from bdt_core.spec import AuditSpec, MetricLimit, parse_spec
from bdt_core.verdict import judge_metric
from bdt_core.verdict.comparable import read_baseline
from tests.core.joined.made_tables import quick_audit

README = Path(__file__).parents[3] / "README.md"
REFUSED = {"large": (11_600, 2_320), "other": (8_000, 1_600), "small": (400, 230)}  # people, and those who are refused


def loans() -> pd.DataFrame:
    """2 % of the people are refused 2.88 times as often as all others: 57.5 % against 20 %."""
    parts = [
        pd.DataFrame(
            {
                "origin": origin,
                "sex": np.where(np.arange(n) % 2, "f", "m"),
                "age": 20 + np.arange(n) * 7 % 50,
                "defaulted": (np.arange(n) * 3 % 10 < 3).astype(int),
                "refused": (np.arange(n) < refused).astype(int),
            }
        )
        for origin, (n, refused) in REFUSED.items()
    ]
    return pd.concat(parts, ignore_index=True)


def readme_spec(**changes: Any) -> dict[str, Any]:
    """The specification that the README shows, with its limit on disparate impact only."""
    block = next(one for one in re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL) if "gate:" in one)
    spec = yaml.safe_load(block)
    limits = [one for one in spec["gate"] if one.get("metric") == "disparate_impact"]
    assert limits == [{"metric": "disparate_impact", "facet": "origin", "min": 0.8}]
    return {**spec, "gate": limits, **changes}


def specified(**changes: Any) -> AuditSpec:
    """Loans of which nothing is said but label and prediction."""
    base = {
        "name": "loans",
        "source": {"path": "loans.csv"},
        "bias_variable": {"derive": "error", "label": "defaulted", "prediction": "refused"},
        "protected": ["origin"],
    }
    return parse_spec({**base, **changes})


def measured(**changes: Any) -> GroupMetrics:
    spec = specified(**changes)
    return compare_groups(count_groups(loans(), spec), spec.significance)


def test_the_readme_stops_a_model_that_refuses_a_minority() -> None:
    result = quick_audit(loans(), **readme_spec())
    (found,) = result.document["gate"]
    assert (found["verdict"], found["group"], found["blocks"]) == ("fail", "small", True)
    assert found["value"] == pytest.approx((170 / 400) / (15_680 / 19_600))
    assert found["sentence"].startswith(
        "Disparate impact by origin (group over all others; favourable: refused is negative) is 0.531 [95 % CI "
    )
    assert found["sentence"].endswith("for small; at least 0.8 is required, and the whole interval is beyond it.")
    told = " ".join(render_markdown(result.document).replace("\\", "").split())
    assert found["sentence"] in told
    assert "a positive prediction is not good for a person but bad, as a suspicion is" in told
    assert result.document["groups"]["favourable"] == "negative"


def test_what_follows_from_false_positives_need_not_be_written_down() -> None:
    written = readme_spec()
    assert written.pop("favourable") == "negative"
    (found,) = quick_audit(loans(), **written).document["gate"]
    assert (found["verdict"], found["group"]) == ("fail", "small")


def test_the_same_numbers_are_no_harm_where_people_want_the_positive_prediction() -> None:
    """A lottery ticket instead of a refusal: the small group gets it more often, and nobody much less."""
    (found,) = quick_audit(loans(), **readme_spec(favourable="positive")).document["gate"]
    assert (found["verdict"], found["group"]) == ("pass", "large")
    assert "favourable: refused is positive" in found["sentence"]


@pytest.mark.parametrize(
    ("derive", "better", "favourable"),
    [
        ("false_positive_rate", "lower", "negative"),
        ("false_positive", "lower", "negative"),
        ("false_positive_rate", "higher", "positive"),
        ("false_negative_rate", "lower", "positive"),
        ("false_negative", "lower", "positive"),
        ("false_negative", "higher", "negative"),
        ("positive_prediction", "lower", "negative"),
        ("positive_prediction", "higher", "positive"),
        ("error", "lower", None),
        ("absolute_error", "lower", None),
        ("signed_error", "higher", None),
        ("pinball_loss", "lower", None),
    ],
)
def test_which_bias_variables_say_who_is_harmed(derive: str, better: str, favourable: str | None) -> None:
    bias = {"derive": derive, "better": better, "label": "defaulted", "prediction": "refused"}
    spec = specified(bias_variable=bias)
    assert spec.favourable_outcome == favourable
    assert parse_spec(spec.to_dict()).favourable_outcome == favourable
    assert specified(bias_variable=bias, favourable="positive").favourable_outcome == "positive"  # what is said counts


ASKS = (
    'which depends on the prediction that people want: write "favourable: positive" (as for granted, hired) or '
    '"favourable: negative" (as for refused, flagged)'
)


@pytest.mark.parametrize(
    "limit",
    [
        {"metric": "disparate_impact", "min": 0.8},
        {"metric": "DI", "min": 0.8, "max": 1.25},
        {"metric": "four_fifths_ratio", "min": 0.8},
        {"metric": "selection_rate", "min": 0.1},
        {"metric": "selection_rate_ratio", "max": 1.25},
        {"metric": "selection_rate_difference", "min": -0.1},
        {"metric": "prevalence_ratio", "min": 0.8},
        {"metric": "DPL", "min": -0.1},
        {"metric": "RD", "max": 0.1},
        {"metric": "generalized_entropy", "max": 0.1},
    ],
)
def test_a_limit_that_depends_on_it_asks_for_it(limit: dict[str, Any]) -> None:
    gate = [{"facet": "origin", **limit}]
    with pytest.raises(SpecError) as caught:
        specified(gate=gate)
    assert f'the gate limits "{limit["metric"]}", {ASKS}.' in str(caught.value)
    with pytest.raises(SpecError, match="which depends on the prediction"):  # a limit of a run's own
        judge_metric(MetricLimit.model_validate(gate[0]), measured())


@pytest.mark.parametrize(
    "limit",
    [
        {"metric": "demographic_parity_ratio", "min": 0.8},
        {"metric": "demographic_parity_difference", "max": 0.1},
        {"metric": "selection_rate_difference", "max": 0.1},  # in both directions
        {"metric": "selection_rate_ratio", "min": 0.8, "max": 1.25},
        {"metric": "DPPL", "max": 0.1},
        {"metric": "CDDL", "min": -0.1, "max": 0.1},
        {"metric": "class_imbalance", "max": 0.1},
        {"metric": "accuracy_difference_clarify", "max": 0.1},
        {"metric": "true_positive_rate", "min": 0.1},
        {"metric": "false_positive_rate_ratio", "max": 1.25},
        {"metric": "KS", "max": 0.1},
        {"metric": "auc", "min": 0.6},
    ],
)
def test_a_limit_that_does_not_depend_on_it_needs_none(limit: dict[str, Any]) -> None:
    assert len(specified(gate=[{"facet": "origin", **limit}]).gate) == 1


def test_positive_predictions_ask_whether_more_of_them_are_better() -> None:
    gate = [{"metric": "disparate_impact", "facet": "origin", "min": 0.8}]
    bias = {"derive": "positive_prediction", "prediction": "refused"}
    with pytest.raises(SpecError, match="which depends on the prediction"):
        specified(bias_variable=bias, gate=gate)
    for said in ({"bias_variable": {**bias, "better": "lower"}}, {"bias_variable": bias, "favourable": "negative"}):
        assert specified(gate=gate, **said).favourable_outcome == "negative"


@pytest.mark.parametrize(
    ("favourable", "limit", "why", "advice"),
    [
        ("positive", {"metric": "disparate_impact", "max": 1.25}, "higher", "min: 0.8"),
        ("negative", {"metric": "DI", "max": 0.8}, "higher", "min: 0.8"),
        ("negative", {"metric": "four_fifths_ratio", "max": 0.9}, "higher", "min: 0.9"),
        ("positive", {"metric": "selection_rate_ratio", "max": 1.25}, "higher", "min: 0.8"),
        ("negative", {"metric": "selection_rate_ratio", "min": 0.8}, "lower", "max: 1.25"),
        ("negative", {"metric": "selection_rate_difference", "min": -0.1}, "lower", "max: 0.1"),
        ("negative", {"metric": "selection_rate", "min": 0.2}, "lower", "max: 0.2"),
        ("positive", {"metric": "selection_rate", "max": 0.2}, "higher", "min: 0.2"),
        ("negative", {"metric": "DPPL", "min": -0.1}, "lower", "max: 0.1"),
        ("positive", {"metric": "DCA", "max": -0.1}, "higher", "min: -0.1"),
        (None, {"metric": "KS", "min": 0.1}, "lower", "max: 0.1"),
        (None, {"metric": "demographic_parity_difference", "min": 0.1}, "lower", "max: 0.1"),
        (None, {"metric": "equalized_odds_ratio", "max": 1.25}, "higher", "min: 0.8"),
        (None, {"metric": "false_positive_rate_difference", "min": -0.1}, "lower", "max: 0.1"),
        (None, {"metric": "true_positive_rate_ratio", "max": 1.25}, "higher", "min: 0.8"),
        (None, {"metric": "accuracy", "max": 0.9}, "higher", "min: 0.9"),
        (None, {"metric": "bias_score", "min": 0.3}, "lower", "max: 0.3"),
    ],
)
def test_a_limit_that_looks_the_wrong_way_says_how_to_write_it(
    favourable: str | None, limit: dict[str, Any], why: str, advice: str
) -> None:
    with pytest.raises(SpecError) as caught:
        specified(favourable=favourable, gate=[{"facet": "origin", **limit}])
    told = str(caught.value)
    assert f'the gate limits "{limit["metric"]}" by "' in told
    assert f"alone, which lets every harm pass: {why} values are the better ones" in told
    assert told.endswith(f'write "{advice}".')
    key, value = advice.split(": ")
    assert specified(favourable=favourable, gate=[{"facet": "origin", "metric": limit["metric"], key: float(value)}])


@pytest.mark.parametrize("label", ["defaulted", None])
def test_the_other_outcome_is_counted_as_if_it_were_called_positive(label: str | None) -> None:
    """Clarify's metrics of the other value, flip test, strata and all; rates and criteria stay as they are."""
    frame = loans().assign(town=lambda x: np.arange(len(x)) % 3)
    frame = frame.groupby(["origin", "refused", "defaulted"]).head(150).reset_index(drop=True)
    groups = {"stratum": "town", "similar_by": ["age"], "prediction": "refused", "label": label}
    bias = {"column": "age"}

    def metrics(**changes: Any) -> Any:
        spec = specified(bias_variable=bias, **changes)
        return compare_groups(count_groups(frame, spec), spec.significance, frame).facets[0].metrics

    as_it_is = metrics(groups=groups)
    turned, swapped = metrics(groups=groups, favourable="negative"), metrics(groups={**groups, "positive": 0})
    for name in CLARIFY:
        one, two = turned[name], swapped[name]
        for part in ("estimate", "low", "high", "together_low", "together_high", "n", "events"):
            assert _numbers(getattr(one, part)) == pytest.approx(_numbers(getattr(two, part)), abs=1e-12, nan_ok=True)
    assert turned["FT"]["small"].estimate == pytest.approx(-as_it_is["FT"]["small"].estimate) != 0
    for four_fifths, parity in ((turned, swapped), (as_it_is, as_it_is)):
        one, two = four_fifths["four_fifths_ratio"].only, parity["demographic_parity_ratio"].only
        assert (one.estimate, one.low, one.high) == (two.estimate, two.low, two.high)
    for one, two in zip(turned.metrics, as_it_is.metrics, strict=True):
        if one.name not in (*CLARIFY, "four_fifths_ratio"):
            assert one == two


def _numbers(several: Any) -> list[float]:
    return [] if several is None else [np.nan if one is None else one for one in several]


def test_what_is_missing_is_named_by_our_words() -> None:
    """Nobody of the small group is not refused: that is nobody with a negative prediction."""
    frame = (
        loans().query("origin == 'small' and refused == 1").assign(origin=lambda x: np.where(x.sex == "f", "a", "b"))
    )
    spec = specified(favourable="negative")
    metrics = compare_groups(count_groups(frame, spec), spec.significance).facets[0].metrics
    assert metrics["DI"]["a"].undefined_reason == "nobody with a negative prediction in d and in a"


def test_four_fifths_is_the_lowest_over_the_highest_group() -> None:
    """One group fares better than all others: each of those looks fine beside the rest, and none beside the best."""
    shares = {"a": 70, "b": 70, "c": 70, "d": 100}
    frame = pd.concat(
        [
            pd.DataFrame({"origin": name, "refused": [0] * share * 20 + [1] * (100 - share) * 20, "defaulted": 0})
            for name, share in shares.items()
        ],
        ignore_index=True,
    )
    spec = specified(favourable="negative")
    metrics = compare_groups(count_groups(frame, spec), spec.significance)
    limits = [MetricLimit(metric=one, facet="origin", min=0.8) for one in ("disparate_impact", "four_fifths_ratio")]
    rest, best = (judge_metric(one, metrics) for one in limits)
    assert (rest.verdict, best.verdict) == ("pass", "fail")
    assert rest.value == pytest.approx(0.7 / 0.8)
    assert best.value == pytest.approx(0.7)
    assert (
        "Four fifths ratio by origin (lowest over highest; favourable: refused is negative) is 0.7 [" in best.sentence
    )
    assert re.search(r"\] between [abc] and d; at least 0.8 is required", best.sentence)  # who is worse off comes first
    assert best.p_value == pytest.approx(metrics.facets[0].metrics["demographic_parity_ratio"].p_value, rel=1e-9)
    assert "four_fifths_ratio" not in {one.metric for one in metrics.tests}  # the same question is not asked twice


def test_a_baseline_that_counts_the_other_outcome_is_refused(tmp_path: Path) -> None:
    limits = [{"metric": "demographic_parity_ratio", "facet": "origin", "min": 0.8}]
    spec = readme_spec(gate=limits, bias_variable={"derive": "error", "label": "defaulted", "prediction": "refused"})
    (tmp_path / "report.json").write_text(json.dumps(quick_audit(loans(), **spec).document))
    assert read_baseline(tmp_path / "report.json", parse_spec(spec))
    with pytest.raises(SourceError, match="counts negative outcomes as favourable, the specification positive ones"):
        read_baseline(tmp_path / "report.json", parse_spec({**spec, "favourable": "positive"}))
