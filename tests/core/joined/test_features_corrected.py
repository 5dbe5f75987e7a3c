"""What sets the cluster apart: every p-value is corrected over all tests, and the flag follows the corrected one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from tests.core.joined.made_tables import harmed, quick_audit

NAMES = {"holm": "holm", "bonferroni": "bonferroni", "bh": "fdr_bh"}
EVIDENCE = {"strong": 0.3, "weak": 0.14}  # more of these in the cluster, in shares of 0.4


@cache
def people() -> pd.DataFrame:
    """Protected columns that the cluster differs in much, a little (p about .01), and not at all."""
    table = harmed(2400, harm=0.4)
    rng = np.random.default_rng(5)
    inside = table["x0"] > 4
    for name, more in EVIDENCE.items():
        table[name] = np.where(rng.random(len(table)) < 0.4 + more * inside, "yes", "no")
    for i in range(6):
        table[f"noise{i}"] = rng.choice(list("pqr"), len(table))
    return table


@cache
def audited(correction: str, **large: int) -> dict[str, Any]:
    protected = [*EVIDENCE, *(f"noise{i}" for i in range(6))]
    clustering = {"stability": 0, "n_init": 2, "max_iter": 1}
    settings = {"correction": correction}
    asked = {"protected": protected, "clustering": clustering, "significance": settings, "worst_groups": None}
    found = quick_audit(people(), **asked, **large)
    document: dict[str, Any] = found.document["differences"]
    assert document["correction"] == correction
    return document


def every_test(document: dict[str, Any]) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Every test: one per number, one per level; of two levels only the first, the other being the same test."""
    found = {}
    for one in document["features"]:
        if one["kind"] == "numeric":
            found[one["column"], None] = one
        else:
            levels = one["levels"][:1] if len(one["levels"]) == 2 else one["levels"]
            found |= {(one["column"], level["level"]): level for level in levels}
    return found


@pytest.mark.parametrize("large", [{}, {"large_rows": 1000}], ids=["small", "large"])
@pytest.mark.parametrize("correction", [*NAMES, "none"])
def test_p_values_are_corrected_over_all_tests_as_the_specification_says(
    correction: str, large: dict[str, int]
) -> None:
    document = audited(correction, **large)
    several = list(every_test(document).values())
    raw = np.array([one["comparison"]["p_value"] for one in several])
    assert document["tests"] == len(raw) == 2 + 3 + 2 + 6 * 3
    protected = document["tests_declared"]
    assert protected == 2 + 6 * 3  # declared columns are a family of their own
    families = raw[:protected], raw[protected:]
    if correction != "none":
        families = [multipletests(one, method=NAMES[correction])[1] for one in families]
    expected = np.concatenate(families)
    assert [one["p_adjusted"] for one in several] == pytest.approx(expected.tolist(), rel=1e-9, abs=0.0)
    assert [one["significant"] for one in several] == [bool(p <= 0.05) for p in expected]


def test_what_is_certain_alone_need_not_be_certain_among_many() -> None:
    alone, among = (every_test(audited(one)) for one in ("none", "bonferroni"))
    weak = next(key for key in alone if key[0] == "weak")
    strong = next(key for key in alone if key[0] == "strong")
    assert alone[weak]["significant"]
    assert not among[weak]["significant"]
    assert among[strong]["significant"]


def test_a_category_takes_the_least_of_its_levels() -> None:
    for one in audited("holm")["features"]:
        if one["kind"] == "categorical":
            assert one["p_adjusted"] == min(level["p_adjusted"] for level in one["levels"])
            assert one["significant"] == any(level["significant"] for level in one["levels"])
