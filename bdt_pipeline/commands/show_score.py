"""``bdt score``: the composite score of rates given by hand."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bdt_core import words
from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.score_calculator import bias_score_from_rates
from bdt_core.fairness.score_parts import PARTS, BiasScore, PartName, factors, severity_of

_WIDTH = 100
_COLUMNS: dict[str, PartName] = {
    "tpr": "true_positive_rate",
    "fpr": "false_positive_rate",
    "positive_rate": "selection_rate",
    "score": "mean_score",
}
_NAMES: dict[PartName, str] = {
    "selection_rate": "positive predictions",
    "true_positive_rate": "true positive rate",
    "false_positive_rate": "false positive rate",
    "mean_score": "mean score",
}
_DIRECTION = (
    "Higher is worse; 0 means that all groups have the same rates. Where a positive prediction is good for people, the "
    "group with fewer of them and the lower true positive rate is worse off; where it is bad, as a suspicion, the "
    "group with more of them and the higher false positive rate."
)

Given = dict[str, list[float]]


def rates_of(options: Mapping[str, float | None], table: Path | None) -> tuple[Given, list[str], list[int] | None]:
    """Rates by name, names of the groups, and rows if they are known.

    Parameters
    ----------
    options : mapping
        Of groups A and B: `tpr_a`, `tpr_b`, `fpr_a`, ..., and rows `n_a`, `n_b`.
    table : Path, optional
        Any number of groups instead, in the columns group, tpr, fpr, positive_rate, score and, if there is to be an
        interval, n.

    Raises
    ------
    SpecError
        Options or columns that are missing or out of range, by name.
    SourceError
        The table cannot be read.
    """
    if table is None:
        return _of_two(options)
    both = [_option(name) for name, value in options.items() if value is not None]
    if both:
        raise SpecError(f"--groups brings the rates of all groups. Leave out {', '.join(both)}.")
    return _of_table(table)


def score_of(
    given: Given, names: Sequence[str], rows: Sequence[int] | None, weights: tuple[float, float, float]
) -> BiasScore:
    """The score of rates that have been read."""
    return bias_score_from_rates(
        true_positive_rates=given["tpr"],
        false_positive_rates=given["fpr"],
        selection_rates=given["positive_rate"],
        mean_scores=given["score"],
        weights=weights,
        groups=names,
        rows=rows,
    )


def score_as_json(result: BiasScore) -> str:
    """The score as JSON."""
    return json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


def score_in_words(result: BiasScore, given: Given) -> str:
    """The score as a table and sentences."""
    assert result.score is not None
    assert result.severity is not None
    head = f"Bias Detection Score {result.score:.4f} of 1: {result.severity}"
    lines = [*_ratio(result), *_uncertainty(result), _DIRECTION, *(f"Warning: {one}" for one in result.warnings)]
    return "\n".join([head, "", *_table(result, given), "", *(textwrap.fill(one, _WIDTH) for one in lines)])


def _table(result: BiasScore, given: Given) -> list[str]:
    """One line per part; signed and with both rates for two groups, else with the groups that it lies between."""
    two = len(result.groups) == 2
    rates = {part: given[name] for name, part in _COLUMNS.items()}
    scored_parts = {part.name: part for part in result.parts}
    weight = dict(zip(PARTS, factors(result.weights), strict=True))
    totals = {
        "Demographic parity (DPD)": (result.demographic_parity_difference, PARTS[:1], result.weights[0]),
        "Equalized odds (EOD)": (result.equalized_odds_difference, PARTS[1:3], result.weights[1]),
        "Calibration (CD)": (result.calibration_difference, PARTS[3:], result.weights[2]),
    }
    rows = [("", *(result.groups if two else ("lowest", "highest")), f"{result.groups[0]} less {result.groups[1]}"
             if two else "", "difference", "weight", "adds", "severity")]  # fmt: skip
    for name, (value, parts, share) in totals.items():
        assert value is not None
        rows.append((name, "", "", "", f"{value:.4f}", f"{share:.3f}", f"{share * value:.4f}", severity_of(value)))
        for part in parts:
            scored = scored_parts[part]
            if two:
                ends = (f"{rates[part][0]:.4f}", f"{rates[part][1]:.4f}")
            else:
                ends = (f"{scored.lowest} {min(rates[part]):.4f}", f"{scored.highest} {max(rates[part]):.4f}")
            signed = f"{scored.signed:+.4f}".replace("-", words.MINUS) if scored.signed is not None else ""
            adds = f"{weight[part] * scored.value:.4f}" if len(parts) > 1 else ""
            rows.append((f"  {_NAMES[part]}", *ends, signed, f"{scored.value:.4f}" if len(parts) > 1 or not two else "",
                         f"{weight[part]:.4f}" if len(parts) > 1 else "", adds, ""))  # fmt: skip
    return _aligned(rows)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns side by side; the first and the last to the left, numbers to the right; empty columns drop out."""
    kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows)]
    width = {i: max(len(row[i]) for row in rows) for i in kept}
    left = (kept[0], kept[-1])
    return [
        "  ".join(row[i].ljust(width[i]) if i in left else row[i].rjust(width[i]) for i in kept).rstrip()
        for row in rows
    ]


def _ratio(result: BiasScore) -> list[str]:
    two = len(result.groups) == 2
    what = f"{result.groups[1]} over {result.groups[0]}" if two else "lowest over highest"
    name = f"Disparate impact ratio ({what} positive predictions)"
    ratio = result.disparate_impact_ratio
    if ratio is None:
        return [f"{name}: undefined, nobody has a positive prediction."]
    if math.isinf(ratio):
        return [f"{name}: infinite, group {result.groups[0]} has no positive prediction."]
    against = f" against group {result.groups[1]}" if two else ""
    verdict = f"below 4/5, adverse impact is indicated{against}" if result.adverse_impact else "not below 4/5"
    if two and 4.0 * ratio - 1e-12 > 5.0:
        verdict += (
            f", but its inverse {1.0 / ratio:.4f} is: adverse impact is indicated against group {result.groups[0]}"
        )
    return [f"{name}: {ratio:.4f}, {verdict}."]


def _uncertainty(result: BiasScore) -> list[str]:
    if result.low is None or result.high is None or result.noise_high is None:
        return ["Without numbers of rows (--n-a, --n-b) nobody can tell this score from chance."]
    assert result.confidence is not None
    assert result.score is not None
    above = "above" if result.score > result.noise_high else "not above"
    return [
        f"{result.confidence * 100:.4g} % interval: {result.low:.4f} to {result.high:.4f}.",
        f"Noise floor: with no bias at all, groups of this size score {result.noise_mean:.4f} on average and up to "
        f"{result.noise_high:.4f} in 95 % of cases. This score is {above} it ({words.p_value(result.p_value)}).",
        "How far scores vary within a group is not known; the widest possible spread is taken.",
    ]


def _of_two(options: Mapping[str, float | None]) -> tuple[Given, list[str], list[int] | None]:
    columns = [f"{name}_{group}" for name in _COLUMNS for group in "ab"]
    missing = [_option(name) for name in columns if options.get(name) is None]
    if missing:
        raise SpecError(f"Missing: {', '.join(missing)}. Every rate is needed for both groups, as in 0.85.")
    given: Given = {name: [] for name in _COLUMNS}
    for name in _COLUMNS:
        for group in "ab":
            given[name].append(_rate(options[f"{name}_{group}"], _option(f"{name}_{group}")))
    rows = [options.get("n_a"), options.get("n_b")]
    if rows == [None, None]:
        return given, ["A", "B"], None
    if None in rows:
        raise SpecError("Give --n-a and --n-b together, or neither.")
    return given, ["A", "B"], [_rows(one, _option(f"n_{group}")) for one, group in zip(rows, "ab", strict=True)]


def _of_table(path: Path) -> tuple[Given, list[str], list[int] | None]:
    from bdt_core.table.sources import read_table

    frame = read_table(path)
    known = ["group", *_COLUMNS, "n"]
    missing = [name for name in known[:-1] if name not in frame.columns]
    if missing:
        near = did_you_mean(missing[0], map(str, frame.columns))
        raise SpecError(f"{path} has no column {', '.join(missing)}. {near} Expected: {', '.join(known)} (n may lack).")
    unknown = [str(name) for name in frame.columns if name not in known]
    if unknown:
        raise SpecError(f"{path}: column {', '.join(unknown)} is not known. Expected: {', '.join(known)}.")
    names = [str(one) for one in frame["group"]]
    repeated = sorted({one for one in names if names.count(one) > 1})
    if repeated:
        raise SpecError(f"{path}: group {', '.join(repeated[:5])} stands there more than once. Names must differ.")

    def column(name: str) -> list[Any]:
        return frame[name].tolist()

    given = {
        name: [_rate(one, f"{path}, group {group}: {name}") for one, group in zip(column(name), names, strict=True)]
        for name in _COLUMNS
    }
    if "n" not in frame.columns:
        return given, names, None
    rows = [_rows(one, f"{path}, group {group}: n") for one, group in zip(column("n"), names, strict=True)]
    return given, names, rows


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _rate(value: Any, where: str) -> float:
    try:
        rate = float(value)
    except (TypeError, ValueError):
        raise SpecError(f"{where} must be a number between 0 and 1, such as 0.85.") from None
    if not 0.0 <= rate <= 1.0:
        given = "nothing" if math.isnan(rate) else f"{rate:g}"
        raise SpecError(f"{where} must lie between 0 and 1; found {given}. Write 85 % as 0.85.")
    return rate


def _rows(value: Any, where: str) -> int:
    try:
        rows = float(value)
    except (TypeError, ValueError):
        rows = math.nan
    if not (math.isfinite(rows) and rows >= 1 and rows.is_integer()):
        raise SpecError(f"{where} must be a whole number of rows, 1 or more.")
    return int(rows)
