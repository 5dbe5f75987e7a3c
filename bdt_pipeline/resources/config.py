"""The launchpad's form: sections of the specification as Dagster config, and back.

One generic translation, so that a new key of the specification appears in the launchpad by itself. Dagster checks
the shape while somebody types; the specification checks the values again when the run starts.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import dagster as dg
from dagster._config.config_type import Float
from dagster._config.errors import PostProcessingError
from pydantic import BaseModel

from bdt_core.errors import OUT_OF_MEMORY, BDTError, DataError, SourceError, UnreachableError
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.spec.registered import Registered

_RECOMMENDATION = "recommendation"
_ADVICE = "Correct the file or table as it says, and audit it again."
_ADVICE_PUT_ASIDE = "Correct the file as it says, and put it into the inbox again; it lies in the quarantine there."


class Number(Float):
    """A number in the launchpad: Dagster's own takes ``true`` for 1, which as a limit lets every harm pass."""

    def post_process(self, value: Any) -> float:
        """The number; refused is what is none."""
        if isinstance(value, bool):
            raise PostProcessingError(f"expected a number, found {json.dumps(value)}")
        return float(value)


_SCALARS: dict[Any, Any] = {str: str, int: int, float: Number(), bool: bool}  # type: ignore[no-untyped-call]


def config_schema(spec: AuditSpec, keys: Sequence[str]) -> dict[str, dg.Field]:
    """Config schema of an asset that takes some keys of the specification.

    Parameters
    ----------
    spec : AuditSpec
        Its values are the defaults.
    keys : sequence of str
        Top-level keys, such as ``["clustering"]``.

    Returns
    -------
    dict of Field

    Examples
    --------
    >>> spec = AuditSpec(name="a", source={"path": "a.csv"}, bias_variable={"column": "y"})
    >>> fields = config_schema(spec, ["significance"])
    >>> fields["significance"].config_type.fields["alpha"].default_value
    0.05
    """
    values = spec.to_dict()
    return {key: _field_of(key, json.dumps(values[key])) for key in keys}


def effective_spec(spec: AuditSpec, config: Mapping[str, Any]) -> AuditSpec:
    """The specification with the values that a run was given.

    Raises
    ------
    SpecError
        When the values do not make a valid specification.
    """
    return parse_spec({**spec.to_dict(), **config}, "The run's configuration")


@contextmanager
def clear_failures(unusable: Callable[[str], None] | None = None) -> Iterator[None]:
    """Turn errors that the user can mend into a failure with their text.

    Parameters
    ----------
    unusable : callable, optional
        Told the text when it is the table that is at fault, and not the way to it.
    """
    try:
        yield
    except BDTError as error:
        is_of_the_table = isinstance(error, SourceError | DataError) and not isinstance(error, UnreachableError)
        if unusable is not None and is_of_the_table:
            unusable(str(error))
        advice = _ADVICE_PUT_ASIDE if unusable is not None else _ADVICE
        metadata = {_RECOMMENDATION: advice} if is_of_the_table else None
        raise dg.Failure(description=str(error), metadata=metadata, allow_retries=False) from None
    except MemoryError:  # which others may have taken for a while: it may be retried
        raise dg.Failure(description=OUT_OF_MEMORY) from None


def reason_of(failure: Any) -> str | None:
    """What a failed step says for people, if it does: see `clear_failures`.

    Parameters
    ----------
    failure : StepFailureData
    """
    data = failure.user_failure_data
    return str(data.description) if data is not None and data.description else None


def advice_of(failure: Any) -> str | None:
    """What a failed step says is to be done, if it does: see `clear_failures`.

    Parameters
    ----------
    failure : StepFailureData
    """
    data = failure.user_failure_data
    advice = None if data is None else data.metadata.get(_RECOMMENDATION)
    return None if advice is None else str(advice.value)


@cache
def _field_of(key: str, value: str) -> dg.Field:
    """A key of the specification; made once for all audits that have the same value, as JSON, there."""
    return _field(AuditSpec.model_fields[key], json.loads(value))


def _field(info: Any, value: Any) -> dg.Field:
    """One key with its default and description."""
    inner = _section(info.annotation)
    if inner is not None:  # the defaults stand at the leaves, so that a part of a section can be given
        return dg.Field(_shape(inner, value), description=info.description)
    optional = _section_or_none(info.annotation)
    kind = _config_type(info.annotation) if optional is None or value is None else dg.Noneable(_shape(optional, value))
    return dg.Field(kind, default_value=value, is_required=False, description=info.description)


def _shape(model: type[BaseModel], values: Mapping[str, Any] | None = None) -> dg.Shape:
    """A section; without values, its own defaults."""
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        if values is not None:
            fields[name] = _field(info, values[name])
        elif info.is_required():
            fields[name] = dg.Field(_config_type(info.annotation), description=info.description)
        else:
            fields[name] = _field(info, info.get_default(call_default_factory=True))
    return dg.Shape(fields)  # type: ignore[no-untyped-call]


def _config_type(annotation: Any) -> Any:
    """Dagster's config type for a Python type; anything goes where Dagster has no such union."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    section = _section(annotation)
    if section is not None:
        return _shape(section)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if origin is Annotated:
        kinds = next((one.classes() for one in arguments if isinstance(one, Registered)), None)
        return _config_type(arguments[0]) if kinds is None else _any_of(list(kinds.values()))
    sections = [one for one in (_section(_bare(argument)) for argument in arguments) if one is not None]
    if origin in (Union, types.UnionType) and len(sections) == len(arguments):
        return _any_of(sections)
    if origin is Literal:
        return dg.Enum("_or_".join(map(str, arguments)), [dg.EnumValue(str(one)) for one in arguments])
    if origin is list:
        return dg.Array(_config_type(arguments[0]))
    if origin is dict:
        return dg.Map(str, _config_type(arguments[1]), key_label_name="column")  # type: ignore[no-untyped-call]
    if origin in (Union, types.UnionType) and type(None) in arguments:
        others = [one for one in arguments if one is not type(None)]
        return dg.Noneable(_config_type(others[0])) if len(others) == 1 else dg.Noneable(dg.Any)
    return dg.Any


def _any_of(models: Sequence[type[BaseModel]]) -> dg.Shape:
    """Keys of any of several sections; which of them belong together, the specification checks."""
    alternatives: dict[str, list[Any]] = {}
    for model in models:
        for name, info in model.model_fields.items():
            alternatives.setdefault(name, []).append(info)
    fields = {
        name: dg.Field(
            _config_type(_one_of([info.annotation for info in several])),
            is_required=False,
            description=" ".join(dict.fromkeys(str(info.description) for info in several)),
        )
        for name, several in alternatives.items()
    }
    return dg.Shape(fields)  # type: ignore[no-untyped-call]


def _one_of(annotations: Sequence[Any]) -> Any:
    """The type of a key that several sections have: choices of all of them, else as the first has it."""
    if all(get_origin(one) is Literal for one in annotations):
        return Literal[tuple(dict.fromkeys(choice for one in annotations for choice in get_args(one)))]
    return annotations[0]


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _section_or_none(annotation: Any) -> type[BaseModel] | None:
    """The section that may also be left out with ``null``."""
    others = [one for one in get_args(annotation) if one is not type(None)]
    return _section(others[0]) if len(others) == 1 and type(None) in get_args(annotation) else None


def _section(annotation: Any) -> type[BaseModel] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
