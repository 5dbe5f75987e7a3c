"""What a person answers becomes the specification; and the pages say all of it, in both languages."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from bdt_core.errors import DataError, SpecError
from bdt_core.proposal import Proposal, chosen, look_at, proposed
from bdt_core.proposal import proposal as proposing
from bdt_core.report.translation import PAGE, texts
from bdt_core.spec import BiasVariable, parse_spec
from bdt_core.spec.audit_spec import MOST_FEATURES
from bdt_core.stages import READING, SPLITTING, STAGES, VALIDATING, WRITING
from bdt_core.table.roles import assign_roles
from bdt_pipeline.local_page import outcomes
from bdt_pipeline.local_page import pages as drawing
from bdt_pipeline.local_page.answers import Answers, choice_of, levels_of
from bdt_pipeline.local_page.child import Audit, Failure
from bdt_pipeline.local_page.language import language, wanted_language
from bdt_pipeline.local_page.visit import Visit
from tests.core.report.test_language import ENGLISH
from tests.languages import on_the_page
from tests.pipeline.local_page.served import refusals

TEMPLATES = Path(drawing.__file__).parent / "templates"
HOSTILE = '"><script>alert(1)</script>\u202e{{ 7 * 7 }}\x1b[2J'


def answers(frame: pd.DataFrame) -> Answers:
    glance = look_at(frame)
    return Answers(glance, proposed(glance))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return refusals().assign(
        repaid=[1, 0, 1, 1] * 100, approved=[1, 1, 0, 1, 0] * 80, amount=[i * 7 % 93 for i in range(400)]
    )


@pytest.fixture
def given(table: pd.DataFrame) -> Answers:
    return answers(table)


def form_of(given: Answers, **changes: str) -> dict[str, str]:
    """The form as the page has it, with changes; columns by their names."""
    columns = {one.name: f"use-{number}" for number, one in enumerate(given.proposal.columns)}
    uses = {columns[one.name]: given.use_of(one) or "" for one in given.proposal.columns if given.use_of(one)}
    measured = given.proposal.measured.settings
    shown = {"outcome": choice_of(measured), "better": measured.better, **uses}
    return {**shown, **{columns.get(name, name): value for name, value in changes.items()}}


def english_in(sentence: str) -> set[str]:
    """English words in what the Dutch page makes of a sentence, names of columns and keys left out."""
    told = re.sub(r'"[^"]*"|\([^)]*\)', "", language("nl").said(sentence))
    return set(re.findall("[a-z]+", told.lower())) & ENGLISH - {"of"}


def spec_of(given: Answers, lang: str = "en", **reading: str) -> dict[str, Any]:
    text = given.specification("loans.csv", reading, lang)
    parse_spec(yaml.safe_load(text))
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_what_is_filled_in_is_the_proposal(given: Answers) -> None:
    same, is_other = given.changed(form_of(given))
    assert not is_other
    before = given.proposal.specification("loans", {"path": "loans.csv"})
    found = spec_of(same)
    assert found["bias_variable"] == {**before["bias_variable"], "better": "higher"}  # written out, to be seen
    assert found["features"]["exclude"] == before["features"]["exclude"]
    assert found["features"].get("leaks", []) == before["features"]["leaks"]
    assert found["protected"] == ["sex"]
    assert found["source"] == {"path": "loans.csv"}
    assert found["language"] == "en"
    assert "legitimate" not in found
    assert "split" not in found


def test_each_answer_is_in_the_specification(given: Answers) -> None:
    form = form_of(given, better="higher", region="protected", age="legitimate", amount="left out", person_id="person")
    found = spec_of(given.changed(form)[0], "nl", sheet="A", decimal="comma")
    assert found["bias_variable"]["better"] == "higher"
    assert found["protected"] == ["region", "sex"]
    assert found["legitimate"] == ["age"]
    assert "age" in found["features"]["include"]
    assert {"amount", "person_id"} <= set(found["features"]["exclude"])
    assert found["split"]["key"] == "person_id"
    assert found["language"] == "nl"
    assert found["source"] == {"path": "loans.csv", "sheet": "A", "decimal": "comma"}


NAMES = "column;level;name\nsex;f;women\nregion;;part of the country"


def test_names_for_readers_are_in_the_specification_and_on_the_page(given: Answers) -> None:
    columns = [one.name for one in given.proposal.columns]
    sex = f"level-{columns.index('sex')}-"
    fields = {f"name-{columns.index('sex')}": "gender", f"{sex}0": "girls", f"{sex}1": " men ", "system": "Loans: v2"}
    told = {"tested_on": "2026-01-31", "tester": ""}
    changed, _ = given.changed({**form_of(given), **fields, **told, "names": NAMES})
    spec = spec_of(changed)
    assert spec["labels"] == {
        "region": {"name": "part of the country"},
        "sex": {"name": "gender", "levels": {"f": "women", "m": "men"}},  # the file comes before the fields
    }
    assert spec["about"] == {"system": "Loans: v2", "tested_on": "2026-01-31"}
    values = {one.get("name"): one.get("value") for tag, one in Reader(page_of(changed)).tags if tag == "input"}
    assert (values[f"{sex}0"], values[f"{sex}1"], values["tested_on"]) == ("women", "men", "2026-01-31")
    assert f"level-{columns.index('age')}-0" not in values
    again, _ = changed.changed(form_of(changed))
    assert spec_of(again)["labels"] == spec["labels"]
    sliders = ("smallest", "iterations")
    emptied, _ = changed.changed({**{name: "" for name in map(str, values) if name not in sliders}, **form_of(changed)})
    assert {"labels", "about"}.isdisjoint(spec_of(emptied))


@pytest.mark.parametrize("lang", ["en", "nl"])
def test_names_of_no_column_are_refused(given: Answers, lang: str) -> None:
    problems = {
        "column,level,name\nland,,x": '"land"',
        "column,level,name\nsex,f,": '"f"',
        "sex,f,women": "column,level",
    }
    for text, problem in problems.items():
        with pytest.raises(SpecError, match=problem) as error:
            given.changed({**form_of(given), "names": text})
        assert lang == "en" or language(lang).said(error.value.sentence) != str(error.value)


@pytest.mark.parametrize(
    ("asked", "limit"),
    [("", None), ("7", 0.07), ("2,5", 0.025), ("0", 0.0), ("100", 1.0), ("5.0", 0.05), ("0.00001", 1e-7)],
)
def test_the_limit_is_that_of_the_specification(given: Answers, asked: str, limit: float | None) -> None:
    changed, _ = given.changed(form_of(given, limit=asked))
    expected = {"check": "worst_group", **({} if limit is None else {"max_difference": limit})}
    assert spec_of(changed)["gate"] == [expected]
    again, _ = changed.changed(form_of(changed))  # an answer stays
    assert spec_of(again)["gate"] == [expected]
    assert spec_of(again.changed(form_of(again, limit=""))[0])["gate"] == [{"check": "worst_group"}]


def test_a_limit_is_in_the_unit_of_what_is_measured(given: Answers) -> None:
    form = form_of(given, limit="40")
    rate, _ = given.changed(form)
    amount, is_other = rate.changed({**form, "outcome": "number", "number": "7"})
    assert is_other
    assert amount.limit == ""  # 40 points are no 40 euros
    euros, _ = amount.changed(form_of(amount, limit="40"))
    assert spec_of(euros)["gate"] == [{"check": "worst_group", "max_difference": 40.0}]
    for page, unit in ((page_of(rate), "points (of 100)"), (page_of(euros), "in the unit of what is measured")):
        assert unit in page
        assert [attrs.get("value") for tag, attrs in Reader(page).tags if attrs.get("name") == "limit"] == ["40"]


@pytest.mark.parametrize("limit", ["-1", "100.1", "1e3", "nan", "five", "5%", "٣", "9" * 400])
def test_a_limit_that_is_no_difference_is_refused(given: Answers, limit: str) -> None:
    with pytest.raises(SpecError, match="question 4") as error:
        given.changed(form_of(given, limit=limit))
    assert english_in(error.value.sentence) == set()


def test_the_sliders_are_those_of_the_clustering(given: Answers) -> None:
    assert "clustering" not in spec_of(given.changed(form_of(given, smallest="0", iterations="10"))[0])
    changed, _ = given.changed(form_of(given, smallest="7", iterations="25"))
    assert spec_of(changed)["clustering"] == {"min_cluster_size": 0.07, "max_iter": 25}
    values = {one.get("name"): one for tag, one in Reader(page_of(changed)).tags if one.get("type") == "range"}
    assert {name: one["value"] for name, one in values.items()} == {"smallest": "7", "iterations": "25"}
    again, _ = changed.changed(form_of(changed))  # an answer stays
    assert spec_of(again)["clustering"] == {"min_cluster_size": 0.07, "max_iter": 25}
    for name, one in values.items():
        for beyond in (int(str(one["min"])) - 1, int(str(one["max"])) + 1, "", "x"):
            with pytest.raises(SpecError, match="no number that the page offers"):
                given.changed(form_of(given, **{name: str(beyond)}))


def test_few_numbers_can_be_said_to_be_categories(table: pd.DataFrame) -> None:
    given = answers(table.assign(room=[1, 2, 3, 4, 5, 6, 7, 2] * 50, half=[0.5, 1, 2, 4] * 100))
    columns = [one.name for one in given.proposal.columns]
    room = f"kind-{columns.index('room')}"
    asked = {str(one.get("name")) for tag, one in Reader(page_of(given)).tags if tag == "select"}
    assert {one for one in asked if one.startswith("kind-")} == {room}  # neither ages, nor halves, nor what happened
    assert "kinds" not in spec_of(given)["features"]
    codes, _ = given.changed(form_of(given, **{room: "categories"}))
    assert spec_of(codes)["features"]["kinds"] == {"room": "categorical"}
    assert codes.levels_of("room") == ["1", "2", "3", "4", "5", "6", "7"]
    again, _ = codes.changed(form_of(codes))  # an answer stays
    assert spec_of(again)["features"]["kinds"] == {"room": "categorical"}
    numbers, _ = again.changed(form_of(again, **{room: "numbers"}))
    assert spec_of(numbers) == spec_of(given.changed(form_of(given))[0])
    odd = {f"kind-{columns.index(name)}": "categories" for name in ("age", "half", "refused")}
    assert spec_of(given.changed(form_of(given, **odd))[0]) == spec_of(numbers)


def test_a_column_beyond_the_first_that_a_person_makes_a_feature_is_searched() -> None:
    rng = np.random.default_rng(1)
    wide = pd.DataFrame({f"c{i}": rng.normal(size=60) for i in range(MOST_FEATURES + 20)})
    wide["refused"] = [0, 1, 1] * 20
    given = answers(wide)
    last = f"c{MOST_FEATURES + 19}"

    def features(of: Answers) -> list[str]:
        roles = assign_roles(list(wide.columns), parse_spec(spec_of(of)))
        return [name for name, role in roles.items() if role == "feature"]

    first = [f"c{i}" for i in range(MOST_FEATURES)]
    assert features(given) == first
    assert features(given.changed(form_of(given, **{last: "feature"}))[0]) == [*first, last]


def test_answers_can_be_taken_back(given: Answers) -> None:
    changed, _ = given.changed(form_of(given, region="protected", age="legitimate", person_id="person"))
    back, _ = changed.changed(form_of(changed, region="feature", age="feature", person_id="left out"))
    assert spec_of(back) == spec_of(given.changed(form_of(given))[0])


def test_another_outcome_is_looked_at_before_anything_is_begun(given: Answers) -> None:
    other = given.proposal.alternatives[0]
    changed, is_other = given.changed(form_of(given, outcome=choice_of(other.settings), region="protected"))
    assert is_other
    assert choice_of(changed.proposal.measured.settings) == choice_of(other.settings)
    assert changed.proposal.measured.settings.better == other.settings.better
    assert spec_of(changed)["protected"] == ["region", "sex"]  # what was said of columns stays
    again, is_other = changed.changed(form_of(changed))
    assert not is_other
    assert again.proposal.measured.settings.derive == other.settings.derive
    assert spec_of(again)["protected"] == ["region", "sex"]


def choice(given: Answers, column: str, level: Any) -> str:
    return next(
        one for name, several in levels_of(given.glance) for one, value in several if (name, value) == (column, level)
    )


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ({"outcome": "number", "number": "7"}, {"column": "amount"}),
        (
            {"outcome": "decision", "decision": ("region", "south")},
            {"derive": "positive_prediction", "prediction": "region", "positive": "south"},
        ),
        (
            {"outcome": "prediction", "prediction": ("sex", "f"), "label": ("refused", 1), "derive": "error"},
            {"derive": "error", "prediction": "sex", "label": "refused", "positive": ["f", 1]},
        ),
        (
            {
                "outcome": "prediction", "prediction": ("approved", 1), "label": ("repaid", 1),
                "derive": "false_positive_rate",
            },
            {"derive": "false_positive_rate", "prediction": "approved", "label": "repaid", "positive": [1]},
        ),
    ],
)  # fmt: skip
def test_something_else_can_have_happened(given: Answers, outcome: dict[str, Any], expected: dict[str, Any]) -> None:
    form = {name: choice(given, *one) if isinstance(one, tuple) else one for name, one in outcome.items()}
    changed, is_other = given.changed(form_of(given, **form))
    assert is_other
    found = yaml.safe_load(changed.specification("loans.csv", {}, "en"))["bias_variable"]
    assert {name: found[name] for name in expected if name in found} == {
        name: one for name, one in expected.items() if name in found
    }
    assert choice_of(changed.proposal.measured.settings) == choice_of(BiasVariable(**expected))


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": ""},
        {"outcome": "[1]"},
        {"outcome": "[" * 100_000},
        {"outcome": '{"column": "none"}'},
        {"outcome": '{"derive": "nonsense", "prediction": "approved"}'},
        {"outcome": "decision", "decision": "99-1"},
        {"outcome": "number", "number": ""},
        {"outcome": "number", "number": "2"},  # region
        {"outcome": "prediction", "prediction": "3-0", "label": "3-1"},  # one column
        {"outcome": "prediction", "prediction": "4-0", "label": "5-1"},  # 0 means yes in one, and no in the other
        {"age": "person", "region": "person"},
    ],
)
def test_odd_forms_are_told_apart(given: Answers, wrong: dict[str, str]) -> None:
    with pytest.raises(SpecError) as raised:
        given.changed(form_of(given, **wrong))
    assert english_in(raised.value.sentence) == set()


def test_what_cannot_be_done_is_said(given: Answers) -> None:
    free = [one.name for one in given.proposal.columns if given.use_of(one) is not None]
    with pytest.raises(DataError, match="No column is left to search in") as featureless:
        given.changed(form_of(given, **dict.fromkeys(free, "left out")))
    with pytest.raises(DataError, match="constant") as constant:
        proposed(look_at(refusals().assign(y=1)), chosen(BiasVariable(column="y")))
    with pytest.raises(DataError, match="missing in all 400 rows") as missing:
        proposed(look_at(refusals().assign(y=None)), chosen(BiasVariable(column="y")))
    few = refusals().assign(y=[0, 1] * 5 + [None] * 390)
    with pytest.raises(DataError, match="Only 10 rows") as rows:
        proposed(look_at(few), chosen(BiasVariable(column="y")))
    with pytest.raises(DataError, match="can be audited") as nothing:
        proposed(look_at(refusals()[["region"]]))
    sentences = [one.value.sentence for one in (featureless, constant, missing, rows, nothing)]
    assert [english_in(one) for one in sentences] == [set()] * len(sentences)
    assert 'De kolommen zijn: "region" (categorieën).' in language("nl").said(sentences[-1])


def test_a_leak_of_another_outcome_is_left_out(table: pd.DataFrame) -> None:
    glance = look_at(table.assign(copy=table["amount"] * 2 + 1))
    assert {one.name: one.role for one in proposed(glance).columns}["copy"] != "left out"
    found = proposed(glance, chosen(BiasVariable(column="amount")))
    assert {one.name: one.role for one in found.columns}["copy"] == "left out"
    kept = proposed(glance, chosen(BiasVariable(column="amount")), {"copy": "feature"})  # a person's word decides
    assert {one.name: one.role for one in kept.columns}["copy"] == "feature"


def test_an_audit_that_fails_leads_back_to_the_questions(given: Answers, tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    visit = Visit(tmp_path, table="loans.csv", answers=given)
    task = Audit("loans.yaml", str(tmp_path / "report"), str(tmp_path), ("read the table",))
    visit.work = SimpleNamespace(task=task, end=None, step=None, notices=["It is wide."])  # type: ignore[assignment]
    assert visit.place == "auditing"
    visit.work.end = Failure("The bias variable (y) is missing in all 400 rows. There is nothing to audit.")
    assert visit.place == "questions"
    page = drawing.draw(visit, language("en"), 1)
    assert "The bias variable (y) is missing in all 400 rows." in page
    assert "1. What happened to people?" in page
    assert not (tmp_path / "report").exists()
    visit.back()
    assert "is missing" not in drawing.draw(visit, language("en"), 1)


# --- pages ------------------------------------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def page_of(given: Answers, lang: str = "en", table: str = "loans.csv", **more: str) -> str:
    visit = Visit(Path(), table=table, answers=given)
    return drawing.draw(visit, language(lang), 500_000_000, **more)


@pytest.mark.parametrize("lang", ["en", "nl"])
def test_names_from_data_do_nothing(table: pd.DataFrame, lang: str) -> None:
    hostile = table.rename(columns={"region": HOSTILE, "refused": f"refused {HOSTILE}"})
    hostile[HOSTILE] = hostile[HOSTILE].replace("north", HOSTILE)
    page = page_of(answers(hostile), lang, f"{HOSTILE}.csv", problem=HOSTILE)
    tags = Reader(page).tags
    assert [attrs for tag, attrs in tags if tag == "script"] == [{"src": "page.js", "defer": None}]
    assert not [key for _, attrs in tags for key in attrs if key.startswith("on") or key == "style"]
    assert "49" not in re.sub(r"\d{3,}|\d[.,]\d+", "", page)
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert page.count("&lt;script&gt;") > 5


def test_the_questions_show_what_was_understood(table: pd.DataFrame) -> None:
    given = answers(table.assign(note="x"))
    page = page_of(given)
    for one in given.proposal.columns:
        assert f">{one.name}<" in page
        assert not one.reason or html.escape(one.reason) in page
    for doubt in given.proposal.doubts:
        assert html.escape(doubt).replace("&quot;", "&#34;") in page
    assert "has one value only" in page
    tags = Reader(page).tags
    chosen_ones = [attrs["value"] for tag, attrs in tags if tag == "input" and "checked" in attrs]
    assert chosen_ones == [choice_of(given.proposal.measured.settings), given.proposal.measured.settings.better]


def test_the_page_says_what_the_whole_audit_can_rule_out_in_dutch(table: pd.DataFrame) -> None:
    few, many = (answers(pd.concat([table] * times, ignore_index=True)) for times in (1, 5))
    settled = many.proposal.reach.settled_limit
    assert settled is not None
    size = f"{100 * settled:.1f}".replace(".", ",")
    assert f"vanaf 5,0 % van de mensen meer dan ongeveer {size} procentpunt slechter af is" in page_of(many, "nl")
    assert "Met zo weinig rijen is niets uit te sluiten" in page_of(few, "nl")
    amounts = answers(table[["age", "sex"]].assign(error=table["amount"] * 1.5))
    assert "een vijfde van de standaardafwijking" in page_of(amounts, "nl")
    for given in (few, many, amounts):
        assert "worden apart gehouden" not in page_of(given, "nl")  # the power of the test of clusters alone


def test_all_that_stands_on_the_pages_is_there_in_dutch() -> None:
    messages = texts("nl", PAGE)
    said = {*on_the_page(), drawing.OTHER_OUTCOME, *outcomes._OF_BOTH.values()} - {""}
    assert len(said) > 80
    assert said - messages.keys() == set()
    places = re.compile(r"\{(\w+)\}")
    assert {one for one in messages if set(places.findall(one)) != set(places.findall(messages[one]))} == set()


def test_what_proposals_and_stages_say_is_there_in_dutch() -> None:
    dutch = language("nl")
    titles = [READING, VALIDATING, SPLITTING, WRITING, *(one.title for one in STAGES)]
    text = Path(proposing.__file__).read_text()
    reasons = re.findall(r'\("(?:left out|feature|protected)", "([^"]+)"\)', text)
    reasons += [*proposing._NO_FEATURES.values(), *proposing._NO_FEATURES, proposing._SAID]
    assert len(reasons) > 10
    for one in (*titles, *reasons):
        assert dutch.said(one) != one or one == "code", one


def proposals(table: pd.DataFrame) -> list[Proposal]:
    odd = pd.DataFrame({"a": [1, 2, 3, 4] * 10, "b": ["x", "y"] * 20, "c": [1.5, 2, 9, 7, 1] * 8})
    several = table.assign(
        person_id=[f"p{i % 399}" for i in range(400)], again=table["sex"], whole=table["region"] + "!"
    )
    return [proposed(look_at(one)) for one in (table, odd, several, table.assign(free=lambda x: x.age > 39))]


def test_no_english_is_left_in_what_is_said_of_tables(table: pd.DataFrame) -> None:
    for found in proposals(table):
        for sentence in (*found.doubts, found.measured.why, *(one.reason for one in found.columns)):
            assert 'lang="en"' not in language("nl").marked(sentence), sentence
            assert english_in(sentence) == set(), sentence


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("nl", "nl"),
        ("nl-NL,nl;q=0.9,en;q=0.8", "nl"),
        ("en;q=0.2, NL-be;q=0.7", "nl"),
        ("fr,*;q=0.1", "en"),
        ("x;q=9", "en"),
    ],
)
def test_the_browser_s_language_is_taken(accepted: str, expected: str) -> None:
    assert wanted_language(accepted) == expected


def test_the_page_asks_which_way_is_worse_and_waits(table: pd.DataFrame, tmp_path: Path) -> None:
    visit = Visit(tmp_path)
    visit.table, visit._beside = "loans.csv", tmp_path
    visit.answers = answers(table[["age", "region", "sex"]].assign(y=table["refused"]))
    for name, sentence in (("en", "Nothing in the table says it"), ("nl", "Uit de tabel blijkt dit niet")):
        page = drawing.draw(visit, language(name), 1)
        assert sentence in page
        radios = re.findall(r'<input type="radio" name="better"[^>]*>', page)
        assert len(radios) == 2
        assert not any("checked" in one for one in radios)
        assert all("required" in one for one in radios)
    form = form_of(visit.answers)
    del form["better"]
    with pytest.raises(SpecError, match="Which way is worse"):
        visit.answer(form, "en", start=True)
    assert visit.work is None
    said, _ = visit.answers.changed({**form, "better": "higher"})
    assert spec_of(said)["bias_variable"]["better"] == "higher"
    again, _ = said.changed(form)  # an answer stays
    assert (again.proposal.measured.settings.better, again.proposal.measured.settings.better_by) == ("higher", "said")
