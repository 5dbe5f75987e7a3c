"""Process of its own that reads or audits a table, so that it can be stopped at any time.

The process begins with `main`: a task comes in by standard input, and what is to be told goes out by standard output,
pickled, as both are on every system. It ends with whoever began it.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from bdt_core.errors import OUT_OF_MEMORY, BDTError
from bdt_core.said import Text
from bdt_core.stages import READING

if TYPE_CHECKING:
    from bdt_core.proposal import Glance, Proposal

_PRIVATE = 0o077
"""What others must not do with files that hold rows, or a report."""


MEMBERS = "members.csv"
_NO_MEMBERS = "Who is in which finding could not be written: the table could not be read again as it was."


@dataclass(frozen=True)
class Step:
    """How far a stage is; 0 steps done where it begins."""

    title: str
    done: int
    steps: int


@dataclass(frozen=True)
class Notice:
    """Something that whoever waits should know."""

    sentence: Text


@dataclass(frozen=True)
class Failure:
    """Why it has ended too early."""

    sentence: Text


@dataclass(frozen=True)
class Looked:
    """A table that was looked at, and what it seems to be about."""

    glance: Glance
    proposal: Proposal


@dataclass(frozen=True)
class Written:
    """An audit that is done, and whose report is written."""


End = Failure | Looked | Written
Message = Step | Notice | End
Tell = Callable[[Message], None]


@dataclass(frozen=True)
class Look:
    """Look at a table.

    Attributes
    ----------
    source : dict
        As in a specification.
    """

    source: dict[str, str]

    @property
    def titles(self) -> tuple[str, ...]:
        """Its stages."""
        return (READING,)

    def run(self, _tell: Tell) -> End:
        """Read it, and make a proposal."""
        from bdt_core.proposal import look_at, proposed
        from bdt_core.spec import parse_spec

        os.umask(_PRIVATE)
        asked = {"name": "table", "source": self.source, "bias_variable": {"column": "y"}}
        glance = look_at(parse_spec(asked, "The way the file is read").source)
        return Looked(glance, proposed(glance))


@dataclass(frozen=True)
class Audit:
    """Carry out an audit.

    Attributes
    ----------
    spec : str
        Name of the specification in the working directory.
    folder : str
        Folder for the report.
    ledger : str
        Folder of the ledger of looks.
    titles : tuple of str
        Its stages.
    """

    spec: str
    folder: str
    ledger: str
    titles: tuple[str, ...]

    def run(self, tell: Tell) -> End:
        """Audit, and write the report."""
        from bdt_core.audit import audit
        from bdt_core.sealed.looking import looking
        from bdt_core.spec import load_spec
        from bdt_pipeline.commands.members_file import members_file, write_members

        def notice(sentence: str) -> None:
            tell(Notice(sentence))

        spec = load_spec(self.spec)
        with looking(Path(self.ledger), spec, "page") as look:
            os.umask(_PRIVATE)  # the ledger, which is there by now, may be for several people
            result = audit(
                None,
                spec,
                progress=lambda title, done, steps: tell(Step(title, done, steps)),
                notice=notice,
            ).recorded(look)
        result.write(Path(self.folder), notice=notice)
        members = Path(self.folder) / MEMBERS
        try:
            with members_file(members) as stream:
                write_members(result, stream, members, by_number=True)
        except (BDTError, OSError):  # the report is there all the same
            notice(_NO_MEMBERS)
        return Written()


def main() -> None:
    """Do the task that comes in."""
    gc.set_threshold(50_000)  # as in the command line: most of what is imported stays
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is no message
    task: Look | Audit = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_parent, daemon=True).start()

    def tell(message: Message) -> None:
        pickle.dump(message, out)
        out.flush()

    tell(_ended(task, tell))
    gc.freeze()  # nothing is kept, so nothing is looked through at the end


def _ended(task: Look | Audit, tell: Tell) -> End:
    try:
        return task.run(tell)
    except Exception as error:
        return Failure(problem_of(error))


def problem_of(error: Exception) -> str:
    """What a person reads of an error: a sentence, whatever it is."""
    match error:
        case BDTError():
            return error.sentence
        case MemoryError():
            return OUT_OF_MEMORY
        case _:
            first_line = (str(error).splitlines() or [""])[0]
            return str(BDTError(f"Unexpected error: {type(error).__name__}: {first_line}"))


def _end_with_parent() -> None:
    """Nobody sends anything more: what can be read is the end."""
    with suppress(OSError):
        os.read(0, 1)
    os._exit(1)
