"""Groups, intersections, local bias, mitigation and the report of a large table: in shards the same as in memory."""

from __future__ import annotations

import itertools
import json
import re
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.findings import AuditFindings
from bdt_core.report.from_findings import build_document
from bdt_core.report.html import render_html
from bdt_core.report.wording import MOST_DISTINCT, more_than_counted
from bdt_core.shards.engine import LocalEngine
from bdt_core.shards.ingest import ingest
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.stages import Stages, stages_of
from bdt_core.table import facts, pool
from bdt_core.table.audit_table import RANK
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate
from tests.core.report.described import described

N = 3_000
SPEC: dict[str, Any] = {
    "name": "loans",
    "source": {"path": "loans.parquet"},
    "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
    "protected": ["sex", "race"],
    "features": {"include": ["income", "code", "town"], "kinds": {"code": "categorical"}},
    "groups": {
        "score": "score",
        "facets": ["sex", ["sex", "race"]],
        "similar_by": ["income", "town"],
        "stratum": "town",
    },
    "local_bias": {"group": "sex", "n_clusters": 3},
    "mitigation": {"group": "sex", "score": "score"},
    "clustering": {"stability": 0, "max_iter": 3},
    "worst_groups": {"permutations": 39},
}
LARGE = parse_spec({**SPEC, "large_rows": 1_000})


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=N).round(1),
            "code": rng.integers(0, 5, N),
            "town": rng.choice(list("xyz"), N),
            "sex": rng.choice(["f", "m"], N),
            "race": rng.choice(["a", "b", None], N),
            "score": rng.random(N).round(3),
        }
    )
    frame["y"] = (rng.random(N) < 0.3 + 0.4 * frame.score).astype(int)
    frame["p"] = (frame.score + 0.2 * (frame.sex == "f") + rng.normal(0, 0.1, N) > 0.6).astype(int)
    return frame


def words(found: dict[str, Any]) -> str:
    """What the page says."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", render_html(found))).split())


ABOUT_CLUSTERS = ("clusters", "significance", "differences")


def found_in(train: Any, test: Any, source: Any, spec: AuditSpec, clusters: dict[str, Any] | None = None) -> Any:
    """What all stages find, and the report; the clusters can be those of another table."""
    found = {"table": train, "train": train, "test": test, "source": source, **(clusters or {})}
    for stage in stages_of(spec):
        if stage.result not in found:
            found[stage.result] = stage.run(Stages(), found, spec)
    return build_document(AuditFindings.of(found), spec), found


@pytest.fixture(scope="module")
def in_memory() -> tuple[dict[str, Any], Any]:
    frame = people()
    document, found = found_in(*split_rows(validate(frame, LARGE), LARGE.split), frame, LARGE)
    return document, {name: found[name] for name in ABOUT_CLUSTERS}


@pytest.mark.parametrize("cuts", [(), (700, 750, 2_000)])
def test_the_report_is_the_same_to_the_byte(in_memory, cuts, tmp_path):
    whole, clusters = in_memory
    frame = people().sample(frac=1.0, random_state=len(cuts))
    parts = [frame.iloc[first:last] for first, last in itertools.pairwise([0, *cuts, N])]
    spec = parse_spec(
        {
            **SPEC,
            "large_rows": 1_000,
            "clustering": {**SPEC["clustering"], "memory": "out_of_core", "memory_limit": "1 GiB"},
            "engine": {"dask": {"local_workers": 2}},
        }
    )
    with LocalEngine(1) as engine:
        table = ingest(parts, spec, tmp_path, engine)
        train, test = table.divided(spec.split)
        found, _ = found_in(train, test, table, spec, clusters)
    assert json.dumps(found, sort_keys=True) == json.dumps(whole, sort_keys=True)


@pytest.mark.parametrize("processors", [1, 3])
def test_the_report_is_the_same_of_many_blocks_in_memory(in_memory, processors, monkeypatch):
    monkeypatch.setattr(pool, "BLOCK_ROWS", 300)
    monkeypatch.setattr(pool, "processors", lambda: processors)
    frame = people().sample(frac=1.0, random_state=processors)
    table = validate(frame, LARGE)
    train, test = split_rows(table, LARGE.split)
    assert [len(one) for one in train.map_blocks(lambda block: block.frame)[:-1]] == [300] * (len(train.frame) // 300)
    came = {rank: place for place, rank in enumerate(table.frame[RANK])}
    places = [np.array([came[rank] for rank in part.frame[RANK]]) for part in (train, test)]
    assert [bool((np.diff(one) > 0).all()) for one in places] == [True, False], "only small parts are put in order"
    found, _ = found_in(train, test, frame, LARGE)
    assert json.dumps(found, sort_keys=True) == json.dumps(in_memory[0], sort_keys=True)


def test_the_report_says_what_was_worked_out_on_some_of_the_rows(in_memory):
    found, _ = in_memory
    described().validate(found)
    assert found["drawn"]["parts"].keys() == {"rules", "slice_edges", "flip_test"}
    printed = words(found)
    assert "The table has more than 1,000 rows." in printed
    train_rows = found["split"]["train_rows"]
    assert f"the words for clusters on 1,000 of {train_rows:,} train rows" in printed
    assert f"the flip test on {found['drawn']['parts']['flip_test']['rows']:,} of 3,000 rows" in printed
    for part in ("local_bias", "mitigation"):
        name = part.replace("_", " ")
        rows = found[part]["train_rows"], found[part]["test_rows"]
        assert f"{name} on {rows[0]:,} train and {rows[1]:,} test rows" in printed
        assert rows[0] <= 1_000 < train_rows
    assert found["slices"]["train_rows"] == train_rows
    assert found["split"]["method"] == "hash"
    assert not found["split"]["stratified"]
    assert "each row divided by a random number made of its content" in printed


def test_where_the_work_ran_is_not_in_the_report(in_memory):
    spec = in_memory[0]["spec"]
    assert "engine" not in spec
    assert not spec["clustering"].keys() & {"memory", "memory_limit"}
    assert spec["large_rows"] == 1_000
    parse_spec(spec)


def test_a_small_table_is_drawn_from_by_nobody(in_memory):
    spec = parse_spec(SPEC)
    frame = people()
    train, test = split_rows(validate(frame, spec), spec.split)
    found, _ = found_in(train, test, frame, spec, in_memory[1])
    assert "drawn" not in found
    assert found["split"]["method"] == "stratified"
    assert "The table has more than" not in words(found)


def test_a_number_of_values_that_is_not_known_is_printed_as_such(in_memory):
    assert MOST_DISTINCT == facts.MOST_DISTINCT
    assert more_than_counted(12_345) == "12,345"
    found = json.loads(json.dumps(in_memory[0]))
    found["data"]["columns"][0]["distinct"] = None
    described().validate(found)
    assert "more than 65,536" in words(found)


def test_groups_that_are_too_small_stay_unprinted(in_memory):
    found = in_memory[0]
    shown = json.loads(json.dumps(found["slices"]))
    assert all(one["comparison"]["n_a"] >= found["spec"]["significance"]["min_rows"] for one in shown["slices"]
               if one["comparison"]["mean_a"] is not None)  # fmt: skip
