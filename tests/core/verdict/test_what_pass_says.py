"""A pass says what was judged, and is none while the same report shows people who are worse off than allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.report.markdown import render_markdown

N = 4000


def people(effect: float) -> pd.DataFrame:
    """Young women of town b are wronged more often; a search by age and income alone finds nobody."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "income": rng.normal(30, 5, N).round(1),
            "sex": rng.choice(["f", "m"], N),
            "town": rng.choice(["a", "b"], N),
        }
    )
    wronged = (frame.sex == "f") & (frame.town == "b")
    return frame.assign(wrong=(rng.random(N) < 0.2 + effect * wronged).astype(int))


def spec(*gate: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "name": "people",
        "bias_variable": {"column": "wrong"},
        "features": {"include": ["age", "income"]},
        "protected": ["sex", "town"],
        "clustering": {"stability": 0, "n_init": 2},
        "worst_groups": {"permutations": 79},
        "gate": list(gate),
        **changes,
    }


CLUSTER = {"check": "worst_cluster", "max_difference": 0.3}


def test_a_cluster_within_its_limit_is_no_pass_beside_an_intersection_beyond_it() -> None:
    found = audit(people(0.6), spec(CLUSTER, {**CLUSTER, "inconclusive": "block"}))
    assert found.verdict == "fail"
    limits = found.document["gate"]
    assert [(one["verdict"], one["blocks"]) for one in limits] == [("fail", True), ("fail", True)]
    assert limits[0]["sentence"].startswith(limits[0]["broken_by"]["who"])
    assert {"sex", "town"} == {one["column"] for one in limits[0]["broken_by"]["conditions"]}
    assert "The search for the worst group found them." in limits[0]["sentence"]
    assert f"decisive: {limits[0]['broken_by']['who']}" in render_markdown(found.document)


@pytest.mark.parametrize(("effect", "changes"), [(0.0, {}), (0.6, {"slices": None, "worst_groups": None})])
def test_a_pass_names_what_was_judged(effect: float, changes: dict[str, Any]) -> None:
    found = audit(people(effect), spec(CLUSTER, CLUSTER, **changes))
    assert found.verdict == "pass"
    told = found.document["verdict"]["sentence"]
    assert told.endswith("Nothing but the most deviating cluster was judged.")


def test_a_pass_of_several_limits_names_them_all() -> None:
    frame = people(0.0).assign(right=1, said=1)
    limit = {"metric": "accuracy", "facet": "sex", "min": 0.5}
    found = audit(frame, spec(CLUSTER, limit, groups={"label": "right", "prediction": "said"}))
    told = found.document["verdict"]["sentence"]
    assert told.endswith("Nothing but the most deviating cluster and accuracy by sex was judged.")


def test_intersections_within_their_limit_are_no_pass_beside_a_group_beyond_it() -> None:
    limit = {"check": "worst_slice", "max_difference": 0.45}
    asked = spec(limit, slices={"columns": ["town", "age"], "max_conditions": 1})
    found = audit(people(0.6), asked)
    (judged,) = found.document["gate"]
    assert judged["verdict"] == "fail"
    assert {"sex", "town"} == {one["column"] for one in judged["broken_by"]["conditions"]}
    assert audit(people(0.6), {**asked, "worst_groups": None}).verdict == "pass"


def test_a_limit_on_intersections_judges_them_itself() -> None:
    found = audit(people(0.6), spec({"check": "worst_slice", "max_difference": 0.3}))
    assert found.verdict == "fail"
    assert "Nothing but" not in found.document["verdict"]["sentence"]
