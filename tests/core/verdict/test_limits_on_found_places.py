"""From the specification to the verdict, the report and the CI files: limits on intersections and local bias."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.errors import SpecError
from bdt_core.report.comment import render_comment
from bdt_core.report.gate_result import build_gate_result
from bdt_core.report.junit import render_junit
from bdt_core.report.markdown import render_markdown
from bdt_core.spec import AuditSpec, Limit, LocalBiasLimit, SliceLimit, WorstGroupLimit, parse_spec
from tests.core.report.described import described
from tests.core.verdict.against import against

BASE: dict[str, Any] = {
    "name": "loans",
    "source": {"path": "(DataFrame)"},
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
    "features": {"include": ["age", "income", "region"]},
    "protected": ["sex"],
    "clustering": {"stability": 0},
    "worst_groups": {"permutations": 39},
    "split": {"test_size": 0.5},
    "groups": {"facets": []},
}
PLACES = {"group": "sex", "n_clusters": 2}
# What is written down, and the limit that comes of it.
WRITTEN: dict[str, tuple[dict[str, Any], str]] = {
    "worst_slice in the gate": ({"gate": [{"check": "worst_slice", "max_difference": 0.05}]}, "worst_slice"),
    "slices.max_difference": ({"gate": [], "slices": {"max_difference": 0.05}}, "worst_slice"),
    "local_bias in the gate": (
        {"gate": [{"check": "local_bias"}], "local_bias": PLACES},
        "local_bias",
    ),
    "local_bias.max_gap": ({"gate": [], "local_bias": {**PLACES, "max_gap": 0.05}}, "local_bias"),
}


@cache
def loans() -> pd.DataFrame:
    """Young women are told wrong things 40 points more often."""
    rng = np.random.default_rng(11)
    n = 3000
    age, sex = rng.choice([25.0, 60.0], n) + rng.normal(size=n), rng.choice(["f", "m"], n)
    wrong = rng.random(n) < np.where((age < 40) & (sex == "f"), 0.5, 0.1)
    repaid = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "age": age,
            "income": rng.normal(50, 10, n),
            "region": rng.choice(["north", "south"], n),
            "sex": sex,
            "repaid": repaid,
            "approved": np.where(wrong, 1 - repaid, repaid),
        }
    )


def document_of(**changes: Any) -> dict[str, Any]:
    return dict(audit(loans(), BASE | changes).document)


@pytest.fixture(scope="module", params=WRITTEN)
def failed(request: pytest.FixtureRequest) -> tuple[dict[str, Any], str]:
    changes, check = WRITTEN[request.param]
    return document_of(**changes), check


def test_a_limit_that_is_broken_fails_the_audit(failed: tuple[dict[str, Any], str]) -> None:
    document, check = failed
    (limit,) = document["gate"]
    assert (limit["check"], limit["verdict"], limit["limit"]) == (check, "fail", 0.05)
    assert limit["low"] > 0.05
    assert (document["verdict"]["verdict"], document["verdict"]["blocks"]) == ("fail", True)
    assert document["verdict"]["sentence"] == limit["sentence"]
    assert "at most 5.0 points is allowed, and the whole interval is" in limit["sentence"]
    described().validate(document)


def test_every_form_says_it(failed: tuple[dict[str, Any], str]) -> None:
    document, check = failed
    (limit,) = document["gate"]
    name = {"worst_slice": "Any intersection", "local_bias": "Local bias"}[check]
    report = render_markdown(document)
    (row,) = [line for line in report.splitlines() if line.startswith(f"| {name}")]
    assert "at most 5.0 points" in row
    assert f"+{100 * limit['difference']:.1f} points" in row
    assert "Fail" in row
    assert "stops what comes after the gate" in row
    assert limit["sentence"].partition(": ")[2].partition(" [")[0] in report
    result = build_gate_result(document, 1)
    assert [(one["check"], one["outcome"]) for one in result["limits"]] == [(check, "stops")]
    assert check in render_junit(result)
    assert "<failure" in render_junit(result)
    assert f"| {name}" in render_comment(document, result)


def test_against_a_baseline_the_worst_is_compared(failed: tuple[dict[str, Any], str]) -> None:
    document, _ = failed
    same = against(document, document)
    assert (same.blocks, same.limits[0].change, same.limits[0].accepted) == (False, "not_worse", True)
    assert "different" in same.limits[0].sentence
    better = json.loads(json.dumps(document))
    better["gate"][0] |= {"difference": 0.0, "low": -0.01, "high": 0.01}
    assert against(document, better).limits[0].change == "worse"
    assert against(document, better | {"gate": []}).limits[0].change == "not_in_baseline"


def test_a_limit_of_intersections_that_holds_passes_and_one_that_may_hold_does_not() -> None:
    wide, narrow = ({"check": "worst_slice", "max_difference": most} for most in (0.95, 0.39))
    slices = {"max_conditions": 1}
    assert document_of(gate=[wide], slices=slices)["verdict"]["verdict"] == "pass"
    told = document_of(gate=[narrow], slices=slices | {"max_conditions": 2})["verdict"]
    assert (told["verdict"], told["blocks"]) == ("inconclusive", False)
    blocks = document_of(gate=[narrow | {"inconclusive": "block"}], slices=slices | {"max_conditions": 2})["verdict"]
    assert (blocks["verdict"], blocks["blocks"]) == ("inconclusive", True)


def spec_of(**changes: Any) -> AuditSpec:
    return parse_spec(BASE | changes)


def test_only_a_key_that_is_written_down_adds_a_limit() -> None:
    assert spec_of().limits == (WorstGroupLimit(),)
    assert spec_of(local_bias=PLACES, slices={"bins": 3}).limits == (WorstGroupLimit(),)
    assert spec_of(slices={"max_difference": 0.1}).limits == (WorstGroupLimit(), SliceLimit(max_difference=0.1))


def test_limits_stand_in_the_order_of_the_gate_and_those_of_sections_behind() -> None:
    gate = [{"check": "worst_slice", "max_difference": 0.3}, {"check": "any_cluster"}, {"check": "local_bias"}]
    spec = spec_of(gate=gate, slices={"max_difference": 0.1}, local_bias={**PLACES, "max_gap": 0.2})
    assert spec.limits == (
        SliceLimit(max_difference=0.3), Limit(check="any_cluster"), LocalBiasLimit(max_gap=0.05),
        SliceLimit(max_difference=0.1), LocalBiasLimit(max_gap=0.2),
    )  # fmt: skip
    twice = spec_of(gate=[{"check": "worst_slice", "max_difference": 0.1}], slices={"max_difference": 0.1})
    assert len(twice.limits) == 1


def test_a_specification_that_is_written_out_and_read_again_has_the_same_limits() -> None:
    for changes, _ in WRITTEN.values():
        spec = spec_of(**changes)
        assert parse_spec(spec.to_dict()).limits == spec.limits
        printed = document_of(**changes)["spec"]
        read = parse_spec({key: one for key, one in printed.items() if key in AuditSpec.model_fields})
        assert read.limits == spec.limits


def test_what_is_limited_is_searched() -> None:
    assert spec_of(slices=None).slices is None
    assert spec_of(slices=None, gate=[{"check": "worst_slice"}]).slices is not None
    with pytest.raises(SpecError, match=r'limits "local_bias".*add the section "local_bias" with its "group"'):
        spec_of(gate=[{"check": "local_bias", "max_gap": 0.1}])


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"check": "worst_slise"}, 'gate.0.check: there is no check "worst_slise"; did you mean "worst_slice"?'),
        ({"check": "worst_slice", "max_gap": 0.1}, "gate.0.max_gap: unknown key"),
        ({"check": "local_bias", "max_difference": 0.1}, "gate.0.max_difference: unknown key"),
        ({"check": "local_bias", "max_gap": 1.5}, "gate.0.max_gap: "),
        ({"check": "worst_slice", "max_differense": 0.1}, 'did you mean "max_difference"?'),
    ],
)
def test_a_limit_that_cannot_be_meant_is_explained(limit: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        spec_of(gate=[limit], local_bias=PLACES)
    assert message in str(error.value)
