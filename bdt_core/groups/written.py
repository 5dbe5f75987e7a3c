"""Conditions of slices as report.json has them: with their words, and one value in place of a set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from bdt_core.fairness.coding import Level
from bdt_core.groups.conditions import GroupCondition
from bdt_core.said import Text


@dataclass(frozen=True)
class Condition:
    """What holds for one column of a slice.

    Attributes
    ----------
    column : str
    text : str
        In words, such as "sex is f", "age 26 to 40" or "income is missing".
    kind : {"value", "interval", "missing"}
    value : bool, int, float, str or None
        Of a value.
    low, high : float or None
        Of an interval: strictly above `low`, up to and with `high`; None is no bound.
    whole : bool
        Of an interval: whether all numbers of the column are whole.
    """

    column: str
    text: Text
    kind: Literal["value", "interval", "missing"]
    value: Level = None
    low: float | None = None
    high: float | None = None
    whole: bool = False

    @classmethod
    def of(cls, condition: GroupCondition) -> Condition:
        """The form in which a condition is written."""
        value = next(iter(condition.values), None)
        return cls(
            condition.column,
            condition.words,
            "value" if condition.kind == "values" else condition.kind,
            value,
            condition.low,
            condition.high,
            condition.whole,
        )

    def read(self) -> GroupCondition:
        """The condition that was written."""
        if self.kind == "interval":
            return GroupCondition(self.column, "interval", self.low, self.high, self.whole)
        return GroupCondition.of_level(self.column, self.value)


class _Written:
    """Marks a member of a model: pydantic reads and writes it as `Condition`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            lambda given, check: given if isinstance(given, GroupCondition) else check(given).read(),
            handler.generate_schema(Condition),
            serialization=core_schema.wrap_serializer_function_ser_schema(lambda one, write: write(Condition.of(one))),
        )


WrittenCondition = Annotated[GroupCondition, _Written()]
"""A member of a slice's result."""
