"""The simulated grants: the same table everywhere, and an audit that finds whom it harms, and hardly anybody else."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from bdt_core.audit import audit
from bdt_core.spec import load_spec
from bdt_core.table.grants import EXTRA, PLANTED, simulate_grants

SPEC = Path(__file__).parents[3] / "bdt_pipeline" / "demos" / "grants.yaml"


def test_the_shipped_table_is_what_the_function_makes() -> None:
    shipped = resources.files("bdt_core").joinpath("data", "grants.csv").read_bytes()
    assert shipped == simulate_grants().to_csv(index=False, lineterminator="\n").encode()


def test_the_harm_is_as_it_is_told() -> None:
    """200,000 students: a chance is known to about .01, and nothing else than what is told goes with being visited."""
    people = simulate_grants(200_000, seed=7)
    entitled = people[people["onrechtmatig"] == 0]
    planted = (entitled[list(PLANTED)] == list(PLANTED.values())).all(axis=1)
    far = entitled["afstand_km"] > 20
    share = entitled.groupby([planted, far])["huisbezoek"].mean()
    assert share.loc[True, True] - share.loc[False, True] == pytest.approx(EXTRA / 1_000, abs=0.015)
    rest = entitled[~planted & far]
    assert rest["huisbezoek"].mean() == pytest.approx(0.08, abs=0.004)
    for column in ("opleiding", "woonvorm", "geslacht", "herkomst"):
        of_level = rest.groupby(column)["huisbezoek"].mean()
        assert np.ptp(of_level) < 0.015, column


@pytest.mark.parametrize("seed", [1, 4, 10])
def test_the_audit_finds_whom_it_harms_without_being_told(seed: int) -> None:
    people = simulate_grants(seed=seed)
    told = load_spec(SPEC).to_dict() | {"clustering": {"stability": 0}}
    findings = audit(people, told).findings
    entitled = people["onrechtmatig"] == 0
    planted = set(people.index[entitled & (people[list(PLANTED)] == list(PLANTED.values())).all(axis=1)])
    first = set(people.index[findings[0].members(people) & entitled])
    assert len(first & planted) / len(first | planted) > 0.9
    assert len(findings) <= 3
    for one in findings[1:]:  # who are among them, or more often
        conditions = {each.column: each.values for each in one.conditions}
        assert any(conditions.get(column) == (level,) for column, level in PLANTED.items()) or (
            conditions == {"herkomst": ("buiten Europa",)}
        )
