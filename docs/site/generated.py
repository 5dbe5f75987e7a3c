"""Pages that are made from the program itself: its specification, its commands, its public names, its figures."""

from __future__ import annotations

import atexit
import functools
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]


class Specification(SphinxDirective):
    """Every key of the specification, by the JSON Schema that `bdt schema` prints."""

    def run(self) -> list[nodes.Node]:
        """A table per section."""
        from bdt_core.spec import json_schema

        schema = json_schema()
        text = "\n".join(table_of_keys("The specification", schema, schema["$defs"]))
        for name, section in sorted(schema["$defs"].items()):
            text += "\n" + "\n".join(table_of_keys(name, section, schema["$defs"]))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def described(section: dict[str, Any]) -> str:
    """What a section or a key is, without the examples for programmers."""
    return str(section.get("description", "")).partition("\n\nExamples")[0].partition("\n\nRaises")[0]


def table_of_keys(title: str, section: dict[str, Any], sections: dict[str, Any]) -> Iterator[str]:
    """One section of the schema as Markdown."""
    yield from (f"(spec-{title})=", f"## {title}", "", described(section), "")
    if "properties" not in section:
        return
    yield from ("| key | takes | default | meaning |", "|---|---|---|---|")
    for name, field in section["properties"].items():
        default = "needed" if name in section.get("required", ()) else code(field.get("default"))
        meaning = cell(described(field) or described(sections.get(field.get("$ref", "").rpartition("/")[2], {})))
        yield f"| `{name}` | {taken(field)} | {default} | {meaning} |"
    yield ""


def taken(field: dict[str, Any]) -> str:
    """What a key may hold, in words, with links to sections."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#spec-{name})"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{one}`" for one in field.get("enum", [field.get("const")]))
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(dict.fromkeys(taken(one) for one in field[several]))
    if field.get("type") == "array":
        return f"list of {taken(field['items'])}" if field.get("items") else "list"
    if field.get("type") == "object":
        more = field.get("additionalProperties")
        return f"names with {taken(more)}" if isinstance(more, dict) else "names with values"
    return {"null": "nothing", "string": "text", "integer": "whole number", "boolean": "true or false"}.get(
        field.get("type", ""), field.get("type", "anything")
    )


def code(value: Any) -> str:
    """A default as YAML has it; of a whole section, that it has its own."""
    if value is None or value in ([], {}, ""):
        return ""
    if isinstance(value, dict):
        return "its own"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def cell(text: str) -> str:
    """A text within a table of Markdown."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("*", "\\*")


class Commands(SphinxDirective):
    """The help of every command, as the terminal shows it."""

    def run(self) -> list[nodes.Node]:
        """A section per command."""
        from bdt_pipeline.cli import app

        text = ""
        for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
            told = CliRunner().invoke(app, [name, "--help"], prog_name="bdt", terminal_width=88).output
            text += f"## bdt {name}\n\n```text\n{told.strip()}\n```\n\n"
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class PublicNames(SphinxDirective):
    """What `bdt_core` and `bdt_pipeline` offer, by their `__all__` and their docstrings."""

    def run(self) -> list[nodes.Node]:
        """A directive of autodoc per name."""
        import importlib

        text = ""
        for package in ("bdt_core", "bdt_pipeline"):
            text += f"{package}\n{'=' * len(package)}\n\n"
            module = importlib.import_module(package)
            for name in module.__all__:
                found = getattr(module, name)
                if isinstance(found, str) or (package == "bdt_pipeline" and name == "Stages"):  # that of bdt_core
                    continue
                home, kind = f"{package}.{name}", "function"
                if isinstance(found, type):
                    kind = "class"
                text += f".. auto{kind}:: {home}\n" + ("   :members:\n" if kind == "class" else "") + "\n"
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class Mermaid(SphinxDirective):
    """A diagram that code browsers draw; here its text, as drawing it takes a script from elsewhere."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The text."""
        return [nodes.literal_block("\n".join(self.content), "\n".join(self.content), language="none")]


class Figures(SphinxDirective):
    """Figures of the report on the demonstration's data, drawn while the site is built."""

    optional_arguments = 12

    def run(self) -> list[nodes.Node]:
        """Each of those that are named, else all, its title in place of it for those who see no picture."""
        drawn = figures()
        folder = "../" * self.env.docname.count("/") + "_static/figures"
        told = (
            f'<figure><img src="{folder}/{name}.svg" alt="{escape(drawn[name])}" style="background: #fff"></figure>'
            for name in self.asked(drawn)
        )
        return [nodes.raw("", one, format="html") for one in told]

    def asked(self, drawn: dict[str, str]) -> list[str]:
        """The figures that the page names; all where it names none."""
        unknown = set(self.arguments) - set(drawn)
        if unknown:
            raise self.error(f"No figure is called {', '.join(unknown)}: there are {', '.join(drawn)}.")
        return self.arguments or list(drawn)


@functools.cache
def figures() -> dict[str, str]:
    """Draw every figure of the demonstration in depth into the folder of static files, and give their titles.

    Its report is the one that is frozen, which a test holds to what the audit gives.
    """
    from bdt_core.report.figure_words import figure_words
    from bdt_core.report.figures import figure_names, figure_svg
    from bdt_core.report.printed import printed

    frozen = ROOT / "tests" / "goldens" / "compas_in_depth.json"
    document = printed(json.loads(frozen.read_text(encoding="utf-8")))
    names = figure_names(document)
    for name in names:
        (drawings() / f"{name}.svg").write_text(figure_svg(document, name), encoding="utf-8")
    return {name: figure_words(document, name).title for name in names}


@functools.cache
def drawings() -> Path:
    """A folder that goes with the process."""
    folder = Path(tempfile.mkdtemp(prefix="bdt-site-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "figures").mkdir()
    return folder / "figures"


def skipped(_: Sphinx, _what: str, name: str, *_more: Any) -> bool | None:
    """Whether a name is left out: what scikit-learn adds to every estimator."""
    return True if name.endswith("_request") else None


def with_ends(_app: Sphinx, _what: str, _name: str, _found: Any, _options: Any, lines: list[str]) -> None:
    """Keep names that end in an underscore, as scikit-learn has them, from being read as links."""
    for number, line in enumerate(lines):
        if not re.match(r"\s*(>>>|\.\.\.)", line):
            name, kind = re.match(r"(\s*\w+ : )?(.*)", line).groups("")  # type: ignore[union-attr]
            lines[number] = name + re.sub(r"(?<![`\w])(\w+)_(?![\w`])", r"\1\\_", kind)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directives known."""
    directives = {
        "specification": Specification,
        "commands": Commands,
        "public-names": PublicNames,
        "mermaid": Mermaid,
        "figures": Figures,
    }
    for name, directive in directives.items():
        app.add_directive(name, directive)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", with_ends, priority=100)  # before sections are read
    app.connect("config-inited", lambda _, config: config.html_static_path.append(str(drawings().parent)))
    return {"parallel_read_safe": False, "parallel_write_safe": True}
