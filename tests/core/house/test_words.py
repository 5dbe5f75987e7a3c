"""Words of the house: names say what they hold, heads are no questions, and no class or module has another's name.

``python -m tests.core.house.words`` prints where it is otherwise.
"""

import ast
from pathlib import Path

import pytest

from tests.core.house.words import (
    begins_with_a_question,
    beside_its_plural,
    doubled,
    public_classes,
    unwanted,
    vague_names,
)


def test_no_word_is_unwanted() -> None:
    assert {rule: places for rule, places in unwanted().items() if places} == {}


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
    assert len(vague_names(ast.parse(code))) == count


def test_a_head_that_is_a_question_is_seen() -> None:
    assert begins_with_a_question(ast.parse('"""What it does."""'))
    assert not begins_with_a_question(ast.parse('"""Whole rows."""'))
    assert not begins_with_a_question(ast.parse("x = 1"))


def test_public_classes_of_one_name_are_seen_in_both_modules() -> None:
    tree = ast.parse("class Search: pass\nclass _Hidden: pass")
    assert public_classes(tree) == ["Search"]
    assert doubled([("a", "Search"), ("b", "Search"), ("b", "Other")]) == [("a", "Search"), ("b", "Search")]


def test_a_module_beside_its_plural_is_seen() -> None:
    stage, stages, other = Path("p/room/stage.py"), Path("p/stages.py"), Path("q/room/stage.py")
    assert beside_its_plural({stage, stages, other}) == [stage]
