"""Mitigation from a specification: the numbers of `mitigate` on the same people, and what the gate limits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.mitigation import Mitigation, MitigationSettings, mitigate
from bdt_core.mitigation.mitigating import mitigate_audited, settings_of
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate

ROWS = 2000
BIAS = {"derive": "error", "label": "repaid", "prediction": "granted"}


def loans() -> pd.DataFrame:
    """The score is lower for women than what they repay; 0.5 and above is granted."""
    rng = np.random.default_rng(0)
    sex, skill = rng.choice(["f", "m"], ROWS), rng.random(ROWS)
    score = np.round(np.clip(skill - 0.2 * (sex == "f") + rng.normal(0, 0.05, ROWS), 0, 1), 2)
    return pd.DataFrame(
        {
            "income": skill + rng.normal(0, 0.3, ROWS),
            "city": rng.choice(["Oslo", "Riga"], ROWS),
            "sex": sex,
            "score": score,
            "repaid": (rng.random(ROWS) < skill).astype(int),
            "granted": (score >= 0.5).astype(int),
        }
    )


def specified(mitigation: dict[str, Any] | None = None, **changes: Any) -> AuditSpec:
    base = {
        "name": "loans",
        "source": {"path": "loans.csv"},
        "bias_variable": BIAS,
        "favourable": "positive",
        "features": {"include": ["income", "city"]},
        "protected": ["sex"],
        "mitigation": {"group": "sex", "score": "score", "tolerance": 0.05} | (mitigation or {}),
        "split": {"test_size": 0.4, "random_state": 3},
    }
    return parse_spec(base | changes)


def parts(frame: pd.DataFrame, spec: AuditSpec) -> tuple[AuditTable, AuditTable]:
    return split_rows(validate(frame, spec), spec.split)


def found_in(frame: pd.DataFrame, spec: AuditSpec) -> Mitigation:
    assert spec.mitigation is not None
    return mitigate_audited(*parts(frame, spec), spec.mitigation)


SETTINGS = MitigationSettings(
    group=("sex",), score="score", label="repaid", prediction="granted", positive_prediction=(1,), tolerance=0.05,
    features=("income", "city"), protected=("sex",), favourable="positive", random_state=3,
)  # fmt: skip


def test_the_numbers_are_those_of_the_people_in_the_source() -> None:
    frame, spec = loans(), specified()
    by_income = frame.set_index("income", drop=False)  # all different
    rows = [by_income.loc[part.frame["income"]].reset_index(drop=True) for part in parts(frame, spec)]
    found = found_in(frame, spec)
    assert found.to_dict() == mitigate(rows[0], rows[1], SETTINGS).to_dict()
    assert found.status == "measured"
    assert (found.train_rows, found.test_rows) == (1200, 800)
    assert found.thresholds is not None
    # A group's numbers from the rows themselves.
    after = {one.group: one.threshold_after for one in found.thresholds.groups}
    new = rows[1].assign(granted=(rows[1]["score"] >= rows[1]["sex"].map(after)).astype(int))
    for part, side in ((rows[1], "before"), (new, "after")):
        metrics = bias_metrics(part, facet="sex", label="repaid", prediction="granted")
        assert getattr(found.thresholds.gap, side) == metrics["equal_opportunity_difference"].only
    before, now = found.thresholds.gap.before.estimate, found.thresholds.gap.after.estimate
    assert before is not None
    assert now is not None
    assert before > 0.2 > 0.1 > now


def test_every_setting_arrives() -> None:
    spec = specified(
        {
            "group": ["sex", "city"], "constraint": "demographic_parity", "tolerance": 0.1,
            "objective": "balanced_accuracy", "randomized": True,
        },
        significance={"alpha": 0.1, "min_rows": 40},
        protected=[],
    )  # fmt: skip
    assert spec.mitigation is not None
    assert settings_of(spec, spec.mitigation, ["income"]) == MitigationSettings(
        group=("sex", "city"), score="score", label="repaid", prediction="granted", positive_prediction=(1,),
        constraint="demographic_parity", tolerance=0.1, objective="balanced_accuracy", randomized=True,
        features=("income",), protected=("sex", "city"), favourable="positive", alpha=0.1, min_rows=40, random_state=3,
    )  # fmt: skip
    found = found_in(loans(), spec)
    assert found.thresholds is not None
    assert {one.group for one in found.thresholds.groups} == {"f & Oslo", "f & Riga", "m & Oslo", "m & Riga"}


@pytest.mark.parametrize("randomized", [False, True])
def test_the_order_of_the_source_does_not_matter(randomized: bool) -> None:
    spec = specified({"randomized": randomized})
    shuffled = loans().sample(frac=1, random_state=1)
    assert found_in(shuffled, spec).to_dict() == found_in(loans(), spec).to_dict()


def test_outcomes_in_words_say_the_same_thresholds() -> None:
    frame = loans()
    words = frame.assign(repaid=frame.repaid.map({1: "paid", 0: "late"}), granted=frame.granted.map({1: "ok", 0: "no"}))
    spec = specified(bias_variable=BIAS | {"positive": ["paid", "ok"]})
    train, test = parts(words, spec)
    assert spec.mitigation is not None
    found = mitigate_audited(train, test, spec.mitigation)
    assert found.settings.positive == ("paid", "ok")
    as_numbers = [
        part.frame.assign(
            repaid=(part.frame["repaid"] == "paid").astype(int), granted=(part.frame["granted"] == "ok").astype(int)
        )
        for part in (train, test)
    ]
    assert found.thresholds == mitigate(as_numbers[0], as_numbers[1], SETTINGS).thresholds


def test_people_without_a_score_are_left_out_and_counted() -> None:
    frame = loans()
    frame.loc[:24, "score"] = np.nan
    found = found_in(frame, specified())
    assert found.missing == {"score": 25}
    assert found.train_rows + found.test_rows == ROWS - 25


@pytest.mark.parametrize("cut", ["repaid", "granted"])
def test_an_outcome_that_is_cut_is_refused(cut: str) -> None:
    frame = loans().astype({cut: float})
    with pytest.raises(SpecError, match="mitigation needs a label and a prediction of two values; groups.thresholds"):
        found_in(frame, specified(groups={"thresholds": {cut: 0.5}}))


def test_another_column_may_be_cut() -> None:
    cut = found_in(loans(), specified(groups={"thresholds": {"income": 0.5}}))
    assert cut.to_dict() == found_in(loans(), specified()).to_dict()


GATE = [
    {"check": "worst_cluster"},
    {"metric": "disparate_impact", "facet": "sex", "min": 0.8},
    {"metric": "false_positive_rate", "facet": "sex", "max": 0.4},
    {"metric": "DI", "facet": "sex", "min": 0.7},
    {"metric": "bias_score", "facet": "sex", "max": 0.3},
]


def test_what_the_gate_limits_is_measured_before_and_after() -> None:
    found, without = found_in(loans(), specified(gate=GATE)), found_in(loans(), specified())
    assert found.settings.metrics == ("DI", "false_positive_rate")  # each once; neither clusters nor the score
    assert found.thresholds is not None
    assert without.thresholds is not None
    more = [one for one in found.thresholds.metrics if one not in without.thresholds.metrics]
    assert {(one.metric, one.group) for one in more} == {
        (metric, group) for metric in ("DI", "false_positive_rate") for group in ("f", "m")
    }
    impact = next(one for one in more if (one.metric, one.group) == ("DI", "f"))
    assert impact.before.estimate is not None
    assert impact.after.estimate is not None
    assert impact.before.estimate < 0.8 < impact.after.estimate
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("metric", ["calibration_difference", "calibration_ratio"])
def test_a_limit_on_scores_stops_nothing_and_is_named(metric: str) -> None:
    """Other thresholds leave the scores as they are: there is nothing to measure before and after."""
    spec = specified(gate=[*GATE, {"metric": metric, "facet": "sex", "min": 0.0, "max": 0.3}])
    found, without = found_in(loans(), spec), found_in(loans(), specified(gate=GATE))
    assert found.thresholds == without.thresholds
    assert [one for one in found.notes if one not in without.notes] == [
        f"The {metric.replace('_', ' ')} was not measured under other thresholds: it does not come from labels and "
        "decisions alone."
    ]


def test_a_metric_that_nobody_knows_is_refused() -> None:
    train, test = (part.frame for part in parts(loans(), specified()))
    with pytest.raises(SpecError, match='There is no metric "kindness"'):
        mitigate(train, test, replace(SETTINGS, metrics=("DI", "kindness")))


def test_what_is_not_possible_is_said_and_does_not_stop_the_audit() -> None:
    frame = loans()
    frame["sex"] = np.where(np.arange(ROWS) < 20, "f", "m")
    found = found_in(frame, specified())
    assert found.status == "not_possible"
    assert found.reason is not None
    assert 'only "m" has' in found.reason
    assert found.thresholds is None
    assert [one.group for one in found.left_out] == ["f"]
