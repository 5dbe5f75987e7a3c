"""The JSON Schema of report.json, made of the document's models, to hold documents against."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from bdt_core.report.document import _STAGES_OWN, Document
from bdt_core.result import SCHEMA_VERSION


class _Schema(GenerateJsonSchema):
    """Numbers may be infinite, whole ones count something, and members need no titles beside their names."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {"anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity"]}]}

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        return {"type": "integer", "minimum": 0}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def document_schema() -> dict[str, Any]:
    """Of draft 2020-12. A version never loses a member; members may be added, which ``schema_minor`` counts."""
    schema = Document.model_json_schema(schema_generator=_Schema, mode="serialization")
    for part, members in _STAGES_OWN.items():
        model = schema["$defs"][{"slices": "Slices", "local_bias": "LocalBias"}[part]]
        for member in members:
            del model["properties"][member]
    schema["properties"]["schema_version"] = {"const": SCHEMA_VERSION, "type": "integer"}
    schema["properties"]["sentences"] = {"type": "array", "items": {"type": "object"}}
    return {"$schema": _Schema.schema_dialect, **schema, "title": "Bias audit report"}


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
