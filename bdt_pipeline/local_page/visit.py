"""One table, from its arrival to its report: what is known of it, and what is being done with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import yaml

from bdt_core.errors import BDTError, OutputError
from bdt_core.spec import parse_spec
from bdt_core.stages import titles_of
from bdt_pipeline.commands.console import REPORTS
from bdt_pipeline.local_page.child import MEMBERS, Audit, Failure, Look, Looked, Written
from bdt_pipeline.local_page.line import Line
from bdt_pipeline.local_page.upload import private, safe_name
from bdt_pipeline.local_page.work import Work
from bdt_pipeline.proposed.named_table import name_of, source_of

if TYPE_CHECKING:  # what reads tables takes long to import: the page is there before
    from bdt_pipeline.local_page.answers import Answers, Form

Place = Literal["start", "reading", "unread", "questions", "auditing", "report"]
READING_KEYS = ("sheet", "separator", "decimal", "encoding", "bad_rows")
"""Keys of ``source`` that say how a file is read."""


class BusyError(BDTError):
    """Something is being done, and only one thing is at a time."""


@dataclass
class Visit:
    """What the page is about.

    Attributes
    ----------
    folder : Path
        Temporary, and nobody else's: the table (or a link to it), the specification and the report lie in it.
    table : str or None
        The table's name in the folder, or its address.
    reading : dict of str to str
        How it is read, where a person said so.
    answers : Answers or None
    work : Work or None
        What is being done.
    problem : str
        Why the last of it did not work.
    notices : list of str
        What was told while the audit ran.
    spec : str
        The specification of the last audit.
    report : Path or None
        The folder of its report.
    looks, audits : Line
        Where it waits while others are at work.
    """

    folder: Path
    table: str | None = None
    reading: dict[str, str] = field(default_factory=dict)
    answers: Answers | None = None
    work: Work | None = None
    problem: str = ""
    notices: list[str] = field(default_factory=list)
    spec: str = ""
    report: Path | None = None
    looks: Line = field(default_factory=lambda: Line(1))
    audits: Line = field(default_factory=lambda: Line(1))
    _beside: Path | None = None

    @property
    def place(self) -> Place:
        """Where it stands."""
        self._settle()
        if self.work is not None:
            return "reading" if isinstance(self.work.task, Look) else "auditing"
        if self.table is None:
            return "start"
        if self.report is not None:
            return "report"
        return "unread" if self.answers is None else "questions"

    @property
    def name(self) -> str:
        """What files of this audit are called."""
        return name_of(self.table or "")

    @property
    def is_address(self) -> bool:
        """Whether the table is named by where it is, and not a file that lies beside the specification."""
        return ":" in (self.table or "")  # of which no file's name has any (`safe_name`)

    @property
    def spec_file(self) -> str:
        """Name of the specification's file."""
        file = f"{self.name}.yaml"
        return f"audit-of-{file}" if file == self.table else file

    @property
    def members(self) -> Path | None:
        """The file that says who is in which finding; None where there is none."""
        file = self.report / MEMBERS if self.place == "report" and self.report is not None else None
        return file if file is not None and file.is_file() else None

    def new_folder(self) -> Path:
        """A folder for a table that is about to arrive.

        Raises
        ------
        BusyError
            Something is being done.
        """
        self._refuse_if_busy()
        return self._new("table")

    def take(self, beside: Path, table: str) -> None:
        """Begin with a table: look at it.

        Parameters
        ----------
        beside : Path
            As of `new_folder`; it is gone where the table is not taken.
        table : str
            Name of a file in it, or an address.

        Raises
        ------
        BusyError
            Something is being done.
        """
        try:
            self.forget()
        except BusyError:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        self._beside, self.table = beside, table
        self._look()

    def read(self, reading: Mapping[str, str]) -> None:
        """Look at the table again, read in another way.

        Raises
        ------
        BusyError
            Something is being done.
        """
        self._refuse_if_busy()
        if self.table is not None:
            self.reading = {key: reading[key] for key in READING_KEYS if reading.get(key)}
            self.answers, self.problem = None, ""
            self._drop_report()
            self._look()

    def answer(self, form: Form, language: str, *, start: bool) -> bool:
        """Take answers, and begin the audit unless something has to be looked at first.

        Parameters
        ----------
        form : mapping of str to str
            As of `Answers.changed`.
        language : str
            Of the report.
        start : bool
            Whether to begin.

        Returns
        -------
        bool
            Whether another outcome was chosen, so that the answers stand to be looked at.

        Raises
        ------
        BusyError
            Something is being done.
        SpecError, DataError
            It cannot be done in this way.
        """
        self._refuse_if_busy()
        if self.answers is None or self.table is None or self._beside is None:
            return False
        self.problem = ""
        self.answers, is_other = self.answers.changed(form)
        if start and not is_other:
            self.answers.refuse_unanswered()
            self._drop_report()
            self.spec = self.answers.specification(self.table, self.reading, language)
            with open(self._beside / self.spec_file, "w", encoding="utf-8", opener=private) as file:
                file.write(self.spec)
            titles = titles_of(parse_spec(yaml.safe_load(self.spec), self.spec_file))
            self._begin(Audit(self.spec_file, str(self._new("report")), str(REPORTS.resolve()), titles))
        return is_other

    def stop(self) -> None:
        """End what is being done; answers stay."""
        work = self.work
        if work is not None:
            work.stop()
            self.leave(work)

    def leave(self, work: Work) -> None:
        """Go back to where the visit stood before some work that was stopped; until then it stands at the work.

        Parameters
        ----------
        work : Work
            Nothing happens where it ended before it was stopped, or was left already.
        """
        self._settle()
        if self.work is not work:
            return
        self.work = None
        if isinstance(work.task, Look):
            self.forget()
        else:
            shutil.rmtree(work.task.folder, ignore_errors=True)

    def back(self) -> None:
        """From the report to the answers.

        Raises
        ------
        BusyError
            Something is being done.
        """
        self._refuse_if_busy()
        self.problem = ""
        self._drop_report()

    def forget(self) -> None:
        """Away with the table, its answers and its report.

        Raises
        ------
        BusyError
            Something is being done.
        """
        self.back()
        if self._beside is not None:
            shutil.rmtree(self._beside, ignore_errors=True)
        self.table, self.answers, self._beside, self.spec = None, None, None, ""
        self.reading, self.notices = {}, []

    def _drop_report(self) -> None:
        if self.report is not None:
            shutil.rmtree(self.report, ignore_errors=True)
        self.report, self.notices = None, []

    def _look(self) -> None:
        assert self.table is not None
        self._begin(Look({"path": self.table, **self.reading}))

    def _begin(self, task: Look | Audit) -> None:
        assert self._beside is not None
        line = self.looks if isinstance(task, Look) else self.audits
        self.work = Work(task, self._beside, self._new("work"), line)

    def _new(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    def _settle(self) -> None:
        """Take over what the work has ended with."""
        work = self.work
        if work is None or work.end is None:
            return
        self.work, self.notices = None, work.notices
        match work.end:
            case Failure(sentence):
                self.problem = sentence
                if isinstance(work.task, Audit):
                    shutil.rmtree(work.task.folder, ignore_errors=True)
            case Looked(glance, proposal):
                from bdt_pipeline.local_page.answers import Answers

                self.answers = Answers(glance, proposal)
            case Written():
                assert isinstance(work.task, Audit)
                self.report = Path(work.task.folder)

    def _refuse_if_busy(self) -> None:
        self._settle()
        if self.work is not None:
            raise BusyError("Something is being done already, and one thing at a time. Wait for it, or stop it.")


def linked(file: str, folder: Path) -> str:
    """A table that is on this machine already, linked into a folder.

    Parameters
    ----------
    file : str
        A file, a folder of Parquet files, a pattern, a URL or ``demo:NAME``.
    folder : Path

    Returns
    -------
    str
        Its name in the folder, or its address where it is no single file.

    Raises
    ------
    SourceError, SpecError
        There is no such table.
    """
    from bdt_core.table.locations import files_at

    source_of(file)
    if ":" in file.split("/")[0] or file.startswith("$"):
        return file
    if "*" in file and not Path(file).exists():
        return os.path.abspath(file)  # noqa: PTH100 - a pattern is no path to be resolved
    files_at(file)
    place = Path(file).expanduser().resolve()
    name = safe_name(place.name)
    try:
        (folder / name).symlink_to(place)
    except OSError:  # Windows lets few link
        _copy(place, folder / name)
    return name


def _copy(file: Path, to: Path) -> None:
    """Copy a table whole, or not at all: half of one would be audited as if it were all."""
    try:
        shutil.copyfile(file, to)
    except OSError as error:
        to.unlink(missing_ok=True)
        raise OutputError(
            f"{file} can neither be linked nor copied to {to.parent}: {error.strerror}. Free space there, or name "
            "another folder in the environment variable TMPDIR."
        ) from None
