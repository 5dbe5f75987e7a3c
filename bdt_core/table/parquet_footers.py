"""Footers of Parquet files, in the words of this package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from bdt_core.errors import SourceError, repeated_message, repeated_names
from bdt_core.said import Column, Text, say
from bdt_core.table.column_types import FLAGS, NUMBERS, TEXTS, Dtype
from bdt_core.table.locations import SourceFile, reading

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_UNNAMED = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Footer:
    """What the end of a Parquet file says about it.

    Attributes
    ----------
    schema : pyarrow.Schema
        As pandas can take it.
    rows : int
    groups : tuple of int
        Rows of each of the groups that they are stored in.
    missing : dict of str to (int or None)
        Missing values of each column; None where the file does not say.
    version : object
        As `bdt_core.table.locations.SourceFile.version` gives it.
    remarks : tuple of str
        How the schema was understood.
    """

    schema: pa.Schema
    rows: int
    groups: tuple[int, ...]
    missing: dict[str, int | None]
    version: object
    remarks: tuple[Text, ...]


def read_footer(file: SourceFile, open_file: Callable[[], pq.ParquetFile]) -> Footer:
    """Read the footer of a file.

    Raises
    ------
    SourceError
        The file is broken, empty, no Parquet, or repeats a column name.
    """
    version = file.version()
    if version is not None and file.size() == 0:
        raise SourceError(f"{file.where} is empty (0 bytes): write it again, or leave it out.")
    with reading(file, "Parquet", version), open_file() as opened:
        schema, metadata = opened.schema_arrow, opened.metadata
        repeated = repeated_names(schema.names)
        if repeated:
            raise SourceError(repeated_message(file.where, repeated))
        kept, remarks = _understood(schema)
        missing = {name: _missing(metadata, leaf) for name, leaf in _leaves(schema).items() if name in kept.names}
        groups = tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
        return Footer(kept, metadata.num_rows, groups, missing, version, remarks)


@lru_cache(maxsize=64)
def dtypes_of(schema: bytes) -> dict[str, Dtype]:
    """Types of pandas for columns without a missing value; files of one table mostly have the same schema."""
    import pyarrow as pa

    read = pa.ipc.read_schema(pa.py_buffer(schema))
    empty = read.empty_table().to_pandas()
    dtypes: dict[str, Dtype] = dict(zip(read.names, empty.dtypes, strict=True))
    for field in read:
        if pa.types.is_dictionary(field.type):  # categories are not known yet, but what they are is
            names = pd.Index(pa.array([], field.type.value_type).to_pandas())
            dtypes[field.name] = pd.CategoricalDtype(names, field.type.ordered)
    return dtypes


def _understood(schema: pa.Schema) -> tuple[pa.Schema, tuple[str, ...]]:
    """The schema as pandas can take it, and what is to be said of it.

    An index of pandas that has a name is a column as any other; one without a name only numbers the rows. What pandas
    wrote beside the columns is passed over if it is broken, and so is a time zone that nobody knows. Days are points in
    time, and exact decimals numbers. Types that others have added, such as UUID, are what they are stored as.
    """
    import pyarrow as pa

    remarks = list[str]()
    stored = (schema.metadata or {}).get(b"pandas")
    if stored is not None:
        try:
            facts = json.loads(stored)
            index = [one for one in facts["index_columns"] if isinstance(one, str) and one in schema.names]
            # It says that bytes are texts, and names types of pandas that cannot be counted.
            odd = {one.name for one in schema if _are_bytes(one.type) or _cannot_be_counted(one.type)}
            columns = [one for one in facts["columns"] if one["field_name"] not in odd]
            facts |= {"index_columns": [], "column_indexes": [], "columns": columns}
            schema = schema.with_metadata(schema.metadata | {b"pandas": json.dumps(facts).encode()})
            schema.empty_table().to_pandas()
        except Exception:  # whatever another program wrote there, the columns are what counts
            schema, index = schema.remove_metadata(), []
        for name in index:
            if _UNNAMED.fullmatch(name):
                schema = schema.remove(schema.get_field_index(name))
                remarks.append(say("the index that pandas stored has no name, and is left out"))
            else:
                remarks.append(say('the index "{column}" that pandas stored is a column', column=Column(name)))
    for place, field in enumerate(schema):
        if isinstance(field.type, pa.BaseExtensionType):
            schema = schema.set(place, field.with_type(field.type.storage_type))
    for place, field in enumerate(schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None and not _is_known(field.type.tz):
            schema = schema.set(place, field.with_type(pa.timestamp(field.type.unit, "UTC")))
            remarks.append(
                say(
                    'the time zone of "{column}" is not known; its times are taken in UTC, as they are stored',
                    column=Column(field.name),
                )
            )
        elif pa.types.is_date(field.type):
            schema = schema.set(place, field.with_type(pa.timestamp("ms")))
        elif pa.types.is_decimal(field.type):
            schema = schema.set(place, field.with_type(pa.float64()))
    return schema, tuple(remarks)


def _is_known(zone: str) -> bool:
    import pyarrow as pa

    try:
        pa.lib.string_to_tzinfo(zone)
    except Exception:  # each library of zones has errors of its own
        return False
    return True


def _leaves(schema: pa.Schema) -> dict[str, int | None]:
    """Position of each column in the file; None for a nested one, which takes several."""

    def width(type_: Any) -> int:
        return sum(width(type_.field(i).type) for i in range(type_.num_fields)) if type_.num_fields else 1

    positions: dict[str, int | None] = {}
    position = 0
    for field in schema:
        positions[field.name] = None if field.type.num_fields else position
        position += width(field.type)
    return positions


def _missing(metadata: pq.FileMetaData, leaf: int | None) -> int | None:
    """Missing values of a column, if all groups of rows say it."""
    if leaf is None:
        return None
    missing = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        seen = group.column(leaf).statistics if group.num_rows else None
        if group.num_rows and (seen is None or not seen.has_null_count):
            return None
        missing += seen.null_count if seen is not None else 0
    return missing


def holds(type_: pa.DataType) -> str:
    """In the words of `bdt_core.table.column_types`."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(type_):
        return holds(type_.value_type)
    if types.is_boolean(type_):
        return FLAGS
    if types.is_integer(type_) or types.is_floating(type_):
        return NUMBERS
    if types.is_timestamp(type_):
        return "points in time" if type_.tz is None else f"points in time ({type_.tz})"
    for is_such, words in (
        (types.is_time, "times of day"),
        (types.is_duration, "durations"),
        (types.is_nested, "lists or objects"),
    ):
        if is_such(type_):
            return words
    return "bytes" if _are_bytes(type_) else TEXTS


def _cannot_be_counted(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_float16(type_) or pa.types.is_nested(type_) or pa.types.is_time(type_))


def _are_bytes(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return any(
        is_such(type_) for is_such in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    )
