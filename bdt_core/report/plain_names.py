"""The readers' names of columns, levels and what is measured, as whole sentences have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bdt_core.report.names import Names

if TYPE_CHECKING:
    from bdt_core.groups.conditions import GroupCondition


@dataclass(frozen=True)
class NamedMeasure:
    """What is counted of people.

    Attributes
    ----------
    kind : str
        How the bias variable is derived, "column" where it is one, or the metric of a local gap.
    is_rate : bool
    result : str
        What the system says of people (or the column).
    outcome : str or None
        What really happened.
    quantile : float or None
        Of a pinball loss.
    k : int or None
        Places that are the top of a list.
    query : str or None
        What names the lists within which people are compared.
    """

    kind: str
    is_rate: bool
    result: str
    outcome: str | None
    quantile: float | None = None
    k: int | None = None
    query: str | None = None


class PlainNames(Names):
    """What readers call columns, levels and what is measured, in whole sentences."""

    @staticmethod
    def plain(name: str) -> str:
        """A name as it is, with spaces where there are none."""
        return " ".join(name.replace("_", " ").split()) or name

    def column(self, name: str) -> str:
        return self.label(name) or self.plain(name)

    def levels(self, columns: tuple[str, ...], values: tuple[Any, ...]) -> str:
        return " & ".join(self.level(column, one) for column, one in zip(columns, values, strict=True))

    def measure(self, is_rate: bool) -> NamedMeasure:
        bias = self.spec["bias_variable"]
        result = bias["column"] or bias["prediction"]
        positive = bias["positive"] if isinstance(bias["positive"], list) else [bias["positive"]]
        known = (self.labels.get(result) or {}).get("levels") or {}
        named = [known[str(one)] for one in positive if str(one) in known]
        if bias["column"] is not None and is_rate:
            is_named = known.get("1") or self.label(result)  # a share of a column of 0 and 1 is that of 1
            return NamedMeasure("column", is_rate, is_named or f"{self.plain(result)} 1", None)
        return NamedMeasure(
            kind=bias["derive"] or "column",
            is_rate=is_rate,
            result=named[0] if named else self._with_value(result, positive),
            outcome=self._with_value(bias["label"], positive) if bias["label"] else None,
            quantile=bias.get("quantile"),
            k=bias.get("k"),
            query=self.column(bias["query"]) if bias.get("query") else None,
        )

    def _with_value(self, column: str, positive: Sequence[Any]) -> str:
        """A column with the one text that counts as positive in it: "result: pass"; 1 goes without saying."""
        name = self.column(column)
        return f"{name}: {positive[0]}" if len(positive) == 1 and isinstance(positive[0], str) else name

    def condition(self, condition: GroupCondition) -> GroupCondition:
        """The same condition on a column as readers call it and its levels; whole numbers have whole bounds."""
        low, high = condition.low, condition.high
        if condition.whole:
            low, high = (None if bound is None else float(math.floor(bound)) for bound in (low, high))
        values = tuple(self.level(condition.column, value) for value in condition.values)
        return replace(condition, column=self.column(condition.column), low=low, high=high, values=values)

    def units_of_columns(self) -> dict[str, str]:
        """The units of columns that have one, by what readers call the column."""
        return {self.column(column): unit for column, unit in self.units.items()}

    def all_but(self, condition: GroupCondition, *, has_missing: bool) -> GroupCondition | None:
        """What holds for everybody for whom a condition does not hold, where that is said as shortly."""
        if condition.kind == "values":
            is_all_but = condition.excluded and condition.missing
            return self.condition(replace(condition, excluded=False, missing=False)) if is_all_but else None
        if condition.kind == "missing":
            return self.condition(replace(condition, missing=not condition.missing))
        if (condition.low is None) == (condition.high is None) or (has_missing and not condition.missing):
            return None
        return self.condition(replace(condition, low=condition.high, high=condition.low, missing=False))
