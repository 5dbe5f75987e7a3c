"""Where the table is."""

from __future__ import annotations

import re

from pydantic import Field, field_validator, model_validator

from bdt_core.spec.section import Section

_PASSWORD = re.compile(r"[^/]+://[^/@:]*:(?!\$\{\w+\}@)[^@]+@")


class Table(Section):
    """One table: files, or the rows of a query."""

    path: str | None = Field(
        None,
        description=(
            "A .csv, .tsv, .jsonl or .parquet file, a folder of Parquet files, a pattern such as days/*.csv, a URL "
            "such as s3://bucket/loans.parquet, or demo:compas, demo:adult. ${NAME} is an environment variable."
        ),
    )
    separator: str | None = Field(
        None,
        description="Column separator of a text file; detected when left out.",
        min_length=1,
        max_length=1,
    )
    encoding: str | None = Field(None, description="Encoding of a text file, such as utf-8; detected when left out.")
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

    @field_validator("database")
    @classmethod
    def _no_password(cls, database: str | None) -> str | None:
        if database is not None and _PASSWORD.match(database):
            raise ValueError(
                "the URL holds a password, which would end up in reports and logs; put it into an environment variable "
                "and write ${NAME} in its place"
            )
        return database

    @model_validator(mode="after")
    def _query_has_a_database(self) -> Table:
        if (self.sql is None) != (self.database is None):
            raise ValueError('"sql" and "database" go together')
        return self


class Join(Table):
    """Another table whose columns are added by key, such as labels that become known later."""

    key: str | list[str] = Field(description="Column (or columns) that both tables have; one row per key in this one.")
    columns: list[str] | None = Field(None, description="Columns to add; by default all.")

    @model_validator(mode="after")
    def _one_place(self) -> Join:
        if (self.path is None) == (self.sql is None):
            raise ValueError('give either "path" or "sql" with "database"')
        return self


class Source(Table):
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
    parameters: dict[str, str] = Field({}, description="Values for :name in queries, given to the database apart.")

    @property
    def described(self) -> str:
        """The table's place, as messages and reports name it."""
        place = f"asset {self.asset}" if self.asset else super().described
        return place if self.partition is None else place.replace("{partition}", self.partition)

    @property
    def names_a_part(self) -> bool:
        """Whether parts of the data can be read one by one."""
        return bool(self.asset or "{partition}" in (self.path or "") or ":partition" in (self.sql or ""))

    @field_validator("partition")
    @classmethod
    def _partition_is_a_name(cls, partition: str | None) -> str | None:
        if partition is not None and (not partition.strip(".") or set("/\\\0") & set(partition)):
            raise ValueError("a partition is a name, without / and \\, so that it never leads out of its folder")
        return partition

    @model_validator(mode="after")
    def _one_place(self) -> Source:
        if [self.path, self.sql, self.asset].count(None) != 2:
            raise ValueError('give one of "path", "sql" (with "database") and "asset"')
        return self
