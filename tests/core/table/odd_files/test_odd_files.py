"""Odd files come out as it is written down, whole and in batches, or are refused in these words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from bdt_core.spec import Source
from bdt_core.table.batches import open_batches
from bdt_core.table.sources import JOINED, read_table
from tests.core.table.odd_files.files import ODD
from tests.core.table.odd_files.outcome import RECORDED, outcome

EXPECTED = json.loads(RECORDED.read_text(encoding="utf-8"))


def in_batches(source: Source) -> pd.DataFrame:
    """The table set together from batches."""
    with open_batches(source) as opened:
        opened.batch_rows = 3 if opened.rows < 100 else 30_000
        batches = list(opened)
    frame = pd.concat(batches, ignore_index=True)
    assert all(list(one.dtypes) == list(opened.dtypes.values()) for one in batches)
    if source.join is not None:
        frame.attrs[JOINED] = {"without_match": sum(one.attrs[JOINED]["without_match"] for one in batches)}
    return frame


@pytest.mark.parametrize("read", [read_table, in_batches])
@pytest.mark.parametrize("name", ODD)
def test_odd_files(tmp_path: Path, name: str, read: Callable[[Source], pd.DataFrame]) -> None:
    found = outcome(read, ODD[name].written(tmp_path), tmp_path)
    assert found == EXPECTED[name]


def test_nothing_is_written_down_that_is_not_read() -> None:
    assert list(EXPECTED) == list(ODD)
