"""Output of the commands, and the place of their reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from bdt_core import words
from bdt_core.errors import OutputError
from bdt_core.harmless import harmless
from bdt_core.report.blocks import Block, Bullets, Facts, Folded, Paragraph
from bdt_core.report.catalogue import say_in
from bdt_core.report.selection_rules import rule_lines
from bdt_core.report.write import _write, remove_unfinished
from bdt_core.sentences import with_sentences
from bdt_core.spec.wording import guess_in_words
from bdt_pipeline.commands.printing import Screen, put, screen

if sys.platform != "win32":
    import fcntl

REPORTS = Path("bdt-reports")
_COLORS = {"pass": "green", "fail": "red", "inconclusive": "yellow", "not_testable": "yellow", "no_limit": "yellow"}


@contextmanager
def report_folder(asked: Path | None, name: str) -> Iterator[Path]:
    """A folder for a report: the wanted one, else the next free ``bdt-reports/<name>-<n>``.

    It is made before the audit runs, so that an unwritable place is found out at once, and taken away again when
    nothing was written into it.

    Raises
    ------
    OutputError
        When it cannot be written, holds a report already, or another command is at work in it.
    """
    with ExitStack() as held:
        try:
            folder = _next_free(name) if asked is None else held.enter_context(_own(asked))
        except OSError as error:
            raise OutputError(
                f"The folder {asked or REPORTS} cannot be written: {error.strerror}. Name another one."
            ) from None
        try:
            yield folder
        finally:
            with suppress(OSError):  # a folder goes only if it is empty
                folder.rmdir()
                if asked is None:
                    REPORTS.rmdir()


def console(*, error: bool = False) -> Console:
    """Where tables and colours are printed; every text in them is made harmless."""
    made = Console(stderr=error, file=cast("TextIO", _Coloured(screen(error=error))), highlight=False)
    made.push_render_hook(_Harmless())
    return made


@contextmanager
def progress_bar(stages: int) -> Iterator[Progress]:
    """A bar on standard error that counts stages and goes away at the end; nothing where nobody watches."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    to = console(error=True)
    progress = Progress(*columns, console=to, transient=True, disable=not to.is_terminal)
    progress.add_task("start", total=stages)
    with nullcontext() if progress.disable else progress:  # rich before 15 ends with an empty line in any case
        yield progress


def show_stage(progress: Progress, stage: str, position: int) -> None:
    """Show that a stage has begun."""
    progress.update(progress.task_ids[0], description=shown(stage), completed=position)


def tell(sentence: str) -> None:
    """Say something on standard error that stays."""
    put(sentence, error=True)


def show_result(document: dict[str, Any], files: Iterable[Path]) -> None:
    """The verdict, the first page in short, and where the report is."""
    from bdt_core.report.first_page import short_parts
    from bdt_core.report.printed import printed

    to = console()
    safe = printed(document)
    document = dict(with_sentences(document))
    verdict, said = document["verdict"], say_in(safe)
    show_verdict(to, verdict["verdict"], words.verdict_reason(verdict, said), said)
    guess = guessed_direction(document["bias_variable"])
    if guess is not None:
        show_notes(to, [said(guess)], said)
    show_parts(to, short_parts(safe))
    rules = list(rule_lines(document))
    if rules:
        to.print(f"\n[bold]{said('Rules of selection')}[/]")
        for line in rules:
            to.print(Padding(f"- {shown(said(line))}", (0, 2)))
    show_notes(to, [said(one) for one in document["warnings"] if one != guess], said)
    show_files(to, said("Report"), files)


def guessed_direction(bias_variable: Mapping[str, Any]) -> str | None:
    """What is said where it was guessed which way is better for people: before anything else is read."""
    return guess_in_words(bias_variable["name"]) if bias_variable["better_by"] == "guessed" else None


def show_parts(to: Console, parts: Iterable[Folded]) -> None:
    """Parts of a page, each below its title."""
    for part in parts:
        to.print(f"\n[bold]{shown(part.title)}[/]")
        for block in part.blocks:
            for line in lines_of(block):
                to.print(Padding(line, (0, 2)))


def lines_of(block: Block) -> Iterator[str]:
    """A block of a page, as rich prints it; what is drawn stands in the other forms."""
    match block:
        case Paragraph():
            yield shown(block.text)
        case Bullets():
            yield from (f"- {shown(one)}" for one in block.items)
        case Facts():
            yield from (f"[bold]{shown(name)}[/]: {shown(told)}" for name, told in block.pairs)


def show_verdict(to: Console, verdict: str, sentence: str, say: Callable[[str], str] = str) -> None:
    """A verdict in its colour, and the reason, which is in the report's language already."""
    to.print(f"\n[bold {_COLORS[verdict]}]{words.verdict_word(verdict, say)}[/]  {shown(sentence)}")


def show_notes(to: Console, notes: Iterable[str], say: Callable[[str], str] = str) -> None:
    """What a reader must know beside the result, in the report's language already."""
    for note in notes:
        to.print(f"\n[yellow]{say('Note')}:[/] {shown(note)}")


def show_files(to: Console, title: str, files: Iterable[Path]) -> None:
    """Where the files are: a line each, never broken."""
    to.print(f"\n[bold]{title}[/]")
    for path in files:
        to.print(f"  {escape(str(path))}", soft_wrap=True)


def shown(text: str) -> str:
    """A text that may hold anything, as rich prints it: markup and control characters do nothing."""
    return escape(str(words.printable(text)))


def write_file(path: Path, content: bytes, *, called: str = "") -> None:
    """Write one file, whole or not at all, into a folder that is made where there is none.

    Parameters
    ----------
    path : Path
    content : bytes
    called : str
        What the file is, for the message.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, content)
    except OSError as error:
        raise OutputError(f"{called}{path} cannot be written: {error.strerror or error}. Name another file.") from None


def _next_free(name: str) -> Path:
    """Made in one step, so that two audits at once never share a folder."""
    REPORTS.mkdir(exist_ok=True)
    number = 1
    while True:
        with suppress(FileExistsError):
            folder = REPORTS / f"{name}-{number}"
            folder.mkdir()
            return folder
        number += 1


@contextmanager
def _own(folder: Path) -> Iterator[Path]:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file. Name a folder for the report.")
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        if (folder / "report.json").exists():
            raise OutputError(
                f"{folder} holds a report already, and reports are never overwritten. Name another folder."
            )
        remove_unfinished(folder)
        probe = folder / ".bdt-write-test"
        probe.touch()
        probe.unlink()
        yield folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other commands from writing there, too; the lock is no file, and goes with the process however it ends."""
    if sys.platform == "win32":  # where a folder cannot be locked
        yield
    else:
        lock = os.open(folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OutputError(
                    f"Another command is writing a report to {folder}. Wait until it is done, or name another folder."
                ) from None
            except OSError:
                pass  # a file system that knows no locks
            yield
        finally:
            os.close(lock)


class _Coloured:
    """A screen for rich, whose colours and movements pass; its texts are made harmless by `_Harmless`."""

    def __init__(self, to: Screen) -> None:
        self._to = to

    def write(self, text: str) -> int:
        self._to.pass_on(text)
        return len(text)

    def isatty(self) -> bool:
        return self._to.beneath.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._to, name)


class _Harmless(RenderHook):
    """Makes every text harmless after it is laid out, when no line is broken any more."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_HarmlessOnceDrawn(one) for one in renderables]


class _HarmlessOnceDrawn:
    def __init__(self, drawn: ConsoleRenderable) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in console.render(self._drawn, options):
            # A line may have been broken anywhere, so that a pair of colons stands at its start.
            yield part if part.control else Segment(harmless(part.text).replace("::", ": :"), part.style)
