"""How numbers and names are written."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core import words
from bdt_core.verdict import Verdict


def back(shown: str) -> float:
    """A shown number as a number."""
    digits = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    return float(shown.replace(words.MINUS, "-").replace(",", "").replace(" × 10", "e").translate(digits))


@given(st.floats(-1e300, 1e300))
def test_a_number_is_shown_to_three_digits(x):
    assert back(words.number(x)) == pytest.approx(x, rel=0.0051, abs=0)


@given(st.floats(-1, 1))
def test_a_share_is_never_shown_as_zero_unless_it_is(x):
    assert (words.percent(x) == "0.0 %") == (x == 0)


@given(st.floats(0, 1))
def test_a_p_value_is_shown_well_enough_to_judge_it(p):
    shown = words.p_value(p)
    assert shown == "p < 0.001" if p < 0.001 else shown.startswith("p = ")
    if p >= 0.001:
        assert float(shown[4:]) == pytest.approx(p, rel=0.06)


@pytest.mark.parametrize("shown", [words.number, words.percent, words.p_number, words.count])
def test_what_is_not_there_is_a_dash(shown):
    assert shown(None) == words.NOTHING


@pytest.mark.parametrize("unit", ["rate", "value"])
def test_infinities_are_words(unit):
    for shown in (words.value, words.signed, words.size):
        assert "infinite" in shown("Infinity", unit)
    assert words.value(float("inf"), "value") == "infinite"


@pytest.mark.parametrize(
    ("x", "unit", "shown"),
    [
        (0.172, "rate", "+17.2 points [95 % CI +9.1 to +25.3]"),
        (-0.05, "rate", "−5.0 points [95 % CI +9.1 to +25.3]"),
        (3.0, "value", "+3 [95 % CI +0.091 to +0.253]"),
        (None, "rate", "–"),
    ],
)
def test_difference(x, unit, shown):
    assert words.difference(x, 0.091, 0.253, confidence=0.95, unit=unit) == shown


def test_verdicts_have_words_and_meanings():
    assert set(words.VERDICT_WORDS) == set(words.VERDICT_MEANINGS) == set(get_args(Verdict))


@given(st.text(), st.text())
def test_printable_text_is_one_line_of_characters_that_do_what_they_look_like(name, other):
    shown = words.printable({name: [other, 1, None]})
    for one in (*shown, *(x for x in shown.values() for x in x[:1])):
        assert not set(one) & set("\n\r\t\x00\x1b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
        json.dumps(one, ensure_ascii=False).encode()


def test_printable_leaves_plain_documents_alone():
    document = {"a": [1, 2.5, None, True, "two words"], "ä": {"b": "größe"}}
    assert words.printable(document) == document
