"""``bdt init``: look at a table and write a commented specification."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pydantic import ValidationError

from bdt_core.errors import OutputError, SpecError
from bdt_core.harmless import escaped_in_json
from bdt_core.spec import LANGUAGES, Source
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.roles import looks_like_identifier
from bdt_core.table.sources import read_table
from bdt_core.words import printable
from bdt_pipeline.commands.run_audit import name_of

if TYPE_CHECKING:
    from jinja2 import Template

Look = Literal["identifier", "date", "constant", "code", "two-valued", "numeric", "categorical"]

_PROTECTED = r"race|ethnic|sex|gender|religio|disab|national|native|citizen|skin|orientation"
_PREDICTION = r"pred|y_hat|yhat|decision|approved|granted|admitted|hired|selected|flagged|high_risk|classified"
_LABEL = r"label|target|outcome|truth|actual|observed|y_true|default|repaid|recid|fraud|churn|diagnos|^y$|^class$"
_SCORE = r"score|prob(a|ability)?$"
_BIAS = r"error|residual|false_pos|false_neg|misclass|mistake"
_IDENTIFIER = r"(^|_)(id|uuid|guid|key|index|nr|no|number)$|^unnamed"
_CODE = r"zip|postal|postcode|(^|_)code$|region|district|branch"
_DATE = r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
_NO_FEATURES: dict[Look, str] = {
    "identifier": "looks like an identifier",
    "date": "holds dates: years if it is included, or ages (source.ages)",
    "constant": "has one value only",
}
_NO_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_FEW = 20
_SAMPLE = 200
_LONGEST = 200


@dataclass(frozen=True)
class Seen:
    """What a column looks like."""

    name: str
    look: Look
    levels: int

    def called(self, pattern: str) -> bool:
        """Whether its name matches a pattern."""
        return re.search(pattern, self.name, flags=re.IGNORECASE) is not None


@dataclass(frozen=True)
class Guess:
    """What is measured per person: a column, or something made of label and prediction; neither: nobody knows."""

    column: str | None = None
    derive: str | None = None
    label: str | None = None
    prediction: str | None = None
    positive: Sequence[Any] = ()


def write_spec(data: str, out: Path | None) -> str:
    """Write a specification for a table.

    Parameters
    ----------
    data : str
    out : Path, optional
        Default: the table's name with ``.yaml``, in the working directory.

    Returns
    -------
    str
        What was done, and what comes next.

    Raises
    ------
    SourceError
        When the table cannot be read.
    OutputError
        When the file exists or cannot be written.
    """
    frame = read_table(_source(data))
    target = out or Path(f"{name_of(data)}.yaml")
    text = spec_text(frame, name_of(data), _beside(data, target))
    try:
        _write_new(target, text)
    except FileExistsError:
        raise OutputError(f"{target} exists and is not overwritten. Name another file with --out.") from None
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}.") from None
    todo = text.count("TODO")
    first = f"look at the {todo} TODO in it, then run" if todo else "check it, then run"
    return f"Wrote {target}: {first}  bdt audit {target}"


def _write_new(target: Path, text: str) -> None:
    """Write a file where there is none, whole or not at all, with the folders that it lacks."""
    lacks = [one for one in target.parents if not one.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                target.unlink()
                raise
    except BaseException:
        with suppress(OSError):  # a folder goes only if it is empty
            for folder in lacks:
                folder.rmdir()
        raise


def _source(data: str) -> Source:
    try:
        return Source(path=data)
    except ValidationError as error:
        reason = str(error.errors(include_url=False)[0]["msg"]).removeprefix("Value error, ")
        raise SpecError(f"DATA cannot be {data[:_LONGEST]}: {reason}.") from None


def spec_text(frame: pd.DataFrame, name: str, path: str) -> str:
    """The specification as commented YAML.

    Examples
    --------
    >>> table = pd.DataFrame({"age": range(40), "sex": ["f", "m"] * 20, "wrong_error": [0.5, 1.5, 2.0, 4.0] * 10})
    >>> lines = spec_text(table, "loans", "loans.csv").splitlines()
    >>> [line for line in lines if line.startswith("  column:")]
    ['  column: wrong_error  # TODO: is this to be measured?']
    """
    columns = [look_at(frame[column]) for column in frame.columns]
    notes = ReadingNotes.of(frame.attrs)
    protected = [one for one in columns if one.called(_PROTECTED) and one.look in ("categorical", "two-valued", "code")]
    rest = [one for one in columns if one not in protected]
    bias = _bias_variable(rest, frame)
    features = [one for one in rest if one.name not in (bias.column, bias.label, bias.prediction)]
    excluded = _excluded(features)
    return _template().render(
        name=name,
        path=path,
        rows=len(frame),
        columns=columns,
        bias=bias,
        features=features,
        kept=[one for one in features if one.name not in excluded],
        excluded=excluded,
        protected=protected,
        protected_levels={one.name: _levels(frame[one.name]) for one in protected},
        numbers=[one.name for one in features if one.look == "numeric"],
        languages=LANGUAGES,
        asked=[printable(one) for one in notes.questions.values()],
        told=[printable(one) for one in notes.told],
    )


def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("bdt_pipeline", "commands")
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["quoted"] = _quoted
    environment.filters["level_line"] = lambda level: f"{_in_quotes(level)}: WORDS"
    environment.filters["count_line"] = lambda level: f"{_in_quotes(level)}: 0"
    environment.filters["json"] = _in_quotes
    return environment.get_template("spec.yaml.jinja")


def look_at(column: pd.Series) -> Seen:
    """What a column looks like: its type and number of values decide, its name only where they leave it open."""
    name = str(column.name)
    levels = int(column.nunique())
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    seen = Seen(name, "numeric", levels)
    if levels + bool(column.isna().any()) <= 1:
        look: Look = "constant"
    elif pd.api.types.is_datetime64_any_dtype(column.dtype) or (not numeric and _holds_dates(column)):
        look = "date"
    elif levels == 2:
        look = "two-valued"
    elif not numeric:
        look = "identifier" if looks_like_identifier(levels, len(column)) else "categorical"
    elif pd.api.types.is_integer_dtype(column.dtype) and (_is_a_count_of_rows(column) or _is_an_id(seen, column)):
        look = "identifier"
    else:
        look = "code" if seen.called(_CODE) else "numeric"
    return Seen(name, look, levels)


def _bias_variable(columns: Sequence[Seen], frame: pd.DataFrame) -> Guess:
    two = [one for one in columns if one.look == "two-valued"]
    numbers = [one for one in columns if one.look == "numeric"]
    for candidates, derive in ((two, "error"), (numbers, "absolute_error")):
        prediction = _first(candidates, _PREDICTION)
        label = _label(prediction, candidates)
        if label and prediction:
            positive = _positive(frame, label, prediction) if derive == "error" else []
            return Guess(derive=derive, label=label.name, prediction=prediction.name, positive=positive)
    measured = _first([one for one in columns if one.look in ("two-valued", "numeric")], _BIAS)
    is_number = measured is not None and pd.api.types.is_numeric_dtype(frame[measured.name].dtype)
    return Guess(column=measured.name if measured and is_number else None)


def _label(prediction: Seen | None, candidates: Sequence[Seen]) -> Seen | None:
    """The outcome that a prediction is about: what it is named after, else what is named like an outcome."""
    if prediction is None:
        return None
    others = [one for one in candidates if one is not prediction and not one.called(_PREDICTION)]
    namesake = [one for one in others if one.name.lower() in prediction.name.lower()]
    return namesake[0] if namesake else _first(others, _LABEL)


def _positive(frame: pd.DataFrame, *columns: Seen) -> list[Any]:
    """The values that may count as positive, where it is not 1."""
    values = {one.name: sorted(frame[one.name].dropna().unique().tolist(), key=str) for one in columns}
    if all(set(one) <= {0, 1} for one in values.values()):
        return []
    return list(dict.fromkeys(one[-1] for one in values.values()))


def _excluded(columns: Sequence[Seen]) -> dict[str, str]:
    """Columns that cannot tell people apart, with the reason."""
    excluded = {one.name: _NO_FEATURES[one.look] for one in columns if one.look in _NO_FEATURES}
    outcomes = [one for one in columns if one.called(f"{_LABEL}|{_PREDICTION}|{_SCORE}")]
    return excluded | {one.name: "looks like an outcome or a score, not like a trait" for one in outcomes}


def _levels(column: pd.Series) -> list[str]:
    """The most frequent levels, as texts."""
    return [printable(str(level)) for level in column.value_counts().index[:_FEW]]


def _first(columns: Sequence[Seen], pattern: str) -> Seen | None:
    return next((one for one in columns if one.called(pattern)), None)


def _is_an_id(seen: Seen, column: pd.Series) -> bool:
    return seen.called(_IDENTIFIER) and seen.levels > max(_FEW, len(column) / 2)


def _is_a_count_of_rows(column: pd.Series) -> bool:
    steps = column.sort_values().diff().dropna()
    return len(column) > _FEW and bool((steps == 1).all())


def _holds_dates(column: pd.Series) -> bool:
    texts = column.dropna().head(_SAMPLE).astype(str)
    return len(texts) > 0 and bool(texts.str.match(_DATE).all())


def _beside(data: str, target: Path) -> str:
    """The table's path as seen from the specification, which is where it is looked up."""
    if ":" in data.split("/")[0] or Path(data).is_absolute():
        return data
    return Path(os.path.relpath(data, target.parent)).as_posix()


def _quoted(text: str) -> str:
    """A YAML scalar; quoted unless it is a plain word."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) and text.lower() not in _NO_WORDS
    return text if plain else _in_quotes(text)


def _in_quotes(value: Any) -> str:
    """As JSON, which YAML reads; what controls a terminal or turns the direction of writing stands as escapes."""
    return escaped_in_json(json.dumps(value, ensure_ascii=False))
