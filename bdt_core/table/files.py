"""Read one or many files, local or on any file system that fsspec knows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pandas as pd

from bdt_core.errors import SourceError, did_you_mean, repeated_message, repeated_names
from bdt_core.table.text_files import read_text

if TYPE_CHECKING:
    from upath import UPath

DEMO_FILES = {"compas": "compas.csv", "adult": "adult.parquet"}
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")
_WILD = set("*?[")


def read_files(path: str, *, separator: str | None = None, encoding: str | None = None) -> pd.DataFrame:
    """Read the file, the folder of Parquet files, or all files that fit a pattern.

    Parameters
    ----------
    path : str
        Local, or a URL such as ``s3://bucket/day=*/part.parquet``. Credentials come from the environment, as
        fsspec and the cloud's own tools take them.
    separator, encoding : str, optional
        Of text files; detected when left out.

    Returns
    -------
    DataFrame

    Raises
    ------
    SourceError
        Nothing is there, it cannot be read, or files that are read together differ in their columns.

    Examples
    --------
    >>> len(read_files("demo:compas"))
    7214
    """
    if path.startswith("demo:"):
        return _read_one(_demo(path), separator, encoding)
    several = _matching(path)
    if several is None:
        return _read_one(located(path), separator, encoding)
    parts = [_read_one(one, separator, encoding) for one in several]
    _refuse_different(parts, several)
    return pd.concat(parts, ignore_index=True)


def read_bytes(file: Path | UPath) -> bytes:
    """What a file holds, local or not.

    Raises
    ------
    SourceError
        It cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {_reason(error)}.") from None


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return "://" in path


def _demo(path: str) -> Path:
    name = path.removeprefix("demo:")
    if name not in DEMO_FILES:
        raise SourceError(f'There is no demonstration data named "{name}". {did_you_mean(name, DEMO_FILES)}')
    return Path(str(resources.files("bdt_core"))) / "data" / DEMO_FILES[name]


def _matching(path: str) -> list[Path | UPath] | None:
    """Files that fit a pattern, in the order of their names; None for a path that is no pattern."""
    if not _WILD & set(path) or (not is_remote(path) and Path(path).exists()):
        return None
    found: list[Path | UPath]
    if is_remote(path):
        root = _remote(path)
        found = [root.fs.unstrip_protocol(one) for one in sorted(_remotely(path, lambda: root.fs.glob(root.path)))]
        found = [_remote(str(one)) for one in found]
    else:
        whole = Path(path).expanduser()
        fixed = Path(*itertools.takewhile(lambda part: not _WILD & set(part), whole.parts))
        found = sorted(fixed.glob(str(whole.relative_to(fixed))))
    if not found:
        raise SourceError(f"No file fits the pattern {path}.")
    return found


def located(path: str) -> Path | UPath:
    """The file of a path or URL.

    Raises
    ------
    SourceError
        It does not exist or is empty.
    """
    if is_remote(path):
        remote = _remote(path)
        if not _remotely(path, remote.exists):
            raise SourceError(f"{path} does not exist, or the credentials in the environment do not allow to see it.")
        return remote
    file = Path(path).expanduser()
    if not file.exists():
        siblings = [one.name for one in file.parent.iterdir()] if file.parent.is_dir() else []
        hint = did_you_mean(file.name, siblings) if siblings else f"The folder {file.parent} does not exist either."
        raise SourceError(f"{path} does not exist. {hint}")
    if file.is_file() and file.stat().st_size == 0:
        raise SourceError(f"{path} is empty (0 bytes). Expected a table with a header line, or an array.")
    return file


def _remote(path: str) -> UPath:
    from upath import UPath

    try:
        return UPath(path)
    except (ImportError, ValueError) as error:
        raise SourceError(f"{path} cannot be opened: {_reason(error)}.") from None


def _remotely(path: str, ask: Any) -> Any:
    """Ask a file system far away; it fails in the words of its own library."""
    try:
        return ask()
    except Exception as error:
        raise SourceError(f"{path} cannot be reached: {type(error).__name__}: {_reason(error)}.") from None


def _read_one(file: Path | UPath, separator: str | None, encoding: str | None) -> pd.DataFrame:
    suffix = PurePosixPath(file.name).suffix.lower()
    if file.is_dir() or suffix in PARQUET:
        return _read_parquet(file)
    raw = read_bytes(file)
    return _read_json_lines(raw, str(file)) if suffix in JSON_LINES else read_text(
        raw, str(file), separator=separator, encoding=encoding
    )  # fmt: skip


def _read_parquet(path: Path | UPath) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.is_dir() and not any(True for _ in path.rglob("*.parquet")):
        raise SourceError(
            f"The folder {path} holds no .parquet file. Name a .csv, .tsv or .parquet file, or a pattern such as "
            f"{path}/*.csv."
        )
    try:
        table = pq.read_table(path) if isinstance(path, Path) and not hasattr(path, "fs") else pq.read_table(
            path.path, filesystem=path.fs  # type: ignore[union-attr]
        )  # fmt: skip
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path} cannot be read as Parquet: {_reason(error)}") from None
    repeated = repeated_names(table.column_names)
    if repeated:
        raise SourceError(repeated_message(str(path), repeated))
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _read_json_lines(raw: bytes, path: str) -> pd.DataFrame:
    records = []
    try:
        lines = raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SourceError(f"{path}, line {line}: not valid UTF-8, which JSON lines must be.") from None
    for number, written in enumerate(lines, start=1):
        if not written.strip():
            continue
        try:
            record = json.loads(written)
        except json.JSONDecodeError as error:
            raise SourceError(f"{path}, line {number}: not valid JSON ({error.msg}). Expected an object.") from None
        if not isinstance(record, dict):
            raise SourceError(f'{path}, line {number}: expected an object such as {{"age": 31}}.')
        nested = [name for name, value in record.items() if isinstance(value, list | dict)]
        if nested:
            raise SourceError(f'{path}, line {number}: "{nested[0]}" is a list or an object. Expected a single value.')
        records.append(record)
    return pd.DataFrame.from_records(records)


def _refuse_different(parts: Sequence[pd.DataFrame], files: Sequence[Path | UPath]) -> None:
    """Files of one table have the same columns, numbers in the same places."""
    first, name = parts[0], files[0]
    for part, file in zip(parts[1:], files[1:], strict=True):
        lacking, added = [one for one in first if one not in part], [one for one in part if one not in first]
        if lacking or added:
            word, column = ("lacks", lacking[0]) if lacking else ("also has", added[0])
            raise SourceError(f'{file} {word} the column "{column}", unlike {name}. Files read together must agree.')
        for column in first.columns:
            kinds = [
                "number" if pd.api.types.is_numeric_dtype(one[column].dtype) else "text"
                for one in (first, part)
                if one[column].notna().any()
            ]
            if len(set(kinds)) > 1:
                raise SourceError(
                    f'Column "{column}" holds {kinds[0]}s in {name} and {kinds[1]}s in {file}. '
                    "Files read together must agree; mend one of them."
                )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
