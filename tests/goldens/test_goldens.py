"""Every audit gives the report that is frozen, to the byte.

A difference that is meant is frozen by ``python -m tests.goldens [NAME...]``, which says what has changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor

import pytest

from tests.goldens.audits import AUDITS, GATES
from tests.goldens.frozen import (
    FOLDER,
    LAST_DIGITS,
    differences,
    golden_names,
    is_to_the_byte,
    made,
    same_arithmetic,
)

SHOWN = 20


@pytest.fixture(scope="module")
def process() -> Iterator[Executor]:
    with same_arithmetic() as process:
        yield process


@pytest.mark.parametrize("name", golden_names())
def test_the_report_is_the_frozen_one(name: str, process: Executor) -> None:
    """To the byte with the packages that made the goldens; to the last digits with others."""
    tolerance = 0.0 if is_to_the_byte() else LAST_DIGITS
    for file, content in process.submit(made, name).result().items():
        frozen = (FOLDER / file).read_bytes()
        if content == frozen:
            continue
        changed = differences(frozen, content, is_json=file.endswith(".json"), tolerance=tolerance)
        if changed:
            more = f"\n... and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
            pytest.fail(f"{file} has changed (frozen -> now):\n" + "\n".join(changed[:SHOWN]) + more, pytrace=False)


def test_every_golden_belongs_to_an_audit() -> None:
    wanted = {f"{one.report or name}.json" for name, one in AUDITS.items()}
    wanted |= {f"{one.report or name}.md" for name, one in AUDITS.items() if one.markdown}
    wanted |= {f"{name}.gate.json" for name in GATES}
    assert {one.name for one in FOLDER.iterdir() if one.suffix in (".json", ".md")} == wanted


def test_a_difference_is_told_by_its_path() -> None:
    def changed(old: object, new: object) -> list[str]:
        return differences(json.dumps(old).encode(), json.dumps(new).encode(), is_json=True)

    assert changed({"a": [1, {"b": 0.1}]}, {"a": [1, {"b": 0.2}]}) == ["$.a[1].b: 0.1 -> 0.2"]
    assert changed({"a": [1]}, {"a": [1, 2], "c": None}) == ["$.a[1]: (nothing) -> 2", "$.c: (nothing) -> null"]
    assert changed(1, 1.0) == ["$: 1 -> 1.0"]
    nearly = differences(b"[0.3, 1e-12]", b"[0.30000000000000004, 2e-12]", is_json=True, tolerance=1e-9)
    assert nearly == []
    assert differences(b"[0.3]", b"[0.3000001]", is_json=True, tolerance=1e-9) == ["$[0]: 0.3 -> 0.3000001"]
    assert changed({"a": 1, "b": 2}, {"b": 2, "a": 1})[0].startswith("the bytes differ")
    assert differences(b"one\ntwo\n", b"one\n2\n", is_json=False)[-2:] == ["-two", "+2"]
