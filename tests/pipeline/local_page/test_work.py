"""Work in a child process: how it ends, how it is stopped, and that one thing is done at a time."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from bdt_core.errors import OutputError, SourceError
from bdt_core.spec import parse_spec
from bdt_core.table.sources import read_table
from bdt_pipeline.local_page.child import Failure, Look, Looked, Notice, Step, Tell, Written, _ended
from bdt_pipeline.local_page.guard import Guard
from bdt_pipeline.local_page.line import Line
from bdt_pipeline.local_page.pages import Pages
from bdt_pipeline.local_page.visit import Visit, linked
from bdt_pipeline.local_page.work import Work
from tests.core.table.test_sheets_and_packed_files import workbook
from tests.pipeline.local_page.served import HOST, TOKEN, alive, ask, holding, processes, refusals, sent_file, until


@dataclass(frozen=True)
class Endless:
    """Has begun a process of its own, and goes on."""

    titles: tuple[str, ...] = ("first", "second")
    put: str = "left"

    def run(self, tell: Tell) -> Written:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(os.environ["TMPDIR"], self.put).write_text("rows")
        tell(Notice("It has begun."))
        tell(Step("second", 1, 4))
        time.sleep(600)
        return Written()


@dataclass(frozen=True)
class Ending:
    """Ends in some way."""

    way: str
    titles: tuple[str, ...] = field(default=("first",))

    def run(self, tell: Tell) -> Written:
        print("rows")  # goes nowhere, and no message is broken by it
        match self.way:
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(3)
            case "error":
                raise SourceError("a.csv is odd.")
            case "memory":
                raise MemoryError
            case "unexpected":
                raise KeyError("column")
        return Written()


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Work]]:
    """Begin some work; it is stopped at the end in any case."""
    begun: list[Work] = []

    def begin(task: object) -> Work:
        (tmp_path / "work").mkdir()
        begun.append(Work(task, tmp_path, tmp_path / "work", Line(1)))  # type: ignore[arg-type]
        return begun[-1]

    yield begin
    for one in begun:
        one.stop()


def test_stopping_leaves_no_process_and_no_file(begin: Callable[..., Work], tmp_path: Path) -> None:
    work = begin(Endless())
    until(lambda: work.step is not None)
    assert work.step == Step("second", 1, 4)
    assert work.notices == ["It has begun."]
    assert work.end is None
    its = processes(work.process) | {work.process}
    assert len(its) == 2
    assert (tmp_path / "work" / "left").exists()
    work.stop()
    until(lambda: not alive(its))
    assert list(tmp_path.iterdir()) == []
    work.stop()  # once more is no error


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("", None),
        ("killed", "The work was ended from outside, as systems do when memory runs out."),
        ("exit", "The work has ended without a word (code 3)."),
        ("error", "a.csv is odd."),
        ("memory", "The memory is too small for this table."),
        ("unexpected", "Unexpected error: KeyError: 'column'"),
    ],
)
def test_every_end_is_told(begin: Callable[..., Work], tmp_path: Path, way: str, said: str | None) -> None:
    if way in ("memory", "unexpected"):  # need no process
        end = _ended(Ending(way), lambda _: None)  # type: ignore[arg-type]
    else:
        work = begin(Ending(way))
        until(lambda: work.end is not None)
        assert not (tmp_path / "work").exists()
        assert work.end is not None
        end = work.end
    assert end == Written() if said is None else isinstance(end, Failure) and end.sentence.startswith(said)


def test_work_ends_with_whoever_began_it(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from bdt_pipeline.local_page.line import Line; from bdt_pipeline.local_page.work import Work\n"
        "from tests.pipeline.local_page.test_work import Endless\n"
        "Path('work').mkdir(); work = Work(Endless(), Path('.'), Path('work').resolve(), Line(1))\n"
        "while work.step is None: time.sleep(.05)\n"
        "print(work.process, flush=True); time.sleep(600)"
    )
    modules = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": modules}
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    of_child = processes(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not alive({child}))
    for one in of_child:
        os.kill(one, signal.SIGKILL)  # what a task has begun ends by itself; here it would sleep


# --- one at a time ----------------------------------------------------------------------------------------------------


@pytest.fixture
def being_read(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Visit]:
    """A table that is looked at until that is stopped."""
    monkeypatch.syspath_prepend(holding(tmp_path_factory.mktemp("holding"), "slow.csv")[0])
    visit = Visit(tmp_path)
    folder = visit.new_folder()
    refusals(30).to_csv(folder / "slow.csv", index=False)
    visit.take(folder, "slow.csv")
    yield visit
    visit.stop()


def test_one_thing_is_done_at_a_time(being_read: Visit, tmp_path: Path) -> None:
    visit = being_read
    application = Guard(Pages(visit, 1_000_000).application(), TOKEN, [HOST])
    assert visit.work is not None
    first = visit.work.process
    try:
        there = sorted(tmp_path.iterdir())
        body, headers = sent_file("a.csv", b"a,b\n1,2\n")
        for path, content in (
            ("/table", body),
            ("/example", b""),
            ("/read", b"sheet=a"),
            ("/answers", b"do=start"),
            ("/back", b""),
            ("/forget", b""),
        ):
            answer = ask(application, path, content, headers=headers if path == "/table" else {})
            assert answer.status == 409
            assert "Something is being done already, and one thing at a time." in answer.text
        assert sorted(tmp_path.iterdir()) == there
        assert visit.work is not None
        assert visit.work.process == first
        # A table whose arrival has taken until something else was begun is not kept, either.
        late = tmp_path / "table-late"
        late.mkdir()
        with pytest.raises(Exception, match="one thing at a time"):
            visit.take(late, "late.csv")
        assert not late.exists()
        assert ask(application, "/stop", b"").status == 303
    finally:
        visit.stop()
    assert not alive({first})
    assert visit.place == "start"
    assert list(tmp_path.iterdir()) == []


def test_a_visit_stands_at_its_work_until_that_is_stopped(
    being_read: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that asks meanwhile how far it is would be led to one that is gone with the table."""
    application = Guard(Pages(being_read, 1_000_000).application(), TOKEN, [HOST])
    assert being_read.work is not None
    process, remove, asked = {being_read.work.process}, shutil.rmtree, threading.Event()

    def remove_slowly(*given: Any, **how: Any) -> None:
        asked.wait()
        remove(*given, **how)

    monkeypatch.setattr(shutil, "rmtree", remove_slowly)
    stopping = threading.Thread(target=ask, args=(application, "/stop", b""))
    stopping.start()
    try:
        until(lambda: not alive(process))
        assert json.loads(ask(application, "/progress").text)["place"] == "reading"
    finally:
        asked.set()
        stopping.join()
    assert json.loads(ask(application, "/progress").text)["place"] == "start"
    assert list(tmp_path.iterdir()) == []


# --- tables that cannot be taken --------------------------------------------------------------------------------------

BAD = {
    "empty.csv": (b"", "is empty (0 bytes)"),
    "header.csv": (b"a,b\n", "has a header but no rows. Save it again with its rows, or name another table."),
    "one.csv": (b"a\n1\n2\n", "one column only"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n\x00\x00" + bytes(range(256)) * 9, "not a text table"),
    "text.parquet": (b"a,b\n1,2\n", "It is cut off or no Parquet"),
    "text.xlsx": (b"a,b\n1,2\n", "cannot be read as a table"),
    "ragged.csv": (b"a,b\n1,2\n3\n4,5\n", "line 3: 1 column where the header has 2"),
    "mixed.csv": ("a,b\né,2\n".encode() + "é,3\n".encode("latin-1"), "mixes encodings"),
    "twice.csv": (b"a,a\n1,2\n", "column names must differ"),
    "few.csv": (b"a,b\n1,2\n3,4\n", "Nothing in this table of 2 rows can be audited"),
    "no.json": (b"{nope", "not valid JSON"),
    "no.csv.gz": (b"nope", "cut off or no table"),
    "no.zip": (b"nope", "cannot be read as a .zip file"),
    "wide.csv": (b"a,b\n1,2\n3,4,5\n", "line 3: 3 columns where the header has 2. Put quotes around"),
    "open.csv": (b'a,b\n1,2\n3,"4\n', "a quotation mark is opened and never closed"),
    "stray.csv": (
        b'a,b,c,d\n1,"x,3,4\n2,y,3,4\n3,z",3,4\n', "a quotation mark is closed on line 4 only, and what stands between"
    ),
    "sheets.xlsx": (workbook(first=[["a", "b"], [1, 2]], second=[["c", "d"], [3, 4]]), "has 2 sheets. Name one"),
    "bare.xlsx": (workbook(first=[]), "the sheet is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_the_product_s_own_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, said = BAD[name]
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    visit = Visit(tmp_path, table=name)
    end = _ended(Look({"path": name}), lambda _: None)
    assert isinstance(end, Failure)
    visit.problem = end.sentence
    application = Guard(Pages(visit, 1_000_000).application(), TOKEN, [HOST])
    page = ask(application).text
    assert said in page
    assert name in page
    assert "Traceback" not in page
    assert str(tmp_path) not in page
    assert "source.separator" in page  # what may mend it
    dutch = ask(application, headers={"accept-language": "nl"}).text
    assert "Dat is niet gelukt" in dutch
    assert said not in dutch
    assert '<span lang="en">' not in dutch


def test_a_bad_file_goes_all_the_way(tmp_path: Path) -> None:
    visit = Visit(tmp_path)
    application = Guard(Pages(visit, 1_000_000).application(), TOKEN, [HOST])
    lines = refusals(60)[["age", "refused"]].to_csv(index=False).splitlines()
    body, headers = sent_file("ragged.csv", "\n".join([*lines[:2], "31", *lines[2:], ""]).encode())
    assert ask(application, "/table", body, headers=headers).status == 303
    until(lambda: visit.place != "reading")
    assert visit.place == "unread"
    assert "line 3: 1 column where the header has 2" in ask(application).text
    dutch = ask(application, headers={"accept-language": "nl"}).text
    assert "ragged.csv, regel 3: 1 kolom waar de eerste regel er 2 heeft. Schrijf de rij heel" in dutch
    assert ask(application, "/read", b"bad_rows=leave_out&sheet=&unknown=1").status == 303
    assert visit.reading == {"bad_rows": "leave_out"}
    until(lambda: visit.place != "reading")
    assert visit.place == "questions"
    assert ask(application, "/forget", b"").status == 303
    assert list(tmp_path.iterdir()) == []


def test_the_example_comes_as_a_table_does(tmp_path: Path) -> None:
    visit = Visit(tmp_path)
    application = Guard(Pages(visit, 1_000_000).application(), TOKEN, [HOST])
    assert 'action="example"' in ask(application).text
    assert ask(application, "/example", b"").status == 303
    until(lambda: visit.place != "reading")
    assert visit.place == "questions"
    assert visit.answers is not None
    assert visit.answers.proposal.rows == 7_214
    assert [one.name for one in visit.answers.proposal.of_role("protected")] == ["sex", "age_cat", "race"]
    spec = parse_spec(yaml.safe_load(visit.answers.specification("demo:compas", {}, "en")))
    assert read_table(spec.source).shape == (7_214, 14)  # wherever the specification is saved
    assert (visit.is_address, visit.spec_file) == (True, "compas.yaml")
    assert ask(application, "/forget", b"").status == 303
    assert list(tmp_path.iterdir()) == []


def test_a_table_on_this_machine_is_linked(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    refusals(30).to_csv(tmp_path / "a [1].csv", index=False)
    assert linked(str(tmp_path / "a [1].csv"), beside) == "a _1_.csv"
    assert (beside / "a _1_.csv").resolve() == tmp_path / "a [1].csv"
    assert linked("demo:grants", beside) == "demo:grants"
    assert linked("s3://bucket/a.csv", beside) == "s3://bucket/a.csv"
    assert linked(str(tmp_path / "*.csv"), beside) == str(tmp_path / "*.csv")
    with pytest.raises(SourceError, match="does not exist"):
        linked(str(tmp_path / "none.csv"), beside)
    with pytest.raises(SourceError, match=r"holds no .parquet file. Name a .csv"):
        linked(str(beside), beside)
    assert (tmp_path / "a [1].csv").exists()


def test_the_sheet_of_a_workbook_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = refusals(60)[["age", "region", "refused"]]
    rows = [list(frame.columns), *frame.to_numpy(dtype=object).tolist()]
    (tmp_path / "two.xlsx").write_bytes(workbook(people=rows, notes=rows[:3]))
    monkeypatch.chdir(tmp_path)
    first = _ended(Look({"path": "two.xlsx"}), lambda _: None)
    assert isinstance(first, Failure)
    assert '2 sheets. Name one in "source.sheet": people, notes.' in first.sentence
    then = _ended(Look({"path": "two.xlsx", "sheet": "people"}), lambda _: None)
    assert isinstance(then, Looked)
    assert then.proposal.rows == 60


def test_looking_gives_the_proposal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals(60).to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.chdir(tmp_path)
    end = _ended(Look({"path": "a.csv"}), lambda _: None)
    assert isinstance(end, Looked)
    assert end.proposal.measured.settings.prediction == "refused"
    wrong = _ended(Look({"path": "a.csv", "decimal": "dot"}), lambda _: None)
    assert isinstance(wrong, Failure)
    assert "source.decimal" in wrong.sentence


def test_a_table_that_cannot_be_linked_is_copied_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, beside = tmp_path / "a.csv", tmp_path / "beside"
    table.write_bytes(b"x\n" * 50_000)
    beside.mkdir()
    monkeypatch.setattr(Path, "symlink_to", lambda *_: (_ for _ in ()).throw(OSError("no privilege")))
    assert (beside / linked(str(table), beside)).read_bytes() == table.read_bytes()
    (beside / "a.csv").unlink()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, limits[1]))  # as on a disk that gets full
    try:
        with pytest.raises(OutputError, match=r"a\.csv can neither be linked nor copied to .*beside"):
            linked(str(table), beside)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(beside.iterdir()) == []
