"""Messages of runs, checks and sensors to Dagster, which a terminal, a CI runner or a message may show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import dagster as dg

from bdt_core import words
from bdt_core.harmless import harmless


def log(context: Any, sentence: str, level: Literal["debug", "info", "warning", "error"] = "info") -> None:
    """Write a sentence, in which names may be anything, into the log of a run or of a sensor's look."""
    getattr(context.log, level)(harmless(sentence))


def log_verdict(context: Any, name: str, verdict: Mapping[str, Any], say: Callable[[str], str]) -> None:
    """Write an audit's verdict with its reason into the log: the last line of ours in a run, as ``bdt gate`` ends."""
    level: Literal["info", "warning", "error"] = (
        "error" if verdict["blocks"] else "info" if verdict["verdict"] in ("pass", "no_limit") else "warning"
    )
    log(context, words.printable(words.verdict_line(name, verdict, say)), level)


@dataclass(frozen=True)
class MarkdownTable:
    """A table of texts, which becomes Markdown in the audit's language."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def markdown(self, say: Callable[[str], str] = str) -> str:
        """The table in a language; a cell that is a column or a level of the reader's table is no text of ours."""
        from bdt_core.report.markdown import escaped_within_a_line

        def line(cells: Sequence[Any]) -> str:
            texts = (say(one if isinstance(one, str) else str(one)) for one in cells)  # sentences keep their ids
            return "| " + " | ".join(map(escaped_within_a_line, texts)) + " |"

        rule = "| " + " | ".join(["---"] * len(self.header)) + " |"
        return "\n".join([line(self.header), rule, *map(line, self.rows)])


@dataclass(frozen=True)
class MarkdownList:
    """Sentences, which become a list in Markdown in the audit's language."""

    lines: Sequence[str]

    def markdown(self, say: Callable[[str], str] = str) -> str:
        """The list in a language."""
        from bdt_core.report.markdown import escaped

        return "\n".join(f"- {escaped(say(one))}" for one in self.lines) or say("none")


_KEYS_OF_CODE = ("verdict", "severity", "recommendation")
"""Metadata that sensors read by its key."""
_AS_THEY_ARE = ("verdict", "severity", "fingerprint", "source", "batch")
"""Metadata whose values are read by machines, or name something of theirs."""


def harmless_metadata(metadata: Mapping[str, Any], say: Callable[[str], str] = str) -> dict[str, Any]:
    """Metadata in the audit's language, whose texts do nothing; tables and lists are made so."""

    def value(name: str, given: Any) -> Any:
        if isinstance(given, MarkdownTable | MarkdownList):
            return dg.MetadataValue.md(given.markdown(say))
        if not isinstance(given, str):
            return given
        return harmless(words.printable(given if name in _AS_THEY_ARE else say(given)))

    def key(name: str) -> str:
        return name if name in _KEYS_OF_CODE or "/" in name else say(name)

    return {key(name): value(name, one) for name, one in metadata.items()}


def in_check(description: str | None, metadata: Mapping[str, Any], say: Callable[[str], str] = str) -> dict[str, Any]:
    """What a check says, in the audit's language, with names that do nothing: arguments of an AssetCheckResult."""
    sentence = None if description is None else harmless(words.printable(say(description)))
    return {"description": sentence, "metadata": harmless_metadata(metadata, say)}
