"""A look as it happens: the line that it began, and the line of how it ended, whatever happens in between."""

from __future__ import annotations

import datetime
import hashlib
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core.errors import OutputError
from bdt_core.said import AsItIs, Text, say
from bdt_core.sealed.answer import after_looks
from bdt_core.sealed.canonical import digest
from bdt_core.sealed.ledger import Chain, Event, Ledger
from bdt_core.sealed.looks import NOT_LOOKED_AT, Door, LookFacts, looks_before
from bdt_core.sealed.plan import plan_of
from bdt_core.sealed.seal import seal_digest
from bdt_core.sentences import with_part
from bdt_core.version import installed_version

if TYPE_CHECKING:
    from bdt_core.spec import AuditSpec
    from bdt_core.table.rows import Rows

Document = dict[str, Any]
VARIABLE = "BDT_LOOKS"
"""Names the folder of the ledger, where it is not beside the reports."""


@dataclass
class RecordedLook:
    """One look at a table.

    Attributes
    ----------
    ledger : Ledger or None
        None where there is no place for one.
    spec : AuditSpec
    door : {"audit", "gate", "dagster", "page"}
    id : str
    problem : Text or None
        Why it does not stand in the ledger.
    """

    ledger: Ledger | None
    spec: AuditSpec
    door: Door
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    problem: Text | None = None

    def begin(self) -> None:
        """Record that it begins, unless that stands there; where it cannot be written, the report says so."""
        plan = plan_of(self.spec)
        event = {"name": self.spec.name, "door": self.door, "plan": plan, "seal": seal_digest(self.spec)}
        event |= {"plan_digest": digest(plan), "version": installed_version()}
        self._record(lambda chain: None if chain.has_begun(self.id) else {"event": "begun", **event})

    def stop(self, error: BaseException) -> None:
        """Record that it ended without an answer."""
        self._record(lambda _: {"event": "stopped", "why": type(error).__name__})

    def end(self, document: Document, rows: Rows, encode: Callable[[Document], bytes]) -> Document:
        """Record its answer, and give the report that tells of earlier looks.

        The answer stands in the ledger before anybody can read the report.

        Parameters
        ----------
        document : dict
            The report as data.
        rows : Rows
            The table, or a part of it.
        encode : callable
            Gives the bytes of report.json.
        """
        facts = _facts(document, self.spec, rows)
        limits = [{"check": one["check"], "verdict": one["verdict"]} for one in document["gate"]]

        def told(chain: Chain) -> Document:
            looks = looks_before(chain, self.id, facts, self.spec.significance.alpha).beside(self.problem)
            if not looks.tells:
                return document
            return with_part(after_looks(document, looks.number), "looks", looks)

        def line(chain: Chain) -> Event:
            whole = told(chain)
            answer = {"verdict": whole["verdict"]["verdict"], "limits": limits}
            report = hashlib.sha256(encode(whole)).hexdigest()
            return {"event": "ended", **facts.in_line(), **answer, "report": report}

        before = self._record(line)
        return told(before)

    def _record(self, event: Callable[[Chain], Event | None]) -> Chain:
        """Add a line, and give the ledger before it; the first problem that prevents it is kept."""
        before = Chain.of(b"", None)

        def dated(chain: Chain) -> Event | None:
            nonlocal before
            before, said = chain, event(chain)
            return None if said is None else {"look": self.id, "time": now(), **said}

        if self.ledger is None:
            self.problem = say("this look cannot be recorded: set BDT_LOOKS to a folder on this machine")
        elif self.problem is None:
            try:
                self.ledger.append(dated)
            except OutputError as error:
                self.problem = say("this look cannot be recorded: {why}", why=AsItIs(str(error)))
        return before


@contextmanager
def looking(folder: Path | None, spec: AuditSpec, door: Door, look_id: str | None = None) -> Iterator[RecordedLook]:
    """A look: it is recorded that it begins, and how it ends.

    Parameters
    ----------
    folder : Path or None
        Where reports stand; None where that is not on this machine. ``BDT_LOOKS`` names another one.
    spec : AuditSpec
    door : {"audit", "gate", "dagster", "page"}
        Which way the audit was asked for.
    look_id : str, optional
        Of a look that may have begun in another process; by default a new one.

    Yields
    ------
    RecordedLook
        Whose `end` has to be called with the report.
    """
    look = begun_look(folder, spec, door, look_id)
    try:
        yield look
    except BaseException as error:
        look.stop(error)
        raise


def begun_look(folder: Path | None, spec: AuditSpec, door: Door, look_id: str | None = None) -> RecordedLook:
    """A look of which it is recorded that it begins, and that ends elsewhere; arguments are those of `looking`."""
    named = os.environ.get(VARIABLE)
    place = Path(named) if named else folder
    look = RecordedLook(None if place is None else Ledger(place), spec, door, look_id or uuid.uuid4().hex)
    look.begin()
    return look


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _facts(document: Document, spec: AuditSpec, rows: Rows) -> LookFacts:
    return LookFacts(
        name=spec.name,
        version=installed_version(),
        plan=plan_of(spec),
        people=rows.people,
        rows=document["data"]["rows"],
        audited=document["data"]["rows_audited"],
        columns={one.name: NOT_LOOKED_AT if one.missing is None else one.distinct for one in rows.columns},
        fingerprint=document["data"]["fingerprint"],
    )
