"""The answers of a limit, and of all together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from bdt_core import words
from bdt_core.metrics import spoken_name
from bdt_core.said import Column, Numeral, joined, of_ours, say
from bdt_core.spec import AlertSeverity

Verdict = Literal["pass", "fail", "inconclusive", "not_testable", "no_limit"]
"""The last one only of all limits together, where there is none."""
_SEVERITY_FROM: tuple[tuple[float, AlertSeverity], ...] = ((0.9, "low"), (0.75, "medium"), (0.5, "high"))
SEVEREST_FIRST: tuple[Verdict, ...] = ("fail", "inconclusive", "not_testable", "pass")


def stops(verdict: Verdict, inconclusive: Literal["warn", "block"]) -> bool:
    """Whether what stands behind the gate is stopped."""
    return verdict == "fail" or (verdict not in ("pass", "no_limit") and inconclusive == "block")


def severity_of(value: float, minimum: float | None, maximum: float | None) -> AlertSeverity | None:
    """How bad it is that a value lies beyond its limit, by how much of one is reached by the other.

    Returns
    -------
    str or None
        low, medium or high when at least .9, .75 or .5 is reached, else critical; None within the limit.

    Examples
    --------
    >>> severity_of(0.7, 0.8, None), severity_of(0.3, None, 0.1), severity_of(0.9, 0.8, None)
    ('medium', 'critical', None)
    """
    if minimum is not None and value < minimum:
        reached = max(value, 0.0) / minimum if minimum > 0 else abs(minimum) / abs(value)
    elif maximum is not None and value > maximum:
        reached = maximum / abs(value) if maximum >= 0 and value else 0.0
    else:
        return None
    return _word(reached)


def severity_by_ratio(smaller: float, larger: float) -> AlertSeverity:
    """Severity by the ratio of limit and value, whichever of them is the smaller.

    Examples
    --------
    >>> severity_by_ratio(0.05, 0.052), severity_by_ratio(0.05, 0.2)
    ('low', 'critical')
    """
    return _word(smaller / larger if larger > 0.0 else 0.0)


def severest(severities: Iterable[AlertSeverity]) -> AlertSeverity | None:
    """The worst of several.

    Examples
    --------
    >>> severest(["low", "high"])
    'high'
    """
    return max(severities, key=get_args(AlertSeverity).index, default=None)


def interval_of_several(low: float | None, high: float | None, confidence: float, unit: words.Unit, of: str) -> str:
    """An interval that holds for several comparisons at once.

    Parameters
    ----------
    low, high : float or None
    confidence : float
    unit : {"rate", "value"}
    of : str
        How many of what: "65 intersections".

    Examples
    --------
    >>> interval_of_several(0.091, 0.253, 0.95, "rate", "65 intersections")
    '[95 % CI for 65 intersections at once +9.1 to +25.3]'
    >>> interval_of_several(0.091, 0.253, 0.95, "rate", "1 clusters")
    '[95 % CI +9.1 to +25.3]'
    """
    if of.startswith("1 "):
        return words.interval(low, high, confidence=confidence, unit=unit)
    return say(
        "[{N} % CI for {several} at once {low} to {high}]",
        N=Numeral(f"{confidence * 100:.4g}"),
        several=of_ours(of),
        low=words.signed(low, unit),
        high=words.signed(high, unit),
    )


def judged_on(seen: int, unseen: int, columns: Iterable[str]) -> str:
    """How many rows a limit saw, as a sentence; empty where it saw all.

    Parameters
    ----------
    seen, unseen : int
    columns : iterable of str
        Of which a value is missing in the rows that were not seen.

    Examples
    --------
    >>> judged_on(3_508, 492, ["sex", "advice"])
    'Judged on 3,508 rows; 492 without a value of sex or advice were not seen.'
    >>> judged_on(4_000, 0, ["sex"])
    ''
    """
    if not unseen:
        return ""
    return say(
        "Judged on {N} rows; {Nunseen} without a value of {list} was not seen."
        if unseen == 1
        else "Judged on {N} rows; {Nunseen} without a value of {list} were not seen.",
        N=words.count(seen),
        Nunseen=words.count(unseen),
        list=joined([Column(one) for one in columns], " or "),
    )


_WAYS = {
    ("higher", True): "higher (worse)",
    ("higher", False): "higher (better)",
    ("lower", True): "lower (worse)",
    ("lower", False): "lower (better)",
}


def which_way(
    harm: float, low: float | None, high: float | None, *, better: Literal["lower", "higher"], certain: bool
) -> tuple[str, float | None, float | None]:
    """Which way a group differs, and its interval, both in the variable's own direction, as everywhere in a report.

    Parameters
    ----------
    harm : float
        The difference, harm counted as positive.
    low, high : float or None
        Its interval, the same way.
    better : {"lower", "higher"}
    certain : bool
        Whether the test rejects: else nothing is called better or worse.

    Examples
    --------
    >>> which_way(0.231, 0.203, 0.26, better="higher", certain=True)
    ('lower (worse)', -0.26, -0.203)
    >>> which_way(0.003, -0.04, 0.05, better="lower", certain=False)
    ('higher', -0.04, 0.05)
    """
    if better == "higher":
        low, high = None if high is None else -high, None if low is None else -low
    way = "higher" if (harm >= 0) == (better == "lower") else "lower"
    return say(_WAYS[way, harm >= 0] if certain else way), low, high


def check_in_words(check: str) -> str:
    """The name of a limit's check for people: a search, or a metric and the groups that it is of.

    Examples
    --------
    >>> check_in_words("worst_cluster"), check_in_words("disparate_impact by sex")
    ('Worst cluster', 'Disparate impact by sex')
    """
    metric, by, facet = check.partition(" by ")
    metric = of_ours(spoken_name(metric))
    return say("{metric} by {facet}", metric=metric, facet=facet) if by else metric


def sentences(*texts: str) -> str:
    """Sentences after each other; what is empty is left out."""
    return joined([of_ours(text) for text in texts if text], " ")


def clauses(*texts: str) -> str:
    """A sentence of clauses, with its full stop."""
    return say("{sentence}.", sentence=joined(texts, "; "))


def worse_in_words(
    who: str,
    rows: int,
    counted: Literal["people", "rows"],
    *,
    better: Literal["lower", "higher"],
    measured: str,
    than: str,
    size: str,
    least: str,
    confidence: str,
) -> str:
    """How much worse people fare for certain, as the beginning of a limit's sentence."""
    message = (
        "{who}: higher (worse) in {measure} than {than} by {size} as found, by at least {least} ({N} % confidence)"
        if better == "lower"
        else "{who}: lower (worse) in {measure} than {than} by {size} as found, by at least {least} ({N} % confidence)"
    )
    people = say("{N} people" if counted == "people" else "{N} rows", N=words.count(rows))
    return say(
        message,
        who=say("{value} ({note})", value=of_ours(who), note=people),
        measure=of_ours(measured),
        than=of_ours(than),
        size=size,
        least=least,
        N=confidence,
    )


def _word(reached: float) -> AlertSeverity:
    return next((word for least, word in _SEVERITY_FROM if reached >= least), "critical")
