"""Store of the batches of an audit: one file each, which takes its name only when it is whole."""

from __future__ import annotations

import datetime
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from bdt_core.errors import SourceError
from bdt_core.said import AsItIs, Text, say
from bdt_pipeline.resources.storage import make_folder, name_of_its_own, replacing

if TYPE_CHECKING:
    from upath import UPath

    from bdt_core.fairness.declared_groups import GroupCounts
    from bdt_core.history import Batch, History

FOLDER = "history"
_EXTENSION = ".json"
_READERS = 8
_SKEW = datetime.timedelta(hours=1)
"""By so much clocks of machines that record batches may differ."""

_NO_BATCH = "{file} holds no batch and is left out; audit its part again."
_OF_ANOTHER = "{file} holds a batch of the audit {audit} and is left out; move it to the history of that audit."
_AHEAD = (
    "Batch {batch} stands in the future, at {time}, and counts as the latest until then. Look at the name of its part, "
    "and at the clock of the machine that recorded it."
)


class HistoryStore:
    """The batches of one audit, ``{storage}/{audit}/history``.

    Every batch is a file of its own, named after the batch's id: runs at the same time never write the same file
    unless they count the same part of the data, and then the last one counts.

    Parameters
    ----------
    root : UPath
        Where everything is kept.
    audit : str
        Name of the audit.
    """

    def __init__(self, root: UPath, audit: str) -> None:
        self.audit = audit
        self.folder = root / audit / FOLDER

    def record(self, batch: Batch, *, keep_time: bool = False) -> bool:
        """Keep a batch, in place of one with the same id.

        Parameters
        ----------
        batch : Batch
        keep_time : bool
            Whether a batch that is there already stays where it stands in time.

        Returns
        -------
        bool
            Whether anything changed; the same batch again changes nothing.

        Raises
        ------
        OutputError
            It cannot be written.
        """
        path = self._path(batch.id)
        before = self._read(path) if path.exists() else None
        if keep_time and before is not None and before.id == batch.id:
            from dataclasses import replace

            batch = replace(batch, time=before.time)
        if before is not None and before.to_dict() == batch.to_dict():
            return False
        make_folder(self.folder)
        written = json.dumps(batch.to_dict(), ensure_ascii=True, allow_nan=False)
        with replacing(path) as file:
            file.write(written.encode())
        return True

    def read(self) -> tuple[list[Batch], list[Text]]:
        """All batches, and remarks on files that are left out and on batches that stand in the future.

        Raises
        ------
        SourceError
            The folder cannot be listed.
        """
        try:
            self.folder.fs.invalidate_cache()
            paths = sorted(self.folder.iterdir(), key=lambda one: one.name) if self.folder.exists() else []
        except OSError as error:
            raise SourceError(f"The history in {self.folder} cannot be listed: {error}.") from None
        # A name that begins with a dot is a file that is being written.
        paths = [one for one in paths if one.name.endswith(_EXTENSION) and not one.name.startswith(".")]
        with ThreadPoolExecutor(_READERS) as readers:  # remote files wait for the network, one after the other
            read = list(zip(paths, readers.map(self._read, paths), strict=True))
        batches: list[Batch] = []
        remarks: list[Text] = []
        now = datetime.datetime.now(datetime.UTC)
        for path, batch in read:
            if batch is None or self._path(batch.id).name != path.name:
                if path.exists():
                    remarks.append(say(_NO_BATCH, file=AsItIs(path.name)))
            elif batch.counts.spec.name != self.audit:
                remarks.append(say(_OF_ANOTHER, file=AsItIs(path.name), audit=AsItIs(batch.counts.spec.name)))
            else:
                batches.append(batch)
                if batch.time > now + _SKEW:
                    remarks.append(say(_AHEAD, batch=AsItIs(batch.id), time=AsItIs(f"{batch.time:%Y-%m-%d %H:%M} UTC")))
        return batches, remarks

    def follow(self) -> tuple[History | None, list[Text]]:
        """What all batches show together, under the specification of the latest, and remarks as of `read`.

        None where there is no batch.

        Raises
        ------
        SourceError
            The folder cannot be listed.
        """
        from bdt_core.history import follow

        batches, remarks = self.read()
        if not batches:
            return None, remarks
        latest = max(batches, key=lambda one: (one.time, one.id))
        return follow(batches, latest.counts.spec), remarks

    def _path(self, id: str) -> UPath:  # noqa: A002 - the batch's own word
        return self.folder / file_name(id)

    def _read(self, path: UPath) -> Batch | None:
        """The batch in a file; None where there is none, or it is none."""
        from bdt_core.history import Batch

        try:
            return Batch.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):  # also every BDTError
            return None


def name_of_content(fingerprint: str, counts: GroupCounts) -> str:
    """Name of the batch that is all of a table without parts: other rows, or other counts of them, are another one.

    Parameters
    ----------
    fingerprint : str
        Of the audited table.
    counts : GroupCounts
    """
    from bdt_core.history import batch_of

    content = batch_of(counts, id="?", time=datetime.datetime.now(datetime.UTC)).content
    return hashlib.sha256(f"{fingerprint} {content}".encode()).hexdigest()[:12]


def file_name(id: str) -> str:  # noqa: A002 - the batch's own word
    """Name of a batch's file.

    Examples
    --------
    >>> file_name("2026-01-31")
    '2026-01-31.36dcad9e65708c8c.json'
    """
    return f"{name_of_its_own(id)}{_EXTENSION}"
