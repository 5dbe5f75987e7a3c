"""A ledger tells of every line that was changed, and loses none that was written."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from bdt_core.errors import OutputError
from bdt_core.sealed.ledger import FILE, HEAD, LOCK, Chain, Ledger

LINE_OF_ANOTHER = b'{"event":"begun","look":"7","previous":"","time":"2026-01-01T00:00:00Z"}'
WRITER = """
import sys
from pathlib import Path
from bdt_core.sealed.ledger import Ledger
ledger, name = Ledger(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    ledger.append(lambda _: {"event": "begun", "look": f"{name}-{number}", "time": "2026-01-01T00:00:00Z"})
    print(number, flush=True)
"""


def line(number: int, time: str = "2026-01-01T00:00:00Z", **more: object):
    return lambda _: {"event": "begun", "look": str(number), "time": time, **more}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "reports")
    for number in range(5):
        made.append(line(number))
    return made


def test_lines_follow_one_another(ledger: Ledger) -> None:
    chain = ledger.read()
    assert [one["look"] for one in chain.events] == list("01234")
    assert (chain.lines, chain.problems) == (5, ())
    assert Ledger(ledger.folder / "elsewhere").read() == Chain((), "", 0, ())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: [*lines[:2], lines[2].replace(b'"2"', b'"7"'), *lines[3:]], "before line 4 were changed"),
        (lambda lines: [*lines[:2], *lines[3:]], "before line 3 were changed"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "before line 1 were changed"),
        (lambda lines: [*lines[:2], LINE_OF_ANOTHER, *lines[2:]], "before line 3 were changed"),
        (lambda lines: lines[:4], "missing at the end"),
        (lambda lines: [], "missing at the end"),
        (lambda lines: [*lines[:4], lines[4].replace(b'"4"', b'"7"')], "ends in other lines"),
        (lambda lines: [*lines[:3], b"{", *lines[4:]], "line 4 cannot be read"),
        (lambda lines: [*lines[:3], b"[1]", *lines[4:]], "line 4 cannot be read"),
    ],
    ids=["edited", "taken out", "moved", "mixed", "cut", "emptied", "last edited", "torn", "no event"],
)
def test_what_was_changed_is_told(ledger: Ledger, change, told: str) -> None:
    lines = ledger.path.read_bytes().splitlines()
    ledger.path.write_bytes(b"".join(one + b"\n" for one in change(lines)))
    assert any(told in one for one in ledger.read().problems)


def test_a_ledger_without_its_end_and_a_clock_that_was_turned_back_are_told(ledger: Ledger) -> None:
    (ledger.folder / HEAD).unlink()
    assert "which says where the ledger ends, is missing" in ledger.read().problems[0]
    ledger.append(line(6, time="2025-01-01T00:00:00Z"))
    assert list(ledger.read().problems) == [
        "the clock was turned back before line 6",
        "lines were missing at the end, or other ones stood there, before line 6",
    ]


def test_any_flipped_byte_is_told(ledger: Ledger) -> None:
    content, rng = ledger.path.read_bytes(), np.random.default_rng(6)
    for place in rng.choice(len(content), 300, replace=False):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        ledger.path.write_bytes(bytes(flipped))
        assert ledger.read().problems


def test_writers_at_the_same_time_lose_no_line(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = pool.map(lambda name: run_writer(tmp_path, name, 10).wait(), "abcd")
        assert list(done) == [0, 0, 0, 0]
    chain = Ledger(tmp_path).read()
    assert len({one["look"] for one in chain.events}) == 40
    assert chain.problems == ()


def test_killed_writers_break_nothing(tmp_path: Path) -> None:
    """Each is killed while it writes; what it has said that it wrote stands in the ledger."""
    said: set[str] = set()
    for number in range(12):
        writer = run_writer(tmp_path, str(number), 10_000)
        assert writer.stdout is not None
        said |= {f"{number}-{int(writer.stdout.readline())}" for _ in range(1 + number % 3)}
        writer.kill()
        writer.wait()
    Ledger(tmp_path).append(line(0))
    chain = Ledger(tmp_path).read()
    assert said <= {one["look"] for one in chain.events}
    assert [one for one in chain.problems if "cannot be read" not in one] == []


def run_writer(folder: Path, name: str, lines: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), name, str(lines)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_line_that_was_cut_short_is_told_and_the_next_one_stands_on_its_own(ledger: Ledger) -> None:
    with ledger.path.open("ab") as stream:
        stream.write(b'{"event":"begun","lo')
    ledger.append(line(9))
    chain = ledger.read()
    assert chain.events[-1]["look"] == "9"
    assert list(chain.problems) == ["line 6 cannot be read: it was changed, or cut short"]


def test_a_full_disk_leaves_the_ledger_as_it_was(ledger: Ledger) -> None:
    before, limits = ledger.path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
    try:
        with pytest.raises(OutputError, match=f"{FILE} cannot be written"):
            ledger.append(line(5, text="x" * 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert ledger.path.read_bytes() == before
    ledger.append(line(6))
    assert ledger.read().problems == ()


@pytest.mark.parametrize("lines", [0, 3])
def test_another_writer_is_waited_for_while_it_adds_lines(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    """On a slow disk many writers take longer than the wait; a lock that somebody holds and does nothing is named."""
    other, acquire = FileLock(ledger.folder / LOCK), FileLock.acquire
    other.acquire()
    waits = []

    def acquired(lock: FileLock) -> object:
        waits.append(len(waits))
        if len(waits) <= lines:
            (ledger.folder / HEAD).write_text(json.dumps({"lines": 5 + len(waits), "head": "of another"}))
        elif lines:
            other.release()
        return acquire(lock)

    monkeypatch.setattr("bdt_core.sealed.ledger._WAIT", 0.01)
    monkeypatch.setattr(FileLock, "acquire", acquired)
    if lines:
        ledger.append(line(5))
        assert [one["look"] for one in ledger.read().events] == list("012345")
        assert len(waits) == lines + 1
    else:
        with pytest.raises(OutputError, match=r"Another run holds .*looks\.lock for more than 0 seconds\."):
            ledger.append(line(5))
        other.release()
        assert [one["look"] for one in ledger.read().events] == list("01234")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"looks.jsonl cannot be written: Not a directory"):
        Ledger(tmp_path / "file" / "reports").append(line(0))


def test_lines_are_canonical(ledger: Ledger) -> None:
    for one in ledger.path.read_bytes().splitlines():
        data = json.loads(one)
        assert one == json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert (ledger.folder / HEAD).stat().st_size < 200
