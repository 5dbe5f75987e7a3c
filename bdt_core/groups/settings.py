"""Settings of a search: what it looks at, and bounds of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bdt_core.errors import SpecError
from bdt_core.table.rows import Rows


def searched_columns(table: Rows, chosen: Sequence[str] | None = None) -> tuple[str, ...]:
    """The columns that a search of an audit looks at: those that were chosen, or features and protected ones."""
    return tuple(dict.fromkeys(chosen or [*table.names("feature"), *table.names("protected")]))


def check_whole(settings: Any, *bounds: tuple[str, int, int | None]) -> None:
    """Refuse settings that are no whole numbers within bounds, each given by its name; None is no bound."""
    for name, low, high in bounds:
        value = getattr(settings, name)
        if value != int(value) or value < low or (high is not None and value > high):
            expected = f"{low} or more" if high is None else f"from {low} to {high}"
            raise SpecError(f"{name} must be a whole number, {expected}; found {value!r}.")


def check_shares(settings: Any, *bounds: tuple[str, float]) -> None:
    """Refuse settings that do not lie between 0 and a bound, each given by its name."""
    for name, most in bounds:
        value = getattr(settings, name)
        if not 0.0 < value < most:
            raise SpecError(f"{name} must lie between 0 and {most:g}, both excluded; found {value!r}.")
