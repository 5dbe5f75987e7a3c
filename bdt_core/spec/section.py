"""What all parts of a specification share."""

from pydantic import BaseModel, ConfigDict

Value = bool | int | float | str


class Section(BaseModel):
    """A part of a specification: unknown keys are errors, and nothing changes it afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)
