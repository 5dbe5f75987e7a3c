"""Name of the bias variable in print, and of the people compared with: the one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.said import Column, say
from bdt_core.spec.direction import ERRORS

if TYPE_CHECKING:
    from bdt_core.spec.audit_spec import AuditSpec, BiasVariable


@dataclass(frozen=True)
class Wording:
    """How the bias variable is named in print."""

    name: str
    short: str
    description: str


def wording(settings: BiasVariable) -> Wording:
    """Name, short name and description of the bias variable, for people."""
    label, prediction = settings.label, settings.prediction
    match settings.derive:
        case None:
            return Wording(str(settings.column), str(settings.column), f"mean of {settings.column}")
        case "error":
            return Wording("error rate", "error rate", f"share of people for whom {prediction} differs from {label}")
        case "false_positive":
            return Wording(
                "false positives",
                "false positives",
                f"share of all people for whom {prediction} is positive and {label} negative",
            )
        case "false_negative":
            return Wording(
                "false negatives",
                "false negatives",
                f"share of all people for whom {prediction} is negative and {label} positive",
            )
        case "false_positive_rate":
            return Wording(
                "false positive rate",
                "FPR",
                f"share of people with a negative {label} for whom {prediction} is positive",
            )
        case "false_negative_rate":
            return Wording(
                "false negative rate",
                "FNR",
                f"share of people with a positive {label} for whom {prediction} is negative",
            )
        case "positive_prediction":
            return Wording("selection rate", "selection rate", f"share of people for whom {prediction} is positive")
        case "absolute_error":
            return Wording("absolute error", "abs. error", f"mean absolute difference of {prediction} and {label}")
        case "squared_error":
            return Wording("squared error", "sq. error", f"mean squared difference of {prediction} and {label}")


def factors_compared(of: Literal["raw", "remaining"] | None, spec: AuditSpec) -> tuple[str, ...]:
    """The factors in which people are alike who are compared by a limit; none where it is on the raw difference."""
    return () if of == "raw" else tuple(map(str, spec.legitimate))


def compared_with(of: Literal["raw", "remaining"] | None, spec: AuditSpec) -> str:
    """Whom people are compared with by a limit."""
    return than(factors_compared(of, spec))


def than(alike: tuple[str, ...]) -> str:
    """Whom people are compared with: those who are alike in some factors, or everybody else without any.

    Examples
    --------
    >>> than(("age", "town")), than(())
    ('people alike in age and town', 'everybody else')
    """
    if not alike:
        return say("everybody else")
    return say("people alike in {list}", list=words.listing([Column(factor) for factor in alike]))


def guess_in_words(name: str) -> str:
    """What is said of a bias variable of which nobody knows which way is better."""
    return (
        f"Nothing says whether a lower or a higher {name} is better for people: a higher one was taken as worse, which "
        'is a guess. Say it with "bias_variable.better" (lower or higher): the other way round, who is worse off here '
        "is better off."
    )


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
    name = wording(settings).name
    if settings.better_by == "guessed":
        return [guess_in_words(name)]
    if settings.derive in ERRORS and settings.better == "higher":
        return [
            f'A higher {name} is said to be better for people ("bias_variable.better"), but it counts errors, which '
            "are good for nobody: those who are worse off may be taken for better off."
        ]
    return []
