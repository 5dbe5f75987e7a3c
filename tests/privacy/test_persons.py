"""Where persons have several rows, the form for publication hides as many persons as it hides of people with one."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bdt_core.report import for_publication, render_markdown
from bdt_core.spec import parse_spec
from tests.privacy.tables import report, spec, table

ROWS_EACH = 4


@pytest.fixture(scope="module")
def owners() -> dict[str, Any]:
    people = table(3).assign(person=range(len(table(3))))
    rows = pd.concat([people] * ROWS_EACH, ignore_index=True)
    asked = parse_spec(spec().model_dump(mode="json", exclude_unset=True) | {"split": {"key": "person"}}, "the test")
    return report(rows, asked)


def test_counts_are_rounded_to_the_rows_of_ten_persons(owners: dict[str, Any]) -> None:
    published = for_publication(owners)
    form = published["publication"]
    assert (form["base"], form["minimum"], form["rates_from"], form["counted"]) == (40, 120, 400, "rows")
    groups = [one for facet in published["groups"]["facets"] for one in facet["groups"]]
    counts = [x for one in groups for rate in one["rates"].values() for x in (rate["n"], rate["events"] or 0)]
    counts += [one["rows"] for one in groups]
    counts += [published["data"]["rows"], published["split"]["train_rows"], published["split"]["test_rows"]]
    assert len(counts) > 100
    assert [x for x in counts if x % 40] == []
    assert {rate["estimate"] for one in groups for rate in one["rates"].values() if rate["n"] < 400} <= {None}
    told = render_markdown(published)
    assert "rounded to the rows that ten persons have on average" in told
    assert "fewer than 120 rows" in told


def test_groups_of_few_persons_are_not_named(owners: dict[str, Any]) -> None:
    everybody = [one for facet in owners["groups"]["facets"] for one in facet["groups"]]
    few = {one["group"] for one in everybody if one["rows"] >= 30 and one["persons"] < 30}
    assert few
    published = for_publication(owners)["groups"]["facets"]
    assert not few & {one["group"] for facet in published for one in facet["groups"]}
