"""Words of the house: each count is what is left, so it may only fall, and falls here together with the code.

``python -m tests.core.house.words`` prints ``ALLOWED`` as it is now.
"""

import ast
from pathlib import Path

import pytest

from tests.core.house.words import (
    Counts,
    begins_with_a_question,
    beside_its_plural,
    counts,
    doubled,
    public_classes,
    vague_names,
)

ALLOWED: Counts = {
    "names": {
        "bdt_core/fairness": 1,
        "bdt_core/groups": 40,
        "bdt_core/report": 290,
    },
    "heads": {
        "bdt_core/groups": 6,
        "bdt_core/report": 5,
    },
    "classes": {
        "bdt_core": 3,
        "bdt_core/clustering": 1,
        "bdt_core/fairness": 2,
        "bdt_core/groups": 8,
        "bdt_core/history": 1,
        "bdt_core/inference": 1,
        "bdt_core/mitigation": 1,
        "bdt_core/proposal": 1,
        "bdt_core/report": 16,
        "bdt_core/spec": 4,
        "bdt_core/table": 1,
        "bdt_core/verdict": 1,
        "bdt_pipeline/local_page": 1,
    },
    "plurals": {
        "bdt_core/groups": 2,
    },
}


@pytest.fixture(scope="module")
def present() -> Counts:
    return counts()


@pytest.mark.parametrize("rule", sorted(ALLOWED))
def test_each_room_has_exactly_what_is_allowed(rule: str, present: Counts) -> None:
    rooms = sorted(present[rule].keys() | ALLOWED[rule].keys())
    differing = {
        room: f"{present[rule].get(room, 0)} present, {ALLOWED[rule].get(room, 0)} allowed"
        for room in rooms
        if present[rule].get(room, 0) != ALLOWED[rule].get(room, 0)
    }
    assert not differing, f"{rule}: {differing}; mend what rose, lower what fell (`python -m tests.core.house.words`)"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("one = 1", 1),
        ("for found in x: pass", 1),
        ("def f(told, *, wanted): pass", 2),
        ("with x as several: pass", 1),
        ("(one := 1)", 1),
        ("[one for one in x]", 0),
        ("{one: 1 for one, found in x if one}", 0),
        ("lambda one: one", 0),
        ("lambda x: [(found := x)]", 1),
        ("[x for x in y if (told := x)]", 1),
    ],
)
def test_vague_names_count_outside_comprehensions_and_lambdas(code: str, count: int) -> None:
    assert vague_names(ast.parse(code)) == count


def test_a_head_that_is_a_question_is_seen() -> None:
    assert begins_with_a_question(ast.parse('"""What it does."""'))
    assert not begins_with_a_question(ast.parse('"""Whole rows."""'))
    assert not begins_with_a_question(ast.parse("x = 1"))


def test_public_classes_of_one_name_are_counted_in_both_rooms() -> None:
    tree = ast.parse("class Search: pass\nclass _Hidden: pass")
    assert public_classes(tree) == ["Search"]
    assert doubled([("a", "Search"), ("b", "Search"), ("b", "Other")]) == {"a": 1, "b": 1}


def test_a_module_beside_its_plural_is_seen() -> None:
    stage, stages, other = Path("p/room/stage.py"), Path("p/stages.py"), Path("q/room/stage.py")
    assert beside_its_plural({stage, stages, other}) == [stage]
