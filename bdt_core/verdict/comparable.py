"""Reports as they are compared: the few members that a comparison needs, read and checked once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from bdt_core import words
from bdt_core.errors import SourceError
from bdt_core.fairness.reported_groups import Groups
from bdt_core.result import READABLE_VERSIONS, Part
from bdt_core.sealed.answer import GateAnswer
from bdt_core.spec import AuditSpec
from bdt_core.spec.gate import kinds_with_plugins
from bdt_core.verdict.kinds import LimitResult

_MEND = "Name the report.json of an earlier audit."
_AGAIN = "Make it again: bdt gate SPEC --report DIR"


class _Slices(Part):
    outcome: str | None
    metric_name: str

    @property
    def measured(self) -> str:
        return self.metric_name if self.outcome is None else self.outcome


class _BiasVariable(Part):
    name: str
    unit: words.Unit


class _Measure(Part):
    derive: str | None = None
    quantile: float | None = None
    k: int | None = None
    query: str | None = None
    better: str


class _Significance(Part):
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)]


class _Near(Part):
    tolerance: float | None = None


class _Spec(Part):
    bias_variable: _Measure
    groups: _Near = _Near()
    significance: _Significance
    require: Literal["all", "majority"]


def _of_known_kinds(gate: Any) -> Any:
    """Limits of a package that is gone are left out: nothing is compared with them."""
    if not isinstance(gate, list):
        return gate
    known = kinds_with_plugins()
    return [one for one in gate if not isinstance(one, dict) or str(one.get("kind")) in known]


class ComparableReport(Part):
    """What of a report, this one or an earlier one, is compared; named as in `bdt_core.report.document`."""

    name: str
    spec: _Spec
    bias_variable: _BiasVariable
    gate: Annotated[tuple[LimitResult, ...], BeforeValidator(_of_known_kinds)]
    verdict: GateAnswer | None = None
    groups: Groups | None = None
    numeric_groups: Groups | None = None
    slices: _Slices | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any], called: str = "The report") -> Self:
        """Read a report of any version.

        Parameters
        ----------
        document : mapping
            The report, as data.
        called : str
            What a message calls it.

        Raises
        ------
        SourceError
            A member is missing, or is not what a report has there.
        """
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
        member = _short(".".join(map(str, first["loc"])))
        if first["type"] == "missing" or first["input"] is None:
            raise SourceError(f"{called} is not a whole report: {member} is missing. {_AGAIN}")
        raise SourceError(f"{called} is damaged: {member} is not what a report has there. {_AGAIN}")


def read_baseline(path: str | Path, spec: AuditSpec) -> ComparableReport:
    """Read an earlier report.json that an audit can be compared with.

    Parameters
    ----------
    path : str or Path
    spec : AuditSpec
        Of the audit that is to be compared.

    Returns
    -------
    ComparableReport

    Raises
    ------
    SourceError
        The file is missing or no JSON; the report is of another version, damaged, of another audit, or measures
        something else.
    """
    called = f"The baseline {Path(path)}"
    return baseline_of(json_of(Path(path), called, _MEND), spec, called)


def baseline_of(document: Any, spec: AuditSpec, called: str) -> ComparableReport:
    """An earlier report, as data, that an audit can be compared with; SourceError as of `read_baseline`."""
    if not isinstance(document, dict) or "schema_version" not in document:
        raise SourceError(f"{called} is no report of an audit. {_MEND}")
    if document["schema_version"] not in READABLE_VERSIONS:
        raise SourceError(
            f"{called} has version {_short(document['schema_version'])} of the report's schema; expected "
            f"{' or '.join(map(str, READABLE_VERSIONS))}. {_AGAIN}"
        )
    if document.get("publication") is not None:
        raise SourceError(
            f"{called} is a form for publication, whose numbers are rounded. Name the report.json that the audit wrote "
            "without --for publication."
        )
    report = ComparableReport.of(document, called)
    if report.name != spec.name:
        raise SourceError(
            f'{called} is of the audit "{_short(report.name)}", not of "{spec.name}". Name a report of the same audit.'
        )
    _check_same_measure(report, spec, called)
    return report


def _check_same_measure(report: ComparableReport, spec: AuditSpec, called: str) -> None:
    """Columns may be renamed, as for a new model; what is measured, and which way is worse, must stay."""
    before_and_now = report.spec.bias_variable, spec.bias_variable
    for key in ("derive", "quantile", "k", "query", "better"):
        before, now = (getattr(one, key) for one in before_and_now)
        if key == "query":  # which column it is may change, too
            before, now = ("not given" if one is None else "given" for one in (before, now))
        if before != now:
            raise SourceError(
                f"{called} measures something else: its bias_variable.{key} is {_short(before)}, that of the "
                f"specification {_short(now)}. {_AGAIN}"
            )
    tolerances = report.spec.groups.tolerance, spec.groups.tolerance
    if None not in tolerances and tolerances[0] != tolerances[1]:
        raise SourceError(
            f"{called} measures something else: its groups.tolerance is {tolerances[0]:g}, that of the specification "
            f"{tolerances[1]:g}. {_AGAIN}"
        )
    if report.groups is None or not spec.facets:
        return
    before, now = report.groups.favourable or "positive", spec.favourable_outcome or "positive"
    if before != now:
        raise SourceError(
            f"{called} measures something else: it counts {_short(before)} outcomes as favourable, the specification "
            f"{now} ones. {_AGAIN}"
        )


def json_of(file: Path, called: str, mend: str) -> Any:
    """What a file holds that should be a report.

    Raises
    ------
    SourceError
        The file is missing or no JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise SourceError(f"{called} cannot be read: {error.strerror or error}. {mend}") from None
    except (ValueError, RecursionError):
        raise SourceError(f"{called} is not valid JSON. {mend}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _short(x: Any) -> str:
    """A value of a file that may hold anything, for a message."""
    return str(words.printable(str(x)))[:40]
