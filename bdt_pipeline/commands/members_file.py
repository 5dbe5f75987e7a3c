"""Members of each cluster and finding: a file for the owner of the data, and for nobody else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from bdt_core.audit import AuditResult
from bdt_core.errors import DataError, OutputError
from bdt_core.harmless import harmless, harmless_cell
from bdt_core.table.batches import open_batches
from bdt_core.table.reading_notes import ReadingNotes

HEAD = "# Names people: who is in which cluster and finding of an audit. Not for publication."
ROW = "row"
_OWNER_ALONE = 0o600


@contextmanager
def members_file(path: Path) -> Iterator[TextIO]:
    """A new file that its owner alone can read; it goes away when nothing could be written.

    It is made before the audit runs, so that a place that cannot be written is found out at once.

    Raises
    ------
    OutputError
        It is there already, or cannot be written.
    """
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ALONE)
    except FileExistsError:
        raise OutputError(f"{path} is there already. Name a new file for --members, or remove that one.") from None
    except OSError as error:
        raise _unwritable(path, error) from None
    stream = os.fdopen(opened, "w", encoding="utf-8", newline="")
    try:
        yield stream
        stream.close()
    except BaseException:
        with suppress(OSError):  # what is still in the buffer
            stream.close()
        path.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(f"--members cannot be written to {path}: {error.strerror}. Name another file.")


def write_members(result: AuditResult, stream: TextIO, path: Path, *, by_number: bool = False) -> None:
    """Write a row for each row of the audit's source, read again batch by batch.

    Parameters
    ----------
    result : AuditResult
    stream : text stream
        After a line that says what it is: a column ``row`` (the first row of the source is 1) or that of ``split.key``,
        ``audited``, ``cluster``, and 1 or 0 for each finding.
    path : Path
        Where that is, for messages.
    by_number : bool, default False
        Whether rows are numbered where there is a ``split.key``, too: nothing of the table is in the file then.

    Raises
    ------
    OutputError
        It cannot be written.
    DataError
        The source has other rows now.
    """
    spec = result.test.spec
    labels = () if spec.source.stacked is None else (spec.source.stacked.by,)
    rows = lines = 0
    with open_batches(spec.source) as batches:
        if spec.bias_variable.is_of_places:
            batches.batch_rows = max(batches.rows, 1)  # a list must not end with a batch
        for batch in batches:
            members = result.members(batch, as_read=True)
            members = members.astype({name: int for name in members.columns if name not in labels})
            key = None if by_number else spec.split.key
            values = range(rows + 1, rows + len(batch) + 1) if key is None else batch[key].to_numpy()
            members.insert(0, ROW if key is None else key, values)
            named = members.set_axis([harmless_cell(harmless(str(name))) for name in members.columns], axis="columns")
            try:
                stream.write(f"{HEAD}\n" * (not rows))
                named.to_csv(stream, index=False, header=not rows, lineterminator="\n")
                stream.flush()
            except OSError as error:
                raise _unwritable(path, error) from None
            rows += len(batch)
            lines = rows + ReadingNotes.of(batch.attrs).lines_left_out
    if lines != result.test.rows:
        raise DataError(
            f"The source had {result.test.rows:,} rows when it was audited, and has {lines:,} now: --members cannot "
            "tell who is who. Run the audit again when it is complete."
        )
