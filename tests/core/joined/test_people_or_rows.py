"""Findings count people, and rows where one person may have several."""

from __future__ import annotations

import pytest

from bdt_core.report.markdown import render_markdown
from tests.core.joined.made_tables import harmed, quick_audit


@pytest.mark.parametrize(("split", "counted"), [({}, "people"), ({"key": "person"}, "rows")])
def test_what_is_counted_is_said(split: dict[str, str], counted: str) -> None:
    frame = harmed(1200, 0.5).assign(person=[f"p{i // 2}" for i in range(1200)])
    gate = [{"check": "worst_group", "max_difference": 0.05}]
    document = quick_audit(frame, split=split, gate=gate, features={"include": ["x0", "kind"]}).document
    other = {"people": "rows", "rows": "people"}[counted]
    assert f"(300 {counted}, 25.0 %)" in document["summary"]["headline"]
    assert f"(300 {counted}): higher (worse) in y than" in document["verdict"]["sentence"]
    told = render_markdown(document)
    assert f"| Who | {counted.capitalize()} |" in told
    assert f"| Who | {other.capitalize()} |" not in told
