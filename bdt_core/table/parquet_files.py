"""Read Parquet files in pieces; footers alone tell whether files agree and how many rows they have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.table.column_types import ColumnType, Dtype, FileTypes, conformed, holding_missing
from bdt_core.table.locations import SourceFile, reading
from bdt_core.table.parquet_footers import Footer, dtypes_of, holds, read_footer

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BUFFER = 1 << 20
_ROWS_AT_ONCE = 1 << 17
_CONNECTIONS = 16
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"


class ParquetTable:
    """One Parquet file.

    Parameters
    ----------
    file : SourceFile
    keys : dict of str to Categorical, optional
        Columns that the names of its folders give, with one value each: that of its rows.

    Raises
    ------
    SourceError
        By its methods: the file is broken, empty, no Parquet, or changes while it is read.
    """

    def __init__(self, file: SourceFile, keys: Mapping[str, pd.Categorical] | None = None) -> None:
        self.file = file
        self.keys = dict(keys or {})

    @cached_property
    def footer(self) -> Footer:
        """Its footer, read once."""
        footer = read_footer(self.file, self._opened)
        both = [name for name in self.keys if name in footer.schema.names]
        if both:
            raise SourceError(
                f'{self.file.where} has a column "{both[0]}", and so has the name of its folder. Rename one.'
            )
        return footer

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return [*self.footer.schema.names, *self.keys]

    def announced(self) -> FileTypes:
        """What its footer says of it; categories are not known yet."""
        return self._types(self._with_levels({}), self.footer.missing)

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:  # noqa: ARG002
        """What it holds: by its footer, and by a look at the columns whose categories or gaps are not in there."""
        known = self.announced()
        wanted = [name for name in self.footer.schema.names if columns is None or name in columns]
        unknown = [name for name in wanted if self._is_coded(name) or _lacks_count(known, self.footer, name)]
        counted = dict.fromkeys(unknown, 0)
        levels = {name: _Levels() for name in unknown if self._is_coded(name)}
        for batch in self._batches(_ROWS_AT_ONCE, unknown) if unknown else ():
            for name in unknown:
                column = batch.column(name)
                counted[name] += column.null_count
                if name in levels:
                    levels[name].add(column)
        return self._types(self._with_levels(levels), self.footer.missing | counted)

    def pieces(
        self, columns: Collection[str], dtypes: Mapping[str, Dtype], groups: Sequence[int] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Its rows from first to last, with the types of the table of all files.

        Given some of the groups that the rows are stored in, the rows of these.
        """
        import pyarrow as pa

        names = [name for name in self.names if name in columns]
        stored = [name for name in names if name not in self.keys] or self.footer.schema.names[:1]
        for batch in self._batches(_ROWS_AT_ONCE, stored, groups):
            yield conformed(self._frame(pa.Table.from_batches([batch]), dtypes, names), {n: dtypes[n] for n in names})

    def beginning(self, rows: int) -> pd.DataFrame:
        """Its first rows, with the categories that these have."""
        import pyarrow as pa

        first = next(self._batches(rows, self.footer.schema.names), None)
        table = self.footer.schema.empty_table() if first is None else pa.Table.from_batches([first])
        levels = {name: _Levels() for name in table.column_names if self._is_coded(name)}
        for name, its in levels.items():
            for chunk in table.column(name).chunks:
                its.add(chunk)
        return self._frame(table, self._with_levels(levels), self.names)

    def _opened(self) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        if self.file.is_remote:  # a row group is fetched in few large requests
            path: Any = self.file.path
            opened = path.fs.open(path.path, "rb", cache_type="none")
            return pq.ParquetFile(opened, pre_buffer=True, page_checksum_verification=True)
        return pq.ParquetFile(
            str(self.file.path), buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
        )

    def _batches(self, rows: int, names: list[str], groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        with reading(self.file, "Parquet", self.footer.version), self._opened() as opened:
            for group in range(len(self.footer.groups)) if groups is None else groups:
                for batch in opened.iter_batches(rows, [group], names):
                    # Names with dots bring others along, which are not selected.
                    yield batch.select(names).replace_schema_metadata(self.footer.schema.metadata)

    def _is_coded(self, name: str) -> bool:
        import pyarrow as pa

        return bool(pa.types.is_dictionary(self.footer.schema.field(name).type))

    def _with_levels(self, levels: Mapping[str, _Levels]) -> dict[str, Dtype]:
        """Types of the columns that are stored, if none of them has a gap, with the categories that are known."""
        dtypes = dtypes_of(self.footer.schema.serialize().to_pybytes())
        return dtypes | {name: its.dtype for name, its in levels.items() if its.dtype is not None}

    def _frame(self, table: pa.Table, dtypes: Mapping[str, Dtype], names: Sequence[str]) -> pd.DataFrame:
        coded = {name for name in table.column_names if self._is_coded(name)}
        plain = table.drop_columns(sorted(coded))
        frame: pd.DataFrame = plain.to_pandas()
        frame.columns = plain.column_names
        if not coded and not self.keys:
            return frame
        columns: dict[str, Any] = {}
        for name in names:
            if name in self.keys:
                key = self.keys[name]
                columns[name] = pd.Categorical.from_codes(
                    np.full(table.num_rows, key.codes[0], key.codes.dtype), dtype=key.dtype
                )
            else:
                columns[name] = _categories(table.column(name), dtypes[name]) if name in coded else frame[name]
        return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows), copy=False)

    def _types(self, dtypes: Mapping[str, Dtype], missing: Mapping[str, int | None]) -> FileTypes:
        rows, columns = self.footer.rows, {}
        for field in self.footer.schema:
            gaps = rows if str(field.type) == "null" else missing[field.name]
            dtype = dtypes[field.name]
            columns[field.name] = ColumnType(
                holding_missing(dtype) if gaps else dtype, holds(field.type), rows > 0 and gaps != rows
            )
        for name, key in self.keys.items():
            columns[name] = ColumnType(key.dtype, "names of folders", rows > 0)
        return FileTypes(self.file.where, rows, columns)


def parquet_tables(files: Sequence[SourceFile]) -> list[ParquetTable]:
    """Tables of files, with the columns that the names of their folders give. Their footers are read.

    Raises
    ------
    SourceError
        Of the first file that is broken, empty, no Parquet, or repeats a column name.
    """
    keys: list[dict[str, pd.Categorical]] = [{} for _ in files]
    for name in dict.fromkeys(name for file in files for name in file.keys):
        for its, column in zip(keys, _partition_column([file.keys.get(name) for file in files]), strict=True):
            its[name] = column
    tables = [ParquetTable(file, its) for file, its in zip(files, keys, strict=True)]
    if any(file.is_remote for file in files):
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(lambda table: table.footer, tables))
    for table in tables:
        assert table.footer is not None  # read in order, so that it is the first broken file that is named
    return tables


def _partition_column(texts: list[str | None]) -> list[pd.Categorical]:
    """One value per file, of a common type: whole numbers if all of them are."""
    import pyarrow as pa

    values = pa.array([None if text == _NO_PARTITION else text for text in texts], pa.string())
    with suppress(pa.ArrowInvalid):
        values = values.cast(pa.int32())
    coded: pd.Categorical = values.dictionary_encode().to_pandas().array
    return [coded[position : position + 1] for position in range(len(texts))]


class _Levels:
    """The categories of a column, in the order in which the file names them."""

    def __init__(self) -> None:
        self._dictionary: pa.Array | None = None
        self._type: pa.DataType | None = None

    def add(self, column: pa.DictionaryArray) -> None:
        """Take in the categories of some rows."""
        import pyarrow as pa

        self._type = column.type
        if self._dictionary is not None and column.dictionary.equals(self._dictionary):
            return
        known = [] if self._dictionary is None else [self._dictionary]
        self._dictionary = pa.concat_arrays([*known, column.dictionary.drop_null()]).unique()

    @property
    def dtype(self) -> pd.CategoricalDtype | None:
        """All of them; None before any row."""
        import pyarrow as pa

        if self._dictionary is None or self._type is None:
            return None
        empty = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), self._dictionary).to_pandas()
        return pd.CategoricalDtype(empty.cat.categories, ordered=self._type.ordered)


def _categories(column: pa.ChunkedArray, dtype: Dtype) -> Any:
    """A dictionary-encoded column as categories, or as what these are where other files hold plain values."""
    import pyarrow as pa

    if not isinstance(dtype, pd.CategoricalDtype):
        plain = pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
        return plain.to_pandas()
    codes = [_codes(chunk, dtype) for chunk in column.chunks]
    return pd.Categorical.from_codes(np.concatenate(codes) if codes else np.empty(0, np.int8), dtype=dtype)


def _codes(chunk: pa.DictionaryArray, dtype: pd.CategoricalDtype) -> Any:
    import pyarrow as pa

    names = chunk.dictionary.to_pandas()
    positions = np.append(dtype.categories.get_indexer(names), -1)  # the last one is for missing values
    indices = chunk.indices.cast(pa.int64()).fill_null(len(names)) if chunk.null_count else chunk.indices
    return positions[indices.to_numpy(zero_copy_only=False)]


def _lacks_count(known: FileTypes, footer: Footer, name: str) -> bool:
    """Whether missing values would change the type of a column, and the footer does not count them."""
    dtype = known.columns[name].dtype
    return footer.missing[name] is None and holding_missing(dtype) != dtype
