"""A language is one catalogue: complete, asked for by something, and all that another language needs."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.pofile import write_po

import bdt_core
from bdt_core.report.translation import TEMPLATE, messages, texts, translated
from bdt_core.spec import LANGUAGES
from tests import languages
from tests.core.report.test_first_page import attributes

SECTIONS = languages.REPORT / "templates" / "sections"
OTHERS = [one for one in LANGUAGES if one != "en"]
GOLDENS = Path(__file__).parents[2] / "goldens"
PSEUDO = "eo"
"""A language that Babel knows and that has no catalogue of ours."""
OURS = frozenset(
    ("everybody", "people", "significantly", "worse", "confirmed", "among", "limit", "confidence", "which")
)
"""Words that no column, level or file of the report has, and no place of a message."""
KEPT = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{\w+\}|\]\(\w+\)|^- \*\*\w+\*\*|!\[|%\(\w+\)s", re.S)
"""What a message must keep: tags, places, tones and names of words."""


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_has_all_that_is_said_and_nothing_else(language: str) -> None:
    assert languages.missing(language) == []
    assert languages.orphans(language) == []


def test_no_message_is_put_together_by_code() -> None:
    """The catalogue of a language can be asked for whole messages only; what differs between them is a value."""
    assert languages.put_together() == []


@pytest.mark.parametrize(
    ("code", "is_so"),
    [
        ('say(f"{n} rows")', True),
        ('say("a" + "b")', True),
        ('say("row" + "s" * (n > 1))', True),
        ('message = f"{n} rows"\nsay(message)', True),
        ('message = "a"\nmessage += ", b"\nsay(message)', True),
        ('message, values = f"{n} rows", {}\nsay(message, **values)', True),
        ('say("{N} row" if n == 1 else "{N} rows")', False),
        ('WORDS = {"a": "{N} rows", "b": "{N} persons"}\nsay(WORDS[kind])', False),
        ('say(message)', False),
    ],
)  # fmt: skip
def test_a_message_that_code_puts_together_is_seen(code: str, is_so: bool) -> None:
    tree = ast.parse(code)
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    assert isinstance(last.value, ast.Call)
    assert languages.is_put_together(last.value.args[0], languages.names_in(tree)) == is_so


def test_a_sentence_that_changes_in_one_language_only_is_missing_and_an_orphan(monkeypatch: pytest.MonkeyPatch) -> None:
    file = SECTIONS / "proxies.md.j2"
    changed = file.read_text(encoding="utf-8").replace("column", "variable")
    extracted = [one for one in languages.in_templates() if one not in set(messages(file.read_text(encoding="utf-8")))]
    monkeypatch.setitem(languages._EXTRACTED, TEMPLATE, lambda: [*extracted, *messages(changed)])
    assert any("variable" in text for _, text in languages.missing("nl"))
    assert any("column" in text for _, text in languages.orphans("nl"))


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("file", sorted(SECTIONS.rglob("*.j2")), ids=lambda file: file.name)
def test_a_template_asks_for_the_same_in_every_language(language: str, file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    texts_have = {f".{one}" for one in dir(str)}
    other = translated(source, texts(language, TEMPLATE))
    assert (attributes(source).keys() ^ attributes(other).keys()) - texts_have == set()


def pseudo(text: str) -> str:
    """Every word of a text marked, and what it must keep as it is."""
    kept = KEPT.findall(text)
    parts = [re.sub(r"[^\W\d_]+", lambda word: f"{word[0]}ĵ", one) for one in KEPT.split(text)]
    return "".join(part + (kept[place] if place < len(kept) else "") for place, part in enumerate(parts))


def test_another_language_is_one_file(tmp_path: Path) -> None:
    """With every word marked in a catalogue, no word of ours is left without the mark in a whole report."""
    shutil.copytree(
        Path(bdt_core.__file__).parent, tmp_path / "bdt_core", ignore=shutil.ignore_patterns("__pycache__", "*.nb?")
    )
    catalogue = languages.read(PSEUDO)
    for context, text in languages.missing(PSEUDO):
        catalogue.add(text, pseudo(text), context=context or None)
    assert len(catalogue) > 2_000
    with (tmp_path / "bdt_core" / "report" / "languages" / f"{PSEUDO}.po").open("wb") as opened:
        write_po(opened, catalogue, width=0)
    document = json.loads((GOLDENS / "compas_in_depth.json").read_text(encoding="utf-8"))
    document["spec"]["language"] = PSEUDO
    (tmp_path / "report.json").write_text(json.dumps(document))
    script = (
        "import json, sys; from bdt_core.report import render_markdown; from bdt_core.spec import LANGUAGES; "
        f"assert LANGUAGES == ('en', '{PSEUDO}', 'nl'), LANGUAGES; "
        "sys.stdout.buffer.write(render_markdown(json.load(open('report.json'))).encode())"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr.decode()
    told = ran.stdout.decode()
    assert told.count("ĵ") > 4_000
    assert set(re.findall(r"[^\W\d_]+", told.lower())) & OURS == set()
