"""Which way is better, and which columns leak: who said it goes from the specification to the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.report.gate_result import build_gate_result

QUICK: dict[str, Any] = {
    "slices": None, "clustering": {"stability": 0}, "split": {"repeats": 1}, "worst_groups": {"permutations": 39}
}  # fmt: skip


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Whoever passes the first time has passed; the second time only some do."""
    rng = np.random.default_rng(2)
    rows = 1200
    y = (rng.random(rows) < 0.6).astype(int)
    first = np.where((y == 1) & (rng.random(rows) < 0.7), "P", "F")
    return pd.DataFrame(
        {"age": rng.integers(18, 70, rows), "town": rng.choice(list("abc"), rows), "bar1": first, "y": y}
    )


def audited(people: pd.DataFrame, **keys: Any) -> AuditResult:
    return audit(people, **QUICK, **keys)


def spec_of(bias: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "bar", "bias_variable": bias, **QUICK, **more}


@pytest.mark.parametrize(
    ("bias", "better", "by"),
    [
        ({"column": "y"}, "lower", "guessed"),
        ({"column": "y", "better": "higher"}, "higher", "said"),
        ({"column": "passed"}, "higher", "implied"),
    ],
)
def test_a_report_knows_who_said_which_way_is_better(
    bias: dict[str, Any], better: str, by: str, people: pd.DataFrame
) -> None:
    table = people.drop(columns="bar1").rename(columns={"y": bias["column"]})
    result = audit(table, spec_of(bias))
    document = result.document
    said = document["bias_variable"]
    assert (said["better"], said["better_by"]) == (better, by)
    assert build_gate_result(document, 0)["bias_variable"] == {
        "name": bias["column"],
        "better": better,
        "better_by": by,
    }
    guesses = [one for one in result.warnings if "which is a guess" in one]
    assert len(guesses) == (by == "guessed")
    assert ("which is a guess" in repr(result)) is (by == "guessed")


def test_errors_that_are_said_to_be_good_are_doubted(people: pd.DataFrame) -> None:
    table = people.assign(bar1=(people["bar1"] == "P").astype(int))
    errors = {"derive": "error", "label": "y", "prediction": "bar1"}
    doubted = audit(table, spec_of({**errors, "better": "higher"})).warnings
    assert any("counts errors, which are good for nobody" in one for one in doubted)
    assert not any("good for nobody" in one for one in audit(table, spec_of(errors)).warnings)


def test_a_suspected_leak_is_left_out_and_named_where_nobody_has_decided(people: pd.DataFrame) -> None:
    told: list[str] = []
    found = audited(people, outcome="y", notice=told.append)
    assert _role(found, "bar1") == "unused"
    assert any(one.startswith('Column "bar1" is left out of the features') for one in found.warnings)
    assert any(one.startswith("Left out: bar1") for one in told)
    assert "bar1" not in str(found.document["findings"])


@pytest.mark.parametrize("decided", [{"columns": ["age", "bar1"]}, {"protected": ["bar1"]}, {"legitimate": ["bar1"]}])
def test_whoever_decides_keeps_it(decided: dict[str, Any], people: pd.DataFrame) -> None:
    found = audited(people, outcome="y", **decided)
    assert _role(found, "bar1") in ("feature", "protected")
    assert not any("left out of the features" in one for one in found.warnings)


def test_the_key_itself_leaves_out_and_include_goes_before_it(people: pd.DataFrame) -> None:
    kept = audit(people, spec_of({"column": "y"}))
    assert _role(kept, "bar1") == "feature"  # a specification without features is as it was
    left_out = audit(people, spec_of({"column": "y"}, features={"leaks": ["bar1"]}))
    assert _role(left_out, "bar1") == "unused"
    assert any('"bar1" is left out of the features' in one for one in left_out.warnings)
    included = audit(people, spec_of({"column": "y"}, features={"leaks": ["bar1"], "include": ["age", "bar1"]}))
    assert _role(included, "bar1") == "feature"


def _role(result: AuditResult, name: str) -> str:
    (found,) = [one for one in result.document["data"]["columns"] if one["name"] == name]
    return str(found["role"])
