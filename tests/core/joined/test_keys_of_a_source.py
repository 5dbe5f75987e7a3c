"""What a source says of its file decides what the report and its verdict say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.errors import DataError, SourceError
from bdt_core.report.html import render_html
from tests.core.joined.made_tables import QUICK, harmed
from tests.core.table.test_sheets_and_packed_files import workbook

AT_MOST = [{"check": "worst_cluster", "max_difference": 0.4}]


def audited(path: Path, changes: dict[str, Any] | None = None, **source: Any) -> dict[str, Any]:
    spec = {**QUICK, "worst_groups": None, "gate": AT_MOST, **(changes or {}), "source": {"path": str(path), **source}}
    found = audit(None, spec)
    assert "<html" in render_html(found.document)
    return found.document


def test_decimal(tmp_path: Path) -> None:
    """1,100 and 1,200 are a tenth apart, or a hundred."""
    frame = harmed(harm=0.5)[["x0", "y"]].astype({"x0": int})
    path = tmp_path / "t.csv"
    frame.assign(y=np.where(frame["y"] == 1, "1,200", "1,100")).to_csv(path, index=False)
    comma, point = audited(path, decimal="comma"), audited(path, decimal="point")
    assert (comma["verdict"]["verdict"], point["verdict"]["verdict"]) == ("pass", "fail")
    assert point["gate"][0]["difference"] > 1 > comma["gate"][0]["difference"]
    with pytest.raises(DataError, match="source.decimal"):
        audited(path)


def test_missing_values(tmp_path: Path) -> None:
    """9 stands for what is not known; as a number it makes a group stand out."""
    frame = harmed(harm=0.0, base=0.3)
    path = tmp_path / "t.csv"
    unknown = (frame["x0"] > 4) & (np.arange(len(frame)) % 3 == 0)
    frame.astype({"y": int}).assign(y=frame["y"].where(~unknown, 9).astype(int)).to_csv(path, index=False)
    told, ignored = audited(path, missing_values=["9"]), audited(path)
    assert (told["verdict"]["verdict"], ignored["verdict"]["verdict"]) == ("pass", "fail")
    assert told["data"]["rows"] - told["data"]["rows_audited"] == unknown.sum()


def test_sheet(tmp_path: Path) -> None:
    def rows(harm: float) -> list[list[object]]:
        frame = harmed(harm=harm)
        return [list(frame.columns), *frame.astype(object).to_numpy().tolist()]

    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook(before=rows(0.0), after=rows(0.6)))
    assert [audited(path, sheet=one)["verdict"]["verdict"] for one in ("before", "after")] == ["pass", "fail"]
    with pytest.raises(SourceError, match="source.sheet.*before, after"):
        audited(path)


def test_clean(tmp_path: Path) -> None:
    """A group in two spellings is one group."""
    frame = harmed(harm=0.5)
    path = tmp_path / "t.csv"
    spelt = np.where(np.arange(len(frame)) % 8 == 0, "Far", np.where(frame["x0"] > 4, "far ", "near"))
    frame[["y"]].assign(place=spelt, x=frame["x1"]).to_csv(path, index=False)
    several, one = audited(path), audited(path, clean=True)
    levels = [{c["name"]: c["distinct"] for c in each["data"]["columns"]}["place"] for each in (several, one)]
    assert levels == [3, 2]
    assert any("differ only" in each for each in several["warnings"])
    assert any('1 spelling of levels merged into others ("source.clean")' in each for each in one["data"]["notes"])


def test_ages(tmp_path: Path) -> None:
    """Who is over sixty on the day fares worse, and the report says it in years of age."""
    rng = np.random.default_rng(3)
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 18_000, 2400), "D")
    is_old = born < pd.Timestamp("1966-01-31")
    y = (rng.random(2400) < np.where(is_old, 0.9, 0.1)).astype(int)
    path = tmp_path / "t.csv"
    pd.DataFrame({"born": born.strftime("%d-%m-%Y"), "x": rng.normal(size=2400), "y": y}).to_csv(path, index=False)
    asked = {"features": {"kinds": {"born": "categorical"}}}  # of which days are too many, and ages are not
    with pytest.raises(DataError, match='"born" has .* different values'):
        audited(path, asked)
    told = audited(path, asked, ages={"born": "2026-01-31"})
    assert {one["name"]: one["distinct"] for one in told["data"]["columns"]}["born"] == 51
    assert 'Column "born" is the age in whole years on 2026-01-31 ("source.ages").' in told["data"]["notes"]
    over = [{"check": "worst_group", "max_difference": 0.3}]
    found = audited(path, {"worst_groups": {}, "gate": over}, ages={"born": "2026-01-31"})
    assert found["verdict"]["verdict"] == "fail"
    (place, *_) = found["worst_groups"]["groups"]
    (condition,) = place["conditions"]
    assert (condition["column"], condition["low"], condition["whole"]) == ("born", pytest.approx(60, abs=1), True)
