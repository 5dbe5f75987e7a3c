"""Loaded with what processes are forked with: Dagster's engine of a SQLite file is made once in each of them.

Dagster makes one for every question, which compiles the statement anew: a seventh of a run whose records are in files.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from dagster._core.storage.event_log.sqlite import consolidated_sqlite_event_log, sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage

_MADE: dict[str, sa.Engine] = {}


def engine(url: str, **how: Any) -> sa.Engine:
    """The engine of a URL; its connections are closed after each use, as Dagster asks."""
    key = f"{url} {how}"
    if key not in _MADE:
        _MADE[key] = sa.create_engine(url, **how)
    return _MADE[key]


for storage in (consolidated_sqlite_event_log, sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
    storage.create_engine = engine
