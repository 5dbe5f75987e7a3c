"""Ways to a Pass that is not deserved: each ends without one, or is told on page 1, in both languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core import audit
from bdt_core.errors import BDTError
from bdt_core.report.markdown import render_first_page
from benchmarks.contradictions import in_language

NOT_YET: dict[str, str] = {}
"""Tricks that still work, by name, and why."""

WORDS: dict[str, tuple[str, str]] = {
    "share of 30": (r"30 of 100|30 %|3 of 10\b", r"30 op de 100|30 %|3 op de 10\b"),
    "share of 20": (r"20 of 100|20 %|2 of 10\b|1 of 5\b", r"20 op de 100|20 %|2 op de 10\b|1 op de 5\b"),
    "not judged": (
        r"not judged|does not judge|do not judge|smaller",
        r"niet (mee)?beoordeeld|beoordeel\w* niet|kleiner",
    ),
    "at first sight": (r"at first sight", r"op het eerste gezicht"),
    "alike": (r"alike in", r"gelijk (zijn )?in"),
    "to judge": (r"for people to judge", r"mensen over (te )?oordelen|aan mensen"),
    "reason": (r"law asks for it", r"law asks for it"),
    "caused": (
        r"may have caused|may be a (result|consequence)|at first sight",
        r"kan .*(veroorza|gevolg)|op het eerste gezicht",
    ),
    "leak": (r"nearly|almost|says the same|leak|remark", r"bijna|vrijwel|hetzelfde|lek|opmerking"),
    "majority": (r"majority", r"meerderheid"),
    "cannot fail": (
        r"hardly any data could break it",
        r"bijna geen gegevens de grens kunnen overschrijden",
    ),
    "wide": (r"unusually|wide|half of|50 of 100", r"ongewoon|ruim|helft|50 op de 100"),
    "other column": (r"do(es)? not judge", r"beoorde\w+ .*niet"),
    "blank": (r"missing|blank|not known|no outcome", r"ontbre|leeg|onbekend|geen uitkomst"),
    "no limit": (r"no limit was", r"geen grens"),
    "looked at": (r"age.*income|income.*age", r"age.*income|income.*age"),
    "not looked at": (r"not looked at: .*(sex|region)", r"niet naar is gekeken: .*(sex|region)"),
    "reference": (r"numbers were not given|reference", r"aantallen zijn niet opgegeven|reference|referentie"),
    "not searched": (
        r"no search looked for groups that conditions describe",
        r"niet gezocht naar groepen die voorwaarden",
    ),
    "near copies": (
        r"copies|nearly the same|almost the same|alike but",
        r"kopie|vrijwel (gelijk|hetzelfde)|bijna (gelijk|hetzelfde)",
    ),
    "levels": (
        r"one value|only value|single value|constant|1 level|one level|not looked at: .*sex",
        r"één waarde|een waarde|constant|niveau|niet naar is gekeken: .*sex",
    ),
    "direction": (
        r"counts as worse",
        r"hier geldt (meer|minder) hiervan als slechter",
    ),
    "question": (r"came true", r"is gebleken"),
    "confidence of 80": (r"80 ?%|80 of 100|8 of 10\b", r"80 ?%|80 op de 100|8 op de 10\b"),
    "confidence of 99.9": (r"99\.9 ?%|999 of 1,000", r"99,9 ?%|999 op de 1\.000"),
}
"""What page 1 says of a trick, in English and in Dutch."""

QUICK: dict[str, Any] = {
    "name": "trick",
    "bias_variable": {"column": "refused", "better": "lower"},
    "clustering": {"stability": 0, "n_init": 1, "max_iter": 3},
    "slices": None,
    "worst_groups": {"permutations": 39},
    "split": {"repeats": 1},
}
WORST = {"check": "worst_group", "max_difference": 0.15}
LARGE = {"check": "worst_group", "max_difference": 0.1}
CLUSTER = {"check": "worst_cluster", "max_difference": 0.15}
CANNOT_FAIL = {"check": "worst_cluster", "max_difference": 0.9}


@cache
def people(rows: int = 6000, seed: int = 1) -> pd.DataFrame:
    """One of ten, women in the south, is refused 40 times of 100, everybody else 15."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows, p=[0.4, 0.6]),
            "region": rng.choice(["south", "north", "east", "west"], rows),
            "age": rng.integers(18, 80, rows),
            "income": rng.normal(50, 10, rows).round(1),
        }
    )
    harmed = ((frame["sex"] == "f") & (frame["region"] == "south")).to_numpy()
    return frame.assign(refused=(rng.random(rows) < np.where(harmed, 0.4, 0.15)).astype(float))


def is_harmed(frame: pd.DataFrame) -> pd.Series:
    return (frame["sex"] == "f") & (frame["region"] == "south")


@dataclass(frozen=True)
class Trick:
    """A way to a Pass.

    Attributes
    ----------
    row : int
        Of the table that lists them.
    table : callable
    spec : dict
        Beside `QUICK`.
    words : tuple of str
        What page 1 says, of `WORDS`.
    may_pass : bool
        Whether a Pass may stand above those words.
    refused : str, optional
        What an error says, where there is no audit.
    """

    row: int
    table: Callable[[], pd.DataFrame] = people
    spec: dict[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    may_pass: bool = False
    refused: str | None = None


def large() -> pd.DataFrame:
    return people(40_000)


def in_other_words() -> pd.DataFrame:
    return people().rename(columns={"sex": "geslacht", "region": "wijk", "refused": "geweigerd"})


def amounts() -> pd.DataFrame:
    """Days that people wait; women in the south seven more."""
    frame = people()
    rng = np.random.default_rng(2)
    days = rng.gamma(4, 5, len(frame)) + 7.0 * is_harmed(frame)
    return frame.drop(columns="refused").assign(days=days.round(1))


def persons() -> pd.DataFrame:
    """Each person twice, with another decision."""
    one, other = people(3000, 3), people(3000, 4)
    same = one.assign(refused=np.where(is_harmed(one), one["refused"], other["refused"]))
    return pd.concat([one.assign(person=range(3000)), same.assign(person=range(3000))], ignore_index=True)


def by_points() -> pd.DataFrame:
    """Women in the south have more points, and points are what decides."""
    frame, rng = people(40_000), np.random.default_rng(5)
    points = rng.poisson(1, len(frame)) + 3 * is_harmed(frame).to_numpy() * (rng.random(len(frame)) < 0.7)
    return frame.assign(points=points, refused=(rng.random(len(frame)) < np.where(points > 2, 0.5, 0.13)).astype(float))


def by_file() -> pd.DataFrame:
    """Nobody is worse off; a file is opened on women, and on whoever is refused."""
    frame, rng = people(), np.random.default_rng(6)
    refused = (rng.random(len(frame)) < 0.3).astype(float)
    opened = rng.random(len(frame)) < 0.05 + 0.45 * (frame["sex"] == "f") + 0.45 * refused
    return frame.assign(refused=refused, opened=np.where(opened, "yes", "no"))


def by_score() -> pd.DataFrame:
    frame, rng = people(), np.random.default_rng(7)
    return frame.assign(score=(frame["refused"] + rng.normal(0, 0.05, len(frame))).round(2))


def of_four_conditions() -> pd.DataFrame:
    """Some 6 of 100 people, of four conditions, 15 more of 100."""
    frame, rng = people(20_000), np.random.default_rng(8)
    frame = frame.assign(contract=rng.choice(["fixed", "open"], len(frame)))
    four = (frame["sex"] == "f") & frame["region"].isin(["south", "north"]) & (frame["contract"] == "open")
    harmed = (four & (frame["age"] <= 55)).to_numpy()
    return frame.assign(refused=(rng.random(len(frame)) < np.where(harmed, 0.3, 0.15)).astype(float))


def with_predictions() -> pd.DataFrame:
    frame, rng = people(), np.random.default_rng(9)
    return frame.assign(
        contract=rng.choice(["fixed", "open"], len(frame)),
        said=frame["refused"].astype(int),
        late=rng.integers(0, 2, len(frame)),
    )


def blank_where_harmed() -> pd.DataFrame:
    frame, rng = people(40_000), np.random.default_rng(10)
    blank = is_harmed(frame) & (frame["refused"] == 1) & (rng.random(len(frame)) < 0.8)
    return frame.assign(refused=frame["refused"].mask(blank))


def without_the_columns() -> pd.DataFrame:
    return people().drop(columns=["sex", "region"])


def without_the_harmed() -> pd.DataFrame:
    frame = people()
    return frame[~(is_harmed(frame) & (frame["refused"] == 1))].reset_index(drop=True)


def repeated() -> pd.DataFrame:
    frame = people()
    others = frame[~is_harmed(frame)]
    return pd.concat([frame, others, others, others], ignore_index=True)


def near_copies() -> pd.DataFrame:
    """2,000 people, none of them worse off, ten times, with noise in their income."""
    rng = np.random.default_rng(11)
    frame = people(2000).assign(refused=(rng.random(2000) < 0.2).astype(float))
    drawn = frame.iloc[rng.integers(0, 2000, 20_000)].reset_index(drop=True)
    return drawn.assign(income=(drawn["income"] + rng.normal(0, 0.5, len(drawn))).round(2))


def coarse() -> pd.DataFrame:
    return people().assign(sex="all", region=lambda one: np.where(one["region"].isin(["south", "north"]), "a", "b"))


def swapped() -> pd.DataFrame:
    return people().assign(granted=lambda one: 1.0 - one["refused"]).drop(columns="refused")


ALIKE = {"legitimate": ["sex", "region"], "gate": [LARGE]}
BECAUSE = {"because": "the law asks for it"}
TRICKS = {
    "share of the limit": Trick(
        1, spec={"gate": [{**WORST, "min_share": 0.3}]}, words=("share of 30", "not judged"), may_pass=True
    ),
    "share of the limit, other columns": Trick(
        1,
        in_other_words,
        {"bias_variable": {"column": "geweigerd", "better": "lower"}, "gate": [{**WORST, "min_share": 0.3}]},
        ("share of 30", "not judged"),
        may_pass=True,
    ),
    "share of the limit, amounts": Trick(
        1,
        amounts,
        {
            "bias_variable": {"column": "days", "better": "lower"},
            "gate": [{**WORST, "max_difference": 5.0, "min_share": 0.3}],
        },
        ("share of 30", "not judged"),
        may_pass=True,
    ),
    "share of the limit, persons": Trick(
        1,
        persons,
        {"split": {"repeats": 1, "key": "person"}, "gate": [{**WORST, "min_share": 0.3}]},
        ("share of 30", "not judged"),
        may_pass=True,
    ),
    "share of the search": Trick(
        2,
        spec={"worst_groups": {"permutations": 39, "min_share": 0.2}, "slices": {}, "gate": [WORST]},
        words=("share of 20",),
        may_pass=True,
    ),
    "factors that are the group": Trick(3, large, ALIKE, ("at first sight", "alike"), may_pass=True),
    "protected factors": Trick(4, people, {**ALIKE, "protected": ["sex", "region"]}, refused="because|reason"),
    "protected factors with a reason": Trick(
        4,
        people,
        {
            "legitimate": [{"column": "sex", **BECAUSE}, {"column": "region", **BECAUSE}],
            "protected": ["sex", "region"],
            "gate": [LARGE],
        },
        ("reason", "at first sight"),
        may_pass=True,
    ),
    "mediator": Trick(
        5,
        by_points,
        {"legitimate": ["points"], "gate": [LARGE]},
        ("at first sight", "alike", "to judge"),
        may_pass=True,
    ),
    "collider": Trick(6, by_file, {"legitimate": ["opened"], "gate": [WORST]}, ("caused",), may_pass=True),
    "score as factor": Trick(7, by_score, {"legitimate": ["score"], "gate": [WORST]}, ("leak",), may_pass=True),
    "majority": Trick(
        8,
        spec={"gate": [CANNOT_FAIL, CANNOT_FAIL, {**WORST, "max_difference": 0.05}], "require": "majority"},
        words=("majority", "cannot fail"),
        may_pass=True,
    ),
    "clusters alone": Trick(
        9, spec={"worst_groups": None, "slices": {}, "protected": ["sex", "region"], "gate": [CLUSTER]}
    ),
    "clusters alone, many rows": Trick(
        10,
        large,
        {"worst_groups": None, "gate": [{**CLUSTER, "max_difference": 0.1}]},
        ("not searched",),
        may_pass=True,
    ),
    **{
        f"clusters, seed {seed}": Trick(
            11,
            lambda: people(3000),
            {"split": {"repeats": 1, "random_state": seed}, "gate": [{**CLUSTER, "max_difference": 0.08}]},
        )
        for seed in range(6)
    },
    "four conditions": Trick(12, of_four_conditions, {"slices": {"max_conditions": 4}, "gate": [LARGE]}),
    "wide limit": Trick(13, spec={"gate": [{**WORST, "max_difference": 0.5}]}, words=("wide",), may_pass=True),
    "metric of another column": Trick(
        14,
        with_predictions,
        {
            "bias_variable": {"derive": "positive_prediction", "prediction": "said", "better": "lower"},
            "features": {"exclude": ["refused", "late"]},
            "protected": ["contract"],
            "gate": [{"metric": "demographic_parity_difference", "facet": "contract", "max": 0.1}],
        },
        ("other column",),
        may_pass=True,
    ),
    "blank outcomes": Trick(15, blank_where_harmed, {"gate": [LARGE]}, ("blank",)),
    "no limit": Trick(16, spec={"gate": []}, words=("no limit",)),
    "columns dropped": Trick(17, without_the_columns, {"gate": [WORST]}, ("looked at",), may_pass=True),
    "columns left out": Trick(
        18, spec={"features": {"exclude": ["sex", "region"]}, "gate": [WORST]}, words=("not looked at",), may_pass=True
    ),
    "columns not searched": Trick(
        19,
        spec={"worst_groups": {"permutations": 39, "columns": ["age", "income"]}, "gate": [WORST]},
        words=("looked at",),
        may_pass=True,
    ),
    "rows deleted": Trick(20, without_the_harmed, {"gate": [WORST]}, ("reference",), may_pass=True),
    "rows repeated": Trick(21, repeated, {"gate": [WORST]}),
    "near copies": Trick(22, near_copies, {"gate": [WORST]}, ("near copies",), may_pass=True),
    "coarse columns": Trick(23, coarse, {"gate": [WORST]}, ("levels",), may_pass=True),
    "direction turned": Trick(
        24,
        spec={"bias_variable": {"column": "refused", "better": "higher"}, "gate": [WORST]},
        words=("direction",),
        may_pass=True,
    ),
    "positive swapped": Trick(
        24,
        swapped,
        {"bias_variable": {"column": "granted", "better": "lower"}, "gate": [WORST]},
        ("direction",),
        may_pass=True,
    ),
    "another rate": Trick(
        25,
        with_predictions,
        {
            "bias_variable": {"derive": "false_negative_rate", "label": "late", "prediction": "said"},
            "features": {"exclude": ["refused"]},
            "gate": [WORST],
        },
        ("question",),
        may_pass=True,
    ),
    "little confidence": Trick(
        26, spec={"significance": {"alpha": 0.2}, "gate": [WORST]}, words=("confidence of 80",), may_pass=True
    ),
    "much confidence": Trick(
        26, spec={"significance": {"alpha": 0.001}, "gate": [WORST]}, words=("confidence of 99.9",), may_pass=True
    ),
    "four persons": Trick(
        27, spec={"split": {"repeats": 1, "key": "region"}, "gate": [WORST]}, refused="these are too few to be compared"
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[pytest.mark.xfail(reason=NOT_YET[one], strict=True)] if one in NOT_YET else [])
        for one in TRICKS
    ],
)
def test_a_trick_gets_no_silent_pass(name: str) -> None:
    trick = TRICKS[name]
    asked = {**QUICK, **trick.spec}
    if trick.refused is not None:
        with pytest.raises(BDTError, match=trick.refused):
            audit(trick.table(), asked)
        return
    document = audit(trick.table(), asked).document
    for place, language in enumerate(("en", "nl")):
        page = render_first_page(in_language(document, language))
        silent = [one for one in trick.words if not re.search(WORDS[one][place], page, re.IGNORECASE)]
        assert not silent, f"row {trick.row}, {language}: {document['verdict']['verdict']}, not on page 1: {silent}"
    assert trick.may_pass or document["verdict"]["verdict"] != "pass", (
        f"row {trick.row}: {document['verdict']['sentence']}"
    )


def test_all_rows_of_the_table_are_tried() -> None:
    assert {one.row for one in TRICKS.values()} == set(range(1, 28))
    assert set(NOT_YET) <= set(TRICKS)


def test_near_copies_confirm_nobody() -> None:
    assert not audit(near_copies(), {**QUICK, "gate": [WORST]}).findings
