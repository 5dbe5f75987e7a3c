"""The schema of the document as something to hold documents against, made once for all tests of a process."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from bdt_core.report import document_schema


@cache
def described() -> Draft202012Validator:
    """What the schema says."""
    return Draft202012Validator(document_schema())


@cache
def described_and_nothing_else() -> Draft202012Validator:
    """The same, refusing every member that the schema does not describe."""
    return Draft202012Validator(_strict(document_schema()))


def _strict(schema: Any) -> Any:
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for one in schema.values():
            _strict(one)
    elif isinstance(schema, list):
        for one in schema:
            _strict(one)
    return schema
