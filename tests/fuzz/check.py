"""What came of a mutated input, and whether that may be."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import re
import shutil
import signal
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from bdt_core.errors import BDTError
from bdt_core.harmless import harmless
from bdt_core.table.reading_notes import ReadingNotes
from bdt_pipeline.cli import app
from tests.fuzz.inputs import CLARIFY, MANY_KEYS, SECRET, Files, Kind, people, write
from tests.fuzz.mutations import mutated

CLEAN, NAMED = "clean report", "exit 2, named"
UNNAMED, TRACEBACK, WRONG_ROWS, LEAKED, VALUE, ENDLESS = (
    "exit 2, unnamed", "traceback", "wrong rows", "leaked characters", "cell value", "no end",
)  # fmt: skip
GOOD = (CLEAN, NAMED)
SECONDS, MINUTES = 30, 15
"""No input is worked on for so long by the processor, nor at all: on a loaded machine one says little of the other."""
_RUNS = 0.25
"""Share of tables that are audited as a whole, the others being read only."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"^\s*::(?!(?:error|warning|notice) (?:file|title)=)|##(?:\[|vso\[)", re.MULTILINE)
_TAG = re.compile(r"(?<!\\)<(?:script>fuzz|img src=x)", re.IGNORECASE)
_LINK = re.compile(r"(?<!\\)\[[^\[\]\n]*\]\(javascript:", re.IGNORECASE)
_GOES_ON = re.compile(r"so ([\d,]+) lines of the file go on")
_END = re.compile(r"\r\n|\r|\n")


def _keys(found: Any) -> Iterator[str]:
    if isinstance(found, dict):
        for key, value in found.items():
            yield str(key)
            yield from _keys(value)
    elif isinstance(found, list):
        for one in found:
            yield from _keys(one)


_WORDS = {*_keys(MANY_KEYS), *_keys(CLARIFY), *people().columns, "source", "born", "top level", "dataset_uri"}
_PLACE = re.compile(r'"[^"]+"|\b(?:' + "|".join(sorted(map(re.escape, _WORDS))) + r")\b|--\w+")


class _EndlessError(BaseException):
    """It takes too long; no `except Exception` keeps it."""


@dataclass(frozen=True)
class Outcome:
    """What came of one input.

    Attributes
    ----------
    kind : str
    seed : int
    result : str
        `CLEAN` or `NAMED`, if all is well.
    told : str
        The message, or what is wrong.
    """

    kind: str
    seed: int
    result: str
    told: str = ""

    @property
    def is_good(self) -> bool:
        return self.result in GOOD


def outcome_of(kind: Kind, seed: int, runs: float = _RUNS) -> Outcome:
    """Mutate an input, have it read or audited, and look at all that comes out.

    Parameters
    ----------
    kind : Kind
    seed : int
        The same one gives the same mutation.
    runs : float
        Share of tables that are audited as a whole; other kinds always are.
    """
    random_ = random.Random(f"{kind.name}-{seed}")
    whole = kind.read is None or (bool(kind.commands) and random_.random() < runs)
    files = mutated(kind, random_)
    return result_of(kind, seed, files, random_.choice(kind.commands) if whole else None)


def result_of(kind: Kind, seed: int, files: Files, command: list[str] | None) -> Outcome:
    """What came of these files: read alone, where there is no command."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        write(files, folder)
        with _ending(), contextlib.chdir(folder):
            result, told = _read(kind, files, folder) if command is None else _run(kind, files, folder, command)
    except _EndlessError:
        result, told = ENDLESS, f"after {SECONDS} s of a processor, or {MINUTES} minutes"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(kind.name, seed, result, told)


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _EndlessError

    ends = {signal.ITIMER_PROF: (signal.SIGPROF, SECONDS), signal.ITIMER_REAL: (signal.SIGALRM, 60 * MINUTES)}
    before = {told: signal.signal(told, stop) for told, _ in ends.values()}
    for timer, (_, seconds) in ends.items():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer in ends:
            signal.setitimer(timer, 0)
        for told, then in before.items():
            signal.signal(told, then)


def _read(kind: Kind, files: Files, folder: Path) -> tuple[str, str]:
    assert kind.read is not None
    try:
        frame = kind.read(folder)
    except BDTError as error:
        return _refused(str(error), kind, files, folder)
    except Exception as error:
        return TRACEBACK, f"{type(error).__name__}: {error}"
    notes = ReadingNotes.of(frame.attrs)
    told = "\n".join((*notes.remarks, *notes.questions.values(), *notes.left_out))
    if SECRET in told and not _is_in_names(frame.columns):
        return VALUE, told
    least, most = _lines(kind, files[kind.mutated])
    within = sum(int(found[1].replace(",", "")) for one in notes.remarks if (found := _GOES_ON.search(one)))
    rows = len(frame) + notes.lines_left_out + within
    if not least <= rows <= most:
        return WRONG_ROWS, f"{rows} of {least} to {most}"
    short = _short_lines(kind, files[kind.mutated])
    if short > notes.lines_left_out:
        return WRONG_ROWS, f"{short} lines are too short, {notes.lines_left_out} are left out"
    return CLEAN, ""


def _run(kind: Kind, files: Files, folder: Path, command: list[str]) -> tuple[str, str]:
    arguments = [one.replace("{folder}", str(folder)) for one in command]
    os.environ.pop("GITHUB_STEP_SUMMARY", None)
    result = CliRunner().invoke(app, arguments)
    printed = result.stdout + "\n" + result.stderr
    if "Traceback (most recent" in printed or "Unexpected error" in printed or result.exit_code not in (0, 1, 2, 3):
        return TRACEBACK, printed[-600:]
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return TRACEBACK, repr(result.exception)
    named = SECRET.encode() in _head(kind, files)
    for name, text in {"screen": printed, **_written(folder / "out")}.items():
        wrong = _not_harmless(name, text)
        if wrong:
            return LEAKED, f"{name}: {wrong}"
        if SECRET in text and not named:
            at = text.index(SECRET)
            return VALUE, f"{name}: {text[max(0, at - 200) : at + 50]}"
    if result.exit_code == 2:
        return _refused(result.stderr, kind, files, folder)
    return CLEAN, ""


def _written(out: Path) -> dict[str, str]:
    kept = (".html", ".md", ".json", ".xml", ".csv")
    return {one.name: one.read_bytes().decode() for one in out.glob("*") if one.suffix in kept}


def _not_harmless(name: str, text: str) -> str:
    found = _CONTROLS.search(text)
    if found is None and name == "screen":
        found = _COMMAND.search(text)
    if found is None and name.endswith((".html", ".md")):
        found = _TAG.search(text) or (_LINK.search(text) if name.endswith(".md") else None)
    return "" if found is None else repr(text[max(0, found.start() - 60) : found.end() + 30])


def _refused(message: str, kind: Kind, files: Files, folder: Path) -> tuple[str, str]:
    if _not_harmless("screen", message):
        return LEAKED, _not_harmless("screen", message)
    if SECRET in message and SECRET.encode() not in _head(kind, files):
        return VALUE, message
    its = [line for line in message.splitlines() if line.strip() and not line.startswith("Note")]
    said = "\n".join(its).replace(str(folder) + "/", "")
    is_named = (
        any(harmless(Path(one).name) in said for one in files) or _PLACE.search(said) or re.search(r"\brows?\b", said)
    )
    if kind.form == "url" and not is_named:  # the address is the place
        source = yaml.safe_load(files[kind.mutated])["source"]
        inner = [one for value in source.values() for one in (value.values() if isinstance(value, dict) else [value])]
        is_named = any(harmless(one)[:5] in said for one in inner)
    return (NAMED if is_named else UNNAMED), said


def _head(kind: Kind, files: Files) -> bytes:
    """Where names of columns may stand; of what is no text, and may have any names, all."""
    raw = files[kind.mutated]
    if kind.form == "text":
        first = raw.lstrip(b"\0\r\n \xff\xfe").split(b"\n", 1)[0].replace(b"\0", b"")
        return first + (SECRET.encode() if first.count(b'"') % 2 or not raw.strip() else b"")
    return b""


def _is_in_names(names: Any) -> bool:
    return any(SECRET in str(one) for one in names)


def _lines(kind: Kind, raw: bytes) -> tuple[int, float]:
    """Fewest and most rows that there are, by counting them in another way."""
    if kind.mutated.endswith((".gz", ".zip")):
        try:
            raw = gzip.decompress(raw) if kind.mutated.endswith(".gz") else _unzipped(raw)
        except Exception:
            return 0, float("inf")
    elif kind.mutated.endswith(".jsonl"):
        lines = [one for one in raw.split(b"\n") if one.decode("utf-8-sig", "replace").strip()]
        return len(lines), len(lines)
    elif kind.form != "text":
        return 0, float("inf")
    lines = _END.split(_decoded(raw))
    header = 1 + next((place for place, one in enumerate(lines) if one.strip()), 0)
    if lines[header - 1].count('"') % 2:
        return 0, len(lines)  # names of several lines
    may_be_data = kind.name == "clarify_without_header"
    return sum(bool(one.strip()) for one in lines) - 1, len(lines) - 1 + may_be_data


def _short_lines(kind: Kind, raw: bytes) -> int:
    """How many lines of a text without quotation marks have fewer values than the first one."""
    if kind.form != "text" or b'"' in raw:
        return 0
    lines = [one for one in _END.split(_decoded(raw)) if one.strip(" ")]
    separator = max(",;\t|", key=lines[0].count)
    return sum(one.count(separator) < lines[0].count(separator) for one in lines if one.strip())


def _decoded(raw: bytes) -> str:
    for encoding in _encodings(raw):
        with contextlib.suppress(UnicodeError):
            return raw.decode(encoding)
    raise AssertionError("latin-1 reads everything")


def _encodings(raw: bytes) -> tuple[str, ...]:
    if raw.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return ("utf-32", "latin-1")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16", "latin-1")
    if raw[1:2] == b"\0" and raw[3:4] == b"\0":
        return ("utf-16-le", "latin-1")
    return ("utf-8-sig", "latin-1")


def _unzipped(raw: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        return packed.read(packed.namelist()[0])


def counted(outcomes: list[Outcome]) -> dict[str, Counter[str]]:
    """How often each result came, by kind."""
    found: dict[str, Counter[str]] = {}
    for one in outcomes:
        found.setdefault(one.kind, Counter())[one.result] += 1
    return found
