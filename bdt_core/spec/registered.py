"""One of the classes of a registry, for fields of models: a class that is registered later is taken, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union

from pydantic import Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class Registered:
    """Annotation of a field that holds one of the classes that are registered when it is read.

    A union of pydantic is closed when its class is made. This one is made anew for each set of classes, and has the
    messages, the places of errors and the JSON Schema of that union.

    Parameters
    ----------
    classes : callable
        The classes by tag, as they are now.
    tag : callable or str
        Which tag a value has; or the name of the member that says so, which then stands in the JSON Schema.
    seen : callable
        Is given each value before it is read, so that it may register the class which that needs.
    """

    classes: Callable[[], Mapping[str, type]]
    tag: Callable[[Any], str | None] | str
    seen: Callable[[Any], object]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._read, serialization=core_schema.simple_ser_schema("any")
        )

    def _read(self, value: Any) -> Any:
        self.seen(value)
        return self._union().validate_python(value)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(self._union().core_schema)

    def _union(self) -> TypeAdapter[Any]:
        return _union(tuple(self.classes().items()), self.tag)


@cache
def _union(classes: tuple[tuple[str, type], ...], tag: Callable[[Any], str | None] | str) -> TypeAdapter[Any]:
    if len(classes) == 1:
        return TypeAdapter(classes[0][1])
    tagged = [each if isinstance(tag, str) else Annotated[each, Tag(name)] for name, each in classes]
    return TypeAdapter(Annotated[Union[tuple(tagged)], Discriminator(tag)])  # type: ignore[arg-type]  # noqa: UP007
