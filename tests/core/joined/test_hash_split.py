"""The split by hash: the share that was asked for, of rows or of people, in memory and in blocks alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from tests.core.joined.made_tables import harmed, quick_audit

ROWS = 4000
ONE_SPLIT = {"stability": 0, "n_init": 1, "max_iter": 1}
WHERE = ("in memory", "large in memory", "in blocks")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("split") / "people.csv"
    frame = harmed(ROWS, harm=0.3)
    frame["person"] = [f"person {i}" for i in np.random.default_rng(2).integers(0, ROWS // 2, ROWS)]
    frame.to_csv(path, index=False)
    return path


def audited(file: Path, where: str, **split: Any) -> AuditResult:
    memory = "out_of_core" if where == "in blocks" else "in_memory"
    large = {} if where == "in memory" else {"large_rows": 1000}
    features = {"include": ["x0", "x1"]}
    return quick_audit(file, features=features, clustering={**ONE_SPLIT, "memory": memory}, split=split, **large)


def sizes(result: AuditResult) -> tuple[int, int]:
    train, test = result.document["split"]["train_rows"], result.document["split"]["test_rows"]
    assert (train, test) == (result.train.audited_rows, result.test.audited_rows)
    assert train + test == ROWS
    return train, test


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.8])
def test_the_test_part_has_the_share_asked_for(file: Path, where: str, share: float) -> None:
    result = audited(file, where, method="hash", test_size=share)
    assert result.document["split"]["method"] == "hash"
    four_sd = 4 * np.sqrt(share * (1 - share) / ROWS)
    assert sizes(result)[1] / ROWS == pytest.approx(share, abs=four_sd)


@pytest.mark.parametrize("where", WHERE)
def test_a_key_keeps_the_rows_of_a_person_together_and_gives_the_share_of_persons(file: Path, where: str) -> None:
    result = audited(file, where, key="person", test_size=0.3)
    assert sizes(result)[1] / ROWS == pytest.approx(0.3, abs=4 * np.sqrt(0.3 * 0.7 * 2 / ROWS))
    if where != "in blocks":  # whose rows are gone; that they are divided alike is tested below
        person = pd.read_csv(file).set_index("x1")["person"]
        train, test = (set(person[one.frame["x1"]]) for one in (result.train, result.test))  # type: ignore[attr-defined]
        assert len(train) > 1000
        assert not train & test


def test_all_ways_of_holding_the_rows_divide_them_alike(file: Path) -> None:
    for split in ({"method": "hash"}, {"key": "person"}):
        found = [audited(file, where, test_size=0.25, **split) for where in WHERE]
        assert len({sizes(one) for one in found}) == 1
        assert len({one.document["clusters"][0]["test_rows"] for one in found}) == 1
        assert len({one.document["bias_variable"]["test_mean"] for one in found}) == 1


def test_another_seed_takes_other_rows(file: Path) -> None:
    one, other = (audited(file, "in memory", method="hash", random_state=seed) for seed in (1, 2))
    both = set(one.test.frame["x1"]) & set(other.test.frame["x1"])  # type: ignore[attr-defined]
    assert len(both) / ROWS == pytest.approx(0.2 * 0.2, abs=0.02)


def test_auto_divides_large_tables_by_hash_and_small_ones_in_proportion(file: Path) -> None:
    assert audited(file, "large in memory").document["split"]["method"] == "hash"
    result = audited(file, "in memory")
    assert result.document["split"]["method"] == "stratified"
    assert sizes(result)[1] == pytest.approx(0.2 * ROWS, abs=1)
