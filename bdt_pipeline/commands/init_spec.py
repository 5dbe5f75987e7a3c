"""``bdt init``: look at a table and write a commented specification."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from bdt_core.errors import OutputError
from bdt_core.spec import Source
from bdt_core.table.roles import looks_like_identifier
from bdt_core.table.sources import read_table
from bdt_pipeline.commands.run_audit import name_of

Look = Literal["identifier", "date", "constant", "code", "two-valued", "numeric", "categorical"]

_PROTECTED = r"race|ethnic|sex|gender|religio|disab|national|native|citizen|skin|orientation"
_PREDICTION = r"pred|y_hat|yhat|decision|approved|granted|admitted|hired|selected|flagged|high_risk|classified"
_LABEL = r"label|target|outcome|truth|actual|observed|y_true|default|repaid|recid|fraud|churn|diagnos|^y$|^class$"
_SCORE = r"score|prob(a|ability)?$"
_BIAS = r"error|residual|false_pos|false_neg|misclass|mistake"
_IDENTIFIER = r"(^|_)(id|uuid|guid|key|index|nr|no|number)$|^unnamed"
_CODE = r"zip|postal|postcode|(^|_)code$|region|district|branch"
_DATE = r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
_FEW = 20
_SAMPLE = 200


@dataclass(frozen=True)
class Seen:
    """What a column looks like."""

    name: str
    look: Look
    levels: int

    def called(self, pattern: str) -> bool:
        """Whether its name matches a pattern."""
        return re.search(pattern, self.name, flags=re.IGNORECASE) is not None


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
    frame = read_table(Source(path=data))
    target = out or Path(f"{name_of(data)}.yaml")
    text = spec_text(frame, name_of(data), _beside(data, target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{target} exists and is not overwritten. Name another file with --out.") from None
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}.") from None
    todo = text.count("TODO")
    first = f"look at the {todo} TODO in it, then run" if todo else "check it, then run"
    return f"Wrote {target}: {first}  bdt audit {target}"


def spec_text(frame: pd.DataFrame, name: str, path: str) -> str:
    """The specification as commented YAML.

    Examples
    --------
    >>> table = pd.DataFrame({"age": range(40), "sex": ["f", "m"] * 20, "wrong_error": [0.5, 1.5, 2.0, 4.0] * 10})
    >>> lines = spec_text(table, "loans", "loans.csv").splitlines()
    >>> [line for line in lines if "column:" in line]
    ['  column: wrong_error  # TODO: is this to be measured?']
    """
    columns = [look_at(frame[column]) for column in frame.columns]
    lines = [
        f"# Bias audit of {path}: {len(frame):,} rows, {len(columns)} columns.",
        "# Every key, with its meaning: bdt schema",
        f"name: {name}",
        f"source: {{path: {_quoted(path)}}}",
        "",
    ]
    protected = [one for one in columns if one.called(_PROTECTED) and one.look in ("categorical", "two-valued", "code")]
    rest = [one for one in columns if one not in protected]
    used, bias_lines = _bias_variable(rest, frame)
    lines += bias_lines
    lines += [
        "# Do people want a positive prediction (as in granted) or a negative one (as in refused)? Limits that depend",
        "# on it, such as four_fifths_ratio and disparate_impact, need one of these lines:",
        "# favourable: positive",
        "# favourable: negative",
        "",
    ]
    lines += _features([one for one in rest if one.name not in used])
    lines += _protected(protected)
    lines += [
        "gate:",
        "  # How much worse than everybody else may the most deviating group fare? (0.05: five percentage points;",
        "  # without max_difference a default that fits the bias variable)",
        "  - {check: worst_cluster}",
        "  # The same of any intersection of conditions, such as young women:",
        "  # - {check: worst_slice, max_difference: 0.1}",
    ]
    if protected:
        lines += [
            "  # A limit on declared groups, lowest over highest share of favourable predictions; others: bdt schema",
            f"  # - {{metric: four_fifths_ratio, facet: {_quoted(protected[0].name)}, min: 0.8}}",
        ]
    return "\n".join(lines) + "\n"


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


def _bias_variable(columns: Sequence[Seen], frame: pd.DataFrame) -> tuple[set[str], list[str]]:
    """Columns that it uses up, and the lines."""
    head = ["bias_variable:"]
    tail = ["  better: lower  # TODO: are people better off with a lower or a higher value?", ""]
    two = [one for one in columns if one.look == "two-valued"]
    numbers = [one for one in columns if one.look == "numeric"]
    for candidates, derive in ((two, "error"), (numbers, "absolute_error")):
        prediction = _first(candidates, _PREDICTION)
        label = _label(prediction, candidates)
        if label and prediction:
            return {label.name, prediction.name}, [
                *head,
                f"  derive: {derive}  # TODO: or false_positive_rate, false_negative_rate, ... (bdt schema lists them)",
                f"  label: {_quoted(label.name)}  # TODO: is this what really happened?",
                f"  prediction: {_quoted(prediction.name)}  # TODO: is this what the algorithm said?",
                *(_positive(frame, label, prediction) if derive == "error" else []),
                *tail,
            ]
    measured = _first([one for one in columns if one.look in ("two-valued", "numeric")], _BIAS)
    if measured and pd.api.types.is_numeric_dtype(frame[measured.name].dtype):
        return {measured.name}, [*head, f"  column: {_quoted(measured.name)}  # TODO: is this to be measured?", *tail]
    return set(), [
        *head,
        "  # TODO: name a numeric column that is to be measured per person, or, instead of column:",
        "  # derive: error",
        "  # label: COLUMN_WITH_WHAT_HAPPENED",
        "  # prediction: COLUMN_WITH_WHAT_THE_ALGORITHM_SAID",
        "  column: TODO",
        *tail,
    ]


def _label(prediction: Seen | None, candidates: Sequence[Seen]) -> Seen | None:
    """The outcome that a prediction is about: what it is named after, else what is named like an outcome."""
    if prediction is None:
        return None
    others = [one for one in candidates if one is not prediction and not one.called(_PREDICTION)]
    namesake = [one for one in others if one.name.lower() in prediction.name.lower()]
    return namesake[0] if namesake else _first(others, _LABEL)


def _positive(frame: pd.DataFrame, *columns: Seen) -> list[str]:
    """Which value counts as positive, where it is not 1."""
    values = {one.name: sorted(frame[one.name].dropna().unique().tolist(), key=str) for one in columns}
    if all(set(one) <= {0, 1} for one in values.values()):
        return []
    chosen = list(dict.fromkeys(one[-1] for one in values.values()))
    return [f"  positive: {json.dumps(chosen, ensure_ascii=False)}  # TODO: which values count as positive?"]


def _features(columns: Sequence[Seen]) -> list[str]:
    """Columns that may tell people apart; those that cannot are excluded, with the reason."""
    outcomes = [one for one in columns if one.called(f"{_LABEL}|{_PREDICTION}|{_SCORE}")]
    why: dict[str, str] = {
        "identifier": "looks like an identifier",
        "date": "holds dates; make a number of it, such as years, to use it",
        "constant": "has one value only",
    }
    excluded = {one.name: why[one.look] for one in columns if one.look in why}
    excluded |= {one.name: "looks like an outcome or a score, not like a trait" for one in outcomes}
    kept = {one.name: f"{one.look}, {one.levels:,} values" for one in columns if one.name not in excluded}
    codes = [one for one in columns if one.look == "code" and one.name in kept]
    width = max((len(_quoted(one.name)) for one in columns), default=0)

    def listed(notes: dict[str, str]) -> Iterator[str]:
        for name, note in notes.items():
            yield f"    - {_quoted(name).ljust(width)}  # {note}"

    lines = ["features:"]
    lines += ["  include:", *listed(kept)] if kept else ["  include: []  # TODO: no column looks like a feature"]
    lines += ["  exclude:", *listed(excluded)] if excluded else []
    lines += ["  kinds:  # numbers that are codes"] if codes else []
    lines += [f"    {_quoted(one.name)}: categorical" for one in codes]
    return [*lines, ""]


def _protected(columns: Sequence[Seen]) -> list[str]:
    note = "kept out of the search, compared with its groups afterwards"
    if not columns:
        return [f"protected: []  # {note}, e.g. [race, sex]", ""]
    return [f"protected: [{', '.join(_quoted(one.name) for one in columns)}]  # {note}", ""]


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
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) and text.lower() not in {
        "y",
        "n",
        "yes",
        "no",
        "on",
        "off",
        "true",
        "false",
        "null",
    }
    return text if plain else json.dumps(text, ensure_ascii=False)
