"""Read the rows of a query from a database."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.table.environment import expanded

_DRIVERS = {"postgresql": "psycopg", "mysql": "pymysql", "mssql": "pyodbc", "oracle": "oracledb"}


def read_query(sql: str, database: str) -> pd.DataFrame:
    """Run a query as it stands and return its rows.

    Parameters
    ----------
    sql : str
        One SELECT. Nothing is put into it.
    database : str
        A SQLAlchemy URL, in which ``${NAME}`` stands for an environment variable.

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
    """
    import sqlalchemy as sa

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
            frame: pd.DataFrame = pd.read_sql_query(sa.text(_without_parameters(sql)), connection)
    except (sa.exc.SQLAlchemyError, pd.errors.DatabaseError) as error:
        raise SourceError(
            f"The query of source.sql failed on {url.render_as_string(hide_password=True)}: {_reason(error, url)}"
        ) from None
    finally:
        engine.dispose()
    return frame


def _without_parameters(sql: str) -> str:
    """The query with colons that SQLAlchemy would take for a parameter's marked as plain text."""
    return re.sub(r"(?<![:\w\\]):(?=\w+(?!:))", r"\:", sql)


def _reason(error: Any, url: Any) -> str:
    """First line of the driver's own message, without the password and without the parameters."""
    cause = error.__cause__ if isinstance(error, pd.errors.DatabaseError) else error
    message = str(getattr(cause, "orig", None) or cause).strip().splitlines()[0]
    password = url.password
    return message.replace(str(password), "***") if password else message
