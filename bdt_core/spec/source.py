"""Place of the table."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import re
from pathlib import PurePath
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from bdt_core.spec.section import SpecSection

_PASSWORD = re.compile(
    r"[^/]+://[^/@:]*:(?!\$\{\w+\}@)[^@]+@|[^/]+://.*[?&;](?i:password|passwd|pwd)=(?!\$\{\w+\}(&|$))"
)
_LONGEST_NAME, _LONGEST_PATH = 255, 4_000  # what most file systems allow
_LONGEST_PART = 180  # bytes: what is made of a part is named after it, and most file systems allow 255


def holds_password(address: str) -> bool:
    """Whether an address holds a password that does not come from the environment.

    Examples
    --------
    >>> [holds_password(one) for one in ("ftp://me:secret@host/x.csv", "ftp://me:${PW}@host/x.csv", "s3://bucket/x")]
    [True, False, False]
    """
    return bool(_PASSWORD.match(address))


def usable_address(address: str | None) -> str | None:
    """The address, if it holds no password, and a file can be called so.

    Raises
    ------
    ValueError
        It does, or none can.
    """
    if address is None:
        return None
    if holds_password(address):
        raise ValueError(
            "the URL holds a password, which would end up in reports and logs; put it into an environment variable "
            "and write ${NAME} in its place"
        )
    if "://" not in address:
        longest = max(len(part.encode(errors="replace")) for part in address.split("/"))
        if longest > _LONGEST_NAME or len(address) > _LONGEST_PATH:
            raise ValueError(
                f"a path has at most {_LONGEST_PATH:,} characters and {_LONGEST_NAME} bytes between two slashes; found "
                f"{len(address):,} and {longest:,}"
            )
        if address.startswith("~") and os.path.expanduser(address) == address:  # noqa: PTH111 - Path's would raise
            raise ValueError(f"nobody is called {address[1:].partition('/')[0]} on this machine; write the whole path")
    return address


def name_in_reports(path: str) -> str:
    """What a report says of a path: the file's name, or the pattern, wherever on this machine it lies.

    URLs and demonstration data stay as they are. The same table gives the same report from every folder; which table
    it was, the fingerprint says.

    Examples
    --------
    >>> [name_in_reports(one) for one in ("/data/loans.csv", "data/2026-*/x.csv", "s3://bucket/x.csv", "demo:adult")]
    ['loans.csv', '2026-*/x.csv', 's3://bucket/x.csv', 'demo:adult']
    >>> name_in_reports("sqlite:////data/loans.db")
    'sqlite:///loans.db'
    """
    sqlite = SQLITE_FILE.fullmatch(path)
    if sqlite is not None:
        return f"{sqlite[1]}{name_in_reports(sqlite[2])}{sqlite[3]}"
    if ":" in path.split("/")[0] or path.startswith("$"):
        return path
    parts = PurePath(path).parts
    fixed = list(itertools.takewhile(lambda part: not set("*?[{") & set(part), parts))
    return "/".join(parts[min(len(fixed), len(parts) - 1) :])


SQLITE_FILE = re.compile(r"(sqlite(?:\+\w+)?:///)(?!:memory:|file:)([^/?][^?]*|/[^?]*)(.*)")
"""A database in a file: what comes before it, the file, and what comes after."""


def no_part(name: str) -> str | None:
    """Why a text cannot be the name of a part of the data, which becomes a part of paths; None if it can.

    Examples
    --------
    >>> no_part("2026-01-31"), no_part("../x")
    (None, 'a partition is a name, without / and \\\\, so that it never leads out of its folder')
    """
    if not name.strip(".") or set("/\\") & set(name):
        return "a partition is a name, without / and \\, so that it never leads out of its folder"
    if any(ord(one) < 32 or ord(one) == 127 for one in name):
        return "a partition is a name without control characters"
    if any("\ud800" <= one <= "\udfff" for one in name):
        return "the name of a partition is text, and this one is not valid UTF-8"
    if len(name.encode()) > _LONGEST_PART:
        return f"the name of a partition has at most {_LONGEST_PART} bytes, for files are named after it"
    return None


class TableSource(SpecSection):
    """One table: files, or the rows of a query."""

    path: str | None = Field(
        None,
        description=(
            "A .csv, .tsv, .jsonl, .json, .xlsx, .ods or .parquet file, one of these but Parquet in a .gz or .zip, a "
            "folder of Parquet files, a pattern such as days/*.csv, a URL such as s3://bucket/loans.parquet, or "
            "demo:compas, demo:adult, demo:grants. ${NAME} is an environment variable."
        ),
    )
    separator: str | None = Field(
        None,
        description="Column separator of a text file; detected when left out.",
        min_length=1,
        max_length=1,
    )
    encoding: str | None = Field(None, description="Encoding of a text file, such as utf-8; detected when left out.")
    decimal: Literal["point", "comma"] | None = Field(
        None,
        description=(
            "What stands before the decimals in a text file, where 1,234 or 1.234 may be a thousand as well; detected "
            "when left out, and asked for where that is not certain."
        ),
    )
    missing_values: list[str] | None = Field(
        None,
        description=(
            'Texts that stand for a missing value in a text file, such as ["", "?"]; by default nothing, NA, N/A, '
            "NULL, None, nan and the like. Name them where NA or None is a name."
        ),
    )
    sheet: str | None = Field(
        None, description="Name of the sheet of a workbook (.xlsx, .ods); needed where it has several."
    )
    bad_rows: Literal["refuse", "leave_out"] = Field(
        "refuse",
        description=(
            "Lines of a text file that have fewer or more values than the header: the file is refused, naming the "
            "line, or they are left out, and page 1 of the report says how many."
        ),
    )
    sql: str | None = Field(None, description="A query whose rows are the table; instead of path.")
    database: str | None = Field(
        None,
        description=(
            "Where the query runs: a SQLAlchemy URL. Passwords stay in the environment: ${LOANS_DATABASE}, or "
            "postgresql+psycopg://auditor:${DB_PASSWORD}@host/loans."
        ),
    )

    @property
    def described(self) -> str:
        """The table's place, as messages and reports name it."""
        return self.path or f"the query on {self.database}"

    @property
    def in_reports(self) -> str:
        """The table's place, as reports name it."""
        return name_in_reports(self.path) if self.path else f"the query on {name_in_reports(self.database or '')}"

    @field_validator("path", "database")
    @classmethod
    def _usable(cls, address: str | None) -> str | None:
        if address is not None and address.startswith("sqlite"):
            usable_address(address.partition(":///")[2])
        return usable_address(address)

    @model_validator(mode="after")
    def _query_has_a_database(self) -> TableSource:
        if (self.sql is None) != (self.database is None):
            raise ValueError('"sql" and "database" go together')
        return self


class Join(TableSource):
    """Another table whose columns are added by key, such as labels that become known later."""

    key: str | list[str] = Field(description="Column (or columns) that both tables have; one row per key in this one.")
    columns: list[str] | None = Field(None, description="Columns to add; by default all.")

    @model_validator(mode="after")
    def _one_place(self) -> Join:
        if (self.path is None) == (self.sql is None):
            raise ValueError('give either "path" or "sql" with "database"')
        return self


class Stacked(SpecSection):
    """Several labels of each row, which become rows of their own."""

    by: str = Field(
        min_length=1, description="Name of the column that is made, which says of each row which label it is of."
    )
    rows: dict[str, dict[str, str]] = Field(
        min_length=1,
        description=(
            "By label: the columns that are made, and the columns of the table that they are made of: "
            "{chair: {there: chair, said: chair_said}, dog: {there: dog, said: dog_said}}."
        ),
    )

    @property
    def labels(self) -> list[str]:
        """The labels, by their names."""
        return sorted(self.rows)

    @property
    def columns(self) -> list[str]:
        """The columns that are made beside `by`."""
        return sorted(next(iter(self.rows.values())))

    @property
    def parts(self) -> frozenset[str]:
        """The columns of the table that they are made of."""
        return frozenset(part for of_label in self.rows.values() for part in of_label.values())

    @model_validator(mode="after")
    def _labels_have_the_same_columns(self) -> Stacked:
        for label, of_label in self.rows.items():
            if not of_label or sorted(of_label) != self.columns:
                raise ValueError(
                    f'"rows" makes the columns {", ".join(self.columns) or "(none)"} of one label and '
                    f'{", ".join(sorted(of_label)) or "(none)"} of "{label}": name the same for every label'
                )
        for name in (self.by, *self.columns):
            if name in self.parts or (name == self.by and name in self.columns):
                raise ValueError(f'"{name}" would be two columns: call the one that is made by another name')
        return self


class Source(TableSource):
    """Where the table is, and what is set beside it."""

    asset: str | None = Field(
        None, description="Key of a Dagster asset that is the table, e.g. warehouse/loans; instead of path."
    )
    arrays: dict[str, str] = Field(
        {}, description="Columns from .npy files with one value per row: {prediction: predictions.npy}."
    )
    join: Join | None = Field(None, description="Another table whose columns are added by key.")
    partition: str | None = Field(
        None, description="The part that is read: stands for {partition} in paths, and for :partition in queries."
    )
    clean: bool = Field(
        False,
        description=(
            "Merge levels that differ only in spaces, capitals or the way letters are composed, such as north and "
            '"north ", into the most frequent spelling.'
        ),
    )
    ages: dict[str, str] = Field(
        {},
        description=(
            "Ages in whole years in place of dates of birth, by column: on a day, {born: 2026-01-31}, or on that in "
            "another column, {born: decided}. Dates that are not named are numbers of years, such as 2026.08."
        ),
    )
    stacked: Stacked | None = Field(
        None,
        description=(
            "Several labels of each row, such as 26 objects in an image, each with its own prediction: a row for each. "
            "The rows of an image belong together: split.key names them."
        ),
    )
    parameters: dict[str, str] = Field({}, description="Values for :name in queries, given to the database apart.")

    @property
    def described(self) -> str:
        """The table's place, as messages and reports name it."""
        place = f"asset {self.asset}" if self.asset else super().described
        return place if self.partition is None else place.replace("{partition}", self.partition)

    @property
    def in_reports(self) -> str:
        """The table's place, as reports name it."""
        place = f"asset {self.asset}" if self.asset else super().in_reports
        return place if self.partition is None else place.replace("{partition}", self.partition)

    @property
    def times(self) -> int:
        """How often each row of the table is counted: once, or once for each of its labels."""
        return 1 if self.stacked is None else len(self.stacked.rows)

    @property
    def names_a_part(self) -> bool:
        """Whether parts of the data can be read one by one."""
        return bool(self.asset or "{partition}" in (self.path or "") or ":partition" in (self.sql or ""))

    @field_validator("partition")
    @classmethod
    def _partition_is_a_name(cls, partition: str | None) -> str | None:
        reason = None if partition is None else no_part(partition)
        if reason is not None:
            raise ValueError(reason)
        return partition

    @field_validator("ages", mode="before")
    @classmethod
    def _days_are_texts(cls, ages: Any) -> Any:
        """A day without quotation marks is a date in YAML."""
        if not isinstance(ages, dict):
            return ages
        return {name: str(one) if type(one) is dt.date else one for name, one in ages.items()}

    @field_validator("ages")
    @classmethod
    def _of_another_column(cls, ages: dict[str, str]) -> dict[str, str]:
        for name, reference in ages.items():
            if reference in ages:
                raise ValueError(
                    f'"{reference}" cannot say on which day "{name}" is an age and be one itself; name a day such as '
                    "2026-01-31, or a column of dates"
                )
        return ages

    @field_validator("arrays")
    @classmethod
    def _usable_ones(cls, arrays: dict[str, str]) -> dict[str, str]:
        for address in arrays.values():
            usable_address(address)
        return arrays

    @model_validator(mode="after")
    def _one_place(self) -> Source:
        if [self.path, self.sql, self.asset].count(None) != 2:
            raise ValueError('give one of "path", "sql" (with "database") and "asset"')
        return self
