"""The readers' names of columns and their levels: the one place where a name of the table becomes theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from bdt_core.derivations import derived
from bdt_core.words import capital

_VALUE = re.compile(r"""(?P<quote>["'])(?P<quoted>.*?)(?P=quote)(?=, |$)|(?<![^ ])[^,]+(?:,(?! )[^,]+)*""")
_QUOTED = re.compile('"([^"]+)"')
_JOINT = " & "


class Names:
    """The readers' names of a specification.

    Parameters
    ----------
    spec : mapping
        Of a document: its ``labels``, ``units`` and ``bias_variable``.
    measured : iterable of str
        What reports call the mean of the bias variable, where that is no rate: its unit stands beside it.
    columns : iterable of str
        Names of the table, which are no words of a report where readers have none for them.

    Examples
    --------
    >>> names = Names({"labels": {"sex": {"name": "gender", "levels": {"F": "woman"}}}, "units": {"age": "years"}})
    >>> names.known("sex"), names.known("Sex"), names.known("F"), names.known("age")
    ('gender', 'Gender', 'woman', None)
    >>> names.level("sex", "F"), names.level("sex", "M"), names.levels_in("sex", "'F', M"), names.unit_of("age")
    ('woman', 'M', "'woman', M", 'years')
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        measured: Iterable[str] = (),
        columns: Iterable[str] = (),
    ) -> None:
        self.spec = spec
        self.measured = frozenset(told for one in measured for told in (one, capital(one)))
        self.columns = frozenset(columns)
        self.labels: Mapping[str, Any] = spec.get("labels") or {}
        self.units: Mapping[str, str] = spec.get("units") or {}

    def __bool__(self) -> bool:
        return bool(self.labels or self.units)

    def label(self, column: str) -> str | None:
        """A column's name, with a capital where it has one in the text; None where readers have none of their own."""
        name: str | None = (self.labels.get(column) or {}).get("name")
        if name is None and column[:1].isupper():
            name = (self.labels.get(column[:1].lower() + column[1:]) or {}).get("name")
            return None if name is None else name[:1].upper() + name[1:]
        return name

    def level(self, column: str, level: Any) -> str:
        """A level of a column; numbers without the point that no reader needs."""
        text = f"{level:.12g}" if isinstance(level, float) else str(level)
        levels = self._levels(column)
        return levels.get(text) or levels.get(str(level)) or text

    def levels_in(self, column: str, values: str) -> str:
        """Several levels with commas between them, each of which may be in quotes."""

        def told(match: re.Match[str]) -> str:
            quote = match["quote"] or ""
            return f"{quote}{self.level(column, match['quoted'] if quote else match[0])}{quote}"

        return _VALUE.sub(told, values)

    def known(self, name: str) -> str | None:
        """What a text is called that is a column, a level that only one column has, or the bias variable's mean.

        None if it is none of them.
        """
        label = self.label(name) or self._of_one_column.get(name)
        if name not in self.measured or self.unit is None or self.spec["bias_variable"]["derive"] is not None:
            return label  # the catalogue has words for what is derived
        return self.with_unit(name, label or name)

    def with_unit(self, name: str, label: str) -> str:
        """What a name is told as, with its unit where it is that of the bias variable's mean."""
        return f"{label} ({self.unit})" if name in self.measured and self.unit else label

    def in_text(self, data: str) -> str:
        """What readers call a column, a level that only one column has, a column with its level, or several of these.

        With a capital where the text has one.
        """
        known = self.known(data)
        if known is None and (other := self.known(flipped(data))) is not None:
            known = flipped(other)
        if known is not None:
            return known
        if data.startswith('"') or _JOINT in data:
            return self.in_list(data)
        column, colon, level = data.partition(": ")
        label = self.label(column)
        return f"{label}: {self.levels_in(column, level)}" if colon and label else str(data)

    def in_list(self, names: str) -> str:
        """Names with commas between them, or in quotes; of an intersection, each of its columns or levels."""
        if '"' in names:
            return _QUOTED.sub(lambda one: f'"{self.known(one[1]) or one[1]}"', names)
        return ", ".join(_JOINT.join(self.known(x) or x for x in one.split(_JOINT)) for one in names.split(", "))

    @cached_property
    def measured_column(self) -> frozenset[str]:
        """The bias variable, where it is a column as it stands and not derived."""
        bias = self.spec.get("bias_variable") or {}
        column = None if bias.get("derive") is not None else bias.get("column")
        return frozenset() if column is None else frozenset((column,))

    @property
    def unit(self) -> str | None:
        """Of the bias variable: that of its column, or of the prediction that it is made of."""
        bias = self.spec["bias_variable"]
        made = derived(bias["derive"])
        return self.units.get(bias["column"] or bias["prediction"]) if made is None or made.keeps_unit else None

    def unit_of(self, column: str) -> str | None:
        """Of a column's numbers."""
        return self.units.get(column) or self.units.get(column[:1].lower() + column[1:])

    @cached_property
    def _of_one_column(self) -> Mapping[str, str]:
        names: dict[str, set[str]] = {}
        for column in self.labels.values():
            for level, name in ((column or {}).get("levels") or {}).items():
                names.setdefault(level, set()).add(name)
        return {level: min(several) for level, several in names.items() if len(several) == 1 and not _is_number(level)}

    def _levels(self, column: str) -> Mapping[str, str]:
        label = self.labels.get(column) or self.labels.get(column[:1].lower() + column[1:]) or {}
        levels: Mapping[str, str] = label.get("levels") or {}
        return levels


def flipped(text: str) -> str:
    """With the other kind of letter at its start."""
    return text[:1].swapcase() + text[1:]


def _is_number(level: str) -> bool:
    """Whether a level alone could be any number of a report."""
    try:
        float(level)
    except ValueError:
        return False
    return True
