"""The proposal: every column with its look, its role and the reason, and what is measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, did_you_mean
from bdt_core.inference import minimum_detectable_difference
from bdt_core.inference.settled import settled_limit
from bdt_core.proposal.copies import copies, followers
from bdt_core.proposal.looks import FEW, Glance, Look, SeenColumn, glance, worth_a_look
from bdt_core.proposal.measured import Measured, could_be_measured, is_named_like_an_outcome, outcome_of
from bdt_core.result import Result
from bdt_core.said import Column, Numeral, Text, joined, of_ours, say
from bdt_core.spec import AuditSpec, Kind, Source, parse_spec
from bdt_core.spec.audit_spec import MOST_FEATURES
from bdt_core.spec.gate import RULED_OUT_FROM
from bdt_core.table.batches import open_batches
from bdt_core.table.bias_variable import bias_variable
from bdt_core.table.frames import AnyTable
from bdt_core.table.leaks import explained, telling_columns
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.roles import kind_of, not_searched, settle_type
from bdt_core.table.validate import audited_table, settle, type_rows
from bdt_core.vocabulary import are_groups_of_people, speaks_of
from bdt_core.words import count, printable

Role = Literal["measured", "label", "prediction", "protected", "feature", "left out"]

_NO_FEATURES: dict[Look, str] = {
    "identifier": "looks like an identifier",
    "free text": "holds free text",
    "date": "holds dates: years if it is included, or ages (source.ages)",
    "constant": "has one value only",
}
_SAID = "you said so"
_LEAK = "says what is measured, or the outcome: a leak"
_AFTERWARDS = "has a value with which everybody has the same outcome, as if known only afterwards: a leak"
_BEYOND = "is not among the first that could be features (features.at_most)"
_SPLIT_ROWS = 300
"""Below, a fifth of the rows is too little to test on; half of them are."""
_FEWEST_ROWS = 20
_GROUP = 0.1
_WANTED_MIN_ROWS = 30
_LARGE = 0.5
_MANY = 8
_NOT_BY_CHANCE = 30
"""People of the rarer outcome whom a value would have by chance, and has none of."""
_MUCH = 0.3
"""Share of the variance of the outcome, of which a column that also decides it for some people explains less when it is
a trait of theirs."""
_DECIDES = (
    '"{column}" has a value with which everybody has the same outcome: if it is known only afterwards, leave it out '
    "(features.exclude)."
)


@dataclass(frozen=True)
class ProposedColumn:
    """A column of the table.

    Attributes
    ----------
    name : str
    look : Look
    levels : int or None
        Different values; None when they are more than 65,536.
    role : Role
    reason : str
        Why it has the role, where that does not go without saying.
    kind : {"numeric", "categorical"}, optional
        What has to be said of it in ``features.kinds``.
    values : tuple of str
        Of a protected column: its most frequent values, as a report has them.
    """

    name: str
    look: Look
    levels: int | None
    role: Role
    reason: Text = ""
    kind: Kind | None = None
    values: tuple[str, ...] = ()

    @property
    def is_excluded(self) -> bool:
        """Whether it is no feature for what it is."""
        return self.role == "left out" and not self.is_leak and self.reason != _BEYOND

    @property
    def is_leak(self) -> bool:
        """Whether it is left out because it seems to say what it should not know, which nobody has decided."""
        return self.role == "left out" and self.reason in (_LEAK, _AFTERWARDS)


@dataclass(frozen=True)
class Reach:
    """What so many rows can show.

    Attributes
    ----------
    rows, test_rows : int
        That can be audited; that are kept for testing.
    share : float
        Of a group among all people.
    difference : float or None
        The smallest difference of such a group from everybody else that a test would find with a power of 80 %, in
        shares or in the unit of what is measured; None where no difference would be.
    is_rate : bool
        Whether what is measured is a share of people.
    ruled_out_from : float
        Share of the people from which on a limit on the worst group rules groups out.
    settled_limit : float or None
        Such a limit that passes, about, with all these rows where nobody fares worse; None where groups of that share
        have too few people, or for what is no share of people, whose bounds hang on its shape.
    """

    rows: int
    test_rows: int
    share: float
    difference: float | None
    is_rate: bool
    ruled_out_from: float
    settled_limit: float | None


@dataclass(frozen=True)
class Proposal(Result):
    """What a table seems to be about.

    Attributes
    ----------
    rows : int
    columns : tuple of ProposedColumn
        All, in the order of the table.
    measured : Measured
    alternatives : tuple of Measured
        What else could be measured, the likeliest first.
    doubts : tuple of str
        What a person should look at, each with how to change it.
    reach : Reach
    settings : dict
        What a table of so few rows needs of ``split`` and ``significance``; else empty.
    remarks : tuple of str
        How the table was read.
    """

    rows: int
    columns: tuple[ProposedColumn, ...]
    measured: Measured
    alternatives: tuple[Measured, ...]
    doubts: tuple[Text, ...]
    reach: Reach
    settings: dict[str, dict[str, Any]]
    remarks: tuple[Text, ...] = ()

    def of_role(self, *roles: Role) -> list[ProposedColumn]:
        """The columns that have a role."""
        return [one for one in self.columns if one.role in roles]

    def roles_in_words(self) -> Iterator[str]:
        """Which columns are protected, features and left out, and why; the longest lists are cut short."""
        for title, role in (("Protected", "protected"), ("Features", "feature")):
            names = [one.name for one in self.columns if one.role == role]
            yield f"{title}: {listed(names) if names else 'none'}."
        left_out: dict[str, list[str]] = {}
        for column in self.of_role("left out"):
            left_out.setdefault(column.reason, []).append(column.name)
        for reason, names in left_out.items():
            yield f"Left out: {listed(names)}: {reason}."

    def specification(self, name: str, source: dict[str, Any]) -> dict[str, Any]:
        """The keys of a specification that follow from it.

        Parameters
        ----------
        name : str
        source : dict
            As in the specification.
        """
        kinds = {one.name: one.kind for one in self.columns if one.kind is not None}
        return {
            "name": name,
            "source": source,
            "bias_variable": self.measured.settings.model_dump(mode="json", exclude_unset=True),
            "features": {
                "exclude": [one.name for one in self.columns if one.is_excluded],
                "leaks": [one.name for one in self.columns if one.is_leak],
                "kinds": kinds,
            },
            "protected": [one.name for one in self.of_role("protected")],
            **self.settings,
        }


def listed(names: list[str]) -> str:
    """Names of columns, the first of them where there are many."""
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more


def propose(source: Source | AnyTable) -> Proposal:
    """Say what a table seems to be about, so that it can be audited.

    Parameters
    ----------
    source : Source, DataFrame, Arrow table or dict of columns
        A file is read in blocks; all rows are counted, and what needs whole rows is looked at in a sample.

    Returns
    -------
    Proposal
        Its specification passes the reading and the validation of an audit.

    Raises
    ------
    SourceError
        The table cannot be read.
    DataError
        Nothing in it can be audited: fewer than 20 rows, or no two columns that say anything.

    Examples
    --------
    >>> table = pd.DataFrame({"nr": range(60), "Geslacht": ["m", "v"] * 30, "x": [1, 2, 4] * 20})
    >>> table["geslaagd"] = [0, 1, 1, 1, 0] * 12
    >>> found = propose(table)
    >>> found.measured.settings.column, found.measured.settings.better
    ('geslaagd', 'higher')
    >>> [(one.name, one.role) for one in found.columns]
    [('nr', 'left out'), ('Geslacht', 'protected'), ('x', 'feature'), ('geslaagd', 'measured')]
    """
    return proposed(look_at(source))


def look_at(source: Source | AnyTable, also: Collection[str] = (), at_most: int = MOST_FEATURES) -> Glance:
    """Look at a table once, so that several proposals can be made of it.

    Parameters
    ----------
    source : Source, DataFrame, Arrow table or dict of columns
    also : collection of str
        Columns that are looked at even where there are too many to look at all.
    at_most : int
        So many features, as ``features.at_most`` has it.

    Raises
    ------
    SourceError
        The table cannot be read.
    """
    with open_batches(source, choose=partial(worth_a_look, also=also, at_most=at_most)) as batches:
        return glance(batches)


def proposed(
    seen: Glance,
    measured: Measured | None = None,
    roles: Mapping[str, Role] | None = None,
    at_most: int = MOST_FEATURES,
) -> Proposal:
    """Say what a table that was looked at seems to be about.

    Parameters
    ----------
    seen : Glance
    measured : Measured, optional
        What a person wants to be measured; else the likeliest.
    roles : mapping of str to {"protected", "feature", "left out"}, optional
        What a person says of columns, whatever they look like.
    at_most : int
        So many features, as ``features.at_most`` has it.

    Raises
    ------
    DataError
        Nothing in it can be audited, or not what is wanted.

    Examples
    --------
    >>> from bdt_core.proposal import chosen
    >>> from bdt_core.spec import BiasVariable
    >>> table = pd.DataFrame({"x": [1, 2, 4, 9] * 15, "granted": [0, 1, 1, 1, 0] * 12, "repaid": [1, 0, 0] * 20})
    >>> seen = look_at(table)
    >>> wanted = chosen(BiasVariable(column="repaid"))
    >>> found = proposed(seen, wanted, {"granted": "protected"})
    >>> [(one.name, one.role, one.reason) for one in found.columns[1:]]
    [('granted', 'protected', 'you said so'), ('repaid', 'measured', '')]
    """
    said = roles or {}
    protected = _protected(seen)
    candidates = could_be_measured(seen, list(protected))
    if measured is not None:
        _refuse_useless(measured, seen)
    for candidate in candidates if measured is None else [measured]:
        proposal = _with_features(candidate, candidates, seen, protected, said, at_most)
        if proposal is not None:
            return proposal
    if said:
        raise DataError("No column is left to search in. Make at least one whose values differ a feature.")
    raise DataError(
        say(
            "Nothing in this table of {N} rows can be audited: it takes {Nleast} rows, a column of two values or of "
            "numbers that is measured, and another column whose values differ and that is no identifier. Its columns "
            "are: {list}.",
            N=count(seen.rows),
            Nleast=Numeral(_FEWEST_ROWS),
            list=joined(
                [
                    say('"{column}" ({look})', column=Column(one.name), look=of_ours(one.look))
                    for one in list(seen.columns.values())[:FEW]
                ],
                ", ",
            ),
        )
    )


def _refuse_useless(measured: Measured, seen: Glance) -> None:
    """Raise DataError where what a person wants cannot be measured."""
    settings = measured.settings
    for name in (settings.column, settings.label, settings.prediction):
        if name is not None and name not in seen.columns:
            raise DataError(f'The table has no column "{name}". {did_you_mean(name, seen.columns)}')
    outcome = bias_variable(seen.sample, settings)
    if not seen.is_whole:
        return  # what differs nowhere in a sample may differ elsewhere; the audit says it of all rows
    outcome.facts.refuse_useless(settings)
    if outcome.facts.known < _FEWEST_ROWS:
        raise DataError(
            say(
                "Only {N} rows have what is to be measured. Expected {Nleast} at least: choose another column.",
                N=count(outcome.facts.known),
                Nleast=Numeral(_FEWEST_ROWS),
            )
        )


def _protected(seen: Glance) -> dict[str, str]:
    """Columns that say which groups people belong to, and why they are taken for that.

    Classes of ages are groups. Ages in years are none by themselves: they stay features, whose every bound is searched.
    """
    reasons: dict[str, str] = {}
    for column in seen.columns.values():
        if column.look not in ("categorical", "two-valued", "code"):
            continue
        texts = [level for level in column.levels[: FEW + 1] if isinstance(level, str)]
        if column.look != "code" and 2 <= len(texts) == len(column.levels) <= FEW and are_groups_of_people(texts):
            reasons[column.name] = "its values are groups of people"
        elif (
            speaks_of(column.name, "protected")
            or (column.look == "two-valued" and speaks_of(column.name, "one group"))
            or (speaks_of(column.name, "age") and column.facts.distinct is not None and column.facts.distinct <= FEW)
        ):
            reasons[column.name] = "its name says a group of people"
    return reasons


def _with_features(
    measured: Measured,
    candidates: list[Measured],
    seen: Glance,
    protected: dict[str, str],
    said: Mapping[str, Role],
    at_most: int,
) -> Proposal | None:
    """The proposal that measures this; None where no column is left to tell people apart by, or too few people."""
    y = bias_variable(seen.sample, measured.settings).y
    known = ~np.isnan(y)
    rows = round(seen.rows * float(known.mean())) if not seen.is_whole else int(known.sum())
    if rows < _FEWEST_ROWS:
        return None
    roles: dict[str, tuple[Role, str]] = {
        name: ("measured" if name == measured.settings.column else _part(name, measured), "")
        for name in measured.columns
    }
    free = [name for name in seen.columns if name not in roles]
    roles |= _left_out(free, seen, known)
    _leave_out_copies(roles, [name for name in free if name not in roles], seen, protected)
    for name in free:
        column = seen.columns[name]
        if name in roles:
            continue
        if name in protected:
            roles[name] = ("protected", protected[name])
        elif is_named_like_an_outcome(column):
            roles[name] = ("left out", "looks like an outcome or a score, not like a trait")
        else:
            roles[name] = ("feature", "")
    doubts: list[str] = []
    roles |= _leaks(roles, measured, seen)
    roles |= _known_afterwards(roles, seen.sample[known], y[known])
    roles |= {name: (role, _SAID) for name, role in said.items() if name in free and role != roles[name][0]}
    features = [name for name in free if roles[name][0] == "feature"]  # without what an audit sets aside, too
    roles |= {name: ("left out", _BEYOND) for name in features[at_most:] if said.get(name) != "feature"}
    if not any(role == "feature" for role, _ in roles.values()):
        brought_back = {} if said else _brought_back(roles, seen, known)
        if not brought_back:
            return None
        roles |= brought_back
        doubts.append(
            say(
                "Only {list} can tell people apart, and would not have been a feature otherwise.",
                list=joined([say('"{column}"', column=Column(one)) for one in brought_back], ", "),
            )
        )
    features = [name for name, (role, _) in roles.items() if role == "feature"]
    beyond = len([name for name, (_, reason) in roles.items() if reason == _BEYOND]) + seen.unseen
    if beyond:
        doubts.append(not_searched(beyond, len(roles) + seen.unseen, at_most))
    doubts += [say(_DECIDES, column=Column(name)) for name in _deciding(features, seen.sample[known], y[known])]
    columns = tuple(_proposed(one, seen.sample[one.name], *roles[one.name]) for one in seen.columns.values())
    alternatives = tuple(one for one in candidates if outcome_of(one.settings) != outcome_of(measured.settings))
    reading = ReadingNotes.of(seen.sample.attrs)
    settings = _settings_of_few(rows)
    return Proposal(
        rows=seen.rows,
        columns=columns,
        measured=measured,
        alternatives=alternatives,
        doubts=(*_doubts(measured, columns, seen, settings), *doubts, *reading.questions.values()),
        reach=_reach(measured, seen, rows, settings),
        settings=settings,
        remarks=reading.remarks,
    )


def _part(name: str, measured: Measured) -> Role:
    return "label" if name == measured.settings.label else "prediction"


def _left_out(names: list[str], seen: Glance, known: NDArray[np.bool_]) -> dict[str, tuple[Role, str]]:
    """Columns that cannot tell people apart by themselves."""
    roles: dict[str, tuple[Role, str]] = {}
    for name in names:
        column = seen.columns[name]
        if column.look in _NO_FEATURES:
            roles[name] = ("left out", _NO_FEATURES[column.look])
        elif column.look == "unreadable":
            roles[name] = ("left out", "cannot be read without a decision of yours")
        elif _is_same(seen.sample[name][known]):
            roles[name] = ("left out", "is the same for all people who can be audited")
    return roles


def _is_same(column: pd.Series) -> bool:
    return column.nunique() + bool(column.isna().any()) <= 1


def _leave_out_copies(
    roles: dict[str, tuple[Role, str]], free: list[str], seen: Glance, protected: dict[str, str]
) -> None:
    """Leave out what says the same as another column, or follows from a protected one."""
    measured = [name for name, (role, _) in roles.items() if role != "left out"]
    groups = sorted((name for name in free if name in protected), key=lambda name: seen.columns[name].look == "code")
    groups = sorted(groups, key=lambda name: pd.api.types.is_numeric_dtype(seen.sample[name].dtype))
    order = [*measured, *groups, *(name for name in free if name not in protected)]
    for name, other in copies(seen.sample, order).items():
        if name not in measured:
            roles[name] = ("left out", say('says the same as "{column}"', column=Column(other)))
    by_size = sorted(
        (name for name in groups if name not in roles), key=lambda name: -(seen.columns[name].facts.distinct or 0)
    )
    left = [name for name in free if name not in roles]
    for name, group in followers(seen.sample, by_size, left).items():
        roles[name] = ("left out", say('follows from "{column}"', column=Column(group)))


def _leaks(roles: dict[str, tuple[Role, str]], measured: Measured, seen: Glance) -> dict[str, tuple[Role, str]]:
    """Features that say what is measured."""
    features = [name for name, (role, _) in roles.items() if role == "feature"]
    if not features:
        return {}
    spec = _draft(roles, measured, seen)
    typed, part, facts = type_rows(seen.sample, spec)
    try:
        settled = settle(facts, part, spec)
        table = audited_table(typed[settled.kept(typed, spec)], facts, settled, 0, spec)
    except DataError:
        if seen.is_whole:
            raise
        return {}  # of a sample it may be true alone; the audit says it of all rows
    return dict.fromkeys(telling_columns(table), ("left out", _LEAK))


def _known_afterwards(
    roles: dict[str, tuple[Role, str]], sample: pd.DataFrame, y: NDArray[np.float64]
) -> dict[str, tuple[Role, str]]:
    """Features that decide the outcome of some people, and tell much of everybody's."""
    features = [name for name, (role, _) in roles.items() if role == "feature"]
    return {
        name: ("left out", _AFTERWARDS)
        for name in _deciding(features, sample, y)
        if explained(sample[name], y) >= _MUCH
    }


def _deciding(features: Iterable[str], sample: pd.DataFrame, y: NDArray[np.float64]) -> Iterator[str]:
    """Features of which one value goes with one outcome alone, where chance would have given many of the other.

    Parameters
    ----------
    features : iterable of str
    sample : DataFrame of n rows
    y : float64 ndarray of shape (n,)
        Only of two values; of others nothing is said.
    """
    values = np.unique(y)
    if len(values) != 2:
        return
    is_high = y == values[1]
    rarer = min(is_high.mean(), 1.0 - is_high.mean())
    for name in features:
        codes, levels = pd.factorize(sample[name])
        if len(levels) > FEW:
            continue
        rows = np.bincount(codes[codes >= 0], minlength=len(levels))
        high = np.bincount(codes[codes >= 0], weights=is_high[codes >= 0], minlength=len(levels))
        if (((high == 0) | (high == rows)) & (rows * rarer >= _NOT_BY_CHANCE)).any():
            yield name


def _draft(roles: dict[str, tuple[Role, str]], measured: Measured, seen: Glance) -> AuditSpec:
    kinds = {one.name: "categorical" for one in seen.columns.values() if one.look == "code"}
    used = [name for name, (role, _) in roles.items() if role in ("feature", "protected")]
    return parse_spec(
        {
            "name": "proposal",
            "source": {"path": "(DataFrame)"},
            "bias_variable": measured.settings.model_dump(exclude_unset=True),
            "features": {
                "include": [name for name, (role, _) in roles.items() if role == "feature"],
                "kinds": {name: kind for name, kind in kinds.items() if name in used},
            },
            "protected": [name for name, (role, _) in roles.items() if role == "protected"],
            "split": {"test_size": _LARGE},
            "significance": {"min_rows": 5},
        },
        "The proposal",
    )


def _brought_back(
    roles: dict[str, tuple[Role, str]], seen: Glance, known: NDArray[np.bool_]
) -> dict[str, tuple[Role, str]]:
    """Where no feature is left: what would be best to tell people apart by, all the same."""

    def usable(name: str) -> bool:
        column = seen.columns[name]
        if column.look == "date" and not (column.facts.is_date and column.low != column.high):
            return False
        if column.look in ("constant", "unreadable", "free text") or _is_same(seen.sample[name][known]):
            return False
        return column.look != "identifier" or column.low < column.high

    protected = [name for name, (role, _) in roles.items() if role == "protected" and usable(name)]
    if protected:
        return dict.fromkeys(protected, ("feature", "there are no others to search in"))
    left_out = [name for name, (role, _) in roles.items() if role == "left out" and usable(name)]
    return dict.fromkeys(left_out[:1], ("feature", "there are no others to search in"))


def _proposed(seen: SeenColumn, column: pd.Series, role: Role, reason: str) -> ProposedColumn:
    kind: Kind | None = None
    if seen.look == "code" and role in ("feature", "protected"):
        kind = "categorical"
    if seen.look == "two-valued" and role == "protected" and seen.low < seen.high:
        kind = "categorical"
    values: tuple[str, ...] = ()
    if role == "protected":
        settled = settle_type(column, kind_of(column, kind))
        values = tuple(printable(str(one)) for one in settled.value_counts().index[:FEW])
    return ProposedColumn(seen.name, seen.look, seen.facts.distinct, role, reason, kind, values)


def _settings_of_few(rows: int) -> dict[str, dict[str, Any]]:
    if rows >= _SPLIT_ROWS:
        return {}
    least = max(5, min(_WANTED_MIN_ROWS, round(rows * _LARGE) // 4))
    return {"split": {"test_size": _LARGE}, "significance": {"min_rows": least}}


def _doubts(
    measured: Measured, columns: tuple[ProposedColumn, ...], seen: Glance, settings: dict[str, dict[str, Any]]
) -> Iterable[str]:
    name = measured.columns[-1]
    if measured.is_guess:
        yield say(
            'THIS IS A GUESS: no column is named like an outcome, so "{column}" is measured. Name another one.',
            column=Column(name),
        )
    if not measured.is_better_sure:
        yield say(
            'Nothing says whether a lower or a higher "{column}" is better for people: say it (better).',
            column=Column(name),
        )
    if settings:
        yield "There are few rows, so half of them are kept for testing (split), and smaller groups are tested."
    if not any(one.role == "protected" for one in columns):
        yield "No column is taken for protected; list those that are (protected)."
    for column in columns:
        if (
            column.look == "identifier"
            and column.levels is not None
            and column.levels < seen.columns[column.name].facts.rows
        ):
            yield say(
                '"{column}" has {N} values in {Nrows} rows: if it says whose a row is, write split: {key: "{column}"}.',
                column=Column(column.name),
                N=count(column.levels),
                Nrows=count(seen.rows),
            )


def _reach(measured: Measured, seen: Glance, rows: int, settings: dict[str, dict[str, Any]]) -> Reach:
    y = bias_variable(seen.sample, measured.settings).y
    y = y[~np.isnan(y)]
    test_rows = round(rows * (settings["split"]["test_size"] if settings else 0.2))
    is_rate = set(np.unique(y)) <= {0.0, 1.0}
    group = max(1, round(test_rows * _GROUP))
    spread: dict[str, float] = {"base_rate": float(y.mean())} if is_rate else {"sd": float(y.std())}
    smallest = minimum_detectable_difference(group, test_rows - group, **spread)
    harmed = float(y.mean()) if measured.settings.better == "lower" else 1.0 - float(y.mean())
    return Reach(
        rows=rows,
        test_rows=test_rows,
        share=_GROUP,
        difference=smallest if math.isfinite(smallest) else None,
        is_rate=is_rate,
        ruled_out_from=RULED_OUT_FROM,
        settled_limit=settled_limit(rows, base_rate=harmed, share=RULED_OUT_FROM) if is_rate else None,
    )
