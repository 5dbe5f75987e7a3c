"""Reading a specification, and saying in one line each what is wrong with it."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from bdt_core.errors import SpecError
from bdt_core.spec.audit_spec import AuditSpec
from bdt_core.spec.gate import KINDS_OF_LIMIT
from bdt_core.spec.source import Source


def parse_spec(data: Any, origin: str = "the specification") -> AuditSpec:
    """Check plain data and return the specification.

    Parameters
    ----------
    data : mapping
        What a YAML or JSON file holds.
    origin : str
        Named in error messages, usually the file.

    Raises
    ------
    SpecError
        For each unknown key, missing key and wrong value, with its path and a suggestion.
    """
    if not isinstance(data, dict):
        raise SpecError(
            f'{origin} must be a mapping with the keys "name", "source" and "bias_variable", not {_noun(data)}.'
        )
    try:
        return AuditSpec.model_validate(data)
    except ValidationError as error:
        problems = [_sentence(one) for one in error.errors(include_url=False)]
        raise SpecError(f"{origin} is not a valid audit specification.\n" + "\n".join(problems)) from None


def load_spec(path: str | Path) -> AuditSpec:
    """Read a specification from a YAML file.

    A relative ``source.path`` is looked up beside the file.

    Raises
    ------
    SpecError
        When the file is missing, is not YAML or does not hold a valid specification.
    """
    file = Path(path)
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"{file} does not exist. Write one with: bdt init YOUR_DATA.csv") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{file} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or "not readable"
        raise SpecError(f"{file} is not valid YAML{line}: {problem}.") from None
    if isinstance(data, dict) and set(data) == {"type", "attributes"}:
        data = data["attributes"]  # a Dagster component file holds the same specification
    spec = parse_spec(data, str(file))
    return spec.model_copy(update={"source": resolve_source(spec.source, file.parent)})


def resolve_source(source: Source, folder: Path) -> Source:
    """Look relative local paths up in ``folder``; leave demo data, URLs and absolute paths alone."""

    def beside(path: str) -> str:
        if ":" in path.split("/")[0] or path.startswith("$") or Path(path).is_absolute():
            return path
        there = folder / path
        return str(there) if there.exists() or any(folder.glob(path)) else path

    changed: dict[str, Any] = {"arrays": {column: beside(path) for column, path in source.arrays.items()}}
    if source.path is not None:
        changed["path"] = beside(source.path)
    if source.join is not None and source.join.path is not None:
        changed["join"] = source.join.model_copy(update={"path": beside(source.join.path)})
    return source.model_copy(update=changed)


def json_schema() -> dict[str, Any]:
    """JSON Schema of the specification, for editors that complete and check YAML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **AuditSpec.model_json_schema(),
        "title": "Bias audit specification",
    }


def _sentence(error: Any) -> str:
    """One line for one pydantic error: where, what, and the nearest known key."""
    location = error["loc"]
    path = ".".join(str(part) for i, part in enumerate(location) if not _is_kind_of_limit(location, i)) or "top level"
    if error["type"] == "extra_forbidden":
        known = _known_keys(location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
        hint = f'did you mean "{near[0]}"?' if near else f"known keys here: {', '.join(known)}."
        return f"  {path}: unknown key; {hint}"
    if error["type"] == "missing":
        return f"  {path}: required key is missing."
    message = str(error["msg"]).removeprefix("Value error, ")
    end = "" if message.endswith(("?", ".")) else "."
    return f"  {path}: {message[:1].lower()}{message[1:]}{end}"


def _known_keys(location: tuple[Any, ...]) -> list[str]:
    """Names allowed at a place in the specification."""
    model: type[BaseModel] = AuditSpec
    for i, part in enumerate(location):
        if _is_kind_of_limit(location, i):
            model = KINDS_OF_LIMIT[part]
        if isinstance(part, int) or _is_kind_of_limit(location, i):
            continue
        annotation = model.model_fields[part].annotation
        for candidate in (annotation, *getattr(annotation, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                model = candidate
    return list(model.model_fields)


def _is_kind_of_limit(location: tuple[Any, ...], i: int) -> bool:
    """Whether a part of a path is not a key but says which kind of limit was read."""
    return i > 0 and isinstance(location[i - 1], int) and location[i] in KINDS_OF_LIMIT


def _noun(data: Any) -> str:
    return {type(None): "empty", list: "a list", str: "a text"}.get(type(data), "a single value")
