"""Two reports as data, compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bdt_core.verdict.baseline import BaselineComparison, compare_with_baseline
from bdt_core.verdict.comparable import ComparableReport


def against(now: Mapping[str, Any], before: Mapping[str, Any]) -> BaselineComparison:
    """A report against an earlier one."""
    return compare_with_baseline(ComparableReport.of(now), ComparableReport.of(before))
