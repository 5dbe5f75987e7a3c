"""Page on all audits of a storage: last look, answer, what stands open, and when the next look is due."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence

from bdt_core.history import difference_finding, drift_finding, volume_finding
from bdt_core.report.catalogue import sayings
from bdt_core.report.known_audit import KnownAudit
from bdt_core.report.prose import read_in
from bdt_core.report.section_page import SectionPage
from bdt_core.result import Part
from bdt_core.said import Text
from bdt_core.sealed.looks import LimitOfLook
from bdt_core.sentences import sentences_of, with_sentences

_WORST_FIRST = ("fail", "inconclusive", "not_testable", "no_limit", "pass")
_OVER_TIME = (difference_finding, drift_finding, volume_finding)


class OverviewRow(Part):
    """What the page says of an audit.

    Attributes
    ----------
    name : str
    looked : str or None
        When it was looked at last.
    verdict : str or None
        None where that look was stopped.
    sentence : Text or None
        Of the verdict, where the look left a report.
    open : tuple of LimitOfLook
        Limits that do not pass.
    over_time : tuple of Text
        What all batches together show that does not pass.
    due : str or None
        When the next look is due.
    overdue : bool
    report : str or None
        Address of the report that the last look left.
    """

    name: str
    looked: str | None
    verdict: str | None
    sentence: Text | None
    open: tuple[LimitOfLook, ...]
    over_time: tuple[Text, ...]
    due: str | None
    overdue: bool
    report: str | None

    @classmethod
    def of(cls, audit: KnownAudit, now: datetime.datetime, reports: str | None) -> OverviewRow:
        """What is known of an audit, at a time, where its storage is served at an address."""
        sentence: Text | None = None
        limits: Sequence[LimitOfLook] = ()
        if audit.look is not None:
            limits = audit.look.limits
        elif audit.document is not None:
            sentence = with_sentences(audit.document)["verdict"]["sentence"]
            limits = [LimitOfLook(check=one["check"], verdict=one["verdict"]) for one in audit.document["gate"]]
        findings = (find(audit.history) for find in _OVER_TIME if audit.history is not None)
        return cls(
            name=audit.name,
            looked=_day(audit.looked),
            verdict=audit.verdict,
            sentence=sentence,
            open=tuple(limit for limit in limits if limit.verdict != "pass"),
            over_time=tuple(finding.sentence for finding in findings if not finding.passed),
            due=_day(audit.due),
            overdue=audit.due is not None and audit.due < now,
            report=None if None in (reports, audit.page) or audit.look is not None else f"{reports}/{audit.page}",
        )


class Overview(Part):
    """The page.

    Attributes
    ----------
    time : str
        When it was made.
    audits : tuple of OverviewRow
        By what their last looks said, the worst first, and by name.
    """

    time: str
    audits: tuple[OverviewRow, ...]

    def count_of(self, verdict: str | None) -> int:
        """How many audits have an answer."""
        return sum(audit.verdict == verdict for audit in self.audits)


def overview_as_page(
    audits: Sequence[KnownAudit], now: datetime.datetime, language: str = "en", reports: str | None = None
) -> SectionPage:
    """The page, which has all forms.

    Parameters
    ----------
    audits : sequence of KnownAudit
    now : datetime
    language : str
        Of the readers.
    reports : str, optional
        Address at which the storage is served, without a slash at its end: each last look is a link to its report.
    """
    rows = sorted((OverviewRow.of(audit, now, reports) for audit in audits), key=_rank)
    overview = Overview(time=f"{now:%Y-%m-%d %H:%M} UTC", audits=tuple(rows))
    section = read_in(language, "overview", say=sayings(language), overview=overview)
    assert section is not None  # it always has a title
    data = json.loads(overview.model_dump_json()) | {"sentences": sentences_of(overview.model_dump())}
    verdicts = {row.verdict for row in rows}
    banner = next((answer for answer in ("fail", "inconclusive") if answer in verdicts), "pass")
    return SectionPage(section, data, language, banner, foot=overview.time)


def _rank(row: OverviewRow) -> tuple[int, str]:
    return (-1 if row.verdict is None else _WORST_FIRST.index(row.verdict), row.name)


def _day(time: datetime.datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%d %H:%M}"
