"""Scope of a limit: of whom, against whom, how surely and which way it says something.

The one source of these words: sentences, titles, gate.json and Dagster's checks take them from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bdt_core import words
from bdt_core.result import Result
from bdt_core.said import Column, Numeral, Text, of_ours, say
from bdt_core.verdict.words import sentences

People = Literal["groups", "declared", "cluster", "clusters", "intersections", "places", "scored"]
Difference = Literal["raw", "remaining"]


@dataclass(frozen=True, kw_only=True)
class Scope(Result):
    """What a limit on groups of people is about.

    Attributes
    ----------
    people : {"groups", "declared", "cluster", "clusters", "intersections", "places", "scored"}
        Any group that conditions describe, declared groups, the most deviating cluster, each cluster, each
        intersection, groups within each place of the data; any group that conditions describe, by how far its score is
        off.
    conditions : int or None
        Most conditions of such a group.
    tested : int or None
        How many clusters, intersections or places there are.
    columns : tuple of str
        Of declared groups: their columns.
    min_share : float or None
        Groups of a smaller share of the people are not judged; None: every proven group is.
    ruled_out_from : float or None
        A pass rules out groups from this share of the people on.
    of : {"raw", "remaining"}
        The difference from everybody else, or what remains of it among people alike.
    alike : tuple of str
        The factors in which people are alike, where it is what remains.
    measured : str
    better : {"lower", "higher"} or None
        None where a difference either way counts.
    confidence : float
    default : bool
        Whether the tolerated difference is the tool's own, as nobody set one.
    width : {"unbreakable", "wide"} or None
        Whether the limit is so wide that hardly any data break it, or unusually wide.
    than : str or None
        Whom people are compared with; None where it is each other, within a place, or what a score says of them.
    text : str
        Of whom, in words.

    Examples
    --------
    >>> scope_of("groups", measured="error", better="lower", confidence=0.95, conditions=4, min_share=0.3).text
    'any group of at least 30.0 % of the people that up to 4 conditions describe'
    """

    people: People
    conditions: int | None
    tested: int | None
    columns: tuple[str, ...]
    min_share: float | None
    ruled_out_from: float | None
    of: Difference
    alike: tuple[str, ...]
    measured: Text
    better: Literal["lower", "higher"] | None
    confidence: float
    default: bool
    width: Literal["unbreakable", "wide"] | None
    than: Text | None
    text: Text

    @property
    def sentence(self) -> str:
        """The scope as the end of a limit's sentence.

        Examples
        --------
        >>> scope_of("clusters", measured="error", better="lower", confidence=0.95, tested=4).sentence
        'This limit is on each of the 4 clusters, compared with everybody else; confidence 95 %, higher is worse.'
        """
        whose = of_ours(self.text)
        if self.than is not None:
            whose = say("{scope}, compared with {than}", scope=whose, than=of_ours(self.than))
        confidence = Numeral(f"{self.confidence * 100:.4g} %")
        on = (
            say("This limit is on {scope}; confidence {N}, a gap either way counts.", scope=whose, N=confidence)
            if self.better is None
            else say(
                "This limit is on {scope}; confidence {N}, {way} is worse.",
                scope=whose,
                N=confidence,
                way=say(worse_way(self.better)),
            )
        )
        if self.width == "unbreakable":
            return sentences(on, say("It is so wide that hardly any data could break it."))
        return sentences(on, say("It is unusually wide.")) if self.width == "wide" else on


def worse_way(better: Literal["lower", "higher"]) -> Literal["higher", "lower"]:
    """Which values are worse."""
    return "higher" if better == "lower" else "lower"


_ANY_GROUP = {
    (True, None): "any group that conditions describe",
    (True, "one"): "any group that one condition describes",
    (True, "up to"): "any group that up to {N} conditions describe",
    (False, None): "any group of at least {N} of the people that conditions describe",
    (False, "one"): "any group of at least {N} of the people that one condition describes",
    (False, "up to"): "any group of at least {N} of the people that up to {Nmost} conditions describe",
}
"""By whether groups of any size are meant, and of how many conditions."""
_EACH_OF = {
    "clusters": "each of the {N} clusters",
    "intersections": "each of the {N} intersections that were tested",
    "places": "two groups within each of the {N} places",
}


def scope_of(
    people: People,
    *,
    measured: str,
    better: Literal["lower", "higher"] | None,
    confidence: float,
    conditions: int | None = None,
    tested: int | None = None,
    columns: tuple[str, ...] = (),
    min_share: float | None = None,
    ruled_out_from: float | None = None,
    of: Difference = "raw",
    alike: tuple[str, ...] = (),
    default: bool = False,
    width: Literal["unbreakable", "wide"] | None = None,
) -> Scope:
    """A scope with its words."""
    at_least = {} if min_share is None else {"N": words.percent(min_share)}
    match people:
        case "groups" | "scored":
            how_many = None if conditions is None else "one" if conditions == 1 else "up to"
            up_to = {"N" if min_share is None else "Nmost": words.count(conditions)} if how_many == "up to" else {}
            who: str = say(_ANY_GROUP[min_share is None, how_many], **at_least, **up_to)
            if people == "scored":
                who = say("the score of {people}", people=who)
        case "declared":
            # A run may declare no group and still hold the check of a limit on them, which nobody can judge then.
            if columns:
                names = words.listing([Column(name) for name in columns])
                of_columns = "each declared group of at least {N} of the people of {list}"
                who = say("each declared group of {list}" if min_share is None else of_columns, **at_least, list=names)
            else:
                of_all = "each declared group of at least {N} of the people"
                who = say("each declared group" if min_share is None else of_all, **at_least)
        case "cluster":
            who = say("the most deviating cluster")
        case _:
            who = say(_EACH_OF[people], N=Numeral(str(tested)))
    return Scope(
        people=people, conditions=conditions, tested=tested, columns=columns, min_share=min_share,
        ruled_out_from=ruled_out_from, of=of, alike=alike, measured=measured, better=better, confidence=confidence,
        default=default, width=width, text=who,
        than=None if people in ("places", "scored") else words.people_compared_with(alike),
    )  # fmt: skip


_UNBREAKABLE, _WIDE = 0.9, 0.25
_UNBREAKABLE_SD, _WIDE_SD = 3.0, 1.0


def width_of(most: float, sd: float | None) -> Literal["unbreakable", "wide"] | None:
    """How wide a limit on a difference is: as a share, or in standard deviations of the bias variable.

    Parameters
    ----------
    most : float
        Largest tolerated difference.
    sd : float or None
        Standard deviation of the bias variable; None for a share.

    Examples
    --------
    >>> width_of(0.05, None), width_of(0.5, None), width_of(0.9, None), width_of(2.0, 1.0)
    (None, 'wide', 'unbreakable', 'wide')
    """
    size, unbreakable, wide = (most, _UNBREAKABLE, _WIDE) if sd is None else (most, _UNBREAKABLE_SD * sd, _WIDE_SD * sd)
    return "unbreakable" if size >= unbreakable else "wide" if size >= wide else None
