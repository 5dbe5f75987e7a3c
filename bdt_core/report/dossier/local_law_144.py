"""Until when an audit under Local Law 144 holds, and the notice that people get before the tool is used."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bdt_core.report.blocks import Block, Bullets, Paragraph, Section
from bdt_core.report.dossier.writing import Writer

State = Literal["pass", "fail", "inconclusive"]


def last_day(tested_on: datetime.date) -> datetime.date:
    """The last day on which the tool may be used after an audit: a year later (6 RCNY 5-301 a).

    Examples
    --------
    >>> last_day(datetime.date(2025, 3, 1)), last_day(datetime.date(2024, 2, 29))
    (datetime.date(2026, 3, 1), datetime.date(2025, 2, 28))
    """
    try:
        return tested_on.replace(year=tested_on.year + 1)
    except ValueError:  # the 29th of February
        return tested_on.replace(year=tested_on.year + 1, day=28)


def state_on(about: Mapping[str, Any], on: datetime.date | None) -> State:
    """Whether the audit holds on a day.

    Examples
    --------
    >>> audit = {"tested_on": "2025-03-01"}
    >>> [state_on(audit, datetime.date(2026, 3, day)) for day in (1, 2)], state_on(audit, None)
    (['pass', 'fail'], 'inconclusive')
    """
    if on is None or not about.get("tested_on"):
        return "inconclusive"
    return "pass" if on <= last_day(datetime.date.fromisoformat(about["tested_on"])) else "fail"


def parts_of_ll144(about: Mapping[str, Any], on: datetime.date | None, write: Writer) -> Iterator[Section]:
    """What a bias audit of this law has besides its fields.

    Parameters
    ----------
    about : mapping
        What people wrote.
    on : date, optional
        The day on which the form is read.
    write : Writer
    """
    texts = write.words["ll144"]
    yield Section("expiry", texts["expiry"], tuple(_expiry(about, on, write)))
    given = {
        key: str(about.get(key) or f"[{write.words['not_given']}]")
        for key in ("owner", "system", "decision", "data_source", "contact", "public_page")
    }
    lines = [line.format(**given, not_given=f"[{write.words['not_given']}]") for line in texts["notice_lines"].values()]
    yield Section("notice", texts["notice"], (Paragraph(texts["notice_intro"].strip()), Bullets(tuple(lines))))


def _expiry(about: Mapping[str, Any], on: datetime.date | None, write: Writer) -> Iterator[Block]:
    texts = write.words["ll144"]
    if not about.get("tested_on"):
        yield Paragraph(texts["no_day"])
        return
    tested = datetime.date.fromisoformat(about["tested_on"])
    days = {
        "tested": write.day(tested.isoformat()),
        "last": write.day(last_day(tested).isoformat()),
        "on": "" if on is None else write.day(on.isoformat()),
    }
    yield Paragraph(texts["last_day"].format(**days))
    if on is not None:
        yield Paragraph(texts["holds" if state_on(about, on) == "pass" else "expired"].format(**days))
