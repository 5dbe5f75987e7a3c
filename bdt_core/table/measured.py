"""The bias variable of some rows: how many, how high, how far apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from bdt_core.inference.summaries import Summary, ValueCounts
from bdt_core.spec import AuditSpec
from bdt_core.table.persons import count_persons
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import mean_and_sd, summarise_bias_variable


@dataclass(frozen=True)
class MeasuredOutcome:
    """The bias variable of the train or the test rows.

    Attributes
    ----------
    spec : AuditSpec
    rows : int
    persons : int or None
        Who is in them, where persons may have several rows.
    mean, sd : float
        The standard deviation with ddof 0.
    two_valued : bool
    unit : {"rate", "value"}
    """

    spec: AuditSpec
    rows: int
    persons: int | None
    mean: float
    sd: float
    two_valued: bool
    unit: Literal["rate", "value"]

    @classmethod
    def of(cls, table: Rows) -> MeasuredOutcome:
        """That of the audited rows of a table."""
        summary = summarise_bias_variable(table)
        mean, sd = mean_and_sd(summary)
        return cls(
            spec=table.spec,
            rows=summary.rows,
            persons=count_persons(table),
            mean=mean,
            sd=sd * math.sqrt((summary.rows - 1) / summary.rows),
            two_valued=isinstance(summary, ValueCounts) and summary.present.size <= 2,
            unit=unit_of(summary),
        )


def unit_of(summary: Summary) -> Literal["rate", "value"]:
    """The unit of what was summarised: that of a rate where all values are 0 and 1."""
    is_rate = isinstance(summary, ValueCounts) and set(summary.present.tolist()) <= {0.0, 1.0}
    return "rate" if is_rate else "value"
