"""How groups are called changes nothing of what is said of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from tests.core.joined.made_tables import harmed, quick_audit


@pytest.mark.parametrize("woman", ["f", "zf"])
def test_adverse_impact_does_not_follow_the_alphabet(woman: str) -> None:
    table = harmed()
    sex = pd.Series("m", index=table.index).mask(table.index % 2 == 0, woman)
    advice = (table.index % 10 < 6).astype(int) * (table.index % 4 != 0)  # fewer women are advised
    table = table.assign(sex=sex, advice=advice, y=table["y"].astype(int))
    bias = {"derive": "error", "label": "y", "prediction": "advice"}
    result = quick_audit(table, bias_variable=bias, protected=["sex"])
    rates = {one["group"]: one["rates"]["selection_rate"]["estimate"] for one in groups_of(result)["groups"]}
    assert rates[woman] < 0.8 * rates["m"]
    score = groups_of(result)["bias_score"]
    assert score["disparate_impact_ratio"] == pytest.approx(rates[woman] / rates["m"])
    assert score["adverse_impact"] is True


def groups_of(result: AuditResult) -> dict[str, Any]:
    (facet,) = result.document["groups"]["facets"]
    found: dict[str, Any] = facet
    return found
