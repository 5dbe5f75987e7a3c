"""What comes out of odd files, as it can be written down; run this file to write it down."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.spec import Source
from bdt_core.table.sources import JOINED, read_table

RECORDED = Path(__file__).with_name("outcomes.json")
_SHOWN = 12  # values of a long column: the first of them, and the last one


def outcome(read: Callable[[Source], pd.DataFrame], keys: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Columns, types and values, or the message."""
    try:
        frame = read(Source.model_validate(keys))
    except SourceError as error:
        return {"error": type(error).__name__, "message": str(error).replace(str(folder), "{folder}")}
    found: dict[str, Any] = {"rows": len(frame)}
    if JOINED in frame.attrs:
        found["without_match"] = frame.attrs[JOINED]["without_match"]
    found["columns"] = {name: {"dtype": _type(frame[name]), "values": _values(frame[name])} for name in frame.columns}
    return found


def _type(column: pd.Series[Any]) -> str:
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = column.cat.categories
        return f"category of {_type(levels.to_series())}: {levels.tolist()}"
    is_text = column.dtype == pd.Series(["x"]).dtype  # pandas 2 has no type of texts: they are objects among others
    if is_text and column.dtype == object:
        is_text = pd.api.types.infer_dtype(column, skipna=True) == "string"
    return "text" if is_text else str(column.dtype)


def _values(column: pd.Series[Any]) -> list[Any]:
    values = column.tolist()
    shown = values if len(values) <= _SHOWN else [*values[: _SHOWN - 1], values[-1]]
    return [_value(one) for one in shown]


def _value(one: Any) -> Any:
    if one is None or one is pd.NaT or one is pd.NA or (isinstance(one, float) and one != one):
        return None
    plain = isinstance(one, str | bool) or (isinstance(one, int | float) and abs(one) < 2**53)
    return one if plain else repr(one)


def main() -> None:
    """Write down what comes out today."""
    from tests.core.table.odd_files.files import ODD

    recorded = {}
    for name, case in ODD.items():
        with TemporaryDirectory() as folder:
            recorded[name] = outcome(read_table, case.written(Path(folder)), Path(folder))
    lines = (f"  {json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}" for name, one in recorded.items())
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
