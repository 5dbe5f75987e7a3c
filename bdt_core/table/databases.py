"""Read the rows of a query from a database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.table.environment import expanded

_DRIVERS = {"postgresql": "psycopg", "mysql": "pymysql", "mssql": "pyodbc", "oracle": "oracledb"}


def read_query(sql: str, database: str, parameters: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Run a query as it stands and return its rows.

    Parameters
    ----------
    sql : str
        One SELECT. Nothing is put into it.
    database : str
        A SQLAlchemy URL, in which ``${NAME}`` stands for an environment variable.
    parameters : mapping of str to str, optional
        Values for ``:name`` in the query; they go to the database apart from it, and are never put into its text.

    Returns
    -------
    DataFrame

    Raises
    ------
    SourceError
        The database cannot be reached, its driver is not installed, or the query fails. Passwords are masked.

    Examples
    --------
    >>> read_query("select 1 as a, 'x' as b", "sqlite://").to_dict("records")
    [{'a': 1, 'b': 'x'}]
    >>> read_query("select :partition as day, 1 as b", "sqlite://", {"partition": "2026-01-31"})["day"].item()
    '2026-01-31'
    """
    import sqlalchemy as sa

    query = sa.text(_marked(sql, parameters or {}))
    given = {name: value for name, value in (parameters or {}).items() if name in query.compile().params}
    address = expanded(database, "source.database")
    try:
        url = sa.make_url(address)
        engine = sa.create_engine(url)
    except (sa.exc.NoSuchModuleError, ImportError) as error:
        kind = address.split(":", 1)[0].split("+")[0]
        driver = getattr(error, "name", None) or _DRIVERS.get(kind, "its driver")
        raise SourceError(f'source.database: no driver for "{kind}" is installed. Try: pip install {driver}') from None
    except sa.exc.ArgumentError:
        raise SourceError(
            "source.database is not a SQLAlchemy URL. Expected e.g. sqlite:///loans.db, or ${LOANS_DATABASE} with "
            "postgresql+psycopg://user:password@host/name in that environment variable."
        ) from None
    try:
        with engine.connect() as connection:  # nothing is ever committed
            frame: pd.DataFrame = pd.read_sql_query(query, connection, params=given)
    except (sa.exc.SQLAlchemyError, pd.errors.DatabaseError) as error:
        raise SourceError(
            f"The query of source.sql failed on {url.render_as_string(hide_password=True)}: {_reason(error, url)}"
        ) from None
    finally:
        engine.dispose()
    return frame


def _marked(sql: str, parameters: Mapping[str, str]) -> str:
    """The query, where a colon is plain text unless it stands before the name of a parameter."""

    def plain(found: re.Match[str]) -> str:
        return found[0] if found[1] in parameters else rf"\{found[0]}"

    return re.sub(r"(?<![:\w\\]):(\w+)(?!:)", plain, sql)


def _reason(error: Any, url: Any) -> str:
    """First line of the driver's own message, without the password and without the parameters."""
    cause = error.__cause__ if isinstance(error, pd.errors.DatabaseError) else error
    message = str(getattr(cause, "orig", None) or cause).strip().splitlines()[0]
    password = url.password
    return message.replace(str(password), "***") if password else message
