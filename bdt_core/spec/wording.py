"""Name of the bias variable in print, and of the people compared with: the one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.derivations import derived
from bdt_core.said import PLACE, Column, Numeral, Text, joined, of_ours, say

if TYPE_CHECKING:
    from bdt_core.spec.audit_spec import AuditSpec, BiasVariable


@dataclass(frozen=True)
class Wording:
    """How the bias variable is named in print."""

    name: Text
    short: Text
    description: Text


def wording(settings: BiasVariable) -> Wording:
    """Name, short name and description of the bias variable, for people."""
    made = derived(settings.derive)
    if made is None:
        column = str(settings.column)
        return Wording(column, column, say("mean of {what}", what=Column(column)))
    known: dict[str, str] = {"label": Column(settings.label or ""), "prediction": Column(settings.prediction or "")}
    for place, number in (("quantile", settings.quantile), ("k", settings.k)):
        if number is not None:
            known[place] = Numeral(f"{number:g}")
    name, short, mean = (_filled(message, known) for message in (made.name, made.short, made.description))
    if settings.query is None:
        return Wording(name, short, mean)
    return Wording(
        say("{measured} beside the list", measured=of_ours(name)),
        say("{measured} beside the list", measured=of_ours(short)),
        say("{mean}, less the mean of all in the same list by {query}", mean=mean, query=Column(settings.query)),
    )


def _filled(message: str, known: Mapping[str, str]) -> str:
    """A message with what its places name; without places it is looked up by what it reads."""
    places = PLACE.findall(message)
    return say(message, **{place: known[place] for place in places}) if places else message


def factors_compared(of: Literal["raw", "remaining", "calibration"] | None, spec: AuditSpec) -> tuple[str, ...]:
    """The factors in which people are alike who are compared by a limit; none where it is on the raw difference."""
    return () if of in ("raw", "calibration") else tuple(map(str, spec.legitimate))


def compared_with(of: Literal["raw", "remaining", "calibration"] | None, spec: AuditSpec) -> str:
    """Whom people are compared with by a limit."""
    return words.people_compared_with(factors_compared(of, spec))


def named(settings: BiasVariable) -> str:
    """The bias variable within a sentence: a column, or words of ours."""
    name = wording(settings).name
    return Column(name) if settings.derive is None else of_ours(name)


def guess_in_words(name: str) -> str:
    """What is said of a bias variable of which nobody knows which way is better."""
    guessed = say(
        "Nothing says whether a lower or a higher {x} is better for people: a higher one was taken as worse, which is "
        "a guess.",
        x=name,
    )
    mended = say(
        'Say it with "bias_variable.better" (lower or higher): the other way round, who is worse off here is better '
        "off."
    )
    return joined([guessed, mended], " ")


def direction_warnings(settings: BiasVariable) -> list[str]:
    """What is doubtful of the way that is better for people.

    Examples
    --------
    >>> from bdt_core.spec import BiasVariable
    >>> direction_warnings(BiasVariable(column="y"))[0].partition(".")[0]
    'Nothing says whether a lower or a higher y is better for people: a higher one was taken as worse, which is a guess'
    >>> direction_warnings(BiasVariable(column="y", better="lower")), direction_warnings(BiasVariable(column="fined"))
    ([], [])
    """
    name = named(settings)
    if settings.better_by == "guessed":
        return [guess_in_words(name)]
    made = derived(settings.derive)
    if made is not None and made.is_good_for_nobody and settings.better == "higher":
        return [
            say(
                'A higher {x} is said to be better for people ("bias_variable.better"), but it counts errors, which '
                "are good for nobody: those who are worse off may be taken for better off.",
                x=name,
            )
        ]
    return []
