"""Answers of a person: what happened to people, which way is worse, and which columns are what."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError

from bdt_core.errors import SpecError
from bdt_core.proposal import (
    FEW,
    Glance,
    Level,
    Look,
    Measured,
    Proposal,
    ProposedColumn,
    Role,
    SeenColumn,
    as_value,
    chosen,
    outcome_of,
    proposed,
)
from bdt_core.said import Column, say
from bdt_core.spec import Better, BiasVariable, Clustering
from bdt_core.spec.names_file import names_in
from bdt_pipeline.proposed.init_spec import spec_text
from bdt_pipeline.proposed.named_table import name_of

Form = Mapping[str, str]
Use = Literal["feature", "protected", "legitimate", "person", "left out"]
"""What a column is for; a legitimate factor is a feature, too, and who a person is is left out of the search."""
ROLES: Mapping[Use, Role] = {
    "feature": "feature", "protected": "protected", "legitimate": "feature", "person": "left out",
    "left out": "left out",
}  # fmt: skip
_LARGEST = 10**15
_ITERATIONS = Clustering().max_iter
LARGEST_SMALLEST, MOST_ITERATIONS = 20, 100
ABOUT = ("system", "tested_on", "tester")
"""Keys of ``about`` that the page asks for."""


@dataclass(frozen=True)
class Answers:
    """A proposal, as a person has changed it.

    Attributes
    ----------
    glance : Glance
        The table.
    proposal : Proposal
        With what the person said.
    said : dict of str to Role
        Columns of which the person said something.
    legitimate : frozenset of str
    person : str or None
        The column that says whose a row is.
    labels : dict of str to dict
        Names for readers, as in a specification.
    about : dict of str to str
        What no table says, by `ABOUT`.
    limit : str
        Difference from which on it must be explained, as a person wrote it: in points of 100 where a share of people is
        measured; nothing where nobody set one.
    smallest : int
        Percent of the people of the smallest cluster; 0 for the default.
    iterations : int
        Splits that the clustering tries.
    """

    glance: Glance
    proposal: Proposal
    said: Mapping[str, Role] = field(default_factory=dict)
    legitimate: frozenset[str] = frozenset()
    person: str | None = None
    labels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    limit: str = ""
    smallest: int = 0
    iterations: int = _ITERATIONS

    @property
    def clustering(self) -> dict[str, float]:
        """What differs from the defaults of ``clustering``."""
        size = {"min_cluster_size": self.smallest / 100} if self.smallest else {}
        return size | ({"max_iter": self.iterations} if self.iterations != _ITERATIONS else {})

    @property
    def max_difference(self) -> float | None:
        """The limit of the gate, in units of what is measured; None for the default."""
        if not self.limit:
            return None
        return float(Decimal(self.limit) / 100 if self.proposal.reach.is_rate else Decimal(self.limit))

    @property
    def outcomes(self) -> tuple[Measured, ...]:
        """What could be measured; first what is."""
        return (self.proposal.measured, *self.proposal.alternatives)

    def use_of(self, column: ProposedColumn) -> Use | None:
        """What a column is for; None for those that are measured."""
        if column.name == self.person:
            return "person"
        if column.name in self.legitimate:
            return "legitimate"
        return cast("Use", column.role) if column.role in get_args(Use) else None

    def changed(self, form: Form) -> tuple[Answers, bool]:
        """As a form says.

        Parameters
        ----------
        form : mapping of str to str
            ``outcome`` is a choice as of `choice_of`, or the name of one of the selections beside it; ``better``;
            ``use-N`` of column N; ``kind-N``, whether its numbers are "numbers" or
            "categories"; ``name-N`` and ``level-N-P``, names of column N and its level P; ``names``, lines of
            a file of names; ``limit``; ``smallest`` and ``iterations``; and the keys of
            `ABOUT`.

        Returns
        -------
        answers : Answers
        is_other : bool
            Whether another outcome was chosen, so that all else has to be looked at again.

        Raises
        ------
        SpecError
            The form is not of this table.
        DataError
            The table cannot be audited in this way.
        """
        labels = self._labels(form)
        asked = {key: form.get(key, self.about.get(key, "")).strip() for key in ABOUT}
        about = {key: text for key, text in asked.items() if text}
        settings = self._outcome(form)
        is_other = choice_of(settings) != choice_of(self.proposal.measured.settings)
        uses = dict(self._uses(form))
        here = {one.name: one.role for one in self.proposal.columns}
        said = {**self.said, **{name: ROLES[use] for name, use in uses.items() if ROLES[use] != here[name]}}
        if is_other:
            known = {choice_of(one.settings): one for one in self.outcomes}
            measured = known.get(choice_of(settings)) or chosen(settings)
        else:
            measured = replace(self.proposal.measured, settings=self._with_direction(settings, form), is_guess=False)
        said = {name: role for name, role in said.items() if name not in measured.columns}
        glance = replace(self.glance, columns={**self.glance.columns, **dict(self._kinds(form, measured.columns))})
        proposal = proposed(glance, measured, said)
        free = {one.name for one in proposal.columns if one.name not in measured.columns}
        legitimate = frozenset(name for name, use in uses.items() if use == "legitimate") & free
        people = [name for name, use in uses.items() if use == "person" and name in free]
        if len(people) > 1:
            raise SpecError(
                say(
                    'Only one column can say who it is, not "{column}" and "{other}".',
                    column=Column(people[0]),
                    other=Column(people[1]),
                )
            )
        person = people[0] if people else None
        is_same_unit = proposal.reach.is_rate == self.proposal.reach.is_rate
        limit = self._limit(form) if is_same_unit else ""
        smallest = _whole(form, "smallest", self.smallest, 0, LARGEST_SMALLEST)
        iterations = _whole(form, "iterations", self.iterations, 1, MOST_ITERATIONS)
        answers = Answers(glance, proposal, said, legitimate, person, labels, about, limit, smallest, iterations)
        return answers, is_other

    def refuse_unanswered(self) -> None:
        """Raise SpecError where nobody has said which way is worse, and nothing in the table does."""
        if not self.proposal.measured.is_better_sure:
            raise SpecError(
                "Which way is worse? Nothing in the table says it, so the audit waits for your answer to question 2."
            )

    def specification(self, table: str, reading: Mapping[str, str], language: str) -> str:
        """The specification as YAML, which lies beside the table."""
        return spec_text(
            self.proposal,
            name_of(table),
            table,
            reading=reading,
            legitimate=sorted(self.legitimate),
            person=self.person,
            language=language,
            labels=self.labels,
            about=self.about,
            max_difference=self.max_difference,
            clustering=self.clustering,
        )

    def _uses(self, form: Form) -> Iterator[tuple[str, Use]]:
        for number, column in enumerate(self.proposal.columns):
            asked = form.get(f"use-{number}")
            if asked in get_args(Use) and self.use_of(column) is not None:
                yield column.name, cast("Use", asked)

    def can_be_codes(self, column: ProposedColumn) -> bool:
        """Whether a column holds few whole numbers, which may be amounts or codes, and is not measured."""
        seen = self.glance.columns[column.name]
        return (
            self.use_of(column) is not None
            and seen.look in ("numeric", "code")
            and _has_few(seen)
            and all(isinstance(as_value(level), int) for level in seen.levels)
        )

    def is_codes(self, column: ProposedColumn) -> bool:
        """Whether such a column is taken for categories."""
        return self.glance.columns[column.name].look == "code"

    def _kinds(self, form: Form, measured: Collection[str]) -> Iterator[tuple[str, SeenColumn]]:
        """Columns of few numbers, as a person says what they are."""
        looks: Mapping[str, Look] = {"numbers": "numeric", "categories": "code"}
        for number, column in enumerate(self.proposal.columns):
            look = looks.get(form.get(f"kind-{number}", ""))
            if look is not None and column.name not in measured and self.can_be_codes(column):
                yield column.name, replace(self.glance.columns[column.name], look=look)

    def levels_of(self, column: str) -> list[str]:
        """Levels that can be named, as the specification has them; none of numbers, and of columns with many."""
        seen = self.glance.columns[column]
        is_named = seen.look in ("two-valued", "code", "categorical") and _has_few(seen)
        return [str(as_value(level)) for level in seen.levels] if is_named else []

    def name_of(self, column: str, level: str | None = None) -> str:
        """What a person calls a column or a level of it; nothing where nobody said it."""
        label = self.labels.get(column, {})
        name: str = label.get("name", "") if level is None else label.get("levels", {}).get(level, "")
        return name

    def _labels(self, form: Form) -> dict[str, dict[str, Any]]:
        """Names in the fields, and in lines of a file, which come before them."""
        of_file = names_in(form["names"], "names.csv") if form.get("names", "").strip() else {}
        unknown = [one for one in of_file if one not in self.glance.columns]
        if unknown:
            raise SpecError(
                say('The names speak of a column "{column}", which the table does not have.', column=Column(unknown[0]))
            )
        labels: dict[str, dict[str, Any]] = {}
        for number, column in enumerate(one.name for one in self.proposal.columns):
            asked = {
                level: form.get(f"level-{number}-{place}", self.name_of(column, level)).strip()
                for place, level in enumerate(self.levels_of(column))
            }
            levels = {level: name for level, name in asked.items() if name}
            levels |= of_file.get(column, {}).get("levels", {})
            name = form.get(f"name-{number}", self.name_of(column)).strip()
            name = of_file.get(column, {}).get("name", name)
            if name or levels:
                labels[column] = ({"name": name} if name else {}) | ({"levels": levels} if levels else {})
        return labels

    def _limit(self, form: Form) -> str:
        """A difference as a number with a point; people write commas, too."""
        asked = form.get("limit", self.limit).strip().replace(",", ".")
        if not asked:
            return ""
        most = 100 if self.proposal.reach.is_rate else _LARGEST
        if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", asked) is None or Decimal(asked) > most:
            raise SpecError(
                "The difference of question 4 is a number such as 5 or 2.5, and of points at most 100. Leave it empty "
                "for the default."
            )
        return asked

    def _outcome(self, form: Form) -> BiasVariable:
        match form.get("outcome", ""):
            case "decision":
                name, level = self._level(form, "decision")
                given: Any = {"derive": "positive_prediction", "prediction": name, "positive": level}
            case "number":
                given = {"column": numbers_of(self.glance).get(form.get("number", ""))}
            case "prediction":
                (prediction, said), (label, happened) = self._level(form, "prediction"), self._level(form, "label")
                positive = list(dict.fromkeys((said, happened)))
                self._refuse_two_ways({prediction: said, label: happened})
                derive = form.get("derive", "error")
                given = {"derive": derive, "label": label, "prediction": prediction, "positive": positive}
            case known:
                given = _read(known)
        try:
            settings = BiasVariable.model_validate(given)
        except ValidationError:
            raise SpecError("This is no answer to what happened to people. Choose one of those on the page.") from None
        if not {settings.column, settings.label, settings.prediction} - {None} <= self.glance.columns.keys():
            raise SpecError("The answer names a column that this table does not have. Choose one on the page.")
        if settings.label is not None and settings.label == settings.prediction:
            raise SpecError("What was predicted and what really happened are two columns. Choose another one of them.")
        return settings

    def _with_direction(self, settings: BiasVariable, form: Form) -> BiasVariable:
        """What is measured with the way that a person says is better, now or before."""
        before = self.proposal.measured.settings
        better = form.get("better") or (before.better if before.better_by == "said" else None)
        return BiasVariable.model_validate(
            {**outcome_of(settings), **({"better": better} if better in get_args(Better) else {})}
        )

    def _refuse_two_ways(self, positive: Mapping[str, Level]) -> None:
        """A specification has one list of values that mean yes, for both columns."""
        for name, level in positive.items():
            others = set(positive.values()) - {level}
            if others & set(map(as_value, self.glance.columns[name].levels)):
                raise SpecError(
                    say(
                        '"{column}" has both values that mean yes. Choose the same one for both columns, or give the '
                        "values of one of them other names in the file.",
                        column=Column(name),
                    )
                )

    def _level(self, form: Form, name: str) -> tuple[str, Level]:
        """The column and the value of a selection."""
        known = {choice: (column, level) for column, several in levels_of(self.glance) for choice, level in several}
        if form.get(name) not in known:
            raise SpecError("This is no value of this table. Choose one of those on the page.")
        return known[form[name]]


def _whole(form: Form, name: str, before: int, least: int, most: int) -> int:
    """A whole number of a form, within its range."""
    asked = form.get(name, str(before))
    if re.fullmatch("[0-9]{1,3}", asked) is None or not least <= int(asked) <= most:
        raise SpecError("This is no number that the page offers. Choose one of those on the page.")
    return int(asked)


def choice_of(settings: BiasVariable) -> str:
    """What is measured, whichever way is better, as a form sends it."""
    return json.dumps(outcome_of(settings), sort_keys=True)


def numbers_of(glance: Glance) -> dict[str, str]:
    """Columns that can be measured as they stand, by what a form sends."""
    columns = {str(number): one for number, one in enumerate(glance.columns.values())}
    return {
        choice: one.name for choice, one in columns.items() if one.look in ("numeric", "two-valued") and one.is_number
    }


def levels_of(glance: Glance) -> list[tuple[str, list[tuple[str, Level]]]]:
    """Columns of few values, and these: each with what a form sends."""
    levelled = []
    for number, column in enumerate(glance.columns.values()):
        values = [as_value(level) for level in column.levels] if _has_few(column) else []
        if len(values) >= 2 and all(isinstance(value, bool | int | float | str) for value in values):
            levelled.append((column.name, [(f"{number}-{place}", value) for place, value in enumerate(values)]))
    return levelled


def _has_few(seen: SeenColumn) -> bool:
    return seen.look != "unreadable" and seen.facts.values is not None and len(seen.facts.values) <= FEW


def _read(choice: str) -> Any:
    try:
        return json.loads(choice)
    except (ValueError, RecursionError):
        return None
