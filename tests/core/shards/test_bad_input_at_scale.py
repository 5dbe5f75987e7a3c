"""What goes wrong in an audit out of core is told with its place; nothing is left out in silence, nothing behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdt_core.audit import audit
from bdt_core.errors import BDTError, DataError, OutputError, SourceError

FILES, ROWS_OF_A_FILE, BAD = 500, 20, 231
SHARD_ROWS = 1000


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "income": rng.normal(size=rows).round(3),
            "town": rng.choice(list("xyz"), rows),
        }
    )
    return frame.assign(wrong=(rng.random(rows) < 0.2 + 0.3 * (frame["income"] > 1)).astype(int))


def specification(path: object, **change: object) -> dict[str, object]:
    return {
        "name": "people",
        "source": {"path": str(path)},
        "bias_variable": {"column": "wrong"},
        "large_rows": SHARD_ROWS,
        "clustering": {"memory": "out_of_core", "max_iter": 3, "n_init": 2, "stability": 0},
        "slices": None,
        "worst_groups": None,
        **change,
    }


@pytest.fixture(scope="module")
def _five_hundred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("five_hundred")
    frame = people(FILES * ROWS_OF_A_FILE)
    for number in range(1, FILES + 1):
        part = frame.iloc[(number - 1) * ROWS_OF_A_FILE : number * ROWS_OF_A_FILE]
        part.to_parquet(folder / f"{number:03}.parquet", index=False)
    return folder


@pytest.fixture
def folder(_five_hundred: Path, tmp_path: Path) -> Path:
    """500 files of its own, which may be spoilt."""
    copy = tmp_path / "table"
    shutil.copytree(_five_hundred, copy, copy_function=os.link)
    return copy


@pytest.fixture(scope="module")
def few_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten files, each as long as a shard, which stay as they are."""
    folder = tmp_path_factory.mktemp("few")
    for number in range(10):
        people(SHARD_ROWS, number).to_parquet(folder / f"{number}.parquet", index=False)
    return folder


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders go; and shards are small, so that there are several."""
    where = tmp_path / "scratch"
    where.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(where))
    monkeypatch.setattr("bdt_core.shards.opening._SHARD_ROWS", SHARD_ROWS)
    return where


def replaced(file: Path, write: Callable[[Path], object]) -> None:
    """Write a file anew, where others may hold a link to it."""
    file.unlink()
    write(file)


def with_column(name: str, values: list[object] | None) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        table = pa.Table.from_pandas(people(ROWS_OF_A_FILE), preserve_index=False)
        table = table.drop_columns(name)
        pq.write_table(table if values is None else table.append_column(name, pa.array(values)), file)

    return write


def remove(scratch: Path, what: str) -> None:
    """Delete a file of the shard of number 3."""
    next(scratch.glob(f"*/000003.{what}")).unlink()


class When:
    """Does something once, when a stage of an audit has come so far."""

    def __init__(self, stage: str, what: Callable[[], object], done: int = 0) -> None:
        self.stage, self.what, self.least = stage, what, done
        self.was_done = False

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == self.stage and done >= self.least and not self.was_done:
            self.was_done = True
            self.what()


def test_all_rows_of_500_files_are_audited_as_in_memory_also_after_an_audit_that_failed(
    folder: Path, scratch: Path
) -> None:
    with pytest.raises(BDTError):
        audit(None, specification(folder), progress=When("find clusters", lambda: remove(scratch, "table.arrow")))
    asked: list[str] = []
    shards: list[int] = []
    look = When("find clusters", lambda: shards.append(len(list(scratch.glob("*/*.table.arrow")))))
    apart = audit(None, specification(folder), progress=look, notice=asked.append)
    together = audit(None, specification(folder, clustering={"max_iter": 3, "n_init": 2, "stability": 0}))
    assert shards == [FILES * ROWS_OF_A_FILE // SHARD_ROWS]
    assert apart.table.rows == apart.table.audited_rows == FILES * ROWS_OF_A_FILE
    assert json.dumps(apart.document) == json.dumps(together.document)
    assert str(scratch) in asked[0]
    assert list(scratch.iterdir()) == []


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut off": (lambda file: file.write_bytes(b"PAR1 and then nothing"), "cannot be read as Parquet"),
    "empty": (lambda file: file.write_bytes(b""), "is empty"),
    "lacks a column": (with_column("town", None), 'lacks the column "town"'),
    "texts for numbers": (
        with_column("age", ["21"] * ROWS_OF_A_FILE),
        '"age" holds numbers in File 1 of 500: .* and texts in',
    ),
    "numbers for texts": (with_column("town", [1] * ROWS_OF_A_FILE), '"town" holds texts in .* and numbers in'),
    "not a bias variable": (
        with_column("wrong", ["no"] * ROWS_OF_A_FILE),
        '"wrong" holds numbers in .* and texts in',
    ),
}


@pytest.mark.parametrize("case", SPOILT)
def test_one_bad_file_among_500_ends_the_audit_and_is_named(folder: Path, scratch: Path, case: str) -> None:
    spoil, words = SPOILT[case]
    replaced(folder / f"{BAD}.parquet", spoil)
    stages: list[str] = []
    with pytest.raises(SourceError, match=words) as caught:
        audit(None, specification(folder), progress=lambda stage, *_: stages.append(stage))
    assert f"File {BAD} of {FILES}: {folder}/{BAD}.parquet" in str(caught.value)
    assert set(stages) == {"read the table"}
    assert list(scratch.iterdir()) == []


MEDDLED: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "cut off": lambda file: replaced(file, lambda new: new.write_bytes(b"PAR1")),
    "written again": lambda file: replaced(file, with_column("town", ["x"] * ROWS_OF_A_FILE)),
    "of other columns": lambda file: replaced(file, with_column("town", None)),
}


@pytest.mark.parametrize("case", MEDDLED)
def test_a_file_that_goes_or_changes_while_others_are_read_is_named(tmp_path: Path, scratch: Path, case: str) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    for number in range(1, 41):
        people(SHARD_ROWS, number).to_parquet(folder / f"{number:02}.parquet", index=False)
    file = folder / "40.parquet"
    when = When("read the table", lambda: MEDDLED[case](file), done=SHARD_ROWS)
    with pytest.raises(SourceError) as caught:
        audit(None, specification(folder), progress=when)
    assert when.was_done
    assert str(file) in str(caught.value)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("stage", "what"),
    [
        ("split train and test rows", "kept.npy"),
        ("find clusters", "table.arrow"),
        ("test the clusters", "ranks.npy"),
        ("compare features", "table.arrow"),
        ("search intersections", "table.arrow"),
    ],
)
def test_a_shard_that_is_deleted_meanwhile_is_named(few_files: Path, scratch: Path, stage: str, what: str) -> None:
    when = When(stage, lambda: remove(scratch, what))
    with pytest.raises(SourceError, match=rf"000003\.{what} is gone or damaged.*run the audit again"):
        audit(None, specification(few_files, slices={}), progress=when)
    assert when.was_done
    assert list(scratch.iterdir()) == []


def test_a_shard_of_declared_groups_that_is_deleted_is_named(few_files: Path, scratch: Path) -> None:
    spec = specification(
        few_files, bias_variable={"derive": "positive_prediction", "prediction": "wrong"}, protected=["town"]
    )
    when = When("count declared groups", lambda: remove(scratch, "source.arrow"))
    with pytest.raises(SourceError, match=r"000003\.source\.arrow is gone or damaged"):
        audit(None, spec, progress=when)
    assert list(scratch.iterdir()) == []


def test_all_shards_deleted_at_once_are_told(few_files: Path, scratch: Path) -> None:
    when = When("find clusters", lambda: [shutil.rmtree(one) for one in scratch.iterdir()])
    with pytest.raises(SourceError, match="is gone or damaged"):
        audit(None, specification(few_files), progress=when)
    assert list(scratch.iterdir()) == []


LATE: dict[str, tuple[dict[str, object], str]] = {
    "feature": ({"features": {"kinds": {"age": "numeric"}}}, 'Column "age" is said to be numeric, but 1 of '),
    "bias variable": ({}, r'Column "wrong" \(bias_variable.column\) must be numeric, but 1 of '),
    "label": (
        {"bias_variable": {"derive": "absolute_error", "label": "wrong", "prediction": "income"}},
        'Column "wrong".* 1 of ',
    ),
}


@pytest.mark.parametrize("case", LATE)
def test_text_that_comes_late_in_a_column_of_numbers_is_named(tmp_path: Path, scratch: Path, case: str) -> None:
    change, words = LATE[case]
    frame = people(9 * SHARD_ROWS).astype(object)
    frame.loc[8 * SHARD_ROWS + 77, "age" if case == "feature" else "wrong"] = "unknown"
    file = tmp_path / "people.csv"
    frame.to_csv(file, index=False)
    with pytest.raises(DataError, match=words):
        audit(None, specification(file, **change))
    assert list(scratch.iterdir()) == []


def test_a_ragged_line_late_in_a_text_is_named_by_its_number(tmp_path: Path, scratch: Path) -> None:
    file = tmp_path / "people.csv"
    people(5 * SHARD_ROWS).to_csv(file, index=False)
    lines = file.read_text().splitlines()
    lines[4321] += ",1"
    file.write_text("\n".join(lines))
    with pytest.raises(SourceError, match=r"people\.csv, line 4322: 5 columns where the header has 4"):
        audit(None, specification(file))
    assert list(scratch.iterdir()) == []


_FULL = """
    import json, resource, signal, sys
    from bdt_core.audit import audit
    from bdt_core.errors import OutputError
    from bdt_core.shards import opening

    spec, most = json.loads(sys.argv[1]), int(sys.argv[2])
    opening._SHARD_ROWS = 1000
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def at(stage):
        def progress(now, done, total):
            if now == stage:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))

        return progress

    told = {}
    for stage in sys.argv[3:]:
        try:
            audit(None, spec, progress=at(stage))
        except OutputError as error:
            told[stage] = str(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
    print(json.dumps(told))
"""
CANNOT_GROW = {
    "read the table": "cannot take the temporary columns of the table: .*File too large",
    "validate it": "cannot take the temporary columns of the table: ",
    "find clusters": "bytes of encoded rows: File too large",
}


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of files")
def test_files_that_cannot_grow_are_told(few_files: Path, scratch: Path) -> None:
    """One process that meets the limit at one stage after the other."""
    spec = specification(few_files)
    spec["clustering"] |= {"memory_limit": "0.01 MB"}  # type: ignore[operator]
    ended = in_a_process(_FULL, json.dumps(spec), "2000", *CANNOT_GROW, TMPDIR=str(scratch))
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    for stage, words in CANNOT_GROW.items():
        assert re.search(words, told[stage]), stage
        assert "variable TMPDIR, and run the audit again" in told[stage]
    assert list(scratch.iterdir()) == []


_SMALL_DISK = """
    import json, sys, tempfile
    from pathlib import Path
    from bdt_core.audit import audit
    from bdt_core.errors import OutputError
    from bdt_core.shards import opening

    opening._SHARD_ROWS = 1000
    where = Path(tempfile.gettempdir())

    def fill(stage, done, total):
        if stage == sys.argv[2] and done >= int(sys.argv[3]) and not (where / "other").exists():
            with (where / "other").open("wb", buffering=0) as other:
                try:
                    while True:
                        other.write(bytes(4096))
                except OSError:
                    pass

    try:
        audit(None, json.loads(sys.argv[1]), progress=fill)
    except OutputError as error:
        print(error)
    print("left:", [one.name for one in where.iterdir() if one.name != "other"])
"""


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("200k", "has 0 MB free, and the temporary columns of the table need about"),
        ("20m", "cannot take the temporary columns of the table: .*No space left on device"),
    ],
)
def test_a_full_disk_is_told_before_or_when_it_is_full(folder: Path, scratch: Path, size: str, words: str) -> None:
    mounting = f"mount -t tmpfs -o size={size} tmpfs {scratch} && exec "
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*inside, mounting + "true"], check=False).returncode:
        pytest.skip("no small disk can be made here")
    command = mounting + '"$@"'
    ended = in_a_process(
        _SMALL_DISK,
        json.dumps(specification(folder)),
        "read the table",
        str(2 * SHARD_ROWS),
        before=(*inside, command, "sh"),
        TMPDIR=str(scratch),
    )
    assert re.search(words, ended.stdout), ended.stderr
    assert str(scratch) in ended.stdout
    assert "left: []" in ended.stdout


def in_a_process(
    script: str, *arguments: str, before: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_a_folder_for_temporary_files_that_is_not_there_is_named(
    folder: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(scratch / "none"))
    with pytest.raises(OutputError, match=r"none cannot take temporary files: No such file or directory.*TMPDIR"):
        audit(None, specification(folder))
