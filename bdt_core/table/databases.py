"""Read the rows of a query from a database."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, unquote

import pandas as pd

from bdt_core.errors import SourceError, repeated_message, repeated_names
from bdt_core.table.column_types import ColumnType, FileTypes
from bdt_core.table.dated_texts import DatedTexts
from bdt_core.table.environment import expanded
from bdt_core.table.records import RecordsTable, ValuesSeen

if TYPE_CHECKING:
    import sqlalchemy as sa

_DRIVERS = {"postgresql": "psycopg", "mysql": "pymysql", "mssql": "pyodbc", "oracle": "oracledb"}
_VALUE = re.compile(r"""(column '.*') with text '.*|(?<=syntax for type )([\w ]+): ".*""")
"""What SQLite and PostgreSQL say of a value that they cannot take: after the column or the type, the value."""
_SHORTEST_SECRET = 3  # shorter pieces would blank half of every message


class QueryTable(RecordsTable):
    """The rows of a query, which the database keeps and hands over in parts.

    It runs as it stands; twice where its rows are not kept, first to find out how many there are and what they hold,
    then for the rows. Both times it sees the same state of the database. Nothing is ever committed.

    Parameters
    ----------
    sql : str
        One SELECT. Nothing is put into it.
    database : str
        A SQLAlchemy URL, in which ``${NAME}`` stands for an environment variable.
    parameters : mapping of str to str, optional
        Values for ``:name`` in the query; they go to the database apart from it, and are never put into its text.

    Raises
    ------
    SourceError
        The database cannot be reached, its driver is not installed, or the query fails. Passwords are masked.

    Examples
    --------
    >>> with QueryTable("select :place as place, 1 as b", "sqlite://", {"place": "north"}) as query:
    ...     query.settle().rows, next(query.pieces(["place"]))["place"].item()
    (1, 'north')
    """

    coerce_float = True
    name = "The query of source.sql"

    def __init__(self, sql: str, database: str, parameters: Mapping[str, str] | None = None) -> None:
        import sqlalchemy as sa

        self._query = sa.text(_marked(sql, parameters or {}))
        self._parameters = {
            name: one for name, one in (parameters or {}).items() if name in self._query.compile().params
        }
        self._address = expanded(database, "source.database")
        self._engine = _engine(self._address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:
        """See `RecordsTable.settle`; texts that are dates are read as such."""
        types = super().settle(columns, keep)
        self._dated = DatedTexts(self.dates(types.columns))
        self.dtypes, self.notes = self._dated.types(self.dtypes), self._dated.notes
        return types

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        """See `RecordsTable.pieces`."""
        return map(self._dated.read, super().pieces(columns))

    def close(self) -> None:
        """Leave the database."""
        if "_connection" in self.__dict__:
            self._connection.close()
        self._engine.dispose()

    def _parts(self, rows: int) -> Iterator[list[tuple[Any, ...]]]:
        """Its rows, so many at a time; at least one part, which may be empty."""
        with self._failing():
            result = self._connection.execution_options(stream_results=True, max_row_buffer=rows).execute(
                self._query, self._parameters
            )
            self._names = list(map(str, result.keys()))
        repeated = repeated_names(self._names)
        if repeated:
            raise SourceError(repeated_message(self.name, repeated))
        try:
            for number in itertools.count():
                with self._failing():
                    records = [tuple(row) for row in result.fetchmany(rows)]
                if records or number == 0:
                    yield records
                if not records:
                    return
        finally:
            result.close()

    def _columns(self, part: list[tuple[Any, ...]]) -> Iterable[tuple[str, Sequence[Any]]]:
        return zip(self._names, zip(*part, strict=True) if part else itertools.repeat(()), strict=False)

    def _value(self, record: tuple[Any, ...], name: str) -> Any:
        return record[self._names.index(name)]

    def _type(self, seen: ValuesSeen) -> ColumnType:
        """Points in time, whatever their zone, are given in UTC, as pandas does with what it reads from a database."""
        type_ = super()._type(seen)
        is_zoned = isinstance(type_.dtype, pd.DatetimeTZDtype)
        return replace(type_, dtype=pd.DatetimeTZDtype(type_.dtype.unit, "UTC")) if is_zoned else type_

    @cached_property
    def _connection(self) -> sa.Connection:
        connection = self._engine.connect()
        if self._engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")  # its driver would begin at the first change only
        elif self._engine.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        return connection

    @contextmanager
    def _failing(self) -> Iterator[None]:
        import sqlalchemy as sa

        try:
            yield
        except (sa.exc.SQLAlchemyError, pd.errors.DatabaseError) as error:
            url = self._engine.url
            place = sa.URL.create(url.drivername, url.username, None, url.host, url.port, url.database)
            message = f"The query of source.sql failed on {place}: {_reason(error)}"
            raise SourceError(_hidden(message, self._address)) from None


def _engine(address: str) -> sa.Engine:
    import sqlalchemy as sa

    try:
        engine = sa.create_engine(sa.make_url(address))
    except (sa.exc.NoSuchModuleError, ImportError) as error:
        kind = address.split(":", 1)[0].split("+")[0]
        driver = getattr(error, "name", None) or _DRIVERS.get(kind, "its driver")
        raise SourceError(f'source.database: no driver for "{kind}" is installed. Try: pip install {driver}') from None
    except (sa.exc.ArgumentError, ValueError, TypeError):
        raise SourceError(
            "source.database is not a SQLAlchemy URL. Expected e.g. sqlite:///loans.db, or ${LOANS_DATABASE} with "
            "postgresql+psycopg://user:password@host/name in that environment variable; in user and password, "
            "@ : / ? # and % are written as %40 %3A %2F %3F %23 and %25."
        ) from None
    _refuse_missing_file(engine.url)
    return engine


def _refuse_missing_file(url: sa.URL) -> None:
    """SQLite would make an empty database, and then tell that its tables are missing."""
    file = url.database
    if url.get_backend_name() != "sqlite" or not file or file == ":memory:" or file.startswith("file:"):
        return
    if not Path(file).exists():
        raise SourceError(
            f"source.database: there is no SQLite file {file}, looked for from the folder {Path.cwd()}. Name the file "
            "relative to the specification's file, or with four slashes and its whole path: sqlite:////data/loans.db."
        )


def _marked(sql: str, parameters: Mapping[str, str]) -> str:
    """The query, where a colon is plain text unless it stands before the name of a parameter."""

    def plain(match: re.Match[str]) -> str:
        return match[0] if match[1] in parameters else rf"\{match[0]}"

    return re.sub(r"(?<![:\w\\]):(\w+)(?!:)", plain, sql)


def _reason(error: Any) -> str:
    """First line of the driver's own message, without the parameters, and without the value of a cell."""
    cause = error.__cause__ if isinstance(error, pd.errors.DatabaseError) else error
    message = str(getattr(cause, "orig", None) or cause).strip().splitlines()[0]
    return _VALUE.sub(lambda found: found[1] or found[2], message)


def _hidden(message: str, address: str) -> str:
    """A message without the password of an address, and without any piece of one that is not escaped as it must be."""
    rest, _, query = address.partition("://")[2].partition("?")
    written = rest.rpartition("@")[0].partition(":")[2]
    given = [value for _, value in parse_qsl(query)] + [unquote(written), *re.split("[@:/]", written), written]
    for secret in sorted(given, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            message = message.replace(secret, "***")
    return message
