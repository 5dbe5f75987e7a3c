"""Repeated runs of an audit: on which part of the data, when, and who is told."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import Field, field_validator, model_validator

from bdt_core.spec.section import Day, SpecSection
from bdt_core.spec.source import usable_address

AlertSeverity = Literal["low", "medium", "high", "critical"]


class PartitionBy(SpecSection):
    """The parts of the data that are audited one by one."""

    time: Literal["hourly", "daily", "weekly", "monthly"] | None = Field(
        None,
        description="A part per hour, day, week or month; {partition} in source.path is its start, e.g. 2026-01-31.",
    )
    start: Day | None = Field(None, description="First day (with time), e.g. 2026-01-01.")
    dynamic: str | None = Field(
        None, description="Parts that are added while running, under this name, e.g. model_version; instead of time."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> PartitionBy:
        if (self.time is None) == (self.dynamic is None):
            raise ValueError('give either "time" (with "start") or "dynamic"')
        if (self.time is None) != (self.start is None):
            raise ValueError('"time" and "start" go together')
        return self


class Inbox(SpecSection):
    """A folder or bucket in which every new file is audited once."""

    folder: str = Field(description="Local folder, or a URL such as s3://bucket/inbox.")
    pattern: str = Field("*", description="Which files, e.g. *.csv.")
    settle: float = Field(
        5.0, ge=0, le=1_000_000, description="Seconds that a file must stay unchanged to be taken for whole."
    )
    every: int = Field(30, ge=1, le=1_000_000, description="Seconds between two looks.")
    at_once: int = Field(
        1,
        ge=1,
        le=1000,
        description="Most files that share a process, each with a run of its own; for small files that come together.",
    )

    @field_validator("folder")
    @classmethod
    def _usable(cls, folder: str) -> str | None:
        return usable_address(folder)


class HistorySection(SpecSection):
    """What is watched over all batches."""

    drift: float = Field(0.05, gt=0, description="A metric that moves by more than this against its past is drift.")
    look_back: int | str = Field(
        30, description='What makes up the past: batches, or a duration up to the latest batch, e.g. "24h" or "30d".'
    )
    labels_after: str | None = Field(
        None,
        description=(
            "How long labels may take to come, e.g. 14d: a batch that was counted sooner after its time says nothing "
            "until it is audited again."
        ),
    )
    min_rows: int = Field(100, ge=1, description="A group with fewer rows in a batch is too small to be watched.")
    effect: float = Field(
        0.02, gt=0, description="Difference for which the always-valid test is sharpest (its normal mixture's spread)."
    )
    retrain: str | None = Field(
        None,
        description=(
            "A Dagster job of yours that is launched once when drift is certain, and again when there is drift anew "
            "after a batch without, e.g. train_model."
        ),
    )

    @field_validator("look_back")
    @classmethod
    def _some_past(cls, look_back: int | str) -> int | str:
        if isinstance(look_back, str):
            duration(look_back)
        elif look_back < 2 or isinstance(look_back, bool):
            raise ValueError(f"the past has at least 2 batches; found {look_back}")
        return look_back

    @field_validator("labels_after")
    @classmethod
    def _some_time(cls, labels_after: str | None) -> str | None:
        if labels_after is not None:
            duration(labels_after)
        return labels_after


_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def duration(written: str) -> datetime.timedelta:
    """A duration as specifications write it.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> duration("24h") == duration("1d")
    True
    """
    number, unit = written[:-1], written[-1:]
    if unit not in _UNITS or not number.isdecimal() or int(number) == 0 or len(number) > 5:
        raise ValueError(f'"{written}" is no duration such as "24h", "30d" or "4w"')
    return datetime.timedelta(**{_UNITS[unit]: int(number)})
