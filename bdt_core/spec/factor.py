"""A legitimate factor: a column that a decision may depend on, and the reason why, where somebody gave one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

_KEYS = ("column", "because")


class Factor(str):
    """The column's name, with the reason beside it: most of the audit needs the name alone.

    Attributes
    ----------
    because : str or None

    Examples
    --------
    >>> Factor("income", "the loan has to be paid back").because
    'the loan has to be paid back'
    """

    because: str | None

    def __new__(cls, column: str, because: str | None = None) -> Factor:
        made = super().__new__(cls, column)
        made.because = because
        return made

    def __reduce__(self) -> tuple[type[Factor], tuple[str, str | None]]:
        return Factor, (str(self), self.because)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._read, serialization=core_schema.plain_serializer_function_ser_schema(cls._plain)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        text = {"type": "string"}
        return {
            "anyOf": [
                text,
                {
                    "type": "object",
                    "properties": dict.fromkeys(_KEYS, text),
                    "required": list(_KEYS),
                    "additionalProperties": False,
                },
            ]
        }

    @classmethod
    def _read(cls, given: Any) -> Factor:
        if isinstance(given, Factor):
            return given
        if isinstance(given, str):
            return cls(given)
        texts = isinstance(given, Mapping) and all(isinstance(given.get(key), str) and given[key] for key in _KEYS)
        if not texts or set(given) != set(_KEYS):
            raise ValueError('expected a column, or a column with the reason: {column: income, because: "..."}')
        return cls(given["column"], given["because"])

    @staticmethod
    def _plain(factor: str) -> str | dict[str, str]:
        because = getattr(factor, "because", None)
        return str(factor) if because is None else {"column": str(factor), "because": because}


def factors_in(plain: Mapping[str, Any]) -> Sequence[Factor]:
    """The legitimate factors of a specification as plain data.

    Examples
    --------
    >>> factors_in({"legitimate": ["age", {"column": "sex", "because": "a court said so"}]})
    ['age', 'sex']
    """
    return [Factor._read(one) for one in plain.get("legitimate") or ()]
