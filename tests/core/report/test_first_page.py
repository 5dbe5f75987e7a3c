"""The first page: ten answers in each language, in words that everybody reads, and nothing that is not so."""

from __future__ import annotations

import copy
import io
import json
import re
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pypdf
import pytest
from jinja2 import Environment, nodes

from bdt_core.groups.conditions import GroupCondition
from bdt_core.report import for_publication, render_html, render_markdown, render_pdf
from bdt_core.report.amounts import Amount
from bdt_core.report.blocks import Figure, Folded, plain
from bdt_core.report.document import Printed
from bdt_core.report.first_page import DeclaredWorst, FirstPage, first_page, first_section
from bdt_core.report.plain_names import PlainNames
from bdt_core.report.printed import printed
from bdt_core.report.prose import read_in
from bdt_core.report.translation import TEMPLATE, texts, translated
from bdt_core.said import say
from bdt_core.spec import LANGUAGES
from bdt_core.table.repeats_said import REPEATED
from bdt_core.words import count
from tests.core.report.contradictions import plain as words_of

GOLDENS = Path(__file__).parents[2] / "goldens"
TOLD: dict[str, dict[str, Any]] = {
    "en": {
        "title": "Risk of reoffending",
        "labels": {
            "race": {"name": "origin", "levels": {"Caucasian": "white"}},
            "high_risk": {"name": "high risk"},
            "two_year_recid": {"name": "reoffended within two years"},
            "priors_count": {"name": "earlier offences"},
        },
    },
    "nl": {
        "title": "Kans op herhaling",
        "labels": {
            "race": {"name": "afkomst", "levels": {"Caucasian": "wit", "Native American": "inheems"}},
            "sex": {"name": "geslacht", "levels": {"Female": "vrouw", "Male": "man"}},
            "age": {"name": "leeftijd"},
            "high_risk": {"name": "hoog risico"},
            "two_year_recid": {"name": "binnen twee jaar opnieuw in de fout"},
            "priors_count": {"name": "eerdere misdrijven"},
            "age_cat": {"name": "leeftijdsklasse"},
            "decile_score": {"name": "punten"},
            "score_text": {"name": "klasse"},
            "is_recid": {"name": "herhaling"},
        },
    },
}
# Of each question its answer on the page, in the order of the issue that asks for them.
ANSWERS = {
    "en": {
        "who is worse off": "Origin is African-American",
        "by how much": "45 of 100 such people wrongly got the result “high risk”, among everybody else 22 of 100",
        "how many people": "This is about 1,795 people, 45 of 100",
        "how sure": "This is as sure as this search can be: chance alone finds as much in fewer than 1 of 100 audits",
        "compared with whom": "Each group is compared with everybody else who was audited",
        "is it explained": "Among people alike in earlier offences and age, it is 12 more of 100, and at least 8 "
        "of 100. So these facts explain a part of it, and not all.",
        "what was not looked at": "What was not looked at: age cat, decile score, score text and is recid",
        "may it be deployed": "May it be used? No, not as it is",
        "what to do": "Do not use it to decide about people until this is corrected",
        "who signs": "Signed by",
        "when": "31 January 2026",
        "on whom": "3,963 people of 7,214",
    },
    "nl": {
        "who is worse off": "Afkomst is African-American",
        "by how much": "45 op de 100 mensen in deze groep kregen ten onrechte de uitkomst ‘hoog risico’, bij anderen "
        "22 op de 100",
        "how many people": "Dit gaat over 1.795 mensen, 45 op de 100",
        "how sure": "Dit is zo zeker als deze zoektocht kan zijn: alleen door toeval komt zoiets voor in minder "
        "dan 1 op de 100 onderzoeken",
        "compared with whom": "Elke groep is vergeleken met alle anderen die zijn onderzocht",
        "is it explained": "Bij mensen die gelijk zijn in eerdere misdrijven en leeftijd, zijn het er 12 op de 100 "
        "meer, minstens 8 op de 100. Deze feiten verklaren een deel van het verschil, niet alles.",
        "what was not looked at": "Waar niet naar is gekeken: leeftijdsklasse, punten, klasse en herhaling",
        "may it be deployed": "Mag het worden gebruikt? Nee, niet zoals het nu is",
        "what to do": "Gebruik het niet om over mensen te beslissen, tot dit is hersteld",
        "who signs": "Getekend door",
        "when": "31 januari 2026",
        "on whom": "3.963 mensen van de 7.214",
    },
}
NO_STATISTICS = re.compile(
    r"(?i)\bp ?[<=]|p-value|\bFPR\b|\bpoints?\b|interval|confidence|significan|cluster|bias variable|percent|%|_"
)
ENGLISH = frozenset(
    """
    the a an and or to for from with without this that these those people person group groups who whom more less fewer
    worse better off not no nobody everybody else elsewhere such wrongly got result given at least about among alike
    explain explains audit audited audits limit limits broken largest difference differences missing above up others
    similar mostly only looked too small annex sure chance alone signed may be used it they their them when what which
    how many can cannot say do does if every each average row rows remark remarks
    """.split()  # noqa: SIM905 - many
)


def compas(language: str) -> dict[str, Any]:
    """The demonstration's report with words for readers."""
    document: dict[str, Any] = json.loads((GOLDENS / "compas.json").read_text())
    document["spec"] |= TOLD[language] | {
        "language": language,
        "about": {"tested_on": "2026-01-31", "tester": "A. Jansen", "signed_by": "B. de Vries"},
    }
    return document


@cache
def in_print(language: str) -> bytes:
    """The same, printed."""
    return render_pdf(compas(language))


@cache
def told(language: str, name: str = "") -> str:
    """The words of a first page: of the demonstration, or of a frozen report."""
    return text_of(printed(compas(language) if not name else in_dutch(name, language)))


def in_dutch(name: str, language: str = "nl") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((GOLDENS / f"{name}.json").read_text())
    document["spec"] |= {"language": language}
    return document


def text_of(document: Printed) -> str:
    def said(x: Any) -> list[str]:
        if isinstance(x, dict):
            return [one for key, part in x.items() if key not in ("kind", "name") for one in said(part)]
        return [one for part in x for one in said(part)] if isinstance(x, list) else [str(x)]

    return " \n".join(one for one in said(plain(first_section(document))) if one)


@pytest.mark.parametrize(
    ("language", "groups"),
    [
        ("en", "worse off: origin is white, by at least 9 of 100; cluster 3, by at least 20 of 100."),
        ("nl", "slechter af zijn: afkomst is wit, met minstens 9 op de 100; cluster 3, met minstens 20 op de 100."),
    ],
)
def test_proven_groups_that_are_too_small_for_a_limit_are_named_with_what_is_certain(
    language: str, groups: str
) -> None:
    """By their conditions in the readers' words, or by who they are where no conditions say it."""
    document = compas(language)
    shared = {
        "found_by": "clusters", "rows": 40, "share": 0.01, "as_found": 0.3, "at_most": 0.4, "p_value": 0.001,
        "better": "lower", "within_place": False, "groups_before": 0,
    }  # fmt: skip
    white = document["findings"]["findings"][0]["conditions"][0] | {"values": ["Caucasian"]}
    document["gate"][0]["not_judged"] = [
        {**shared, "who": "race is Caucasian", "conditions": [white], "at_least": 0.09},
        {**shared, "who": "cluster 3", "conditions": [], "at_least": 0.2},
    ]
    assert groups in text_of(printed(document))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_ten_answers_are_on_the_first_page(language: str) -> None:
    missing = {question: said for question, said in ANSWERS[language].items() if said not in told(language)}
    assert not missing
    assert "B. de Vries" in told(language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_form_has_the_answers_on_its_first_page(language: str) -> None:
    document = compas(language)
    pages = pypdf.PdfReader(io.BytesIO(in_print(language))).pages
    first = re.sub(r"\s+", "", pages[0].extract_text().replace("\u200b", ""))
    drawn = render_html(document)
    html = words_of(drawn[drawn.index(f'<div lang="{language}" data-language') :].split("<nav")[0])
    markdown = words_of(render_markdown(document))
    for said in ANSWERS[language].values():
        assert re.sub(r"\s+", "", said) in first
        assert said in html
        assert said in markdown


def test_the_two_languages_name_the_same_questions() -> None:
    assert {one: set(ANSWERS[one]) for one in ANSWERS} == {one: set(ANSWERS["en"]) for one in LANGUAGES}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_column_and_no_statistic_is_named(language: str) -> None:
    found = NO_STATISTICS.search(told(language))
    assert found is None, found


REPORTS = sorted(one.stem for one in GOLDENS.glob("*.json") if not one.stem.endswith(".gate"))


@pytest.mark.parametrize("name", REPORTS)
def test_no_english_words_stand_in_dutch(name: str) -> None:
    page, document = told("nl", name), in_dutch(name)
    facets = document["groups"]["facets"] if document["groups"] else []
    names = [document["name"], document["data"]["source"], *(one["name"] for one in document["data"]["columns"])]
    names += [group["group"] for facet in facets for group in facet["groups"]]
    own = document["spec"]
    said = [own["title"], own["labels"], own["units"], own["about"], own["source"]]
    names += [json.dumps(said)]  # whoever audits wrote them
    names += re.findall(r'"values": \[([^\]]*)\]', json.dumps(document["findings"] or {}))
    of_the_table = {word for one in names for word in re.findall("[a-z]+", one.lower())}
    assert not {word for word in re.findall(r"[^\W\d_]+", page.lower()) if word in ENGLISH} - of_the_table


@pytest.mark.parametrize("name", REPORTS)
def test_every_frozen_report_has_a_first_page_that_answers(name: str) -> None:
    document = printed(in_dutch(name, "en"))
    page, section = first_page(document), first_section(document)
    titles = [one.title for one in section.blocks if isinstance(one, Folded)]
    question = "May it be used?" if page.asks_use else "Is there a difference that must be explained?"
    assert titles[0].startswith(f"{question} ")
    assert titles[1:] == ["Who is worse off?", "What can this audit not say?", "What to do now?", "Who signs?"]
    yes = page.verdict == "pass" and page.limits > 0 and not page.broken
    by_majority = page.verdict == "pass" and bool(page.broken)
    assert titles[0].startswith(f"{question} Kept by majority only") == by_majority
    shut = page.verdict == "fail" and page.blocks and page.limits > 0
    assert titles[0].startswith(f"{question} {'Yes, ' if page.asks_use else 'No, '}") == yes
    assert titles[0].startswith(f"{question} {'No, not' if page.asks_use else 'Yes'}") == shut
    assert len(page.groups) + page.more_groups == len(document.findings.findings if document.findings else ())


def _words_and_sentences(page: str) -> tuple[list[str], int]:
    """Words, and sentences as LIX has them: up to a full stop, a colon or the end of a line."""
    sentences = [re.findall(r"[^\W\d_]+", one) for one in re.split(r"[.!?:](?=\s|$)|\n", page)]
    return [word for one in sentences for word in one], sum(map(bool, sentences))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_page_reads_easily(language: str) -> None:
    """LIX (Björnsson 1968) of 40 or less is a newspaper at its easiest; B1 is at most that."""
    words, sentences = _words_and_sentences(told(language))
    lix = len(words) / sentences + 100 * sum(len(one) > 6 for one in words) / len(words)
    assert lix <= 40, lix


def test_dutch_reads_easily_by_the_dutch_index() -> None:
    """Flesch-Douma (1960): from 60 on it is standard, which is B1."""
    words, sentences = _words_and_sentences(told("nl"))
    syllables = sum(max(len(re.findall(r"[aeiouyáéíóúëïöü]+", one.lower())), 1) for one in words)
    assert 206.84 - 0.93 * len(words) / sentences - 77 * syllables / len(words) >= 60


def attributes(source: str) -> dict[str, int]:
    """What a template asks for, and its macros."""
    tree = Environment().parse(source)
    found = [f".{one.attr}" for one in tree.find_all(nodes.Getattr)] + [one.name for one in tree.find_all(nodes.Macro)]
    found += [f"# {one}" for one in re.findall(r"(?m)^#+ ", source)]
    return dict.fromkeys(found, 1)


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
@pytest.mark.parametrize("name", ["first_page", "picture", "words", "forms"])
def test_languages_have_the_same_keys(language: str, name: str) -> None:
    file = resources.files("bdt_core.report").joinpath("templates", "sections", f"{name}.md.j2")
    english = file.read_text(encoding="utf-8")
    other = translated(english, texts(language, TEMPLATE))
    assert attributes(english).keys() == attributes(other).keys()
    keys = [re.findall(r"(?m)^- \*\*(\w+)\*\*", one) for one in (english, other)]
    assert name != "forms" or keys[0] == keys[1] != []


AGE = GroupCondition("age", "interval", 24.0, 45.0, whole=True)
CITY = GroupCondition("city", "values", values=("A", "B"))


@pytest.mark.parametrize(
    ("condition", "en", "nl"),
    [
        (AGE, "Age 25 to 45 years", "Age 25 tot en met 45 years"),
        (replace(AGE, low=None), "Age up to 45 years", "Age tot en met 45 years"),
        (replace(AGE, high=None), "Age from 25 years", "Age vanaf 25 years"),
        (replace(AGE, high=25.0), "Age is 25 years", "Age is 25 years"),
        (replace(AGE, high=None, whole=False, low=1234.5), "Age above 1,234.5 years", "Age boven 1.234,5 years"),
        (replace(AGE, whole=False, low=0.25), "Age above 0.25 and up to 45 years",
         "Age boven 0,25 tot en met 45 years"),
        (replace(AGE, missing=True), "Age 25 to 45 years or missing",
         "Age 25 tot en met 45 years of niet bekend"),
        (CITY, "City is A or B", "City is A of B"),
        (replace(CITY, excluded=True, missing=True), "City is something other than A or B",
         "City is iets anders dan A of B"),
        (replace(CITY, missing=True), "City is A or B or missing", "City is A of B of niet bekend"),
        (replace(CITY, values=tuple("ABCDE")), "City is A, B, C, D or E", "City is A, B, C, D of E"),
        (replace(CITY, values=tuple("ABCDEF")), "City is A, B, C, D or 2 more", "City is A, B, C, D of nog 2"),
        (replace(CITY, values=("a, b", "<0 DM")), "City is “a, b” or “<0 DM”", "City is ‘a, b’ of ‘<0 DM’"),
        (replace(CITY, kind="missing", missing=True), "City is missing", "City is niet bekend"),
        (replace(CITY, kind="missing"), "City is not missing", "City is wel bekend"),
    ],
)  # fmt: skip
def test_conditions_are_in_the_readers_words(condition: GroupCondition, en: str, nl: str) -> None:
    page = first_page(printed(compas("en")))
    for language, expected in (("en", en), ("nl", nl)):
        (group,) = page.groups[:1]
        changed = replace(page, units={"age": "years"}, groups=(replace(group, conditions=(condition,)),))
        assert f"{expected} \n" in _drawn(language, changed)


def _drawn(language: str, page: FirstPage) -> str:
    section = read_in(language, "first_page", page=page)
    return str(plain(section)).replace("', '", " \n").replace("['", " \n").replace("[", " ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_not_proven_is_not_said(language: str) -> None:
    page = first_page(printed(compas(language)))
    (group,) = page.groups[:1]
    assert group.alike is not None
    unproven = {"en": "it is not proven that they are worse off", "nl": "is niet bewezen dat zij slechter af zijn"}
    alone = {"en": "There are hardly any others who are alike", "nl": "Er zijn bijna geen anderen die gelijk zijn"}
    explained = {"en": "facts explain", "nl": "feiten verklaren"}
    sentences = (unproven[language], alone[language], explained[language])
    for changed, expected in (
        (group, (False, False, True)),
        (replace(group, alike=replace(group.alike, proven=False, least=None)), (True, False, False)),
        (replace(group, alike=None, alone=True), (False, True, False)),
    ):
        drawn = _drawn(language, replace(page, groups=(changed,)))
        assert tuple(one in drawn for one in sentences) == expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("more", [0, 2])
def test_the_picture_is_drawn_however_many_groups_there_are(language: str, more: int) -> None:
    page = replace(first_page(printed(compas(language))), more_groups=more)
    section = read_in(language, "first_page", page=page)
    assert section is not None
    blocks = [one for part in section.blocks if isinstance(part, Folded) for one in part.blocks]
    (figure,) = [one for one in blocks if isinstance(one, Figure)]
    assert [one for one in blocks if one is not figure and figure.alt in str(plain(one))] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_groups_found_before_need_not_stand_above(language: str) -> None:
    page = first_page(printed(compas(language)))
    first = replace(page.groups[0], groups_before=2, among_alike=Amount(7, 100), alike=None)
    drawn = _drawn(language, replace(page, groups=(first,)))
    assert {
        "en": "alike in the groups found before it is 7 more of 100",
        "nl": "gelijk zijn in de groepen die eerder zijn gevonden, zijn het er 7 op de 100 meer",
    }[language] in drawn


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_is_written_as_one(language: str) -> None:
    page = first_page(printed(compas(language)))
    changed = replace(page, groups=(replace(page.groups[0], people=1),), warnings=1, more_groups=1, limits=1, broken=1)
    drawn = _drawn(language, changed)
    ones = {
        "en": ("about 1 person,", "1 remark on", "1 more group.", "the limit is broken"),
        "nl": ("over 1 mens,", "1 opmerking over", "staat nog 1 groep.", "de grens is overschreden"),
    }
    assert [one for one in ones[language] if one not in drawn] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_published_is_confirmed_though_it_has_no_bounds(language: str) -> None:
    page = text_of(printed(for_publication(compas(language))))
    remaining = {
        "en": "it is 12 more of 100. So these facts explain a part",
        "nl": "zijn het er 12 op de 100 meer. Deze feiten verklaren een deel",
    }
    denied = {
        "en": ("not proven that they", "at least"),
        "nl": ("niet bewezen", "minstens"),
    }
    assert remaining[language] in " ".join(page.split())
    assert [one for one in denied[language] if one in page] == []
    assert "1795" not in page.replace(",", "").replace(".", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_whom_no_conditions_describe(language: str) -> None:
    page = first_page(printed(compas(language)))
    group = replace(page.groups[0], found_by="clusters", conditions=())
    expected = {
        "en": "Similar people whom no short description fits",
        "nl": "Mensen die op elkaar lijken en niet in een paar woorden te beschrijven zijn",
    }
    assert expected[language] in _drawn(language, replace(page, groups=(group,)))


def test_fewer_are_worse_where_people_want_more() -> None:
    document = in_dutch("higher_is_better", "en")
    page = first_page(printed(document))
    assert page.groups
    assert not any(one.more for one in page.groups)
    group = replace(page.groups[0], alike=None, least=Amount(5, 100))
    assert "at least 5 fewer of 100" in _drawn("en", replace(page, groups=(group,)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_limit_on_something_else_is_not_said_to_be_of_any_group(language: str) -> None:
    document = compas(language)
    document["gate"] = [one for one in document["gate"] if one["kind"] != "worst_group"]
    any_group = {"en": "of 100, for any group", "nl": "op de 100, voor elke groep"}[language]
    other = {"en": "do not judge each group below by itself", "nl": "niet elke groep hieronder apart"}[language]
    assert any_group in told(language)
    assert other not in told(language)
    assert any_group not in text_of(printed(document))
    assert other in text_of(printed(document))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_limit_on_any_group_is_not_one_on_people_compared_within_a_place(language: str) -> None:
    page = first_page(printed(compas(language)))
    local = replace(page, groups=(replace(page.groups[0], compared_with=(CITY,)),))
    unlimited = {"en": "like them no limit was agreed", "nl": "op hen lijken, is geen grens afgesproken"}[language]
    assert [unlimited in _drawn(language, one) for one in (page, local, replace(local, limits_alike=True))] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_breaks_the_limit_is_named_where_nobody_who_is_named_breaks_it(language: str) -> None:
    """The limit for any group stands by itself: it can be broken by people who are no finding among all searches."""
    document = compas(language)
    (limit,) = [one for one in document["gate"] if one["kind"] == "worst_group"]
    broken = {"en": "It is broken for these people: ", "nl": "Dat is zo bij deze mensen: "}[language]
    assert limit["verdict"] == "fail"
    assert broken not in text_of(printed(document))  # the first finding is beyond the limit
    for one in document["findings"]["findings"]:
        one["remaining"]["remaining_low"] = limit["limit"] / 2
    who = {"en": "origin is African-American", "nl": "afkomst is African-American"}[language]
    assert broken + who in text_of(printed(document))


@pytest.mark.parametrize(
    ("positive", "said"),
    [("Pass", "the result “high risk: Pass”"), (1, "the result “high risk”"), ([1, "yes"], "the result “high risk”")],
)
def test_a_result_is_named_with_the_text_that_stands_for_it(positive: Any, said: str) -> None:
    """ "Who got the result 'final result'?" does not say which."""
    document = compas("en")
    document["spec"]["bias_variable"]["positive"] = positive
    assert f"Who wrongly got {said}?" in text_of(printed(document))


@pytest.mark.parametrize("language", LANGUAGES)
def test_groups_too_small_are_counted_however_many_there_are(language: str) -> None:
    document = compas(language)
    facet = document["groups"]["facets"][0]
    (small,) = [one for one in facet["groups"] if one["rates"] is None]
    facet["groups"] += [{**small, "group": f"g{i}", "values": [f"g{i}"], "rows": 5} for i in range(149)]
    for one in (*facet["against_reference"], *facet["clarify"]):
        one["values"] += [one["values"][-1]] * 149
    more = {"en": "g0, g1, g2 and 146 more", "nl": "g0, g1, g2 en nog 146"}[language]
    assert more in text_of(printed(document))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_majority_does_not_make_all_limits_hold(language: str) -> None:
    page = replace(first_page(printed(compas(language))), verdict="pass", limits=3, broken=1, kept=2)
    some = {"en": "Kept by majority only", "nl": "Alleen volgens de meerderheid"}
    every = {"en": "the 3 limits hold as agreed", "nl": "de 3 grenzen zoals afgesproken"}
    assert some[language] in _drawn(language, page)
    assert every[language] not in _drawn(language, page)
    assert every[language] in _drawn(language, replace(page, broken=0, kept=3))


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_that_may_be_one_person_are_named(language: str) -> None:
    """Who stands in a table many times makes everything look surer than it is."""
    document = compas(language)
    told = {"en": "2,000 of 2,500 rows are the same as", "nl": "2.000 van de 2.500 rijen zijn gelijk aan"}[language]
    assert told not in text_of(printed(document))
    document["warnings"].append(say(REPEATED, N=count(2_000), Nall=count(2_500)))
    assert told in text_of(printed(document))


def test_whom_it_is_used_on_is_held_against_who_was_audited() -> None:
    document = compas("en")
    assert "their numbers were not given" in told("en")
    document["spec"]["reference"] = {"race": {"African-American": 50, "Asian": 20, "Caucasian": 30}}
    page = first_page(printed(document))
    (missing,) = page.underrepresented
    assert (missing.name, missing.used_on, missing.audited) == ("Asian", Amount(20, 100), Amount(0, 100))
    drawn = text_of(printed(document))
    assert "How Asian fare: they are 20 of 100 people it is used on, and 0 of 100 in this audit." in drawn
    assert "their numbers were not given" not in drawn


def test_a_page_with_a_date_is_the_same_each_time() -> None:
    assert in_print("nl") == render_pdf(copy.deepcopy(compas("nl")))
    metadata = pypdf.PdfReader(io.BytesIO(in_print("nl"))).metadata
    assert metadata is not None
    assert metadata["/CreationDate"].startswith("D:20260131")


def test_html_says_in_which_language_it_is() -> None:
    drawn = render_html(compas("nl"))
    assert '<html lang="nl">' in drawn
    assert '<details class="other" lang="en"' in drawn
    assert drawn.count('lang="en"') == 1  # the first page in English, and nothing else
    assert drawn.count('lang="nl"') >= 2
    assert "Hierna volgt het rapport, en daarachter een bijlage voor deskundigen." in drawn.split("<nav")[0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("alpha", "en"), [(0.2, "20 of 100"), (0.05, "5 of 100"), (0.025, "25 of 1,000"), (0.001, "1 of 1,000")]
)
def test_how_often_such_an_audit_errs_is_said(language: str, alpha: float, en: str) -> None:
    document = compas(language)
    document["findings"]["alpha"] = alpha
    document["worst_groups"]["certificate"]["confidence"] = 1.0 - alpha
    number, of = en.split(" of ")
    right = f"{int(of.replace(',', '')) - int(number)}"
    said = {
        "en": (f"at most {en} such audits name anybody", f"{right} of {of} such audits are right in this"),
        "nl": (f"hoogstens {number} op de {of.replace(',', '.')} van zulke onderzoeken", f"hebben {right} op de"),
    }
    page = text_of(printed(document))
    assert [one for one in said[language] if one not in page] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("by", ["said", "guessed", "implied"])
@pytest.mark.parametrize("better", ["lower", "higher"])
def test_which_way_is_worse_is_said_and_who_said_so(language: str, by: str, better: str) -> None:
    document = compas(language)
    document["bias_variable"] |= {"better": better, "better_by": by}
    why = {
        "en": {"said": "was said", "guessed": "was guessed", "implied": "follows from the question"},
        "nl": {"said": "zo opgegeven", "guessed": "is aangenomen", "implied": "volgt uit de vraag"},
    }[language]
    way = {"en": {"lower": "Here more", "higher": "Here less"}, "nl": {"lower": "geldt meer", "higher": "geldt minder"}}
    page = text_of(printed(document))
    assert way[language][better] in page
    assert [name for name, said in why.items() if said in page] == [by]


@pytest.mark.parametrize("language", LANGUAGES)
def test_with_factors_nobody_is_denied_to_be_worse_off_at_first_sight(language: str) -> None:
    document = compas(language)
    first = copy.deepcopy(document["findings"]["findings"][0])
    first["remaining"] |= {"remaining": 0.001, "remaining_low": -0.02}
    document["findings"] |= {"findings": [], "at_first_sight": [first]}
    page = text_of(printed(document))
    said = {
        "en": ("worse off than people alike in earlier offences and age", "“high risk”, among everybody else 22",
               "nothing is proven to remain", "Whether these facts may explain it is for people to judge"),
        "nl": ("slechter af zijn dan mensen die gelijk zijn in eerdere misdrijven en leeftijd", "bij anderen 22",
               "niet bewezen dat er iets overblijft", "daar moeten mensen over oordelen"),
    }  # fmt: skip
    denied = {"en": "worse off than everybody else", "nl": "slechter af zijn dan alle anderen"}
    assert [one for one in said[language] if one not in page] == []
    assert denied[language] not in page
    collect = {"en": "Collect data on more people", "nl": "Verzamel gegevens over meer mensen"}[language]
    document["verdict"]["verdict"] = "inconclusive"
    assert collect not in text_of(printed(document))
    document["findings"]["at_first_sight"], document["declared_outcomes"] = [], None
    for limit in document["gate"]:
        limit["verdict"] = "inconclusive"
    assert collect in text_of(printed(document))


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_is_worse_off_among_people_alike_only_is_told_apart(language: str) -> None:
    document = compas(language)
    document["findings"]["findings"][1]["only_among_alike"] = True
    page = first_page(printed(document))
    assert [one.only_alike for one in page.groups] == [False, True]
    drawn = text_of(printed(document))
    first = {
        "en": "At first sight better off: sex is Female",
        "nl": "Op het eerste gezicht beter af: geslacht is vrouw",
    }
    why = {"en": "where the outcome itself influences these facts", "nl": "als de uitkomst zelf deze feiten beïnvloedt"}
    picture = {"en": "Not drawn: sex is Female", "nl": "Niet getekend: geslacht is vrouw"}
    assert [one for one in (first[language], why[language], picture[language]) if one not in drawn] == []
    assert drawn.index(why[language]) < drawn.index(first[language])


@pytest.mark.parametrize("language", LANGUAGES)
def test_certainty_at_the_floor_of_a_search_is_called_so(language: str) -> None:
    document = compas(language)
    as_sure = {"en": "as sure as this search can be", "nl": "zo zeker als deze zoektocht kan zijn"}[language]
    for one in document["findings"]["findings"]:
        one["at_floor"] = False
    assert as_sure not in text_of(printed(document))
    document["findings"]["findings"][0]["at_floor"] = True
    assert text_of(printed(document)).count(as_sure) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_most_people_are_not_called_a_group_of_some(language: str) -> None:
    document = compas(language)
    finding = document["findings"]["findings"][0]
    finding["share"] = 0.62
    most = {"en": "Most people: origin is African-American", "nl": "De meeste mensen: afkomst is African-American"}
    assert most[language] in text_of(printed(document))
    finding["conditions"] = [
        {"column": "age", "kind": "interval", "low": None, "high": 60.0, "whole": True, "values": [],
         "excluded": False, "missing": False}
    ]  # fmt: skip
    but = {"en": "Everybody but age from 61", "nl": "Iedereen behalve leeftijd vanaf 61"}
    assert but[language] in text_of(printed(document))
    finding["share"] = 0.5
    assert but[language] not in text_of(printed(document))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("certain", [False, True])
def test_the_worst_declared_group_has_a_place(language: str, certain: bool) -> None:
    page = first_page(printed(compas(language)))
    worst = DeclaredWorst((CITY,), Amount(31, 100), Amount(10, 100), certain)
    drawn = _drawn(language, replace(page, declared_worst=worst))
    said = {
        "en": "city is A or B fares worst: 31 of 100, among everybody else 10 of 100. The difference is",
        "nl": "city is A of B het slechtst af: 31 op de 100, bij anderen 10 op de 100. Het verschil is",
    }
    how = {"en": ("not certain", "certain"), "nl": ("niet zeker", "zeker")}[language][certain]
    assert f"{said[language]} {how}." in drawn


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_place_is_told_by_its_words_and_its_gap(language: str) -> None:
    page = first_page(printed(compas(language)))
    place = replace(
        page.groups[0], found_by="local_bias", alike=None, compared_with=(CITY,), gap=Amount(23, 100),
        least=Amount(9, 100), place_words=("loan", "house"),
    )  # fmt: skip
    drawn = _drawn(language, replace(page, groups=(place,)))
    said = {
        "en": ("with the words loan and house", "The gap is 23 of 100, and at least 9 of 100"),
        "nl": ("met de woorden loan en house", "Het verschil is 23 op de 100, minstens 9 op de 100"),
    }
    assert [one for one in said[language] if one not in drawn] == []


def test_a_share_of_a_column_of_0_and_1_is_that_of_1() -> None:
    document = compas("en")
    document["spec"]["bias_variable"] |= {"column": "class_label", "derive": None, "label": None, "prediction": None}
    assert "Who has “class label 1”?" in text_of(printed(document))
    document["spec"]["labels"]["class_label"] = {"name": "class", "levels": {"1": "refused"}}
    assert "Who has “refused”?" in text_of(printed(document))


def test_the_page_says_a_condition_as_every_search_does() -> None:
    page = first_page(printed(compas("en")))
    names = PlainNames({"labels": {}, "units": {}, "bias_variable": {}})
    for low, high, whole in (
        (30.0, 40.0, True),
        (None, 40.0, True),
        (30.0, None, True),
        (0.5, 2.0, False),
        (0.5, None, False),
    ):
        condition = GroupCondition("age", "interval", low, high, whole)
        told = names.condition(condition)
        drawn = _drawn("en", replace(page, units={}, groups=(replace(page.groups[0], conditions=(told,)),)))
        assert f"{condition.words.capitalize()} \n" in drawn
