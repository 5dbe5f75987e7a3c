"""Direction that is better for people, the prediction they want, and whether the gate's limits look the right way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.derivations import derived
from bdt_core.metrics import (
    GATE_METRICS,
    NUMERIC,
    RATES,
    Better,
    Favourable,
    better_side,
    depends_on_favourable,
    is_ratio,
    is_signed,
)
from bdt_core.vocabulary import speaks_of

if TYPE_CHECKING:
    from bdt_core.spec.gate import MetricLimit


def implied_better(derive: str | None, name: str, positive: object) -> Better | None:
    """Which way is better for people, where the derivation or clear words say it.

    Nothing says it of a signed error, whatever its columns are called: too low harms those who are paid by a
    prediction, too high those who pay by it.

    Parameters
    ----------
    derive : str or None
    name : str
        Of the column that is measured, or of the prediction.
    positive : value, list of values or None
        What counts as positive; a text says more than the name.

    Examples
    --------
    >>> implied_better("false_positive_rate", "granted", None), implied_better(None, "error", None)
    ('lower', 'lower')
    >>> implied_better(None, "fined", None), implied_better(None, "geslaagd", None), implied_better(None, "y", None)
    ('lower', 'higher', None)
    >>> implied_better("positive_prediction", "outcome", ["refused", 1])
    'lower'
    >>> implied_better("signed_error", "error", None) is None, implied_better("exposure", "error", None)
    (True, 'higher')
    """
    made = derived(derive)
    if made is not None and made.direction == "said":
        return None
    if made is not None and made.direction in ("lower", "higher"):
        return made.direction
    if speaks_of(name, "error"):
        return "lower"
    levels = positive if isinstance(positive, list) else [positive]
    texts = [one for one in levels if isinstance(one, str)]
    for text in (*texts[:1], name):
        if speaks_of(text, "worse"):
            return "lower"
        if speaks_of(text, "better"):
            return "higher"
    return None


def favourable_by(derive: str | None, better: Better) -> Favourable | None:
    """Which prediction people want, where the bias variable says it.

    People are better off without false positives where a positive prediction harms them, and without false negatives
    where it is what they want. An error says neither.

    Examples
    --------
    >>> favourable_by("false_positive_rate", "lower"), favourable_by("false_negative_rate", "lower")
    ('negative', 'positive')
    >>> favourable_by("positive_prediction", "higher"), favourable_by("error", "lower")
    ('positive', None)
    """
    made = derived(derive)
    return None if made is None else made.favourable(better)


def is_both_ways(limit: MetricLimit) -> bool:
    """Whether a limit holds in both directions: with both ends, or as the largest of a difference with a sign.

    Examples
    --------
    >>> from bdt_core.spec import MetricLimit
    >>> is_both_ways(MetricLimit(metric="DPPL", facet="sex", max=0.1))
    True
    >>> is_both_ways(MetricLimit(metric="DPPL", facet="sex", min=-0.1))
    False
    """
    if limit.min is not None:
        return limit.max is not None
    return limit.max is not None and limit.max >= 0 and _has_a_sign(GATE_METRICS[limit.metric])


def _has_a_sign(metric: str) -> bool:
    """Whether a metric, named as in the results, is above 0 for some groups and below it for others."""
    compared = metric.removesuffix("_difference")
    return is_signed(metric) or (metric != compared and (compared in RATES or compared in NUMERIC))


def problem_of_direction(limit: MetricLimit, favourable: Favourable | None) -> str | None:
    """What is wrong with the direction of a limit, and how to write it; None where nothing is.

    Parameters
    ----------
    limit : MetricLimit
    favourable : {"positive", "negative"} or None
        Which prediction people want; None where nobody said.

    Examples
    --------
    >>> from bdt_core.spec import MetricLimit
    >>> limit = MetricLimit(metric="disparate_impact", facet="sex", max=1.25)
    >>> problem_of_direction(limit, "positive").partition(";")[2]
    ' write "min: 0.8"'
    """
    name = GATE_METRICS[limit.metric]
    if favourable is None and depends_on_favourable(name, both_ways=is_both_ways(limit)):
        return (
            f'the gate limits "{limit.metric}", which depends on the prediction that people want: write '
            '"favourable: positive" (as for granted, hired) or "favourable: negative" (as for refused, flagged)'
        )
    better = better_side(name, favourable)
    if better == "higher" and limit.min is None and limit.max is not None and not is_both_ways(limit):
        written, instead = f"max: {limit.max:g}", f"min: {_other_end(name, limit.max, below=True):g}"
    elif better == "lower" and limit.max is None and limit.min is not None:
        written, instead = f"min: {limit.min:g}", f"max: {_other_end(name, limit.min, below=False):g}"
    else:
        return None
    where = f' with "favourable: {favourable}"' if depends_on_favourable(name) else ""
    return (
        f'the gate limits "{limit.metric}" by "{written}" alone, which lets every harm pass: {better} values are the '
        f'better ones{where}; write "{instead}"'
    )


def _other_end(metric: str, value: float, *, below: bool) -> float:
    """The limit that was meant, at the end where the harm lies."""
    if is_ratio(metric) and value > 0:
        return min(value, 1.0 / value) if below else max(value, 1.0 / value)
    if _has_a_sign(metric):
        return -abs(value) if below else abs(value)
    return value
