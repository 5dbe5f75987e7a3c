"""What can be called says what it takes, gives back and refuses, and stands in an example that runs."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bdt_core
import bdt_pipeline
from bdt_core.result import Shown

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "python.rst"
RESULTS = re.findall(r"^\.\. autoclass:: (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
"""Classes of what the public names give back, as the reference lists them."""
TAUGHT = sorted(
    {
        f"{module}.{name.strip()}"
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
        for module, names in re.findall(r"from (bdt_[\w.]+) import ([\w, ]+)", page.read_text(encoding="utf-8"))
        for name in names.split(",")
    }
)
"""What pages and notebooks tell a reader to import."""
NO_CALLS = {
    "Stages": "its methods are called by an audit; a user overrides them, which its example shows",
    "BiasAudit": "Dagster makes it of a YAML file, which the pages show, and calls its methods",
}


def named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def public() -> Iterator[tuple[str, Any]]:
    for package in (bdt_core, bdt_pipeline):
        for name in package.__all__:
            found = getattr(package, name)
            if not isinstance(found, str) and name not in NO_CALLS:
                yield f"{package.__name__}.{name}", found
    yield from ((path, named(path)) for path in RESULTS)
    yield from ((path, one) for path in TAUGHT if inspect.isfunction(one := named(path)))


def function_of(member: Any) -> Callable[..., Any] | None:
    """The function behind a method; None of anything else, and of what is looked up and not called."""
    found = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    return found if inspect.isfunction(found) else None


def methods() -> Iterator[tuple[str, type, Callable[..., Any]]]:
    for path, owner in public():
        for name in dir(owner) if isinstance(owner, type) else ():
            found = function_of(inspect.getattr_static(owner, name))
            ours = found is not None and found.__module__.startswith("bdt_")
            if found is not None and ours and not name.startswith("_") and name == found.__name__ and is_told(found):
                yield f"{path}.{name}", owner, found


def is_told(found: Any) -> bool:
    """Whether the reference has it: Sphinx leaves out what only other rooms call."""
    return ":meta private:" not in (found.__doc__ or "")


FUNCTIONS = {path: one for path, one in public() if not isinstance(one, type)}
METHODS = {path: (owner, one) for path, owner, one in methods()}
EVERY = FUNCTIONS | {path: one for path, (_, one) in METHODS.items()}


def sections(told: str) -> dict[str, str]:
    """What stands under each heading of a docstring."""
    parts = re.split(r"(?m)^([A-Z][\w ]+)\n-{3,}\n", inspect.cleandoc(told))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def run_in(*docstrings: str | None) -> set[str]:
    """Names that examples call or look up, where they are run."""
    tree = [
        ast.parse(example.source)
        for told in docstrings
        for example in doctest.DocTestParser().get_examples(told or "")
        if doctest.SKIP not in example.options
    ]
    nodes = [one for each in tree for one in ast.walk(each)]
    return {one.attr for one in nodes if isinstance(one, ast.Attribute)} | {
        one.func.id for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }


def raised(found: Callable[..., Any]) -> set[str]:
    """Errors that a function raises by itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(found))))
    several = (one.exc for one in ast.walk(tree) if isinstance(one, ast.Raise))
    return {one.func.id for one in several if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_function_has_an_example_that_runs(path: str) -> None:
    assert FUNCTIONS[path].__name__ in run_in(FUNCTIONS[path].__doc__)


@pytest.mark.parametrize("path", METHODS)
def test_a_method_stands_in_an_example_of_its_own_or_of_its_class(path: str) -> None:
    owner, method = METHODS[path]
    above = [one.__doc__ for one in owner.__mro__ if method.__name__ in vars(one)]
    assert method.__name__ in run_in(method.__doc__, owner.__doc__, *above)


@pytest.mark.parametrize("path", EVERY)
def test_it_says_what_it_takes_gives_back_and_refuses(path: str) -> None:
    found, told = EVERY[path], sections(EVERY[path].__doc__ or "")
    taken = [
        name
        for name, one in inspect.signature(found).parameters.items()
        if name not in ("self", "cls") and one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    named_there = re.findall(r"\w+", " ".join(re.findall(r"(?m)^(\S[^:\n]*)", told.get("Parameters", ""))))
    assert [one for one in taken if one not in named_there] == []
    if taken and found.__annotations__.get("return") not in (None, "None"):
        assert "Returns" in told
    assert [one for one in raised(found) if not re.search(rf"\b{one}\b", told.get("Raises", ""))] == []


@pytest.mark.parametrize("path", [path for path, one in public() if isinstance(one, type)])
def test_what_is_looked_up_is_said(path: str) -> None:
    owner = dict(public())[path]
    for name in dir(owner):
        member = inspect.getattr_static(owner, name)
        if isinstance(member, property | functools.cached_property) and not name.startswith("_"):
            assert getattr(owner, name).__doc__, name


def test_the_reference_lists_every_result_that_can_be_looked_at() -> None:
    def below(one: type) -> set[type]:
        return {one, *(deeper for each in one.__subclasses__() for deeper in below(each))}

    shown = {one for one in below(Shown) if "to_frame" in vars(one)} - {Shown}
    assert shown <= {named(path) for path in RESULTS}
    assert len(RESULTS) == len(set(RESULTS)) > 10
    assert len(TAUGHT) > 10
