"""Roles that a proposal gives to columns, as lines that a person reads."""

from __future__ import annotations

from collections.abc import Iterator

from bdt_core import words
from bdt_core.proposal import Measured, Proposal, Reach, listed
from bdt_core.said import say
from bdt_core.words import printable

_GUESSED = "nothing says which way is better for people"


def proposal_in_words(proposal: Proposal) -> list[str]:
    """What is measured, which columns are what, what the rows can show, and last all that is doubtful."""
    return [printable(one) for one in _lines(proposal)]


def reach_in_words(reach: Reach) -> list[str]:
    """What so many rows can show: a difference that a test finds, and a limit on the worst group that passes.

    Examples
    --------
    >>> import textwrap
    >>> for sentence in reach_in_words(Reach(20_000, 4_000, 0.1, 0.0544, True, 0.05, 0.0652)):
    ...     print(textwrap.fill(sentence, 116))
    Of 20,000 rows 4,000 are kept for testing: a group of 10.0 % of the people shows a difference from 5.4 points.
    So many rows can rule out that any group from 5.0 % of the people on fares worse by more than about 6.5 points: a
    smaller limit can be broken, and hardly be kept.
    """
    return [_test_in_words(reach), *limit_in_words(reach)]


def _test_in_words(reach: Reach) -> str:
    known = {"N": words.count(reach.rows), "Ntest": words.count(reach.test_rows), "share": words.percent(reach.share)}
    if reach.difference is None:
        return say(
            "Of {N} rows {Ntest} are kept for testing: a group of {share} of the people shows no difference at all.",
            **known,
        )
    return say(
        "Of {N} rows {Ntest} are kept for testing: a group of {share} of the people shows a difference from {size}.",
        **known,
        size=words.size(reach.difference, "rate" if reach.is_rate else "value"),
    )


def limit_in_words(reach: Reach) -> list[str]:
    """Which limit on the worst group so many rows can settle; nothing of what is no share of people."""
    if not reach.is_rate:
        return []
    share = words.percent(reach.ruled_out_from)
    if reach.settled_limit is None:
        return [
            say(
                "So few rows rule nothing out, as groups from {share} of the people on are too small: a limit can be "
                "broken, and not be kept.",
                share=share,
            )
        ]
    return [
        say(
            "So many rows can rule out that any group from {share} of the people on fares worse by more than about "
            "{size}: a smaller limit can be broken, and hardly be kept.",
            share=share,
            size=words.size(reach.settled_limit, "rate"),
        )
    ]


def measured_in_words(measured: Measured) -> str:
    """What is measured, in one sentence without its end."""
    bias = measured.settings
    of_level = "" if bias.positive is None else f" ({words.listing([str(one) for one in _several(bias.positive)])})"
    match bias.derive:
        case None:
            what = f'"{bias.column}"'
        case "positive_prediction":
            what = f'how often "{bias.prediction}" is positive{of_level}'
        case _:
            what = f'{bias.derive.replace("_", " ")} of "{bias.prediction}" against "{bias.label}"{of_level}'
    return f"{what}; " + (f"{bias.better} is better" if measured.is_better_sure else _GUESSED)


def _lines(proposal: Proposal) -> Iterator[str]:
    measured = proposal.measured
    yield f"Measured: {measured_in_words(measured)}. {measured.why}."
    if proposal.alternatives:
        yield f"Could be measured instead: {listed([' and '.join(one.columns) for one in proposal.alternatives])}."
    yield from proposal.roles_in_words()
    yield from reach_in_words(proposal.reach)
    if proposal.doubts:
        yield "To look at:"
        yield from (f"- {one}" for one in proposal.doubts)


def _several(positive: object) -> list[object]:
    return list(positive) if isinstance(positive, list) else [positive]
