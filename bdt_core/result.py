"""Results of stages: a frozen dataclass that becomes JSON and comes back the same; and how it is looked at."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from bdt_core.harmless import harmless
from bdt_core.on_demand import lent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SCHEMA_VERSION: Literal[2] = 2
"""Of report.json."""
READABLE_VERSIONS = (1, 2)
"""Of report.json, as baseline and for a dossier. Version 1 has no ``sentences``; else it is the same."""
SCHEMA_MINOR = 5
"""Rises with members that are added to report.json; who reads an older or a newer one passes over the difference."""
FORMS: Mapping[str, str] = {
    "json": "application/json",
    "html": "text/html",
    "pdf": "application/pdf",
    "md": "text/markdown",
}
"""Forms of a report, by how their files' names end, and what they are."""
GLANCE_ROWS, GLANCE_ROWS_HTML = 6, 20
_WIDEST = 48


class Result:
    """Base of the stages' results.

    Examples
    --------
    >>> from bdt_core import reweigh
    >>> found = reweigh([1, 0, 1, 1], ["f", "f", "m", "m"])
    >>> type(found).from_dict(found.to_dict()) == found
    True
    """

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="strings")

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data; infinities become the strings ``Infinity`` and ``-Infinity``."""
        data: dict[str, Any] = json.loads(_adapter(type(self)).dump_json(self))
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Undo :meth:`to_dict`.

        Parameters
        ----------
        data : dict

        Returns
        -------
        Result
            Equal to the one that the data was made of.
        """
        result: Self = _adapter(cls).validate_python(data)
        return result


def _known(x: Any) -> Any:
    return None if isinstance(x, float) and math.isnan(x) else x


Real = Annotated[float | None, BeforeValidator(_known)]
"""A number that may be infinite; null where it is not known."""


class Part(BaseModel):
    """A part of the report as data: frozen, passing over members that it does not know."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")


class Shown:
    """What can be looked at: a table, and at a glance a sentence with the table's first rows."""

    def to_frame(self) -> pd.DataFrame:
        """All of it, one row each."""
        raise NotImplementedError

    def _glance(self) -> tuple[str, pd.DataFrame]:
        """A sentence, and the table below it: of `to_frame` the columns that are looked at first."""
        raise NotImplementedError

    def __repr__(self) -> str:
        sentence, frame = self._glance()
        if frame.empty:
            return harmless(sentence)
        shown = frame.head(GLANCE_ROWS)
        table = shown.to_string(index=False, max_colwidth=_WIDEST, float_format=_three_digits, na_rep="-")
        return harmless("\n".join([sentence, table, *_more(len(frame) - len(shown))]))

    def _repr_html_(self) -> str:
        sentence, frame = self._glance()
        shown = frame.head(GLANCE_ROWS_HTML)
        table = "" if frame.empty else shown.to_html(index=False, float_format=_three_digits, na_rep="-")
        more = "".join(f"<p>{one}</p>" for one in _more(len(frame) - len(shown)))
        return harmless(f"<p>{escape(sentence)}</p>\n{table}\n{more}")


class Plotted:
    """What the report has a figure of."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it as the report does.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw it; whatever is there is left, and the axes' frame goes. By default in a figure of its own,
            as large as in the report.

        Returns
        -------
        matplotlib Axes
            In points from the top left corner, with the y axis downwards.

        Raises
        ------
        DataError
            There is nothing to be drawn.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> axes = bias_metrics([1, 0, 1, 1], [1, 0, 0, 1], groups=list("ffmm")).plot()
        >>> "f" in [text.get_text() for text in axes.texts]
        True
        """
        # The figures are on a higher floor, where nobody needs matplotlib before he draws.
        axes: Axes = lent(__name__, "plot")(self, ax)
        return axes


@dataclass(frozen=True)
class InAudit:
    """What a result knows of the audit that it is a part of.

    Attributes
    ----------
    document : dict
        The report as data.
    typed : callable
        Gives the columns of a table the types that they had in the audit.
    """

    document: dict[str, Any]
    typed: Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True)
class AuditPart(Result, Shown, Plotted):
    """A result that may be a part of an audit, in whose words and limits it is then told."""

    audit: Annotated[Any, Field(exclude=True)] = field(default=None, kw_only=True, repr=False, compare=False)
    """The audit (`InAudit`) that it is a part of, if any. It is not kept with the data."""

    __repr__ = Shown.__repr__

    def _typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table with the types that its columns had in the audit; as it is without one."""
        return frame if self.audit is None else self.audit.typed(frame)


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(cls: type) -> TypeAdapter[Any]:
    """pydantic's reader and writer of a class, made once."""
    if cls not in _ADAPTERS:
        _ADAPTERS[cls] = TypeAdapter(cls)
    return _ADAPTERS[cls]


def _three_digits(x: float) -> str:
    return f"{x:.3g}"


def _more(rows: int) -> list[str]:
    return [f"... and {rows} more: to_frame()"] if rows > 0 else []
