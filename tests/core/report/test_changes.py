"""The page on what changed: the same in every form, in both languages, on one sheet, with every name escaped."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdf
import pytest

from bdt_core.changes import Change, ChangedGroup, Changes, HeldToLimit, People
from bdt_core.errors import OutputError
from bdt_core.groups.conditions import GroupCondition
from bdt_core.report.changes import (
    MOST_ROWS,
    changes_as_page,
    changes_page,
    write_changes,
)
from bdt_core.spec import parse_spec, reported_specification

WORSE = Change(0.20, 0.30, 0.10, 0.06, 0.14, "worse")
BETTER = Change(0.45, 0.34, -0.11, -0.15, -0.07, "better")
UNTOLD = Change(0.30, 0.31, 0.01, -0.02, 0.04, "cannot_tell")
SEX, AGE, BIG = (
    GroupCondition("sex", "values", values=("Female",)),
    GroupCondition("age", "interval", high=25.0, whole=True),
    GroupCondition("sex", "values", values=("Male",)),
)
LABELS = {
    "en": {"sex": {"name": "sex"}, "denied": {"name": "refused"}},
    "nl": {
        "sex": {"name": "geslacht", "levels": {"Female": "vrouw", "Male": "man"}},
        "age": {"name": "leeftijd"},
        "denied": {"name": "geweigerd"},
    },
}


def group(
    condition: GroupCondition, change: Change, gap: Change | None = None, found_by: Any = "groups"
) -> ChangedGroup:
    return ChangedGroup(condition.words, found_by, (condition,), (), 900, 900, False, change, gap)


def sample(language: str = "en", **changes: Any) -> Changes:
    spec = {
        "name": "loans",
        "title": {"en": "Loans", "nl": "Leningen"}[language],
        "language": language,
        "labels": LABELS[language],
        "source": {"path": "loans.csv"},
        "bias_variable": {"derive": "positive_prediction", "prediction": "denied", "better": "lower"},
    }
    said = reported_specification(parse_spec(spec))
    found = Changes(
        name_a="2025", name_b="2026", source_a="loans.csv", source_b="loans.csv", measured="selection rate",
        is_rate=True, better="lower", alpha=0.05, statements=6, people=People("key", 2000, 2000, 30, 1, 12),
        overall=UNTOLD, narrower=2.149, others_left_out=1, min_people=30, limit=None, spec_a=said, spec_b=said,
        groups=(
            group(AGE, BETTER, Change(0.2, 0.1, -0.1, -0.15, -0.02, "better"), "worst_groups"),
            group(SEX, WORSE, Change(0.05, 0.15, 0.1, 0.02, 0.18, "worse")), group(BIG, UNTOLD),
        ),
        too_small=((GroupCondition("sex", "values", values=("x",)),),),
    )  # fmt: skip
    return replace(found, **changes)


def test_the_page_says_for_whom_and_how_surely() -> None:
    told = changes_as_page(sample()).markdown()
    assert told.startswith("# Loans: for whom did it change?")
    for sentence in (
        "A is 2025, B is 2026.",
        "2,000 people, the same in A and in B. Left out are 30 people who count in A only and 1 person who count in B "
        "only. Each is compared with himself or herself, which makes the answer 2.1 times as precise",
        "How many people got the result “refused”.",
        "## Some people are better off in B, and others worse",
        "Everybody together: 30 of 100 in A, 31 of 100 in B. Whether that is more than chance is not known: up to 4 "
        "more of 100 is possible.",
        "- **Sex is Female**: 20 of 100 in A, 30 of 100 in B. That is at least 6 more of 100.",
        "- **Age up to 25**: 45 of 100 in A, 34 of 100 in B. That is at least 7 fewer of 100.",
        "- **Sex is Female**: the difference with everybody else grew, by at least 2 of 100.",
        "- **Age up to 25**: the difference with everybody else shrank, by at least 2 of 100.",
        "| Sex is Female<br>*900 people* | 20.0 | 30.0 | +10.0<br>*+6.0 to +14.0* | worse | ",
        " | 5.0 → 15.0<br>*+2.0 to +18.0* | grew |",
        "| Sex is Male<br>*900 people* | 30.0 | 31.0 | +1.0<br>*−2.0 to +4.0* | cannot tell | – | – |",
        "“Cannot tell” is not “no change”",
        "any of them is wrong has a chance of 5 of 100 at most",
        "found because they fared badly in A",
        "12 people are in another group in B than in A",
        "fewer than 30 people: sex is x.",
        "What became of 1 finding of A that measures something else.",
    ):
        assert sentence in told, sentence


@pytest.mark.parametrize(
    ("verdict", "title", "more"),
    [
        ("pass", "Yes, within this limit", "More than that is ruled out for every group below."),
        ("fail", "No, not as it is", "For at least one group it is certain to be more."),
        ("inconclusive", "These people cannot tell", "and for at least one it is not ruled out."),
    ],
)
def test_a_limit_is_answered(verdict: Any, title: str, more: str) -> None:
    judged = HeldToLimit(0.02, verdict, "sex is Female", 0.1, 0.06, 0.14)
    told = changes_as_page(sample(limit=judged)).markdown()
    assert f"## May B take the place of A? {title}" in told
    assert "Allowed is that a group is worse off by 2 of 100 at most" in told
    assert more in told
    assert changes_page(sample(limit=judged)).banner == verdict


def test_not_certain_is_never_said_to_be_no_change() -> None:
    told = changes_as_page(sample(groups=(group(BIG, UNTOLD, UNTOLD),))).markdown()
    assert "## Nobody can say yet whether anybody is better or worse off" in told
    assert "For no group is that certain. That does not prove that nobody is worse off" in told
    assert "no change" not in told.replace("“Cannot tell” is not “no change”", "")


def test_other_people_are_called_others() -> None:
    told = changes_as_page(sample(people=People(None, 2000, 1500), narrower=None)).markdown()
    assert "2,000 people in A, and 1,500 people in B. They are taken for different people, as nothing says who" in told
    assert "whether the system or the people did" in told
    assert "times as precise" not in told


def test_where_higher_is_better_less_is_worse() -> None:
    worse = Change(0.30, 0.20, -0.10, -0.14, -0.06, "worse")
    told = changes_as_page(sample(better="higher", overall=UNTOLD, groups=(group(SEX, worse),))).markdown()
    assert "- **Sex is Female**: 30 of 100 in A, 20 of 100 in B. That is at least 6 fewer of 100." in told
    assert "up to 2 fewer of 100 is possible" in told


def test_numbers_that_are_no_rates_have_their_unit() -> None:
    spec = {
        "name": "loans", "source": {"path": "a.csv"}, "bias_variable": {"column": "wait"}, "units": {"wait": "days"}
    }  # fmt: skip
    said = reported_specification(parse_spec(spec))
    change = Change(20.25, 23.5, 3.25, 1.5, 5.0, "worse")
    told = changes_as_page(
        sample(is_rate=False, spec_a=said, spec_b=said, overall=change, groups=(), too_small=(), statements=1)
    ).markdown()
    assert "Everybody together: 20.2 days in A, 23.5 days in B. That is at least 1.5 days higher." in told
    assert "**All groups, in days**" in told


def test_dutch_has_no_english_words_and_dutch_numbers() -> None:
    told = changes_as_page(sample("nl", limit=HeldToLimit(0.02, "fail", None, 0.1, 0.06, 0.14))).markdown()
    assert told.startswith("# Leningen: voor wie is er iets veranderd?")
    assert "| Geslacht is vrouw<br>*900 mensen* | 20,0 | 30,0 | +10,0<br>*+6,0 tot +14,0* | slechter |" in told
    assert "2,1 keer zo precies" in told
    english = {"the", "and", "of", "people", "worse", "better", "who", "more", "is not", "cannot", "group", "that"}
    assert english & set(re.findall(r"[a-z]+", told.lower())) == {"of"}  # which is Dutch, too
    apart = changes_as_page(sample("nl", people=People(None, 2000, 1500), narrower=None, groups=())).markdown()
    assert english & set(re.findall(r"[a-z]+", apart.lower())) <= {"of"}


@pytest.mark.parametrize("language", ["en", "nl"])
def test_all_forms_say_the_same_on_one_sheet(language: str) -> None:
    many = tuple(group(replace(SEX, values=(f"level {one}",)), WORSE, UNTOLD) for one in range(MOST_ROWS + 3))
    found = sample(language, groups=many)
    html, pdf = changes_as_page(found).html(), changes_as_page(found).pdf()
    assert f'<html lang="{language}">' in html
    assert "<script" not in html
    (sheet,) = pypdf.PdfReader(io.BytesIO(pdf)).pages
    text = " ".join(sheet.extract_text().split())
    for form in (html, text, changes_as_page(found).markdown()):
        assert "level 0" in form
        assert f"level {MOST_ROWS - 1}" in form
        assert f"level {MOST_ROWS}" not in form
        assert "comparison.json" in form
    assert changes_as_page(found).pdf() == pdf


def test_names_are_escaped() -> None:
    bad = replace(SEX, values=("<script>alert(1)</script> **x** [y](http://z)\x1b[31m",))
    found = sample(groups=(group(bad, WORSE),), name_b="<b>B</b>")
    html, told = changes_as_page(found).html(), changes_as_page(found).markdown()
    assert "<script" not in html
    assert "<b>" not in html
    assert "\x1b" not in html + told
    assert "\\<script" in told
    assert "\\*\\*x" in told


def test_files_are_whole_the_same_again_and_never_overwritten(tmp_path: Path) -> None:
    files = write_changes(sample(), tmp_path / "out")
    assert {one.name for one in files.values()} == {f"comparison.{one}" for one in ("json", "html", "pdf", "md")}
    before = {one: one.read_bytes() for one in files.values()}
    write_changes(sample(), tmp_path / "out")
    assert {one: one.read_bytes() for one in files.values()} == before
    assert Changes.from_dict(json.loads(files["json"].read_text())) == sample()
    with pytest.raises(OutputError, match="Name a new folder"):
        write_changes(sample("nl"), tmp_path / "out")
