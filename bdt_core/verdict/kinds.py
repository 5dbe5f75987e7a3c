"""Kinds of limit: one entry has all that the product knows of a kind, and everybody loops over the table of them.

The gate judges by it, the report, its forms, the dossier and a form for publication say it, Dagster has its check. None
of them asks for a kind by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_type_hints,
)

from bdt_core import words
from bdt_core.errors import SpecError
from bdt_core.said import TRANSLATED, joined, of_ours, say
from bdt_core.spec import GateLimit
from bdt_core.spec.gate import KINDS_OF_LIMIT, kinds_with_plugins
from bdt_core.spec.registered import Registered
from bdt_core.spec.wording import wording
from bdt_core.verdict.evidence import SearchedLimitOutcome, WorstCase, by_all_evidence
from bdt_core.verdict.judge import Evidence, LimitOutcome, Tolerated
from bdt_core.verdict.scope import Scope, width_of
from bdt_core.verdict.words import clauses, sentences

if TYPE_CHECKING:
    from bdt_core.calibration import Calibration
    from bdt_core.declared import DeclaredOutcomes
    from bdt_core.fairness.declared_groups import GroupMetrics, GroupScores
    from bdt_core.fairness.selection_rules import SelectionRules
    from bdt_core.groups.scan.results import WorstGroups
    from bdt_core.groups.slices.results import Slices
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.ranking import Findings
    from bdt_core.significance.clusters import ClusterSignificance
    from bdt_core.table.measured import MeasuredOutcome

LimitT = TypeVar("LimitT", bound=GateLimit)
OutcomeT = TypeVar("OutcomeT", bound=LimitOutcome)
SearchedT = TypeVar("SearchedT", bound=SearchedLimitOutcome)

_ALWAYS_PUBLISHED = frozenset(
    {"kind", "check", "verdict", "blocks", "inconclusive", "confidence", "severity", "scope", "reopened_by"}
)
_DIGITS_PUBLISHED = 3


class AuditResults(Protocol):
    """Results that limits are held against; None for those that were not asked for."""

    @property
    def outcome(self) -> MeasuredOutcome: ...
    @property
    def significance(self) -> ClusterSignificance | None: ...
    @property
    def group_metrics(self) -> GroupMetrics | None: ...
    @property
    def group_scores(self) -> GroupScores | None: ...
    @property
    def numeric_metrics(self) -> GroupMetrics | None: ...
    @property
    def selection_rules(self) -> SelectionRules | None: ...
    @property
    def worst_groups(self) -> WorstGroups | None: ...
    @property
    def slices(self) -> Slices | None: ...
    @property
    def local_bias(self) -> LocalBias | None: ...
    @property
    def declared(self) -> DeclaredOutcomes | None: ...
    @property
    def calibration(self) -> Calibration | None: ...
    @property
    def ranked(self) -> Findings | None: ...
    @property
    def blanks(self) -> WorstCase | None: ...


class Row(NamedTuple):
    """A limit in the report's table: three cells, and what stands smaller in each.

    What is to be said in the readers' language is a `bdt_core.said.Sentence`; any other text is data.
    """

    on: str
    on_note: str = ""
    allowed: str = ""
    allowed_note: str = ""
    value: str = ""
    value_note: str = ""


class OfGroups(NamedTuple):
    """What a limit on declared groups is on in a report.

    ``each`` has its own interval, and NaN where it has no value; None stands for all groups together. ``reference`` is
    the group that each is compared with, where the limit is on such a comparison.
    """

    each: tuple[Evidence[str | None], ...]
    reference: str | None


class LimitKind(ABC, Generic[LimitT, OutcomeT]):
    """A kind of limit.

    Attributes
    ----------
    limit : type
        As the specification has it.
    outcome : type
        What its judge returns, a frozen dataclass whose ``kind`` is the limit's.
    unit : str
        Of its amounts: "value" for plain numbers, "rate" for points, or words of its own around a number, as in
        ``"{n} people"``.
    about : str
        What it is on, as the end of "thresholds were tried, not by ..."; empty where thresholds are measured for it.
    compared : tuple of two str, or None
        What is compared with a baseline, and why with care. ``{measure}`` stands for what people are compared by. None:
        each of its groups is compared with itself.
    published : frozenset of str
        Members of the outcome that a form for publication keeps: none that tells how many people are in a small group.
    names_groups : tuple of str
        Members that name a declared group: they are kept where its rates stand in the form.
    is_ratio : bool
        Whether its amounts are ratios, of which 1 is equal.
    is_difference : bool
        Whether they are differences, of which 0 is equal.
    translations : mapping
        By language, what its English messages are there. Places are named by what they hold, as in the catalogues:
        ``{N}`` a number, ``{as_is}`` data, others words of ours.
    """

    limit: ClassVar[type[GateLimit]]
    outcome: ClassVar[type[LimitOutcome]]
    unit: ClassVar[str] = "value"
    about: ClassVar[str] = ""
    compared: ClassVar[tuple[str, str] | None]
    published: ClassVar[frozenset[str]] = frozenset()
    names_groups: ClassVar[tuple[str, ...]] = ()
    is_ratio: ClassVar[bool] = False
    is_difference: ClassVar[bool] = False
    translations: ClassVar[Mapping[str, Mapping[str, str]]] = {}

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.limit.kind

    @abstractmethod
    def judge(self, limit: LimitT, results: AuditResults) -> OutcomeT:
        """Hold the results against one limit."""

    @abstractmethod
    def title(self, outcome: OutcomeT) -> str:
        """What a limit is on, as the head of its row."""

    def subject(self, outcome: OutcomeT, measured: str) -> str:  # noqa: ARG002 - some say by what people are compared
        """What a limit is on, as the head of a sentence."""
        return self.title(outcome)

    def scope(self, outcome: OutcomeT) -> str:
        """What was judged and nothing else, within a sentence."""
        return self.subject(outcome, outcome.check)

    def unit_of(self, outcome: OutcomeT, unit: words.Unit) -> str:  # noqa: ARG002 - some depend on it
        """The unit of an outcome's amounts, where the bias variable's is `unit`."""
        return self.unit

    def is_ratio_of(self, outcome: OutcomeT) -> bool:  # noqa: ARG002 - some depend on it
        """Whether an outcome's amounts are ratios."""
        return self.is_ratio

    def measured(self, outcome: OutcomeT, report: Any) -> str:  # noqa: ARG002 - limits on people say by what
        """What people are compared by, where that has a name of its own in the report, typed or as data."""
        return outcome.check

    def groups_in(self, outcome: OutcomeT, report: Any) -> OfGroups:  # noqa: ARG002 - most are on no declared groups
        """What it is on in a report, typed: of each declared group by itself."""
        return OfGroups((), None)

    def compared_in_words(self, outcome: OutcomeT, report: Any) -> tuple[str, str]:
        """What is compared with a baseline, and why with care."""
        compared = self._compared_of(outcome)
        if compared is None:
            return self.title(outcome), ""
        what, caution = compared
        measure = {"measure": of_ours(self.measured(outcome, report))} if "{measure}" in what else {}
        return say("{what} ({check})", what=say(what, **measure), check=outcome.check), say(caution)

    def _compared_of(self, outcome: OutcomeT) -> tuple[str, str] | None:  # noqa: ARG002 - people may be of another search
        return self.compared

    def in_own_direction(self, outcome: OutcomeT, better: str) -> tuple[words.Number, words.Number, words.Number]:  # noqa: ARG002
        """What was found with its interval, as tables of the report tell it."""
        return outcome.estimate, outcome.low, outcome.high

    def row(self, outcome: OutcomeT, report: Any) -> Row:
        """Its row in the report's table; `report` is the typed document."""
        unit = self.unit_of(outcome, report.bias_variable.unit)
        low, high = (amount(x, unit if unit == "rate" else "value") for x in (outcome.low, outcome.high))
        return Row(
            on=self.title(outcome),
            allowed=allowed_in_words(outcome.tolerated, unit),
            value=amount(outcome.estimate, unit),
            value_note=interval_of(low, high),
        )

    def meaning(self, outcome: OutcomeT) -> str | None:  # noqa: ARG002 - most mean what the verdict does
        """What its verdict means, where that is not what the verdict means elsewhere."""
        return None

    def facts(self, outcome: OutcomeT) -> dict[str, Any]:
        """Its members, for metadata."""
        return outcome.to_dict()

    def for_publication(
        self, outcome: OutcomeT, measured: str, unit: words.Unit, groups: Mapping[str, set[str]]
    ) -> OutcomeT:
        """An outcome without any number on it and without groups that the form does not print.

        Parameters
        ----------
        outcome : LimitOutcome
        measured : str
            What people are compared by.
        unit : {"rate", "value"}
            Of the bias variable.
        groups : mapping of str to set of str
            The groups whose rates stand in the form, by grouping.
        """
        kept = _ALWAYS_PUBLISHED | self.published
        changed: dict[str, Any] = {
            each.name: () if isinstance(getattr(outcome, each.name), tuple) else None
            for each in fields(outcome)
            if each.name not in kept
        }
        changed |= self.rounded(outcome)
        named = {name: getattr(outcome, name) for name in self.names_groups}
        more: str = ""
        if (
            named
            and None not in named.values()
            and set(named.values()) <= groups.get(getattr(outcome, "facet", ""), set())
        ):
            changed |= named
            more = say("The group that decides is {as_is}.", as_is=next(iter(named.values())))
        tolerated = replace(outcome, **changed | {"sentence": ""}).tolerated
        unit_here = self.unit_of(outcome, unit)
        allowed = tolerated.allowed(lambda x: amount(x, unit_here))
        what = words.capital(of_ours(self.subject(outcome, measured)))
        known = clauses(say("{what}: {allowed}", what=what, allowed=allowed), _PUBLISHED_VERDICTS[outcome.verdict])
        return replace(outcome, **changed | {"sentence": sentences(known, more, self.caveats(outcome, changed))})

    def rounded(self, outcome: OutcomeT) -> dict[str, Any]:  # noqa: ARG002 - of most nothing is
        """Members that a form for publication has in another form."""
        return {}

    def caveats(self, outcome: OutcomeT, published: Mapping[str, Any]) -> str:  # noqa: ARG002
        """What follows its sentence in a form for publication."""
        return ""


_PUBLISHED_VERDICTS = {
    "pass": say("what was found lies within that"),
    "fail": say("what was found lies beyond that"),
    "inconclusive": say("these rows cannot tell whether that holds"),
    "not_testable": say("there are too few rows to tell"),
}


WORST_GROUP_COMPARED = (
    "Harm in {measure} of the worst group", "The worst groups of two reports may be different people."
)  # fmt: skip


class PeopleLimitKind(LimitKind[LimitT, SearchedT]):
    """A limit on how much worse off people may be who were searched for.

    Its own search answers first; then every confirmed finding is held against it, whichever search it is of.
    """

    is_difference = True
    counts_blanks: ClassVar[bool] = True
    """Whether people whose outcome is missing could break it."""

    @abstractmethod
    def by_its_own_search(self, limit: LimitT, results: AuditResults) -> SearchedT:
        """What the search says that it is about."""

    def settled(self, limit: LimitT, results: AuditResults) -> float | None:  # noqa: ARG002 - others have no certificate
        """The limit that would pass by its own search, as it is printed; None where that is not known."""
        return None

    @abstractmethod
    def scope_in(self, limit: LimitT, most: float, results: AuditResults) -> Scope:
        """Of whom it says something; `most` is the tolerated difference."""

    def judge(self, limit: LimitT, results: AuditResults) -> SearchedT:
        """Hold its own search against it, then all confirmed findings."""
        own = self.by_its_own_search(limit, results)
        blanks = results.blanks if self.counts_blanks else None
        unit = self.unit_of(own, results.outcome.unit)
        settled = self.settled(limit, results)
        return by_all_evidence(own, self.scope_in(limit, own.limit, results), results.ranked, unit, blanks, settled)

    def scope(self, outcome: SearchedT) -> str:
        """The people."""
        return outcome.scope.text if outcome.scope else outcome.check.replace("_", " ")

    def measured(self, outcome: SearchedT, report: Any) -> str:
        """The bias variable's name, unless the scope has another."""
        return outcome.scope.measured if outcome.scope else str(report.bias_variable.name)

    def unit_of(self, outcome: SearchedT, unit: words.Unit) -> str:  # noqa: ARG002 - some measure something else
        """That of the bias variable."""
        return unit

    def _compared_of(self, outcome: SearchedT) -> tuple[str, str] | None:
        """Whoever broke it may be of any search."""
        return self.compared if outcome.broken_by is None else WORST_GROUP_COMPARED

    def in_own_direction(self, outcome: SearchedT, better: str) -> tuple[words.Number, words.Number, words.Number]:
        """Harm is positive in an outcome; in tables a difference is group less the others."""
        better = (outcome.scope.better if outcome.scope else None) or better
        harm = outcome.estimate, outcome.low, outcome.high
        if better == "lower":
            return harm
        value, high, low = (None if x is None else -x + 0.0 for x in harm)
        return value, low, high

    def judged_by(self, outcome: SearchedT) -> str:  # noqa: ARG002 - each names what it found
        """What decides, where it is of its own search."""
        return ""

    def row(self, outcome: SearchedT, report: Any) -> Row:
        """With the interval; of people whom another search confirmed, with what is certain."""
        unit = self.unit_of(outcome, report.bias_variable.unit)
        on, allowed = self.title(outcome), allowed_in_words(outcome.tolerated, unit)
        if outcome.broken_by is not None:
            by = say("decisive: {people}", people=of_ours(outcome.broken_by.who))
            least = say("at least {size}", size=words.size(outcome.low, unit))
            return Row(on, by, allowed, "", say("{size} worse", size=words.size(outcome.difference, unit)), least)
        difference, low, high = self.in_own_direction(outcome, report.bias_variable.better)
        as_found = words.signed(difference, unit)
        if difference is None:
            return Row(on, self.judged_by(outcome), allowed, "", as_found)
        interval = say("[{low} to {high}]", low=words.signed(low, unit), high=words.signed(high, unit))
        amount = say("{N} points", N=as_found) if unit == "rate" else as_found
        return Row(on, self.judged_by(outcome), allowed, "", amount, interval)

    def meaning(self, outcome: SearchedT) -> str | None:
        """That it would hold, but for other people."""
        return words.REOPENED if outcome.verdict == "inconclusive" and outcome.reopened_by else None

    def rounded(self, outcome: SearchedT) -> dict[str, Any]:
        """The limit, by default a share of how much the outcome varies; and the share that is ruled out, upwards, for
        that claims less: it is a share of exactly so many rows."""
        changed: dict[str, Any] = {"limit": float(f"{outcome.limit:.{_DIGITS_PUBLISHED}g}")}
        scope = outcome.scope
        if scope is not None and scope.ruled_out_from is not None:
            changed["scope"] = replace(scope, ruled_out_from=math.ceil(scope.ruled_out_from * 100 - 1e-9) / 100)
        return changed

    def caveats(self, outcome: SearchedT, published: Mapping[str, Any]) -> str:
        """Who was not judged, and of whom it says something."""
        smaller = say("Smaller groups, which it does not judge, are proven to fare worse.")
        scope = published.get("scope", outcome.scope)
        return sentences(smaller if outcome.not_judged else "", "" if scope is None else scope.sentence)

    def shared_scope(self, limit: LimitT, most: float, results: AuditResults) -> dict[str, Any]:
        """What scopes of all limits on people have in common."""
        outcome = results.outcome
        spec = outcome.spec
        return {
            "measured": wording(spec.bias_variable).name,
            "better": spec.bias_variable.better,
            "confidence": 1.0 - spec.significance.alpha,
            "default": getattr(limit, "max_difference", 0.0) is None,
            "width": width_of(most, None if outcome.two_valued else outcome.sd),
        }


DEFAULT_LIMIT_TWO_VALUED = 0.05
DEFAULT_LIMIT_IN_SD = 0.2  # a small effect in Cohen's words


def default_limit(two_valued: bool, sd: float) -> float:
    """The difference that is tolerated where the specification names none, in units of the bias variable.

    Examples
    --------
    >>> default_limit(True, 0.5), default_limit(False, 100.0)
    (0.05, 20.0)
    """
    return DEFAULT_LIMIT_TWO_VALUED if two_valued else DEFAULT_LIMIT_IN_SD * sd


def default_difference(results: AuditResults) -> float:
    """The tolerated difference of limits that name none."""
    return default_limit(results.outcome.two_valued, results.outcome.sd)


def amount(x: words.Number, unit: str) -> str:
    """An amount in a unit; a plain number with its sign.

    Examples
    --------
    >>> amount(-0.1, "value"), amount(0.05, "rate"), amount(50, "{n} people")
    ('−0.1', '5.0 points', '50 people')
    """
    return words.number(x) if unit == "value" else words.size(x, unit)


def allowed_in_words(tolerated: Tolerated, unit: str) -> str:
    """The tolerated values, in a cell.

    Examples
    --------
    >>> allowed_in_words(Tolerated(maximum=0.05), "rate"), allowed_in_words(Tolerated(0.8, 1.25), "value")
    ('at most 5.0 points', '0.8 to 1.25')
    """
    low, high = (amount(x, unit) for x in (tolerated.minimum, tolerated.maximum))
    if tolerated.minimum is None:
        return say("at most {size}", size=high)
    if tolerated.maximum is None:
        return say("at least {size}", size=low)
    return say("{low} to {high}", low=low, high=high)


def read(outcome: Mapping[str, Any]) -> LimitOutcome:
    """What a limit says, of its data in a report."""
    return kind_named(outcome["kind"]).outcome.from_dict(dict(outcome))


def allowed_cell(outcome: Mapping[str, Any], unit: words.Unit) -> str:
    """The values that a limit of a report tolerates, in signs."""
    limit = read(outcome)
    its_unit = kind_of(limit).unit_of(limit, unit)
    if kind_of(limit).is_difference or its_unit != "value":
        return amount(limit.tolerated.maximum, its_unit)
    ends = (("≥", limit.tolerated.minimum), ("≤", limit.tolerated.maximum))
    return joined([joined([sign, amount(x, its_unit)], " ") for sign, x in ends if x is not None], " and ")


def found_in(outcome: Mapping[str, Any], unit: words.Unit) -> tuple[str, str, str]:
    """What a limit of a report found, with its interval: a difference with its sign."""
    limit = read(outcome)
    kind = kind_of(limit)
    its_unit = kind.unit_of(limit, unit)
    write = partial(words.signed if kind.is_difference else amount, unit=its_unit)
    value, low, high = (write(x) for x in (limit.estimate, limit.low, limit.high))
    return value, low, high


def interval_of(low: str, high: str) -> str:
    """An interval in the smaller line of a cell, torn apart only before its second limit; nothing without one."""
    return "" if words.NOTHING in (low, high) else say("[{low} to\u00a0{high}]", low=low, high=high)


LIMITS: dict[str, LimitKind[Any, Any]] = {}
"""All kinds of limit by name; those of other packages once they were asked for."""


def register(kind: LimitKind[Any, Any]) -> None:
    """Add a kind of limit.

    A package does so in a module that is an entry point of the group ``bdt.limits``, under the kind's name.

    Parameters
    ----------
    kind : LimitKind

    Raises
    ------
    SpecError
        A kind or a check has this name already; or a form for publication could not leave out what it has to.
    """
    taken = {check: name for name, one in KINDS_OF_LIMIT.items() for check in one.checks()}
    if kind.name in LIMITS or KINDS_OF_LIMIT.get(kind.name, kind.limit) is not kind.limit:
        raise SpecError(f'There is a kind of limit "{kind.name}" already: give {kind.limit.__name__} another `kind`.')
    clash = next((one for one in kind.limit.checks() if taken.get(one, kind.name) != kind.name), None)
    if clash is not None:
        raise SpecError(f'The check "{clash}" is of the kind of limit "{taken[clash]}": give the new one another name.')
    _can_be_published(kind)
    KINDS_OF_LIMIT[kind.name] = kind.limit
    LIMITS[kind.name] = kind
    for language, messages in kind.translations.items():
        TRANSLATED.setdefault(language, {}).update(messages)


def _can_be_published(kind: LimitKind[Any, Any]) -> None:
    """Members that are not kept become null or empty, which their types must allow."""
    hints = get_type_hints(kind.outcome)
    for each in fields(kind.outcome):
        hint = hints[each.name]
        if each.name in _ALWAYS_PUBLISHED | kind.published | {"sentence", "limit"} or type(None) in get_args(hint):
            continue
        if not str(hint).startswith("tuple"):
            raise SpecError(
                f"{kind.outcome.__name__}.{each.name} could not be left out of a form for publication: name it in "
                f"{type(kind).__name__}.published where it tells nobody's number, or let it be None."
            )


def kind_of(outcome: LimitOutcome) -> LimitKind[Any, Any]:
    """The entry of what a limit says.

    Raises
    ------
    SpecError
        The package that judged it is not there.
    """
    return kind_named(outcome.kind)


def kind_named(name: str) -> LimitKind[Any, Any]:
    """The entry of a kind of limit.

    Raises
    ------
    SpecError
        No package that is installed has it.
    """
    if name not in LIMITS:
        kinds_with_plugins()
    if name not in LIMITS:
        raise SpecError(
            f'Nobody knows the kind of limit "{name}": install the package that has it, which is an entry point of '
            f"bdt.limits. Known: {', '.join(LIMITS)}."
        )
    return LIMITS[name]


def outcome_classes() -> dict[str, type[LimitOutcome]]:
    """What judges return, by kind."""
    return {name: kind.outcome for name, kind in LIMITS.items()}


def _is_known(outcome: Any) -> None:
    if isinstance(outcome, Mapping) and "kind" in outcome:
        kind_named(str(outcome["kind"]))


LimitResult = Annotated[LimitOutcome, Registered(outcome_classes, "kind", seen=_is_known)]
"""What any limit says, as a member of other results."""


__all__ = [
    "LIMITS",
    "AuditResults",
    "LimitKind",
    "LimitResult",
    "PeopleLimitKind",
    "Row",
    "kind_named",
    "kind_of",
    "outcome_classes",
    "register",
]
