"""The metrics of local bias stand in one table, and the specification offers what stands there."""

import pytest
from pydantic import ValidationError

from bdt_core.metrics import LOCAL_METRICS
from bdt_core.spec import json_schema
from bdt_core.spec.depth import LocalBias


def test_the_specification_offers_each_entry_and_nothing_else():
    offered = json_schema()["$defs"]["LocalBias"]["properties"]["metric"]
    assert offered["enum"] == list(LOCAL_METRICS)
    assert [LocalBias(group="sex", metric=name).metric for name in LOCAL_METRICS] == list(LOCAL_METRICS)
    with pytest.raises(ValidationError, match="metric"):
        LocalBias(group="sex", metric="mean")
