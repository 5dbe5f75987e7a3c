"""Reading a specification, and saying in one line each what is wrong with it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from bdt_core.errors import SpecError, nearest
from bdt_core.spec.audit_spec import AuditSpec
from bdt_core.spec.gate import KINDS_OF_LIMIT, kinds_with_plugins
from bdt_core.spec.source import SQLITE_FILE, TableSource

Location = tuple[int | str, ...]
_OF_DAGSTER = frozenset({"translation", "bundle", "assets"})
"""Attributes of a Dagster component that are none of the specification: which assets there are, and their looks."""
SEAL = ".seal.json"
"""How the name of a seal ends, which stands beside its specification."""
_DEEPEST = 50
_MOST_PLACES = 100_000
_LONGEST_NUMBER = 40
_LARGEST = 2**63
_OTHER_BASE = re.compile(r"[+-]?(?:[0-9][0-9_]*(?::[0-9_.]+)+|0[0-9_]+)")
"""What YAML takes for a number to the base of 60 or 8: 1:05 is 65, and 010 is 8."""
_KINDS_OF_VALUE = {
    "timestamp": "date or time",
    "int": "whole number to the base of ten that fits 64 bits",
    "float": "number",
    "bool": "true or false",
    "binary": "binary value",
}


def parse_spec(
    data: Any,
    origin: str = "the specification",
    lines: Mapping[Location, int] | None = None,
    known: Collection[str] = (),
    folder: Path | None = None,
) -> AuditSpec:
    """Check plain data and return the specification.

    Parameters
    ----------
    data : mapping
        What a YAML or JSON file holds.
    origin : str
        Named in error messages, usually the file.
    lines : mapping, optional
        The line of each key of the file, to be named in error messages.
    known : collection of str
        Further keys that the file may have beside those of a specification, for suggestions.
    folder : Path, optional
        Where a file of names is looked up first; by default only the working directory.

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
        return AuditSpec.model_validate(data, context={"folder": folder or ""})
    except ValidationError as error:
        problems = [_sentence(one, lines or {}, known) for one in error.errors(include_url=False)]
        raise SpecError(f"{origin} is not a valid audit specification.\n" + "\n".join(problems)) from None


def load_spec(path: str | Path) -> AuditSpec:
    """Read a specification from a YAML file.

    Relative paths are looked up beside the file; see `resolve_paths`.

    Raises
    ------
    SpecError
        When the file is missing, is not YAML, holds a key twice or no valid specification.
    """
    file = Path(path)
    try:
        data, lines = _read(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"{file} does not exist. Write one with: bdt init YOUR_DATA.csv") from None
    except (OSError, UnicodeDecodeError) as error:
        _refuse_table(file)
        raise SpecError(f"{file} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        _refuse_table(file)
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or "not readable"
        raise SpecError(f"{file} is not valid YAML{line}: {problem}.") from None
    if not isinstance(data, dict):
        _refuse_table(file)
    if isinstance(data, dict) and {"type", "attributes"} <= data.keys():
        data = data["attributes"]  # a Dagster component file holds the same specification
        if isinstance(data, dict):
            data = {key: one for key, one in data.items() if key not in _OF_DAGSTER}
        lines = {place[1:]: line for place, line in lines.items() if place[0] == "attributes"}
    spec = parse_spec(data, str(file), lines, folder=file.parent)
    return resolve_paths(spec, file.parent)


def _refuse_table(file: Path) -> None:
    """Say what becomes of a file, or a folder of files, that by its name is a table, and no specification."""
    if file.suffix.lower() not in (".yaml", ".yml", ".json"):
        raise SpecError(f"{file} is no specification, and this takes one. Write it with: bdt init {file}")


def _read(text: str) -> tuple[Any, dict[Location, int]]:
    """What a YAML text holds, and the line of each of its keys.

    Raises
    ------
    yaml.YAMLError
        It is not YAML, or a key stands twice: the second would silently win.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        lines: dict[Location, int] = {}
        for place, line, path in () if node is None else _places(node, (), set()):
            lines[place] = line
            _refuse_value(loader, place, path)
            if len(lines) > _MOST_PLACES:
                problem = f"it holds more than {_MOST_PLACES:,} keys and entries, counting what aliases repeat"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=path.start_mark)
        return (None if node is None else loader.construct_document(node)), lines
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """The safe loader, for specifications: these are a few levels deep."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node and what is in it."""
        self._depth += 1
        if self._depth > _DEEPEST:
            problem = f"it is nested more than {_DEEPEST} levels deep"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.get_mark())
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _refuse_value(loader: yaml.SafeLoader, place: Location, node: yaml.Node) -> None:
    """Say which key has a date that no calendar has, or a number that is none."""
    kind = node.tag.rpartition(":")[2]
    if not isinstance(node, yaml.ScalarNode) or kind not in _KINDS_OF_VALUE:
        return
    try:
        if len(node.value) > _LONGEST_NUMBER or _OTHER_BASE.fullmatch(node.value):
            raise ValueError
        value = loader.construct_object(node)
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise ValueError
    except (ValueError, KeyError, OverflowError):
        key, end = ".".join(map(str, place)), "..." * (len(node.value) > _LONGEST_NUMBER)
        written = f'"{node.value[:_LONGEST_NUMBER]}{end}"'
        problem = f"{key}: {written} is no {_KINDS_OF_VALUE[kind]}; text goes in quotation marks"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None


def _places(node: yaml.Node, place: Location, above: set[int]) -> Iterator[tuple[Location, int, yaml.Node]]:
    """Each entry of a list and each value, with the line of its key; what a loop repeats is passed over."""
    if id(node) in above:
        return
    above = above | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*place, number), item.start_mark.line + 1, item
            yield from _places(item, (*place, number), above)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = key.value, key.start_mark.line + 1
            if not isinstance(name, str):
                continue
            if name in seen and name != "<<":
                problem = f'the key "{name}" stands twice, first in line {seen[name]}; keep one of them'
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen[name] = line
            yield (*place, name), line, key
            yield (*place, name), line, value
            yield from _places(value, (*place, name), above)


def resolve_paths(spec: AuditSpec, folder: Path) -> AuditSpec:
    """Look relative local paths up in a folder; leave demo data, URLs and absolute paths alone.

    A path that is not there is looked up in the working directory. Files of parts, of a pattern and of an inbox may
    come later: their folder counts, and when that is nowhere, it is expected in ``folder``. So does a seal that has the
    specification's name, where none is named.

    Parameters
    ----------
    spec : AuditSpec
    folder : Path
        Where its file lies.
    """
    source = spec.source
    changed: dict[str, Any] = {"arrays": {column: _beside(path, folder) for column, path in source.arrays.items()}}
    changed |= _table_beside(source, folder)
    if source.join is not None:
        changed["join"] = source.join.model_copy(update=_table_beside(source.join, folder))
    resolved: dict[str, Any] = {"source": source.model_copy(update=changed)}
    if spec.about.model_file is not None:
        place = _beside(spec.about.model_file, folder)
        resolved["about"] = spec.about.model_copy(update={"model_file": place})
    named, usual = spec.seal, folder / f"{spec.name}{SEAL}"
    if named is not None or usual.is_file():
        resolved["seal"] = str(usual) if named is None else _beside(named, folder)
    if spec.inbox is not None:
        place = _beside(f"{spec.inbox.folder}/*", folder).removesuffix("/*")
        resolved["inbox"] = spec.inbox.model_copy(update={"folder": place})
    if spec.local_bias is not None and isinstance(spec.local_bias.embeddings, str):
        place = _beside(spec.local_bias.embeddings, folder)
        resolved["local_bias"] = spec.local_bias.model_copy(update={"embeddings": place})
    return spec.model_copy(update=resolved)


def _table_beside(table: TableSource, folder: Path) -> dict[str, str]:
    """The path of a table or the file of its database, looked up in a folder."""
    changed = {}
    if table.path is not None:
        changed["path"] = _beside(table.path, folder)
    sqlite = SQLITE_FILE.fullmatch(table.database or "")
    if sqlite is not None:
        changed["database"] = sqlite[1] + _beside(sqlite[2], folder) + sqlite[3]
    return changed


def _beside(path: str, folder: Path) -> str:
    if ":" in path.split("/")[0] or path.startswith("$") or Path(path).is_absolute():
        return path
    pattern = path.replace("{partition}", "*")
    may_come = "*" in pattern
    fixed = Path(*itertools.takewhile(lambda part: "*" not in part, Path(pattern).parts))
    places = {str(folder / path): folder, path: Path()}
    for name, place in places.items():
        if (place / path).exists() or any(place.glob(pattern)):
            return name
    for name, place in places.items():
        if may_come and (place / fixed).is_dir():
            return name
    return str(folder / path) if may_come else path


def json_schema() -> dict[str, Any]:
    """JSON Schema of the specification, for editors that complete and check YAML."""
    kinds_with_plugins()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **AuditSpec.model_json_schema(),
        "title": "Bias audit specification",
    }


def _sentence(error: Any, lines: Mapping[Location, int], beside: Collection[str]) -> str:
    """One line for one pydantic error: where, what, and the nearest known key."""
    location = error["loc"]
    place = tuple(part for i, part in enumerate(location) if not _is_kind_of_limit(location, i))
    path = ".".join(map(str, place)) or "top level"
    if place in lines:
        path += f" (line {lines[place]})"
    if error["type"] == "extra_forbidden":
        known = [*_known_keys(location[:-1]), *(sorted(beside) if len(location) == 1 else ())]
        hint = nearest(str(location[-1]), known, f"known keys here: {', '.join(known)}.")
        return f"  {path}: unknown key; {hint}"
    if error["type"] == "missing":
        return f"  {path}: required key is missing."
    if error["type"] == "finite_number":
        return f"  {path}: expected a number, found {error['input']}."
    message = str(error["msg"]).removeprefix("Value error, ")
    end = "" if message.endswith(("?", ".")) else "."
    return f"  {path}: {message[:1].lower()}{message[1:]}{end}"


def _known_keys(location: tuple[Any, ...]) -> list[str]:
    """Names allowed at a place in the specification."""
    model: type[BaseModel] = AuditSpec
    for i, part in enumerate(location):
        if _is_kind_of_limit(location, i):
            model = KINDS_OF_LIMIT[part]
        if isinstance(part, int) or _is_kind_of_limit(location, i) or part not in model.model_fields:
            continue  # a place in a list, a kind of limit, or a name that the user gives
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
