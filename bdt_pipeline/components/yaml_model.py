"""The shape of the YAML file, derived from the specification.

In YAML any value may be a template such as ``{{ env.DATA }}``, which is a text until it is resolved. So the file is
taken as it is written, and the specification checks the resolved values. `dg check yaml` and editors, which resolve
nothing, have the JSON Schema of the specification in which any value may also be a text. It has no alternatives where
it can do without, for of these a validator only says that none fits; and it knows how keys are mistyped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter, create_model
from pydantic_core import CoreSchema

from bdt_core.spec import AuditSpec

Schema = dict[str, Any]
_TEMPLATE = r"\{\{"
_LONG = 4
_EXAMPLE = {
    "name": "loans",
    "source": {"path": "loans.csv"},
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
    "protected": ["sex", "origin"],
    "gate": [{"check": "worst_group"}, {"metric": "equalized_odds_difference", "facet": "sex", "max": 0.1}],
    "translation": {"group_name": "risk", "owners": ["team:risk"]},
}
"""Shown on the component's page of Dagster's UI."""
_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


@cache
def yaml_model(component: type[BaseModel], others: tuple[tuple[str, Any], ...] = ()) -> type[BaseModel]:
    """A model that takes the attributes as written, and describes them by a JSON Schema.

    Parameters
    ----------
    component : type
        An `AuditSpec` with further fields, those of a user's subclass.
    others : tuple of (str, type)
        What the YAML file holds for fields whose own type has no JSON Schema.
    """
    fields: dict[str, Any] = dict.fromkeys(component.model_fields, (Any, None))
    base = _described_by(lambda: yaml_schema(component, dict(others)))
    return create_model(f"{component.__name__}Yaml", __base__=base, **fields)


def yaml_schema(component: type[BaseModel], others: Mapping[str, Any]) -> Schema:
    """JSON Schema of the attributes.

    Examples
    --------
    >>> schema = yaml_schema(AuditSpec, {})
    >>> schema["properties"]["split"]["properties"]["test_size"]["type"]
    ['number', 'string']
    """
    whole = AuditSpec.model_json_schema()
    definitions = whole.pop("$defs")
    properties = whole["properties"]
    for name, info in component.model_fields.items():
        if name not in properties:
            kind: Any = Annotated[others.get(name, info.annotation), Field(description=info.description)]
            own: TypeAdapter[Any] = TypeAdapter(kind)
            properties[name] = own.json_schema()
            definitions |= properties[name].pop("$defs", {})
            whole["required"] += [name] if info.is_required() else []
    loose = _loose(_inlined(whole, definitions))
    required = loose.pop("allOf")[0]
    return {**loose, **required, "type": "object", "title": component.__name__, "examples": [_EXAMPLE]}


def _described_by(schema: Callable[[], Schema]) -> type[BaseModel]:
    class AsWritten(BaseModel):
        model_config = ConfigDict(extra="allow")

        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> Schema:
            return schema()

    return AsWritten


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema with what it refers to in its place: no section of the specification contains itself."""
    if isinstance(node, list):
        return [_inlined(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        referred = definitions[node["$ref"].rpartition("/")[2]]
        node = {**referred, **{key: one for key, one in node.items() if key != "$ref"}}
    return {key: one if key in ("default", "examples") else _inlined(one, definitions) for key, one in node.items()}


def _loose(node: Schema) -> Schema:
    """A schema that takes a text, too, for it may be a template; alternatives become one that takes each of them."""
    alternatives = [_plain(one) for one in _alternatives(node)]
    kinds = dict.fromkeys(kind for one in alternatives for kind in one["type"])
    loose: Schema = {key: node[key] for key in ("title", "description", "default", "examples") if key in node}
    loose["type"] = [*kinds, *(() if "string" in kinds else ("string",))]
    texts = [one.get("enum") for one in alternatives if "string" in one["type"]]
    if texts and all(texts):
        choices = dict.fromkeys(choice for several in texts for choice in several or ())
        loose |= {"if": {"type": "string", "not": {"pattern": _TEMPLATE}}, "then": {"enum": list(choices)}}
    numbers = [one for one in alternatives if {"number", "integer"} & set(one["type"])]
    if len(numbers) == 1:
        loose |= {key: numbers[0][key] for key in _OF_NUMBERS if key in numbers[0]}
    items = [one["items"] for one in alternatives if "items" in one]
    if items:
        loose["items"] = _loose({"anyOf": items})
    return loose | _mapping([one for one in alternatives if "object" in one["type"]])


def _mapping(alternatives: Sequence[Schema]) -> Schema:
    """What is said of keys: those of all sections that may stand there; which go together, the specification checks."""
    if not alternatives:
        return {}
    if not any("properties" in one for one in alternatives):  # keys are names that the user gives
        values = [
            one["additionalProperties"] for one in alternatives if one.get("additionalProperties", True) is not True
        ]
        return {"additionalProperties": _loose({"anyOf": values})} if values else {}
    by_key: dict[str, list[Schema]] = {}
    for alternative in alternatives:
        for name, inner in alternative["properties"].items():
            by_key.setdefault(name, []).append(inner)
    required = set.intersection(*(set(one.get("required", ())) for one in alternatives))
    return {
        "properties": {name: _described(_loose({"anyOf": inner}), inner) for name, inner in by_key.items()},
        # not as "required" of its own, which Dagster's page of the component shows as if the section itself were
        **({"allOf": [{"required": [name for name in by_key if name in required]}]} if required else {}),
        **_unknown_keys(by_key),
    }


def _described(loose: Schema, schemas: Sequence[Schema]) -> Schema:
    """With all that is said of a key, and the default of the only one."""
    said = dict.fromkeys(one["description"] for one in schemas if "description" in one)
    first = {key: schemas[0][key] for key in ("title", "default") if key in schemas[0]} if len(schemas) == 1 else {}
    return loose | first | ({"description": " ".join(said)} if said else {})


def _alternatives(node: Schema) -> list[Schema]:
    for key in ("anyOf", "oneOf"):
        if key in node:
            return [inner for one in node[key] for inner in _alternatives(one)]
    return [node]


def _plain(node: Schema) -> Schema:
    """One alternative, with its type as a list; a constant is a choice of one, and what says no type takes any."""
    choices = {"enum": [node["const"]]} if "const" in node else {}
    kind = node.get("type", ["object", "array", "string", "number", "boolean", "null"])
    return {**node, **choices, "type": [kind] if isinstance(kind, str) else kind}


def _unknown_keys(known: Collection[str]) -> Schema:
    """Refuses other keys with a sentence: the key that was meant, where one mistake explains it, or all that there are.

    A validator names the file, the line and the key itself.
    """
    listed = ", ".join(known)
    return {
        "patternProperties": {_mistyped(one, known): _refused(f'unknown key; did you mean "{one}"?') for one in known},
        "additionalProperties": _refused(f"unknown key; known keys here: {listed}"),
    }


def _refused(sentence: str) -> Schema:
    """Refuses anything; validators print what must not be, and some editors the message."""
    return {"not": {"description": sentence}, "errorMessage": sentence}


def _mistyped(key: str, known: Iterable[str]) -> str:
    """What a key becomes by one slip: a letter wrong, missing or too many, two swapped, its end missing or more added.

    Examples
    --------
    >>> pattern = _mistyped("group_name", ["group_name", "owners"])
    >>> [word for word in ("gruop_name", "groupname", "group_name", "group", "group_names") if re.search(pattern, word)]
    ['gruop_name', 'groupname', 'group', 'group_names']
    """
    length = len(key)
    touched = 2 if length >= _LONG else 1
    wrong = [
        f"{re.escape(key[:i])}.{{0,{touched + 1}}}{re.escape(key[i + touched :])}" for i in range(length + 1 - touched)
    ]
    begun = [re.escape(key[:i]) for i in range(max(_LONG, length // 2), length - 1)]
    ended = [f"{re.escape(key)}.+"] if length >= _LONG else []
    pattern = f"(?:{'|'.join([*wrong, *begun, *ended])})$"
    right = [one for one in known if re.match(pattern, one)]
    return f"^(?!(?:{'|'.join(map(re.escape, right))})$){pattern}"
