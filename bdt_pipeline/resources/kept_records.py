"""Dagster's records on SQLite with their files kept open, for a process that writes many runs one after the other.

Dagster opens a file anew for each event, and SQLAlchemy then learns again what the database is and how to say each
statement: 200 times for a run of sixteen checks. The files, and what is written in them, are the same here.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any
from uuid import uuid4

import dagster as dg
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import QueuePool

_INDEX = "index"
_BUSY_SECONDS = 30
_OPEN = 3
"""Files that are open at most: the index, and those of the last runs."""


def _kept_engine(file: str) -> Engine:
    return create_engine(file, poolclass=QueuePool, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False})


class KeptEvents(SqliteEventLogStorage):
    """Events of runs, a file for each and an index of all; the last ones stay open."""

    def __init__(self, base_dir: str) -> None:
        super().__init__(base_dir)
        self._engines: dict[str, Engine] = {}
        self._tables: set[str] = set()
        self._one_at_a_time = RLock()

    def run_connection(self, run_id: str | None = None) -> Any:
        """Connection to the file of a run."""
        return self._connection(run_id or "")

    def index_connection(self) -> Any:
        """Connection to the index."""
        return self._connection(_INDEX)

    def has_table(self, table_name: str) -> bool:
        """Whether the index has a table; Dagster asks it at each check."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def dispose(self) -> None:
        """Close all files."""
        while self._engines:
            self._engines.popitem()[1].dispose()
        super().dispose()

    @contextmanager
    def _connection(self, shard: str) -> Iterator[Connection]:
        with self._one_at_a_time, self._engine(shard).begin() as connection:
            yield connection

    def _engine(self, shard: str) -> Engine:
        engine = self._engines.pop(shard, None)
        if engine is None:
            if not self._has_new_file(shard):
                with super().run_connection(shard):  # Dagster makes it, or makes sure that it is as it should be
                    pass
            engine = _kept_engine(self.conn_string_for_shard(shard))
        self._engines[shard] = engine  # the last is the one that was used last
        while len(self._engines) > _OPEN:
            self._engines.pop(next(iter(self._engines))).dispose()
        return engine

    def _has_new_file(self, shard: str) -> bool:
        """Whether a file that was not there is now: Dagster makes one in the time of 30 events, and all are the same.

        It is there at once and whole, and takes nobody else's place.
        """
        file = Path(self.path_for_shard(shard))
        if file.exists():
            return False
        unfinished = file.with_suffix(f".{uuid4().hex}")
        try:
            unfinished.write_bytes(self._empty)
            file.hardlink_to(unfinished)
        except OSError:
            return False
        finally:
            unfinished.unlink(missing_ok=True)
        return True

    @cached_property
    def _empty(self) -> bytes:
        """A file of events with none in it, as this Dagster makes them."""
        with TemporaryDirectory() as folder:
            made = SqliteEventLogStorage(folder)
            with made.run_connection("empty"):
                pass
            return Path(made.path_for_shard("empty")).read_bytes()


class KeptRuns(SqliteRunStorage):
    """What runs there are, in a file that stays open."""

    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engine = _kept_engine(conn_string)
        super().__init__(conn_string, inst_data)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Connection to the file."""
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the file."""
        self._engine.dispose()
        super().dispose()


class KeptStorage(DagsterSqliteStorage):
    """All records of an instance, the files of runs and events kept open."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        events, runs = super().event_log_storage, super().run_storage
        assert isinstance(events, SqliteEventLogStorage)
        assert isinstance(runs, SqliteRunStorage)
        self._events = KeptEvents(str(Path(events.path_for_shard(_INDEX)).parent))
        with runs.connect() as connection:
            self._runs = KeptRuns(str(connection.engine.url))

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "KeptStorage":
        """The records in a folder."""
        return cls.from_local(inst_data=inst_data, **config_value)

    @property
    def event_log_storage(self) -> KeptEvents:
        """Events of runs."""
        return self._events

    @property
    def run_storage(self) -> KeptRuns:
        """What runs there are."""
        return self._runs

    def register_instance(self, instance: dg.DagsterInstance) -> None:
        """Make the instance known to its records."""
        super().register_instance(instance)
        for records in (self._events, self._runs):
            if not records.has_instance:
                records.register_instance(instance)


def kept_open(instance: dg.DagsterInstance) -> AbstractContextManager[dg.DagsterInstance]:
    """The instance with its files kept open until the context ends; itself, where its records are no such files."""
    ref = instance.get_ref() if instance.is_persistent else None
    records = None if ref is None else ref.storage_data
    if ref is None or records is None or records.class_name != DagsterSqliteStorage.__name__:
        return nullcontext(instance)
    kept = ConfigurableClassData(__name__, KeptStorage.__name__, records.config_yaml)
    return dg.DagsterInstance.from_ref(ref._replace(storage_data=kept))
