"""The files that a source names: where they are, and whether they are there, found out without reading any."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager

from bdt_core.errors import SourceError
from bdt_core.said import AsItIs, changed, say
from bdt_core.spec import Source, TableSource
from bdt_core.table.environment import expanded, without_secrets
from bdt_core.table.locations import files_at, is_remote


def refuse_missing(source: Source, key: str = "source.path") -> None:
    """Raise at once what opening the tables of a source would raise if their files are not on this machine.

    Parameters
    ----------
    source : Source
    key : str
        Where its path was given, for messages; empty where it is what was asked for itself.

    Raises
    ------
    SourceError
        A file, folder or pattern leads to nothing. Addresses elsewhere are asked for when the table is opened.
    """
    tables: list[tuple[str, TableSource | None]] = [(key, source), ("source.join.path", source.join)]
    for where, table in tables:
        if table is None or table.path is None:
            continue
        path = filled(table.path, source, where or "source.path", is_pattern=True)
        try:
            if not is_remote(path):
                files_at(path)
        except SourceError as error:
            raise type(error)(
                say("{key}: {problem}", key=AsItIs(where), problem=error.sentence) if where else error.sentence
            ) from None


def filled(path: str, source: Source, key: str, *, is_pattern: bool = False) -> str:
    """A path with its environment variables and its partition, which is a name and neither a pattern nor a home."""
    if "{partition}" not in path:
        return expanded(path, key)
    if source.partition is None:
        raise SourceError(f"{key} is {path}: say which part to read, with source.partition or --partition.")
    if path.startswith("{partition}") and source.partition.startswith("~"):
        raise SourceError(
            f"{key}: a part whose name begins with ~ would name a home. Put a folder before {{partition}}."
        )
    name = glob.escape(source.partition) if is_pattern else source.partition
    return expanded(path, key).replace("{partition}", name)


@contextmanager
def hiding_secrets(path: str) -> Iterator[None]:
    """Errors name an address that is no local path as the specification has it, with ``${NAME}`` for a secret."""
    try:
        yield
    except SourceError as error:
        if not is_remote(expanded(path, "source.path")):
            raise
        raise type(error)(changed(error.sentence, lambda text: without_secrets(text, path))) from None
