"""A table in shards against the same table in memory: the same rows, facts, parts and samples, however it is cut."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError, SourceError
from bdt_core.shards import ingest as ingest_module
from bdt_core.shards.engine import LocalEngine
from bdt_core.shards.ingest import ingest
from bdt_core.shards.scratch import COLUMNS, PAGE, remove_abandoned, scratch_folder
from bdt_core.shards.shard import Shard
from bdt_core.spec import parse_spec
from bdt_core.table.audit_table import RANK
from bdt_core.table.ranks import occurrence_numbers, rank_rows
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate

SPEC = {
    "name": "loans",
    "source": {"path": "loans.csv"},
    "large_rows": 1000,
    "bias_variable": {"derive": "false_positive_rate", "label": "y", "prediction": "p"},
    "protected": ["sex"],
    "features": {"exclude": ["person"], "kinds": {"code": "categorical"}},
}
few = settings(max_examples=15, deadline=None)


def people(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=rows).round(1),
            "code": rng.integers(0, 5, rows),
            "town": rng.choice(list("xyz"), rows),
            "sex": rng.choice(["f", "m", None], rows),
            "always": 1,
            "person": rng.integers(0, rows // 3, rows),
            "y": rng.integers(0, 2, rows),
            "p": rng.integers(0, 2, rows),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "income"] = np.nan
    return frame


@contextmanager
def sharded(frame, spec, cuts):
    bounds = [0, *sorted(cuts), len(frame)]
    parts = [frame.iloc[first:last] for first, last in itertools.pairwise(bounds)]
    with scratch_folder() as folder, LocalEngine(2) as engine:
        yield ingest(parts, spec, folder, engine)


def assert_same_table(one, other):
    assert one.columns == other.columns
    assert one.fingerprint == other.fingerprint
    assert one.left_out == other.left_out
    assert one.warnings == other.warnings
    assert (one.rows, one.audited_rows) == (other.rows, other.audited_rows)


def assert_same_rows(one, other):
    pd.testing.assert_frame_equal(one.drop(columns=RANK), other.drop(columns=RANK))
    assert sorted(one[RANK]) == sorted(other[RANK])


@given(
    cuts=st.lists(st.integers(0, 4000), max_size=6), missing=st.sampled_from(["keep", "drop"]), order=st.integers(0, 9)
)
@few
def test_a_table_in_shards_is_the_table_in_memory(cuts, missing, order):
    spec = parse_spec({**SPEC, "missing": missing})
    frame = people()
    table = validate(frame, spec)
    parts = split_rows(table, spec.split)
    shuffled = frame.sample(frac=1.0, random_state=order)
    with sharded(shuffled, spec, cuts) as shards:
        assert_same_table(shards, table)
        for one, other in zip(shards.divided(spec.split), parts, strict=True):
            assert_same_rows(one.in_memory().frame, other.frame)
            assert one.audited_rows == other.audited_rows
            pd.testing.assert_frame_equal(one.sample(300).frame, other.sample(300).frame)


def test_all_rows_of_a_person_stay_on_one_side():
    spec = parse_spec({**SPEC, "split": {"key": "person"}})
    frame = people()
    train, test = split_rows(validate(frame, spec), spec.split)
    with sharded(frame, spec, [100, 3000]) as shards:
        for one, other in zip(shards.divided(spec.split), (train, test), strict=True):
            assert_same_rows(one.in_memory().frame, other.frame)
    sides = [set(part.frame["(key)"]) for part in (train, test)]
    assert not sides[0] & sides[1]
    assert 0.15 < len(sides[1]) / (len(sides[0]) + len(sides[1])) < 0.25


def test_a_key_that_is_missing_is_refused():
    spec = parse_spec({**SPEC, "split": {"key": "person"}})
    frame = people()
    frame["person"] = frame["person"].astype(float).where(frame.index > 6)
    with pytest.raises(DataError, match='"split.key" names the column "person", which is missing in 7 of 4,000 rows'):
        validate(frame, spec)
    with pytest.raises(DataError, match="missing in 7 of 4,000 rows"), sharded(frame, spec, [3]):
        pass


def test_copies_of_a_row_are_divided_like_different_rows():
    rows = 5000
    frame = pd.DataFrame({"a": ["x", "y"] * (rows // 2), "y": [0, 0, 1, 1] * (rows // 4), "p": 1})
    spec = parse_spec(
        {**SPEC, "protected": [], "features": {}, "bias_variable": {"derive": "error", "label": "y", "prediction": "p"}}
    )
    with sharded(frame, spec, [10, 2000, 2001]) as shards:
        train, test = shards.divided(spec.split)
        assert 0.17 * rows < test.part_rows < 0.23 * rows
        rates = [part.in_memory().y.mean() for part in (train, test)]
        assert abs(rates[0] - rates[1]) < 0.05
        ranks = shards.in_memory().frame[RANK]
        assert ranks.is_unique
    hashes = np.repeat(np.array([3, 5], dtype=np.uint64), 4)
    assert sorted(rank_rows(hashes, occurrence_numbers(hashes))) == sorted(
        rank_rows(hashes[::-1].copy(), occurrence_numbers(hashes[::-1].copy()))
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": 0, "p": 0}, "is constant: all 4,000 rows"),
        ({"income": np.nan, "code": 1, "town": "x"}, "No feature is left"),
        ({"p": np.nan}, "is missing in all 4,000 rows"),
    ],
)
def test_useless_tables_are_refused_in_the_same_words(change, words):
    spec = parse_spec({**SPEC, "features": {"exclude": ["person"]}})
    frame = people().assign(**change)
    messages = []
    for audit in (lambda: validate(frame, spec), lambda: sharded(frame, spec, [1000]).__enter__()):
        with pytest.raises(DataError, match=words) as raised:
            audit()
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_a_value_that_is_positive_in_one_shard_only_is_enough():
    spec = parse_spec(
        {**SPEC, "bias_variable": {"derive": "error", "label": "y", "prediction": "p", "positive": "yes"}}
    )
    frame = people()
    frame[["y", "p"]] = "no"
    frame.loc[frame.index >= 3500, "y"] = "yes"
    frame.loc[frame.index >= 3900, "p"] = "yes"
    with sharded(frame, spec, [2000]) as shards:
        assert_same_table(shards, validate(frame, spec))


def test_a_shard_that_is_deleted_or_cut_is_named():
    spec = parse_spec(SPEC)
    for damage in (Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:100])):
        with sharded(people(), spec, [2000]) as shards:
            file = Path(shards.shards[1].folder) / "000001.table.arrow"
            damage(file)
            with pytest.raises(SourceError, match=r"000001\.table\.arrow is gone or damaged"):
                shards.divided(spec.split)


def test_temporary_files_are_gone_also_after_a_crash(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder() as folder:
        (folder / "rows").write_text("x")
        assert remove_abandoned() == []
    assert not folder.exists()
    crashing = (
        "import os\n"
        "from bdt_core.shards.scratch import scratch_folder\n"
        "with scratch_folder() as folder:\n"
        "    (folder / 'rows').write_text('x')\n"
        "    print(folder, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", crashing], env=environment, capture_output=True, text=True, check=False
    )
    left = Path(ended.stdout.strip())
    assert ended.returncode == -9
    assert left.exists()
    with scratch_folder():
        assert not left.exists()


def test_a_folder_is_left_alone_unless_its_process_is_known_to_have_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    just_made, elsewhere, linked = (tmp_path / f"{COLUMNS}{one}" for one in ("made", "elsewhere", "linked"))
    just_made.mkdir()
    elsewhere.mkdir()
    (elsewhere / "lock").write_text("another machine")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "lock").write_text(socket.gethostname())
    linked.symlink_to(theirs)
    with scratch_folder() as folder:
        assert remove_abandoned() == []
        assert all(one.exists() for one in (just_made, elsewhere, linked, theirs / "lock", folder))
    theirs.rename(tmp_path / f"{PAGE}left")  # a lock that nobody holds
    assert remove_abandoned() == [tmp_path / f"{PAGE}left"]


def test_a_folder_stays_while_a_process_lives_that_its_own_was_forked_into(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    forking = (
        "import os, sys\n"
        "from bdt_core.shards.scratch import scratch_folder\n"
        "with scratch_folder() as folder:\n"
        "    if os.fork():\n"
        "        os.kill(os.getpid(), 9)\n"
        "    print(folder, flush=True)\n"
        "    sys.stdin.read()\n"
        "    os._exit(0)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", forking], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as killed:
        folder = Path(killed.stdout.readline().strip())
        assert killed.wait() == -9
        assert remove_abandoned() == []
        killed.stdin.close()
        assert killed.stdout.read() == ""  # the other one has ended
    assert remove_abandoned() == [folder]


def test_a_shard_in_which_a_column_is_always_missing():
    frame = people()
    frame.loc[frame.index < 1500, ["town", "sex", "income"]] = None
    spec = parse_spec(SPEC)
    train, _ = split_rows(validate(frame, spec), spec.split)
    with sharded(frame, spec, [1500]) as shards:
        assert_same_rows(shards.divided(spec.split)[0].in_memory().frame, train.frame)


def test_rows_are_numbered_as_in_the_source_for_what_is_read_beside_it(tmp_path):
    frame = people()
    np.save(tmp_path / "embeddings.npy", np.zeros((len(frame), 2)))
    local_bias = {"group": "town", "embeddings": str(tmp_path / "embeddings.npy")}
    spec = parse_spec({**SPEC, "local_bias": local_bias})
    _, test = split_rows(validate(frame, spec), spec.split)
    with sharded(frame, spec, [100, 3000]) as shards:
        assert_same_rows(shards.divided(spec.split)[1].in_memory().frame, test.frame)
    assert frame["income"].iloc[test.frame["(row)"].astype(int)].tolist() == pytest.approx(
        test.frame["income"].tolist(), nan_ok=True
    )


def test_what_is_kept_of_a_shard_does_not_hold_its_rows(tmp_path):
    frame = people()
    spec = parse_spec(SPEC)
    header = ingest_module._write_shard(Shard(str(tmp_path), 0, len(frame)), 0, frame, spec).header
    for name in header.columns:
        values = header[name].cat.codes if header[name].dtype == "category" else header[name]
        memory = values.to_numpy()
        while memory.base is not None:
            memory = memory.base
        assert memory.nbytes == 0, name


def test_headers_of_arrays_are_read_one_at_a_time(tmp_path, monkeypatch):
    """NumPy parses them with Python's own parser, which some versions of Python may not enter in two threads."""
    shard = Shard(str(tmp_path), 0, 3)
    shard.write_array("x.npy", np.arange(3.0))
    load, under_way, most = np.load, [], []

    def watched(*args, **kwargs):
        under_way.append(1)
        time.sleep(0.02)
        most.append(len(under_way))
        try:
            return load(*args, **kwargs)
        finally:
            under_way.pop()

    monkeypatch.setattr(np, "load", watched)
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(shard.read_array, ["x.npy"] * 8))
    assert all((one == [0.0, 1.0, 2.0]).all() for one in read)
    assert most == [1] * 8
