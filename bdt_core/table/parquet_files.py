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
from bdt_core.said import say
from bdt_core.table.column_types import Choose, ColumnType, Dtype, FileTypes, holding_missing, wider
from bdt_core.table.dated_texts import FIRST_ROWS, seen_in
from bdt_core.table.frames import frame_of_arrow
from bdt_core.table.locations import SourceFile, reading
from bdt_core.table.notation import DatesSeen
from bdt_core.table.parquet_footers import Footer, dtypes_of, holds, read_footer
from bdt_core.table.reading_notes import ReadingNotes

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
        return self._types(self._dtypes, self.footer.missing)

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:  # noqa: ARG002
        """What it holds: by its footer, and by a look at the columns whose categories or gaps are not in there."""
        known, dtypes, levels = self.announced(), self._dtypes, dict[str, Dtype]()
        names = [name for name in self.footer.schema.names if columns is None or name in columns]
        coded = {name for name in names if isinstance(dtypes[name], pd.CategoricalDtype)}
        unknown = [name for name in names if name in coded or _lacks_count(known, self.footer, name)]
        counted = dict.fromkeys(unknown, 0)
        for batch in self._batches(_ROWS_AT_ONCE, unknown) if unknown else ():
            counted = {name: count + batch.column(name).null_count for name, count in counted.items()}
            its = batch.select(sorted(coded)).to_pandas().dtypes
            levels = {name: wider(levels[name], one) if name in levels else one for name, one in its.items()}
        return self._types(dtypes | levels, self.footer.missing | counted)

    def dates(self, names: Collection[str]) -> dict[str, DatesSeen]:
        """Columns of texts that are dates; of most, the first rows say that they are not."""
        stored = [name for name in self.footer.schema.names if name in names]
        first = next(self._batches(FIRST_ROWS, stored), None) if stored else None
        may_be = [name for name in stored if first is None or seen_in(_texts(first, name)).orders]
        seen = dict.fromkeys(may_be, DatesSeen())
        for batch in self._batches(_ROWS_AT_ONCE, may_be) if may_be else ():
            seen = {name: seen_in(_texts(batch, name), one) for name, one in seen.items()}
        return seen

    def pieces(self, columns: Collection[str], groups: Sequence[int] | None = None) -> Iterator[pd.DataFrame]:
        """Its rows from first to last, with the categories that are stored with them.

        Given some of the groups that the rows are stored in, the rows of these.
        """
        stored = [name for name in self.footer.schema.names if name in columns] or self.footer.schema.names[:1]
        for batch in self._batches(_ROWS_AT_ONCE, stored, groups):
            frame = self._frame(batch)
            yield frame[[name for name in self.names if name in columns]]

    def beginning(self, rows: int, choose: Choose | None = None) -> pd.DataFrame:
        """Its first rows, with the categories that these have."""
        chosen = None if choose is None else choose(self.names)
        stored = [name for name in self.footer.schema.names if chosen is None or name in chosen]
        stored = stored or self.footer.schema.names[:1]
        first = next(self._batches(rows, stored), None)
        return self._frame(self.footer.schema.empty_table().select(stored) if first is None else first)

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
                    yield self._checked(batch.select(names))

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows with the types that pandas can take, whose texts are texts."""
        import pyarrow as pa

        fields = [self.footer.schema.field(name) for name in batch.schema.names]
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
        for column, field in zip(batch.columns, fields, strict=True):
            if any(is_such(field.type) for is_such in texts):
                try:
                    column.validate(full=True)
                except pa.ArrowInvalid:
                    raise SourceError(
                        f'{self.file.where}: column "{field.name}" holds texts that are not valid UTF-8. Write the '
                        "file again from texts."
                    ) from None
        columns = [one.cast(field.type) for one, field in zip(batch.columns, fields, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, self.footer.schema.metadata))

    @property
    def _dtypes(self) -> dict[str, Dtype]:
        """Types of the columns that are stored, if none of them has a gap."""
        return dtypes_of(self.footer.schema.serialize().to_pybytes())

    def _frame(self, rows: pa.RecordBatch | pa.Table) -> pd.DataFrame:
        frame = frame_of_arrow(rows, self.file.where)
        frame.columns = rows.schema.names
        keys = {
            name: pd.Categorical.from_codes(np.full(len(frame), one.codes[0], one.codes.dtype), dtype=one.dtype)
            for name, one in self.keys.items()
        }
        return frame.assign(**keys) if keys else frame

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
        notes = ReadingNotes(
            remarks=tuple(say("{table}: {what}.", table=self.file.where, what=one) for one in self.footer.remarks)
        )
        return FileTypes(self.file.where, rows, columns, notes)


def _texts(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of texts, or of categories that are texts."""
    import pyarrow as pa

    return batch.column(name).cast(pa.string())


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


def _lacks_count(known: FileTypes, footer: Footer, name: str) -> bool:
    """Whether missing values would change the type of a column, and the footer does not count them."""
    dtype = known.columns[name].dtype
    return footer.missing[name] is None and holding_missing(dtype) != dtype
