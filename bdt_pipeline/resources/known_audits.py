"""All audits that a storage, or a folder of reports, knows."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core.errors import SourceError
from bdt_core.result import READABLE_VERSIONS
from bdt_core.said import AsItIs, Text, say
from bdt_pipeline.resources.history_store import FOLDER, HistoryStore
from bdt_pipeline.resources.served_reports import page_in
from bdt_pipeline.resources.storage import local_folder

if TYPE_CHECKING:
    from upath import UPath

    from bdt_core.report.known_audit import Document, KnownAudit
    from bdt_core.sealed.looks import LookOfHistory

_PLACES = ("report.json", "*/report.json", "*/reports/*/report.json")
"""Where reports are: in the folder of one, in that of ``bdt audit`` and ``bdt gate``, and in Dagster's storage."""
_NO_REPORT = "{file} holds no report and is left out."


def known_audits(root: UPath) -> tuple[list[KnownAudit], list[Text]]:
    """All audits of a storage by name, and remarks on files that are left out.

    Parameters
    ----------
    root : UPath
        A storage, a folder of reports, or the folder of a report.

    Raises
    ------
    SourceError
        It cannot be listed.
    """
    from bdt_core.report.known_audit import KnownAudit

    remarks: list[Text] = []
    try:
        reports = _newest_reports(root, remarks)
        histories = {folder.parent.name: HistoryStore(root, folder.parent.name) for folder in root.glob(f"*/{FOLDER}")}
    except OSError as error:
        raise SourceError(f"{root} cannot be listed: {error.strerror or error}.") from None
    looks = _last_looks(root)
    audits = []
    for name in sorted({*reports, *histories, *looks}):
        document, written, page = reports.get(name, (None, None, None))
        history, of_history = histories[name].follow() if name in histories else (None, [])
        look = looks.get(name)
        if look is not None and written is not None and _time(look.ended or look.began) <= written:
            look = None  # that report is what it left
        remarks += of_history
        spec = document["spec"] if document is not None else None if history is None else history.spec.to_dict()
        looked = written if look is None else _time(look.began)
        due = None if spec is None or looked is None else _due(spec, looked)
        if document is not None or look is not None or history is not None:
            audits.append(KnownAudit(name, document, written, look, history, due, page))
    return audits, remarks


def _newest_reports(root: UPath, remarks: list[Text]) -> dict[str, tuple[Document, datetime.datetime, str | None]]:
    """The newest report of each audit by name, when it was written, and its page where the storage is served."""
    paths = [path for place in _PLACES for path in root.glob(place)]
    times = {path: datetime.datetime.fromtimestamp(int(path.stat().st_mtime), datetime.UTC) for path in paths}
    newest: dict[str, tuple[Document, datetime.datetime, str | None]] = {}
    in_storage: set[UPath] = set()
    for path in sorted(paths, key=lambda one: (times[one], str(one)), reverse=True):
        folder = path.parent.parent  # in a storage all reports of an audit are in one: the newest says which
        if folder in in_storage:
            continue
        document = _document(path)
        if document is None:
            remarks.append(say(_NO_REPORT, file=AsItIs(str(path))))
            continue
        is_served = folder.name == "reports" and folder.parent.parent == root
        newest.setdefault(document["name"], (document, times[path], page_in(root, path.parent) if is_served else None))
        if folder.name == "reports" and folder.parent.name == document["name"]:
            in_storage.add(folder)
    return newest


def newest_report(root: UPath, name: str) -> Any:
    """The newest report.json of an audit in a storage; None where there is none.

    Parameters
    ----------
    root : UPath
    name : str
    """
    paths = sorted((root / name / "reports").glob("*/report.json"), key=lambda one: (one.stat().st_mtime, str(one)))
    return _document(paths[-1]) if paths else None


def _document(path: UPath) -> Document | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        readable = document["schema_version"] in READABLE_VERSIONS and isinstance(document["name"], str)
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return None
    return document if readable else None


def _last_looks(root: UPath) -> dict[str, LookOfHistory]:
    """The last look of each audit, by the ledger that stands there."""
    from bdt_core.sealed.ledger import Ledger
    from bdt_core.sealed.looking import VARIABLE
    from bdt_core.sealed.looks import history_of_looks

    folder = os.environ.get(VARIABLE) or local_folder(root)
    looks: Iterable[LookOfHistory] = () if folder is None else history_of_looks(Ledger(Path(folder)).read()).looks
    return {look.name: look for look in looks}


def _due(spec: Mapping[str, Any], looked: datetime.datetime) -> datetime.datetime | None:
    """When the next look is due; None where the specification does not say."""
    if spec.get("freshness_hours") is not None:
        return looked + datetime.timedelta(hours=spec["freshness_hours"])
    return next(_ticks(spec["schedule"], looked), None) if spec.get("schedule") is not None else None


def _ticks(cron: str, after: datetime.datetime) -> Iterator[datetime.datetime]:
    # Dagster's own reading of cron, which runs the schedule, and has no public name.
    from dagster._utils.schedules import cron_string_iterator

    ticks = cron_string_iterator((after + datetime.timedelta(seconds=1)).timestamp(), cron, "UTC")
    return (tick.astimezone(datetime.UTC) for tick in ticks)


def _time(written: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(written)
