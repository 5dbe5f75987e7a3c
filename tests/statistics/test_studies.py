"""Studies at a size of next to nothing: that they run, and find what their files and pages have places for.

What they find is held by the other tests of this folder, at a size of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bdt_core.shards import engine, opening
from benchmarks import cost_model, large, nobody, over_time, searched, selected, slices, splits, tables, validity

NOBODY = ("rate .3", "mixed columns")
SMALL: dict[str, Callable[[], dict[str, Any]]] = {
    "over_time": lambda: over_time.studied(2),
    "chosen": lambda: selected.studied(1),
    "searched": lambda: searched.studied(3),
    "power": lambda: validity.power(1),
    "splits": lambda: splits.studied(2),
    "slices": lambda: slices.studied(1_000),
    "many": lambda: searched.of_many_rows(1),
    "nobody": lambda: nobody.studied({NOBODY: int(nobody.shows_any(*nobody.asked(*NOBODY, 0)))}, 1),
}


def places(figures: dict[str, Any]) -> dict[str, Any]:
    """Names of figures, with the columns of those that are tables."""
    return {name: list(one["columns"].items()) if isinstance(one, dict) else None for name, one in figures.items()}


def places_of(study: str) -> dict[str, Any]:
    return places(json.loads((tables.RESULTS / f"{study}.json").read_text(encoding="utf-8"))["figures"])


@pytest.mark.parametrize("study", SMALL)
def test_a_small_study_has_the_figures_of_its_file(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"NULLS": "rate .3", "DESIGNS": "strong", "GROUPS": "strong", "ALIKE": "one factor"}
    for name, one in few.items():
        monkeypatch.setattr(searched, name, {one: getattr(searched, name)[one]})
    monkeypatch.setattr(selected, "DESIGNS", {"one value": selected.DESIGNS["one value"]})
    monkeypatch.setattr(validity, "ROWS", 1_000)
    monkeypatch.setattr(validity, "SIZES", (0.1,))
    monkeypatch.setattr(validity, "GAPS", (0.3,))
    monkeypatch.setattr(validity, "_original_threshold", lambda _: 0.01)
    for name in ("DIVEXPLORER", "GROUPING"):
        monkeypatch.delenv(f"BENCHMARK_{name}_PYTHON", raising=False)
    assert places(SMALL[study]()) == places_of(study)


def test_small_audits_out_of_core_have_the_figures_of_the_large_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for module in (engine, opening):
        monkeypatch.setattr(module, "engine_of", module.engine_of)  # put back afterwards
    monkeypatch.setattr(large, "_REPEATS", 1)
    records = []
    for what, rows in (("out_of_core", 1_000), ("out_of_core", 4_000), ("in_memory", 4_000), ("passes", 4_000)):
        source = large.generate(tmp_path / f"{rows}", "numeric", rows, 1_000)
        task = {"what": what, "kind": "numeric", "rows": rows, "source": str(source / "*.parquet"), "large_rows": 1_000}
        records.append(task | (large.passes_once(task) if what == "passes" else large.audit_once(task)))
    records[2]["rows"] = records[3]["rows"] = 1_000  # as if of the smaller table
    numeric = places(large.told(records, [1_000, 1_000, 4_000]))
    assert numeric.items() <= places_of("large").items()
    assert len(numeric) == sum(not one.startswith("categorical_") for one in places_of("large"))
    store = large.Measured(tmp_path / "large.jsonl")
    for one in records:
        store.add(one)
    model = cost_model.fit(store, "numeric")
    assert model is not None
    cluster = cost_model.Cluster(0.01, 0.001)
    simulated = {"what": "simulated", "kind": "numeric", "rows": 1, "workers": 2, "shards": 1, "passes": 1,
                 "per_task": 1.0, "work": 1.0, "predicted": 1.0, "simulated": 2.0}  # fmt: skip
    told = places(cost_model.told([model], cluster, [simulated]))
    assert told.items() <= places_of("cost_model").items()
    assert len(told) == sum(not one.startswith("categorical_") for one in places_of("cost_model"))
