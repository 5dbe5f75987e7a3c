"""Check a table against the specification and settle its types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import said
from bdt_core.errors import DataError, did_you_mean, repeated_names, without_rows
from bdt_core.said import Text, joined, of_ours, say
from bdt_core.spec import AuditSpec, Kind
from bdt_core.table.audit_table import (
    BIAS_VARIABLE,
    KEY,
    LIST,
    RANK,
    ROW,
    AuditTable,
    LeftOut,
    Role,
    TableColumn,
)
from bdt_core.table.bias_variable import OutcomeFacts, bias_variable
from bdt_core.table.facts import ColumnFacts, facts_of
from bdt_core.table.leaks import find_leaks
from bdt_core.table.levels import warn_of_spellings
from bdt_core.table.people import SketchedRows, sketched_rows, telling_columns
from bdt_core.table.persons import count_persons, hashes_of, person_hashes
from bdt_core.table.pool import mapped, width_for
from bdt_core.table.ranks import Hashes, content_sums, fingerprint, occurrence_numbers, rank_rows, row_hashes
from bdt_core.table.reading_notes import NO_NOTES, ReadingNotes
from bdt_core.table.repeated_rows import LEFT_OUT as NEAR_COPIES
from bdt_core.table.repeated_rows import Repeats, find_repeats, warn_of_repeats, without_near_copies
from bdt_core.table.roles import (
    assign_roles,
    beyond_the_most,
    kind_of,
    looked_at,
    not_searched,
    refuse_identifier,
    refuse_rounded,
    settle_type,
    warn_of_dates_as_texts,
    warn_of_rounded,
    warn_of_texts_among_numbers,
)
from bdt_core.table.rows import Rows
from bdt_core.table.sources import JOINED
from bdt_core.words import count

_MANY_ROWS = 100
_CONSTANT: dict[tuple[Role, bool], str] = {
    ("feature", True): 'Column "{as_is}" has no value in any row; it is left out of the features.',
    ("feature", False): 'Column "{as_is}" has the same value in every row; it is left out of the features.',
    ("protected", True): 'Column "{as_is}" has no value in any row; it is left out of the protected columns.',
    ("protected", False): 'Column "{as_is}" has the same value in every row; it is left out of the protected columns.',
}
"""By role, and whether it has no value at all."""


@dataclass(frozen=True)
class TableFacts:
    """What is to be known of a table before it is audited; facts of parts add up to those of the whole.

    Attributes
    ----------
    columns : dict of str to ColumnFacts
        Those at which the audit looks.
    kinds : dict of str to Kind
        Features and protected columns.
    problems : dict of str to str
        Columns that cannot have the type they should have, and why.
    outcome : OutcomeFacts
    without_match : int
        Rows that a join has found no match for.
    join : dict
        What the join was.
    no_key : int
        Rows without a value in ``split.key``.
    reading : ReadingNotes
        What was done while the table was read.
    """

    columns: dict[str, ColumnFacts]
    kinds: dict[str, Kind]
    problems: dict[str, str]
    outcome: OutcomeFacts
    without_match: int
    join: dict[str, Any]
    no_key: int
    reading: ReadingNotes = NO_NOTES

    @property
    def rows(self) -> int:
        """Rows of the source that were read."""
        return self.outcome.rows

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Rows of the source that are not audited: lines that were not read, and rows without a bias variable."""
        lines = (LeftOut(reason, count) for reason, count in self.reading.left_out.items())
        return (*lines, *self.outcome.left_out)

    def __add__(self, other: TableFacts) -> TableFacts:
        return TableFacts(
            {name: facts + other.columns[name] for name, facts in self.columns.items()},
            other.kinds | self.kinds,
            other.problems | self.problems,
            self.outcome + other.outcome,
            self.without_match + other.without_match,
            self.join,
            self.no_key + other.no_key,
            self.reading,
        )


@dataclass(frozen=True)
class Settled:
    """Columns with their roles, and what a person should know of them."""

    columns: tuple[TableColumn, ...]
    warnings: tuple[Text, ...]
    notes: tuple[Text, ...] = ()

    def names(self, role: Role) -> list[str]:
        """Names of the columns that play a role."""
        return [one.name for one in self.columns if one.role == role]

    @property
    def of_people(self) -> list[str]:
        """Names of features and protected columns."""
        return [*self.names("feature"), *self.names("protected")]

    def kept(self, frame: pd.DataFrame, spec: AuditSpec) -> list[str]:
        """Typed columns that go on: all but features and protected columns that turned out to be of no use."""
        unused = {one.name for one in self.columns if one.role == "unused"} - set(spec.carried)
        return [name for name in frame.columns if name not in unused]


def validate(frame: pd.DataFrame, spec: AuditSpec, names: Sequence[str] | None = None) -> AuditTable:
    """Check the table and return the rows and columns that are audited, with settled types.

    Parameters
    ----------
    frame : DataFrame
        The source as read.
    spec : AuditSpec
    names : sequence of str, optional
        All columns of the source, where only those at which the audit looks were read.

    Returns
    -------
    AuditTable
        With warnings on constant and empty features, identifiers, leaks and duplicates.

    Raises
    ------
    DataError
        When the audit would be meaningless; the message names the column or key and how to mend it.
    """
    if not len(frame):
        raise DataError(without_rows())
    typed, roles, facts = type_rows(with_text_names(frame), spec, names=names)
    settled = settle(facts, roles, spec)
    typed = typed[settled.kept(typed, spec)]
    keep, lost = complete_rows(typed, settled, spec)
    result = (typed if keep.all() else typed[keep]).reset_index(drop=True)
    table = audited_table(result, facts, settled, lost, spec)
    hashes = row_hashes(result[table.used])
    if table.is_large:
        table = with_ranks(table, hashes)
    sums, people = content_sums(hashes), sketched_people(result, settled, telling_of(settled, facts))
    table, repeats = distinct_rows(table, hashes)
    warnings = (*settled.warnings, *warnings_on_rows(table, repeats))
    return replace(table, fingerprint=fingerprint(sums), warnings=warnings, people=people.fingerprint)


def telling_of(settled: Settled, facts: TableFacts) -> list[str]:
    """The features and protected columns that tell most people apart."""
    return telling_columns({name: facts.columns[name].distinct for name in settled.of_people})


def sketched_people(frame: pd.DataFrame, settled: Settled, columns: list[str]) -> SketchedRows:
    """What of some typed rows goes into the fingerprint of the people, with the columns that tell most; no outcome."""
    persons = frame[KEY].to_numpy() if KEY in frame.columns else None
    return sketched_rows(frame, settled.of_people, columns, persons)


def distinct_rows(table: AuditTable, hashes: Hashes | None = None) -> tuple[AuditTable, Repeats | None]:
    """The table with one row of each set of near copies, unless it is large; and what was found of copies."""
    repeats = find_repeats(table)
    if repeats is None or not repeats.apart or table.is_large:
        return table, repeats
    names = [*table.names("feature"), *table.names("protected")]
    kept = without_near_copies(with_ranks(table, hashes).frame, names, repeats)
    frame = table.frame[kept].reset_index(drop=True)
    left_out = with_near_copies(table.left_out, table.audited_rows - int(frame[BIAS_VARIABLE].notna().sum()))
    refuse_too_few(int(frame[BIAS_VARIABLE].notna().sum()), left_out, table.spec)
    return replace(table, frame=frame, left_out=left_out), repeats


def with_near_copies(left_out: tuple[LeftOut, ...], rows: int) -> tuple[LeftOut, ...]:
    """What is left out, and so many near copies."""
    return (*left_out, LeftOut(NEAR_COPIES, rows)) if rows else left_out


def audited_table(frame: pd.DataFrame, facts: TableFacts, settled: Settled, lost: int, spec: AuditSpec) -> AuditTable:
    """The table of some typed rows, or of none that are elsewhere; its fingerprint is not known yet.

    Parameters
    ----------
    frame : DataFrame
    facts : TableFacts
        Of all rows of the source.
    settled : Settled
    lost : int
        Audited rows that are left out because a feature is missing.
    spec : AuditSpec

    Raises
    ------
    DataError
        Nothing could be found or tested on so few rows.
    """
    left_out = facts.left_out
    if lost:
        left_out = (*left_out, LeftOut('a feature is missing ("missing: drop")', lost))
    refuse_too_few(facts.outcome.known - lost, left_out, spec)
    rows = facts.rows + facts.reading.lines_left_out
    return AuditTable(frame, settled.columns, spec, rows, left_out, "", warnings=settled.warnings, notes=settled.notes)


def type_rows(
    frame: pd.DataFrame, spec: AuditSpec, first: int = 0, names: Sequence[str] | None = None
) -> tuple[pd.DataFrame, dict[str, Role], TableFacts]:
    """Type some rows of the source: of its columns those at which the audit looks.

    Parameters
    ----------
    frame : DataFrame
        Only its columns are looked at, whose names are text.
    spec : AuditSpec
    first : int
        The number of its first row in the source.
    names : sequence of str, optional
        All columns of the source, where the frame has some of them.

    Returns
    -------
    typed : DataFrame
        Columns and bias variable. A feature that cannot be typed is left out and named among the problems, for it may
        turn out to be of no use.
    roles : dict of str to Role
        By column.
    facts : TableFacts
        Of these rows.
    """
    names = list(frame.columns) if names is None else names
    roles = assign_roles(names, spec)
    _refuse_missing_columns(frame, spec.carried)
    taken = [name for name in looked_at(names, spec) or names if name in frame.columns]
    questions = ReadingNotes.of(frame.attrs).questions
    for name, role in roles.items():
        if name in questions and role in ("bias_variable", "label", "prediction"):
            raise DataError(questions[name])
    for by_value in (spec.groups.stratum, *spec.group_columns()):
        if by_value in frame.columns and by_value not in spec.groups.thresholds:
            refuse_rounded(frame[by_value], by_value)
    bias = spec.bias_variable
    outcome = bias_variable(frame, bias)
    carried = frozenset(spec.carried)
    of_columns = mapped(
        lambda name: _type_column(frame[name], roles[name], spec, questions.get(name), is_carried=name in carried),
        taken,
        width_for(len(frame)),
    )
    every = dict(zip(taken, of_columns, strict=True))
    typed: dict[str, object] = {name: one.values for name, one in every.items() if one.values is not None}
    typed[BIAS_VARIABLE] = outcome.y
    no_key = 0
    if spec.split.key is not None:
        key = frame[spec.split.key]
        no_key = int(key.isna().sum())
        typed[KEY] = person_hashes(frame, spec)
    if bias.query is not None:
        typed[LIST] = hashes_of(frame[bias.query])
    join = frame.attrs.get(JOINED) or {}
    columns = {name: one.facts for name, one in every.items()}
    kinds = {name: one.kind for name, one in every.items() if one.kind is not None}
    problems = {name: one.problem for name, one in every.items() if one.problem is not None}
    without_match = int(join.get("without_match", 0))
    if spec.local_bias is not None and isinstance(spec.local_bias.embeddings, str):
        numbers = np.arange(first, first + len(frame)) // spec.source.times
        typed[ROW] = numbers.astype(np.float64)  # embeddings are read by it
    reading = ReadingNotes.of(frame.attrs)
    facts = TableFacts(columns, kinds, problems, outcome.facts, without_match, join, no_key, reading)
    return pd.DataFrame(typed, copy=False), roles, facts


@dataclass(frozen=True)
class _Typed:
    """A column with its type; without values where it cannot have it, or goes no further."""

    facts: ColumnFacts
    values: pd.Series | None = None
    kind: Kind | None = None
    problem: str | None = None


def _type_column(column: pd.Series, role: Role, spec: AuditSpec, question: str | None, *, is_carried: bool) -> _Typed:
    """Type a column for its role; the question is what reading has left open about it."""
    name = str(column.name)
    values = kind = problem = None
    if role in ("feature", "protected"):
        named = spec.features.kinds.get(name)
        kind = kind_of(column, named)
        try:
            values = settle_type(column, kind)
            problem = None if named == "categorical" else question
        except DataError as error:
            problem = error.sentence
    if values is None and (role in ("label", "prediction") or is_carried):
        values = column if pd.api.types.is_numeric_dtype(column.dtype) else settle_type(column, "categorical")
    return _Typed(facts_of(column), values, kind, problem)


def settle(facts: TableFacts, roles: dict[str, Role], spec: AuditSpec) -> Settled:
    """Decide which columns are used, once the facts of all rows are known."""
    facts.outcome.refuse_useless(spec.bias_variable)
    if facts.no_key:
        raise DataError(
            f'"split.key" names the column "{spec.split.key}", which is missing in {facts.no_key:,} of {facts.rows:,} '
            "rows. Every row must say whom it belongs to."
        )
    columns: list[TableColumn] = []
    warnings: list[str] = []
    notes = facts.reading.remarks_on(facts.columns)
    groups = spec.declared_columns - spec.groups.thresholds.keys()
    for name, role in roles.items():
        if name not in facts.columns:
            columns.append(TableColumn(name, role, None, None, None))
            continue
        column = facts.columns[name]
        kind: Kind | None = None
        if facts.kinds.get(name, "numeric" if name in spec.legitimate else None) == "numeric":
            names_groups = name in groups
            warnings += warn_of_rounded(name, column, names_groups=names_groups, is_feature=name in facts.kinds)
        if role in ("feature", "protected"):
            if column.is_constant:
                warnings.append(say(_CONSTANT[role, column.distinct == 0], as_is=said.Column(name)))
                role = "unused"
            elif name in facts.problems:
                raise DataError(facts.problems[name])
            else:
                kind = facts.kinds[name]
                dates = warn_of_dates_as_texts(name, column) if kind == "categorical" else []
                if dates and name not in spec.features.kinds:
                    warnings += dates
                    columns.append(TableColumn(name, "unused", None, column.missing, column.distinct))
                    continue
                if kind == "numeric" and column.is_date:
                    notes.append(
                        say(
                            'Column "{as_is}" is used as years, such as 2026.5 for the middle of 2026. If people are '
                            'born then, "source.ages" makes ages of it.',
                            as_is=said.Column(name),
                        )
                    )
                if kind == "categorical":
                    refuse_identifier(name, column.distinct, column.rows)
                    if name not in spec.features.kinds:
                        warnings += warn_of_texts_among_numbers(name, column)
        if role in ("label", "prediction") or kind == "categorical":
            warnings += warn_of_spellings(name, column.values or ())
        if role in ("label", "prediction") and spec.bias_variable.positive is not None and (column.distinct or 0) > 2:
            notes.append(
                say(
                    'Column "{as_is}" (label) has {N} different values: those that "bias_variable.positive" names '
                    "count as positive, and all others as negative, unknown ones too."
                    if role == "label"
                    else 'Column "{as_is}" (prediction) has {N} different values: those that "bias_variable.positive" '
                    "names count as positive, and all others as negative, unknown ones too.",
                    as_is=said.Column(name),
                    N=count(column.distinct),
                )
            )
        columns.append(TableColumn(name, role, kind, column.missing, column.distinct))
    if spec.clustering is not None and not any(one.role == "feature" for one in columns):
        alone = ""
        if any(one.role == "protected" for one in columns):
            alone = (
                ' To compare the declared groups alone, set "clustering: null" (and "worst_groups: null", '
                '"slices: null").'
            )
        raise DataError(
            "No feature is left to tell people apart. "
            + (" ".join(warnings) or 'List some in "features.include", or exclude fewer.')
            + alone
        )
    undecided = [
        joined(
            [
                say(
                    'Column "{as_is}" is left out of the features: it seems to say what is measured, or to be known '
                    "only afterwards (a leak).",
                    as_is=said.Column(name),
                ),
                say('If people have it before, take it out of "features.leaks" (or name it in "features.include").'),
            ],
            " ",
        )
        for name in spec.features.leaks
        if roles[name] == "unused"
    ]
    warnings = [*_lines_left_out(facts), *_too_many(roles, spec), *warnings, *undecided, *_late(facts)]
    settled = Settled(tuple(columns), tuple(warnings), tuple(notes))
    if spec.missing == "error":
        _refuse_missing(facts, settled.names("feature"))
    return settled


def _too_many(roles: dict[str, Role], spec: AuditSpec) -> list[str]:
    """Columns that are left out of the features because there are too many."""
    beyond = [name for name in beyond_the_most(list(roles), spec) if roles[name] == "unused"]
    return [not_searched(len(beyond), len(roles), spec.features.at_most)] if beyond else []


def _lines_left_out(facts: TableFacts) -> list[str]:
    """Lines of the source that are no rows of the table."""
    everything = facts.rows + facts.reading.lines_left_out
    return [
        say(
            "{N} of {Nall} lines of the source are left out: {reason}.",
            N=count(lines),
            Nall=count(everything),
            reason=of_ours(reason),
        )
        for reason, lines in facts.reading.left_out.items()
    ]


def _late(facts: TableFacts) -> list[str]:
    """Rows that a join has found no match for."""
    if not facts.without_match:
        return []
    return [
        say(
            "{N} of {Nall} rows have no match in {as_is} by {as_is2}: what it would add, such as a label that is not "
            "known yet, is missing there.",
            N=count(facts.without_match),
            Nall=count(facts.rows),
            as_is=str(facts.join["table"]),
            as_is2=str(facts.join["key"]),
        )
    ]


def with_text_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its column names as text, all different."""
    names = [str(one) for one in frame.columns]
    repeated = repeated_names(names)
    if repeated:
        raise DataError(
            f"Column names must differ, but {', '.join(map(repr, repeated[:5]))} stand there more than once."
        )
    if BIAS_VARIABLE in names:
        raise DataError(f'"{BIAS_VARIABLE}" is a reserved column name. Rename the column.')
    return frame.set_axis(names, axis="columns").reset_index(drop=True)


def _refuse_missing_columns(frame: pd.DataFrame, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in frame.columns:
            raise DataError(
                f'There is no column "{name}", which legitimate, characteristics, worst_groups, slices, local_bias or '
                f"mitigation names. {did_you_mean(name, frame.columns)}"
            )


def complete_rows(typed: pd.DataFrame, settled: Settled, spec: AuditSpec) -> tuple[NDArray[np.bool_], int]:
    """Which rows stay under the rule for missing feature values, and how many audited ones do not."""
    if spec.missing != "drop":
        return np.ones(len(typed), dtype=np.bool_), 0
    complete = typed[settled.names("feature")].notna().all(axis="columns").to_numpy()
    return complete, int((~complete & typed[BIAS_VARIABLE].notna()).sum())


def with_ranks(table: AuditTable, hashes: Hashes | None = None) -> AuditTable:
    """The table with a random number for every row, by which rows are drawn; see `bdt_core.table.ranks`.

    Parameters
    ----------
    table : AuditTable
    hashes : uint64 ndarray of shape (n,), optional
        Of the columns that the method uses, where they are known.
    """
    if RANK in table.frame.columns:
        return table
    content = hashed_columns(table.frame)
    if hashes is None or set(content.columns) != set(table.used):
        hashes = row_hashes(content)
    return replace(table, frame=table.frame.assign(**{RANK: rank_rows(hashes, occurrence_numbers(hashes))}))


def hashed_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """What makes the content of a row: everything but its number in the source."""
    return frame[[name for name in frame.columns if name not in (ROW, RANK)]]


def warnings_on_rows(table: Rows, repeats: Repeats | None) -> tuple[str, ...]:
    """What a person should know of the rows; ``large_rows`` of them at most are looked at.

    Raises
    ------
    DataError
        All rows have the same feature values, or ``split.key`` names hardly any persons.
    """
    _refuse_few_persons(table)
    sample = table.sample(table.spec.large_rows)
    audited, features = sample.audited, table.names("feature")
    if features and all(_is_constant(audited[name]) for name in features):
        raise DataError("All rows have the same feature values, so nobody can be told apart. Add features.")
    numbered = [
        say(
            'Column "{as_is}" numbers the rows one by one; if it is an identifier, add it to "features.exclude".',
            as_is=said.Column(one.name),
        )
        for one in table.columns
        if one.role == "feature" and one.kind == "numeric" and _counts_the_rows(sample.frame[one.name], table.rows)
    ]
    return (*warn_of_repeats(table, repeats), *numbered, *dict.fromkeys(find_leaks(sample).values()))


def _refuse_few_persons(table: Rows) -> None:
    """Raise DataError where a key has so few values that nobody can be compared with anybody."""
    persons, needed = count_persons(table), table.spec.significance.min_rows
    if persons is not None and persons < needed:
        raise DataError(
            f'"split.key" names the column "{table.spec.split.key}", which has {persons:,} different values in '
            f"{table.audited_rows:,} rows: as persons these are too few to be compared, for each side needs {needed}. "
            "Name the column that says which rows are the same person, or leave it out if each row is another one."
        )


def _is_constant(column: pd.Series) -> bool:
    values = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
    first = values.iloc[0]
    return bool(values.isna().all() if pd.isna(first) else (values == first).all())


def _counts_the_rows(column: pd.Series, rows: int) -> bool:
    x = column.to_numpy(dtype=np.float64)
    if len(x) < _MANY_ROWS or not (x == np.floor(x)).all():  # missing ones are not whole either
        return False
    return float(x.max() - x.min()) < 10 * rows and len(np.unique(x)) == len(x)


def _refuse_missing(facts: TableFacts, features: list[str]) -> None:
    counts = {name: facts.columns[name].missing for name in features if facts.columns[name].missing}
    if counts:
        listed = ", ".join(f'"{name}" ({count:,})' for name, count in counts.items())
        raise DataError(
            f'Missing values in {listed}, and "missing: error" forbids them. '
            'Fill them, or set "missing" to keep or drop.'
        )


def refuse_too_few(rows: int, left_out: tuple[LeftOut, ...], spec: AuditSpec) -> None:
    """Nothing could be found or tested on so few rows."""
    reasons = "".join(f" {one.rows:,} rows are left out: {one.reason}." for one in left_out)
    test_rows = round(rows * spec.split.test_size)
    train_rows = rows - test_rows
    needed = 2 * spec.significance.min_rows
    if not spec.uses_test_rows and rows < needed:
        raise DataError(
            f"Too few rows: {rows:,} can be audited, and a comparison needs {spec.significance.min_rows} on either "
            f'side.{reasons} Bring at least {needed:,} rows, or lower "significance.min_rows".'
        )
    if spec.uses_test_rows and test_rows < needed:
        enough = math.ceil(needed / spec.split.test_size)
        raise DataError(
            f"Too few rows: {rows:,} can be audited, so {test_rows:,} would be test rows, and a comparison needs "
            f"{spec.significance.min_rows} on either side.{reasons} Bring at least {enough:,} rows, or lower "
            '"significance.min_rows".'
        )
    size = spec.room.min_cluster_size
    if size is None:
        return
    smallest = size * train_rows if size < 1 else size
    if 2 * smallest > train_rows:
        raise DataError(
            f'"clustering.min_cluster_size: {size:g}" is over half of the {train_rows:,} train rows, so no split is '
            "possible. Choose a smaller one, such as 0.01."
        )
