"""The shape of the YAML file, derived from the specification.

In YAML any value may be a template such as ``{{ env.DATA }}``, which is a text until it is resolved. So the file is
read with this looser model first; the specification checks the resolved values.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import dagster as dg
from pydantic import BaseModel, Field, create_model


@cache
def yaml_model(model: type[BaseModel]) -> type[BaseModel]:
    """The same keys and descriptions, each value of its own type or a text; unknown keys are refused."""
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        default = ... if info.is_required() else info.get_default(call_default_factory=True)
        fields[name] = (_loose(info.annotation), Field(default, description=info.description))
    loose: type[BaseModel] = create_model(f"{model.__name__}Yaml", __base__=dg.Model, **fields)
    return loose


def _loose(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return yaml_model(annotation) | str
    if origin is Annotated:
        return _loose(arguments[0])
    if origin in (Union, types.UnionType):
        return Union[tuple(_loose(one) for one in arguments)]  # noqa: UP007 - built at run time
    if origin is list:
        return list[_loose(arguments[0])] | str  # type: ignore[misc]
    if origin is dict:
        return dict[str, _loose(arguments[1])] | str  # type: ignore[misc]
    return annotation if annotation in (str, type(None)) else Union[annotation, str]  # noqa: UP007
