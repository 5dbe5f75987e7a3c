"""Templates are compiled once, and anew when anything changes that the code depends on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from bdt_core.report import prose
from bdt_core.report.compiled import CompiledTemplates


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "told.md.j2").write_text("{% if is_told %}told{% endif %}\nof {{ name }}")
    return tmp_path


def drawn(folder: Path, **settings: object) -> str:
    """What a new environment makes of the template."""
    made = Environment(loader=FileSystemLoader(folder), bytecode_cache=CompiledTemplates("en"), **settings)  # type: ignore[arg-type]
    return made.get_template("told.md.j2").render(name="a", is_told=True)


def test_a_second_environment_compiles_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(folder) == "told\nof a"
    (kept,) = (folder / "__pycache__").iterdir()
    assert kept.suffix == ".pyc"
    monkeypatch.setattr(Environment, "compile", lambda *_: pytest.fail("compiled again"))
    assert drawn(folder) == "told\nof a"


def test_another_text_and_another_setting_are_compiled(folder: Path) -> None:
    assert drawn(folder) == "told\nof a"
    assert drawn(folder, trim_blocks=True) == "toldof a"
    (folder / "told.md.j2").write_text("{{ name }} only")
    assert drawn(folder) == "a only"


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", None])
def test_a_damaged_file_is_compiled_again(folder: Path, content: bytes | None) -> None:
    drawn(folder)
    (kept,) = (folder / "__pycache__").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:60] if content is None else content)
    assert drawn(folder) == "told\nof a"
    assert kept.read_bytes() == whole


def test_where_python_writes_nothing_no_template_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert drawn(folder) == "told\nof a"
    assert [one.name for one in folder.iterdir()] == ["told.md.j2"]


def test_a_folder_that_cannot_be_written_to_is_no_error(folder: Path) -> None:
    (folder / "__pycache__").write_text("a file")
    assert drawn(folder) == "told\nof a"


@pytest.mark.parametrize("language", ["en", "nl"])
def test_what_filters_give_is_not_compiled_in(language: str) -> None:
    made = prose.environment(language)
    assert isinstance(made.bytecode_cache, CompiledTemplates)
    assert "CHANGED" not in made.compile("{{ x(1 | float) }}", raw=True)
    made.filters["float"], kept = (lambda _: "CHANGED"), made.filters["float"]
    try:
        assert "CHANGED" not in made.compile("{{ x(1 | float) }}", raw=True)
    finally:
        made.filters["float"] = kept
