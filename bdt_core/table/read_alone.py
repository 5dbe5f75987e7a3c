"""Read a source in a process of its own first: where native code dies of what it reads, only that process is gone."""

from __future__ import annotations

import os
import subprocess
import sys

from bdt_core.errors import SourceError
from bdt_core.spec import Source


def refuse_deadly(source: Source) -> None:
    """Raise SourceError where reading a source ends the process that does it.

    Whatever else may be wrong with it is left to whoever reads it afterwards.

    Parameters
    ----------
    source : Source
        A file or a query; no asset.
    """
    command = [sys.executable, "-m", __name__]
    code = subprocess.run(
        command, input=source.model_dump_json(), text=True, capture_output=True, check=False
    ).returncode
    if code:
        raise SourceError(
            f"{source.described} ends the program that reads it, without a word (code {code}). Expected a table that "
            "can be read: open it in the program that it comes from, and write it anew as CSV or Parquet, with fewer "
            "rows if it is large."
        )


def _read() -> None:
    """Read the source that stands on standard input; whatever Python says of it, this has been survived."""
    from bdt_core.table.sources import read_table

    try:
        read_table(Source.model_validate_json(sys.stdin.read()))
    finally:
        os._exit(0)  # what native code does when Python ends is no matter of the file's


if __name__ == "__main__":
    _read()
