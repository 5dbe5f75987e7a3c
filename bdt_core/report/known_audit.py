"""An audit as a storage knows it: its newest report, its newest look, and its history."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bdt_core.history import History
from bdt_core.sealed.looks import LookOfHistory

Document = Mapping[str, Any]


@dataclass(frozen=True)
class KnownAudit:
    """An audit.

    Attributes
    ----------
    name : str
    document : mapping or None
        The newest report.json.
    written : datetime or None
        When that was.
    look : LookOfHistory or None
        The newest look, where it left no report: it was stopped, or only its answer was asked for.
    history : History or None
        What all its batches show together.
    due : datetime or None
        When the next look is due, by the specification's `freshness_hours` or `schedule`.
    page : str or None
        Of that report, within an address at which the storage is served; None where it lies elsewhere.
    """

    name: str
    document: Document | None
    written: datetime.datetime | None
    look: LookOfHistory | None
    history: History | None
    due: datetime.datetime | None
    page: str | None = None

    @property
    def looked(self) -> datetime.datetime | None:
        """When it was looked at last."""
        return self.written if self.look is None else datetime.datetime.fromisoformat(self.look.began)

    @property
    def verdict(self) -> str | None:
        """The answer of the last look; None where it was stopped, or there was none."""
        if self.look is not None:
            return self.look.verdict
        return None if self.document is None else str(self.document["verdict"]["verdict"])
