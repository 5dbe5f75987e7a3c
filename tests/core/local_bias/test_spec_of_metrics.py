"""The metrics of local bias stand in one table, and the specification offers what stands there."""

import pytest
from pydantic import ValidationError

from bdt_core.metrics import LOCAL_METRICS
from bdt_core.spec import json_schema
from bdt_core.spec.depth import LocalBiasSection


def test_the_specification_offers_each_entry_and_nothing_else():
    offered = json_schema()["$defs"]["LocalBiasSection"]["properties"]["metric"]
    assert offered["enum"] == list(LOCAL_METRICS)
    assert [LocalBiasSection(group="sex", metric=name).metric for name in LOCAL_METRICS] == list(LOCAL_METRICS)
    with pytest.raises(ValidationError, match="metric"):
        LocalBiasSection(group="sex", metric="mean")
