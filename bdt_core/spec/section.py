"""What all parts of a specification share."""

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

Value = bool | int | float | str


class Section(BaseModel):
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
