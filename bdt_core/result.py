"""What every stage hands on: a frozen dataclass that becomes JSON and comes back the same."""

from __future__ import annotations

import json
from typing import Any, Self

from pydantic import ConfigDict, TypeAdapter

SCHEMA_VERSION = 1
"""Of report.json; a baseline of another version is refused."""


class Result:
    """Base of the stages' results."""

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="strings")

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data; infinities become the strings ``Infinity`` and ``-Infinity``."""
        data: dict[str, Any] = json.loads(_adapter(type(self)).dump_json(self))
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Undo :meth:`to_dict`."""
        result: Self = _adapter(cls).validate_python(data)
        return result


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(cls: type) -> TypeAdapter[Any]:
    """pydantic's reader and writer of a class, made once."""
    if cls not in _ADAPTERS:
        _ADAPTERS[cls] = TypeAdapter(cls)
    return _ADAPTERS[cls]
