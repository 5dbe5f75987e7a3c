"""An attacker who compares forms for publication of tables that differ by one known person.

The attacker knows every row of every table but the label and the decision of one person, how the form is made, and all
but the owner's key; so he makes the report himself for each label and decision that the person may have, and holds what
is printed against what would be expected. He is even told the counts that rates and sums are worked out from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from bdt_core.report import document as parts
from bdt_core.report import for_publication
from bdt_core.report.noise import DEVIATION
from bdt_core.report.publication import BASE, Coarseness, _published_facets, _rough_p_value, rounded
from bdt_core.sentences import with_sentences
from bdt_core.spec import AuditSpec, parse_spec
from tests.privacy.attacker import KINDS
from tests.privacy.tables import report, spec, table

ANSWERS = KINDS
"""Labels and decisions that a person may have."""

Answer = tuple[int, int]
Group = tuple[tuple[str, ...], tuple[Any, ...]]
Counts = NDArray[np.float64]
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Guess:
    """The chances that the guess of an attacker is right.

    Attributes
    ----------
    label, decision : float
        Where the other one of the two is known; .5 where nothing is learnt.
    both : float
        Of both together; .25 where nothing is learnt.
    sure : bool
        Whether only one label and decision fits what is told.
    stated : float
        Most that the form says of the first two.
    """

    label: float
    decision: float
    both: float
    sure: bool
    stated: float


@dataclass(frozen=True)
class Pair:
    """Two forms, of a table without a person and with her.

    Attributes
    ----------
    guess, rounded_alone : Guess
        By counts with noise, and by the same without it.
    rose : float
        The chance to guess both by which count of her group rises most from one form to the other.
    errors : ndarray of float, shape (counts, 2)
        By how much each count is told wrong, with noise and by rounding alone.
    alike : int
        Of how many of the four labels and decisions the verdicts and findings would be the same: these have no noise.
    """

    guess: Guess
    rounded_alone: Guess
    rose: float
    errors: NDArray[np.float64]
    alike: int


@dataclass(frozen=True)
class Drawn:
    """Counts of a group's people who are in no published part of it.

    Attributes
    ----------
    told, exact : ndarray of shape (4,)
    of_the_person : bool
        Whether the person is one of them.
    """

    told: Counts
    exact: Counts
    of_the_person: bool


@dataclass(frozen=True)
class Report:
    """An owner's report, as data and as its parts."""

    document: Document
    parts: parts.Document

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Report:
        """Of a table."""
        document = report(frame, quick_spec())
        return cls(document, parts.Document.model_validate(with_sentences(document)))


def quick_spec() -> AuditSpec:
    """An audit of declared groups alone, which takes a moment."""
    base = spec().model_dump(mode="json", exclude_unset=True)
    return parse_spec({**base, "clustering": None}, "the test")


def of_one_person(seed: int, keys: int) -> list[Pair]:
    """A person who joins a table, with each label and decision in turn, and each with so many keys."""
    frame, random = table(seed), np.random.default_rng(seed + 3_000_000)
    person, without = frame.iloc[-1], Report.of(frame.iloc[:-1])
    supposed, pairs = with_each_answer(frame, len(frame) - 1), []
    for answer in ANSWERS:
        for _ in range(keys):
            key = random.bytes(32)
            before, after = (drawn(one, person, key) for one in (without, supposed[answer]))
            pairs.append(
                Pair(
                    guess([supposed], person, answer, key),
                    guess_of_rounded(after, answer),
                    _by_what_rose(before, after, answer),
                    np.concatenate([np.abs([one.told, _rounded(one.exact)] - one.exact).T for one in after.values()]),
                    sum(_without_noise(one) == _without_noise(supposed[answer]) for one in supposed.values()),
                )
            )
    return pairs


def of_five_people(seed: int, keys: int) -> list[Guess]:
    """Five people who join a table at once, each attacked by somebody who knows the other four."""
    frame, random = table(seed), np.random.default_rng(seed + 3_000_000)
    guesses = []
    for place in range(len(frame) - 5, len(frame)):
        answer = int(frame["repaid"].iloc[place]), int(frame["granted"].iloc[place])
        supposed = with_each_answer(frame, place)
        guesses += [guess([supposed], frame.iloc[place], answer, random.bytes(32)) for _ in range(keys)]
    return guesses


def of_editions(seed: int, editions: int, keys: int) -> list[Guess]:
    """A person who is in all editions of a table, which grows by a few people from each to the next."""
    frame, random = table(seed), np.random.default_rng(seed + 3_000_000)
    place, supposed = len(frame) - 1, []
    for edition in range(editions):
        supposed.append(with_each_answer(frame, place))
        frame = pd.concat([frame, table(seed + 100_000 * (edition + 1), least=5, most=40)], ignore_index=True)
    person = frame.iloc[place]
    return [guess(supposed, person, answer, random.bytes(32)) for answer in ANSWERS for _ in range(keys)]


def _without_noise(owners: Report) -> list[Any]:
    """What a form tells of verdicts and of which findings there are."""
    document = owners.document
    findings = document["findings"]
    told = [
        [
            one["conditions"],
            _rough_p_value(one["p_value"]),
            (one["remaining"] or {"remaining_low": 0.0})["remaining_low"] > 0,
        ]
        for one in (*findings["findings"], *findings["at_first_sight"])
    ]
    return [document["verdict"]["verdict"], [one["verdict"] for one in document["gate"]], told]


def with_each_answer(frame: pd.DataFrame, place: int) -> dict[Answer, Report]:
    """Reports of a table in which the person at a place has each label and decision."""
    supposed = {}
    for answer in ANSWERS:
        changed = frame.copy()
        changed.loc[changed.index[place], ["repaid", "granted"]] = answer
        supposed[answer] = Report.of(changed)
    return supposed


def drawn(owners: Report, person: pd.Series[Any], key: bytes) -> dict[Group, Drawn]:
    """By group the counts that noise was added to."""
    facets = _published_facets(owners.parts.groups, Coarseness.of(owners.parts, key))
    (both,) = [one for one in facets if len(one.facet.columns) == 2]
    is_told = any(tuple(group.values) == tuple(person[list(both.facet.columns)]) for group in both.facet.groups)
    found = {}
    for one in facets:
        for place, group in enumerate(one.facet.groups):
            told, exact = one.cells[:, place], one.exact[:, place]
            if one is not both:
                inside = both.within(one.facet.columns, group.values)
                told = told - both.cells[:, inside].sum(axis=1)
                exact = exact - both.exact[:, inside].sum(axis=1)
            hers = tuple(group.values) == tuple(person[list(one.facet.columns)]) and (one is both or not is_told)
            if exact.sum():
                found[one.facet.columns, tuple(group.values)] = Drawn(told, exact, hers)
    return found


def guess(
    editions: Sequence[Mapping[Answer, Report]], person: pd.Series[Any], answer: Answer, key: bytes
) -> Guess:  # fmt: skip
    """The chances to be right of who takes the likeliest answer, by all editions."""
    likelihoods, forms = dict.fromkeys(ANSWERS, 0.0), []
    for reports in editions:
        forms.append(for_publication(reports[answer].document, key))
        counts = drawn(reports[answer], person, key)
        for one in ANSWERS:
            likelihoods[one] += sum(
                _log_chances(group.told, _with(group, one, answer)).sum() for group in counts.values()
            )
            likelihoods[one] += _log_chance_of_means(forms[-1], reports[one].document)
    return _guess(likelihoods, answer, forms[0]["publication"]["guessed" if len(forms) == 1 else "guessed_of_ten"])


def guess_of_rounded(groups: Mapping[Group, Drawn], answer: Answer) -> Guess:
    """The same where counts are rounded alone, as they were before there was noise."""
    counts = [group for group in groups.values() if group.of_the_person]
    likelihoods = {
        one: 0.0
        if all((_rounded(_with(each, one, answer)) == _rounded(each.exact)).all() for each in counts)
        else -np.inf
        for one in ANSWERS
    }
    return _guess(likelihoods, answer, 1.0)


def _guess(likelihoods: Mapping[Answer, float], answer: Answer, stated: float) -> Guess:
    label, decision = answer
    return Guess(
        _right(likelihoods, answer, [answer, (1 - label, decision)]),
        _right(likelihoods, answer, [answer, (label, 1 - decision)]),
        _right(likelihoods, answer, ANSWERS),
        sum(np.isfinite(one) for one in likelihoods.values()) == 1,
        stated,
    )


def _right(likelihoods: Mapping[Answer, float], answer: Answer, among: Sequence[Answer]) -> float:
    best = [one for one in among if likelihoods[one] >= max(likelihoods[other] for other in among) - 1e-9]
    return (answer in best) / len(best)


def _rounded(counts: Counts) -> Counts:
    return np.array([rounded(x) for x in counts], dtype=np.float64)


def _with(group: Drawn, supposed: Answer, answer: Answer) -> Counts:
    """The exact counts, if the person had another label and decision."""
    if not group.of_the_person:
        return group.exact
    each = np.eye(len(ANSWERS))
    return group.exact + each[ANSWERS.index(supposed)] - each[ANSWERS.index(answer)]


def _log_chance_of_means(form: Document, document: Document) -> float:
    """Of the means of train and test rows that a form tells."""
    logs = []
    for part in ("train", "test"):
        harmed = document["bias_variable"][f"{part}_mean"] * document["split"][f"{part}_rows"]
        rows, mean = max(form["split"][f"{part}_rows"], BASE), form["bias_variable"][f"{part}_mean"]
        counts = np.array([n for n in range(0, rows + 11 * BASE, BASE) if round(min(n / rows, 1.0), 2) == mean])
        logs.append(np.log(np.exp(_log_chances(counts, np.array(harmed))).sum()))
    return float(sum(logs))


def _log_chances(told: Counts, exact: Counts) -> Counts:
    """How likely counts are to be told as they are."""
    low, high = (ndtr((told + end * BASE / 2.0 - exact) / DEVIATION) for end in (-1.0, 1.0))
    return np.asarray(np.log(np.maximum(high - np.where(told <= 0.0, 0.0, low), 1e-300)))


def _by_what_rose(before: Mapping[Group, Drawn], after: Mapping[Group, Drawn], answer: Answer) -> float:
    """Whether the count of her group that rose most is hers; a draw where several did, or nothing is told."""
    rises = [one.told - before[group].told for group, one in after.items() if one.of_the_person and group in before]
    if not rises:
        return 1.0 / len(ANSWERS)
    best = np.flatnonzero(rises[0] == rises[0].max())
    return float(ANSWERS.index(answer) in best) / len(best)
