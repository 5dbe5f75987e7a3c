"""Base of all parts of a specification."""

import datetime
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator

Value = bool | int | float | str


def _yaml_reads_days(x: object) -> object:
    return x.isoformat() if type(x) is datetime.date else x


def _is_a_day(day: str) -> str:
    try:
        datetime.date.fromisoformat(day)
    except ValueError:
        raise ValueError(f'"{day}" is not a day such as 2026-01-31') from None
    return day


Day = Annotated[str, BeforeValidator(_yaml_reads_days), AfterValidator(_is_a_day)]
"""A day such as 2026-01-31, as text."""


class SpecSection(BaseModel):
    """A part of a specification: unknown keys are errors, and nothing changes it afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _yes_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """YAML's true is 1 to pydantic; as a limit it would let everything pass."""
        if isinstance(value, bool) and info.field_name is not None:
            annotation = cls.model_fields[info.field_name].annotation
            kinds = {annotation, *get_args(annotation)}
            if kinds & {int, float} and not kinds & {bool, Any}:
                raise ValueError(f"expected a number, found {str(value).lower()}")
        return value
