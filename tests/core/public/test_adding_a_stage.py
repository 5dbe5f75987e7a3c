"""Adding a stage is one entry in the list and one method: Python runs it and Dagster has an asset for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core import stages as list_of_stages
from bdt_core.audit import audit
from bdt_core.spec import parse_spec
from bdt_core.stages import STAGES, Stage, Stages, titles_of
from bdt_pipeline import bias_audit_definitions

COUNTED = Stage(
    result="rows_by_cluster",
    method="count_rows",
    arguments=("clusters", "test", "spec.split", "progress"),
    title="count rows by cluster",
    asset="rows_by_cluster",
    kind="collections:Counter",
    section="split",
    description="Test rows of each cluster.",
)
SPEC: dict[str, Any] = {
    "name": "people",
    "source": {"path": "people.csv"},
    "bias_variable": {"column": "wrong"},
    "clustering": {"stability": 0, "n_init": 1},
    "slices": None,
}


class Counting(Stages):
    """Knows how the added stage is carried out, and notes what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, ...]] = []

    def count_rows(self, *given: Any) -> list[int]:
        self.given.append(given)
        clusters, test, _, progress = given
        if progress is not None:
            progress(1, 1)
        return np.bincount(clusters.predict(test)).tolist()


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_of_stages, "STAGES", (*STAGES, COUNTED))


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 80, 1500)
    return pd.DataFrame({"age": age, "wrong": (rng.random(1500) < 0.1 + 0.5 * (age > 60)).astype(int)})


@pytest.mark.usefixtures("added")
def test_python_runs_it(people: pd.DataFrame) -> None:
    stages, told = Counting(), []
    result = audit(people, SPEC, stages=stages, progress=lambda title, done, total: told.append((title, done)))
    ((clusters, test, split, _),) = stages.given
    assert (clusters, test, split) == (result.clusters, result.test, result.clusters.spec.split)
    assert ("count rows by cluster", 1) in told
    assert COUNTED.title in titles_of(parse_spec(SPEC))


@pytest.mark.usefixtures("added")
def test_dagster_has_an_asset_for_it() -> None:
    defs = bias_audit_definitions(parse_spec(SPEC), stages=Counting())
    graph = defs.resolve_asset_graph()
    node = next(one for one in graph.asset_nodes if one.key.path[-1] == "rows_by_cluster")
    assert {one.path[-1] for one in node.parent_keys} == {"hbac_clusters", "test_data"}
    assert node.description == COUNTED.description


def test_a_stage_that_the_specification_does_not_ask_for_is_passed_over() -> None:
    asked = [one.result for one in list_of_stages.stages_of(parse_spec(SPEC))]
    assert asked == ["clusters", "significance", "differences", "worst_groups", "ranked", "blanks"]
