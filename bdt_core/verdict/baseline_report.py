"""An earlier report: reading it, and finding in it what a limit is on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bdt_core import words
from bdt_core.errors import SourceError
from bdt_core.metrics import GATE_METRICS
from bdt_core.result import SCHEMA_VERSION
from bdt_core.spec import AuditSpec
from bdt_core.verdict.baseline_change import Measured

Document = dict[str, Any]
_NEEDED = {"name": str, "spec": dict, "bias_variable": dict, "gate": list}
_MEND = "Name the report.json of an earlier audit."
_AGAIN = "Make it again: bdt gate SPEC --report DIR"


def read_baseline(path: str | Path, spec: AuditSpec) -> Document:
    """Read an earlier report.json that an audit can be compared with.

    Parameters
    ----------
    path : str or Path
    spec : AuditSpec
        Of the audit that is to be compared.

    Returns
    -------
    dict

    Raises
    ------
    SourceError
        The file is missing or no JSON; the report is of another version, of another audit, or measures something else.
    """
    file = Path(path)
    found = _json(file)
    if not isinstance(found, dict) or "schema_version" not in found:
        raise SourceError(f"The baseline {file} is no report of an audit. {_MEND}")
    if found["schema_version"] != SCHEMA_VERSION:
        raise SourceError(
            f"The baseline {file} has version {_short(found['schema_version'])} of the report's schema; expected "
            f"{SCHEMA_VERSION}. {_AGAIN}"
        )
    unfit = [key for key, kind in _NEEDED.items() if not isinstance(found.get(key), kind)]
    if unfit:
        raise SourceError(f"The baseline {file} is not a whole report: {', '.join(unfit)} is missing. {_AGAIN}")
    if found["name"] != spec.name:
        raise SourceError(
            f'The baseline {file} is of the audit "{_short(found["name"])}", not of "{spec.name}". '
            "Name a report of the same audit."
        )
    _check_same_measure(file, found, spec)
    return found


def values_of(limit: Document, document: Document) -> dict[str | None, Measured]:
    """What a limit on declared groups is on, in any report: by group, each with its own interval.

    Parameters
    ----------
    limit : dict
        A result of the gate, of kind metric.
    document : dict
        A report.

    Returns
    -------
    dict
        None stands for all groups together. Groups with too few rows, and undefined values, are not there.
    """
    facet = _facet(limit, document)
    if facet is None:
        return {}
    name = GATE_METRICS[limit["metric"]]
    found: dict[str | None, Measured | None] = {}
    if name == "bias_score":
        score = facet["bias_score"] or {}
        found[None] = measured(score.get("score"), score.get("low"), score.get("high"))
    for one in facet["ranges"]:
        if one["metric"] == name:
            found[None] = measured(one["estimate"], one["low"], one["high"])
    for metric in (*facet["against_reference"], *facet["clarify"]):
        if metric["metric"] == name:
            for value in metric["values"]:
                found.setdefault(value["group"], measured(value["estimate"], value["low"], value["high"]))
    for group in facet["groups"]:
        rate = (group["rates"] or {}).get(name)
        if rate is not None:
            found.setdefault(group["group"], measured(rate["estimate"], rate["low"], rate["high"]))
    few = {name for one in document["gate"] if one["check"] == limit["check"] for name in one.get("left_out", ())}
    return {group: one for group, one in found.items() if one is not None and group not in few}


def reference_of(limit: Document, document: Document) -> str | None:
    """The group that a rate is compared with, where the limit is on such a comparison."""
    facet = _facet(limit, document)
    name = GATE_METRICS[limit["metric"]]
    if facet is None or all(one["metric"] != name for one in facet["against_reference"]):
        return None
    return str(facet["reference"])


def measured(value: Any, low: Any, high: Any) -> Measured | None:
    """Numbers as a report has them, where infinities are words; None without a value.

    Examples
    --------
    >>> measured("Infinity", 2.5, None), measured(None, None, None)
    (Measured(value=inf, low=2.5, high=None), None)
    """
    if value is None:
        return None
    return Measured(float(value), None if low is None else float(low), None if high is None else float(high))


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise SourceError(f"The baseline {file} cannot be read: {error.strerror or error}. {_MEND}") from None
    except (ValueError, RecursionError):
        raise SourceError(f"The baseline {file} is not valid JSON. {_MEND}") from None


def _check_same_measure(file: Path, found: Document, spec: AuditSpec) -> None:
    """Columns may be renamed, as for a new model; what is measured, and which way is worse, must stay."""
    before = found["spec"].get("bias_variable", {})
    for key in ("derive", "better"):
        now = getattr(spec.bias_variable, key)
        if before.get(key) != now:
            raise SourceError(
                f"The baseline {file} measures something else: its bias_variable.{key} is {_short(before.get(key))}, "
                f"that of the specification {_short(now)}. {_AGAIN}"
            )
    alpha = found["spec"].get("significance", {}).get("alpha")
    if not isinstance(alpha, float) or not 0 < alpha < 1:
        raise SourceError(f"The baseline {file} is not a whole report: significance.alpha is missing. {_AGAIN}")


def _facet(limit: Document, document: Document) -> Document | None:
    groups = document.get("groups")
    facets: list[Document] = groups["facets"] if groups else []
    return next((one for one in facets if one["facet"] == limit["facet"]), None)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _short(x: Any) -> str:
    """A value of a file that may hold anything, for a message."""
    return str(words.printable(str(x)))[:40]
