"""Results of a comparison of two tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from bdt_core.groups.conditions import GroupCondition
from bdt_core.result import Result, Shown
from bdt_core.said import Text
from bdt_core.spec import Better, FoundBy
from bdt_core.verdict.words import Verdict

Says = Literal["worse", "better", "cannot_tell"]


@dataclass(frozen=True)
class Change(Result):
    """A mean, or a gap between means, in A and in B.

    Attributes
    ----------
    a, b : float
        In units of the bias variable.
    difference, low, high : float
        B less A, with an interval that holds for all statements of the comparison at once.
    says : {"worse", "better", "cannot_tell"}
        What is certain: the whole interval lies on the harmful side, on the other, or has 0 inside. "Cannot tell" is
        not "no change": the interval says which changes are possible.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    says: Says


@dataclass(frozen=True)
class ChangedGroup(Result):
    """What has become of a group.

    Attributes
    ----------
    who : str
        In words.
    found_by : str
        "groups" where it was declared; else the search that found it in A.
    conditions, described : tuple of GroupCondition
        As of a `bdt_core.ranking.Finding`.
    people_a, people_b : int
        Compared.
    on_test_rows : bool
        Whether only people count on whom the search that found it has not been trained.
    change : Change
        Of the group itself.
    gap : Change or None
        Of its mean less that of everybody else. None where there are too few others, and of the one of two groups
        that are each other's others that fares better in A.
    """

    who: str
    found_by: FoundBy
    conditions: tuple[GroupCondition, ...]
    described: tuple[GroupCondition, ...]
    people_a: int
    people_b: int
    on_test_rows: bool
    change: Change
    gap: Change | None


@dataclass(frozen=True)
class People(Result):
    """Whom the two tables are about.

    Attributes
    ----------
    paired_by : {"key", "row"} or None
        How people were found again: by their key, as rows of one table, or not at all, being different people.
    a, b : int
        Compared in each; the same number where they are the same people.
    only_a, only_b : int
        People of one table only (or whose outcome is known in one only), who are left out of a paired comparison.
    elsewhere : int or None
        Of the same people, how many are in another declared group in B than in A; None where nobody was paired, or too
        many to be told apart.
    """

    paired_by: Literal["key", "row"] | None
    a: int
    b: int
    only_a: int = 0
    only_b: int = 0
    elsewhere: int | None = None


@dataclass(frozen=True)
class HeldToLimit(Result):
    """What a limit on changes for the worse says, judged on everybody and on every group.

    Attributes
    ----------
    max_worse : float
        In units of the bias variable.
    verdict : str
    who : str or None
        The group that decides; None for everybody.
    worse, low, high : float
        How much worse they are off in B, with the interval.
    """

    max_worse: float
    verdict: Verdict
    who: str | None
    worse: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Changes(Result, Shown):
    """What has become better or worse from A to B, and for whom.

    Attributes
    ----------
    name_a, name_b : str
    source_a, source_b : str
    measured : str
        What the bias variable is called.
    is_rate : bool
    better : {"lower", "higher"}
    alpha : float
        Chance that any interval misses.
    statements : int
        How many intervals there are.
    people : People
    overall : Change
    narrower : float or None
        How many times as long the interval of `overall` would be if B's people were others; None where nobody was
        paired.
    groups : tuple of ChangedGroup
        Findings of A first, then declared groups.
    too_small : tuple of tuple of GroupCondition
        Declared groups, and findings, with too few people in A or in B.
    min_people : int
        That few.
    others_left_out : int
        Findings of A that are gaps within a place of the data, which measure something else.
    limit : HeldToLimit or None
    spec_a, spec_b : dict
        The specifications.

    Examples
    --------
    >>> from bdt_core import compare
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10, "sex": ["f", "f", "m", "m"] * 100})
    >>> frame["old"], frame["new"] = frame.index % 2, (frame.index % 4 == 1) * 1
    >>> spec = {
    ...     "name": "old", "protected": ["sex"], "slices": None, "worst_groups": None, "clustering": {"stability": 0},
    ...     "features": {"include": ["age"]},
    ...     "bias_variable": {"derive": "positive_prediction", "prediction": "old", "better": "lower"},
    ... }
    >>> other = {**spec, "name": "new", "bias_variable": {**spec["bias_variable"], "prediction": "new"}}
    >>> changes = compare(spec, other, data_a=frame)
    >>> changes.to_frame()[["who", "a", "b", "says"]].values.tolist()
    [['everybody', 0.5, 0.25, 'better'], ['sex is f', 0.5, 0.5, 'cannot_tell'], ['sex is m', 0.5, 0.0, 'better']]
    """

    name_a: str
    name_b: str
    source_a: str
    source_b: str
    measured: Text
    is_rate: bool
    better: Better
    alpha: float
    statements: int
    people: People
    overall: Change
    narrower: float | None
    groups: tuple[ChangedGroup, ...]
    too_small: tuple[tuple[GroupCondition, ...], ...]
    min_people: int
    others_left_out: int
    limit: HeldToLimit | None
    spec_a: dict[str, Any]
    spec_b: dict[str, Any]

    def to_frame(self) -> pd.DataFrame:
        """Everybody, then a row per group.

        Returns
        -------
        DataFrame
            who, found_by, people_a, people_b, a, b (means), difference (B less A), low, high (which hold for all rows
            at once), says.
        """
        everybody = ("everybody", None, self.people.a, self.people.b, self.overall)
        rows = [everybody, *((one.who, one.found_by, one.people_a, one.people_b, one.change) for one in self.groups)]
        names = ("a", "b", "difference", "low", "high", "says")
        return pd.DataFrame(
            [
                {"who": who, "found_by": found_by, "people_a": people_a, "people_b": people_b}
                | {name: getattr(change, name) for name in names}
                for who, found_by, people_a, people_b, change in rows
            ]
        )

    def _glance(self) -> tuple[str, pd.DataFrame]:
        sentence = f"From {self.name_a} to {self.name_b}, {self.measured}: {self.says.replace('_', ' ')}"
        return sentence, self.to_frame()[["who", "people_b", "a", "b", "difference", "low", "high", "says"]]

    @property
    def says(self) -> Literal["worse", "better", "both", "cannot_tell"]:
        """What is certain of anybody: some are worse off, some better, both, or nobody for certain."""
        said = {self.overall.says, *(one.change.says for one in self.groups)}
        if {"worse", "better"} <= said:
            return "both"
        return "worse" if "worse" in said else "better" if "better" in said else "cannot_tell"
