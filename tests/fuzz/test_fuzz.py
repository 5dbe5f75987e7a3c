"""Mutated inputs of every kind end in a clean report, or in exit 2 with a message that says where.

A few seeds of each kind; ``python -m benchmarks fuzz`` has as many as one likes.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bdt_core.clarify.config import read_analysis_config
from bdt_core.clarify.data import read_clarify_data
from bdt_core.errors import BDTError, DataError, SourceError, SpecError
from bdt_core.history import Batch
from bdt_core.report.write import canonical_json
from bdt_core.spec import load_spec, parse_spec
from bdt_core.verdict.comparable import read_baseline
from bdt_pipeline.cli import app
from tests.fuzz.check import CLEAN, GOOD, LEAKED, VALUE, WRONG_ROWS, outcome_of, result_of
from tests.fuzz.inputs import CLARIFY, GATE, MANY_KEYS, SPEC, kinds, write

SLOW = {"npy_embeddings", "spec_many_keys"}
"""Kinds of which an audit takes seconds."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", sorted(kinds()))
def test_the_valid_input_is_read(name: str) -> None:
    kind = kinds()[name]
    if kind.read is not None:
        assert result_of(kind, 0, kind.files(), None).result == CLEAN


@pytest.mark.parametrize("name", sorted(set(kinds()) - SLOW))
def test_mutated_inputs_are_read_or_refused_with_where(name: str) -> None:
    kind = kinds()[name]
    outcomes = [outcome_of(kind, seed, runs=0.0) for seed in range(10)]
    assert [one for one in outcomes if one.result not in GOOD] == []


@pytest.mark.parametrize("name", ["csv", "csv_leave_out", "json_lines", "xlsx"])
def test_reports_of_mutated_tables_are_harmless(name: str) -> None:
    outcomes = [outcome_of(kinds()[name], seed, runs=1.0) for seed in range(4)]
    assert [one for one in outcomes if one.result not in GOOD] == []


NASTY = "\x1b[31m\u202e\u2066\x85\ufffe<script>fuzz()</script>##[error]fuzz ](javascript:fuzz())"


@pytest.mark.parametrize("command", range(3))
def test_names_and_levels_do_nothing_in_any_output(command: int) -> None:
    """The level is in every form of the report, also in the commands to a runner."""
    kind = kinds()["json_lines"]
    files = dict(kind.files())
    nasty = json.dumps(NASTY)[1:-1].encode()
    files[kind.mutated] = files[kind.mutated].replace(b'"sex":"f"', b'"sex":"' + nasty + b'"').replace(
        b'"region"', b'"' + nasty + b'"'
    )  # fmt: skip
    assert result_of(kind, 0, files, kind.commands[command]).result == CLEAN


def test_json_holds_the_characters_as_escapes(tmp_path: Path) -> None:
    written = canonical_json({"group": NASTY})
    assert not set("\x1b\u202e\u2066\x85\ufffe") & set(written)
    assert json.loads(written) == {"group": NASTY}


# What the suite can see: each fault is one that it must call by its name.


def test_the_suite_sees_rows_that_are_lost() -> None:
    kind = kinds()["csv"]
    assert kind.read is not None
    whole = kind.read
    broken = dataclasses.replace(kind, read=lambda folder: whole(folder).iloc[1:])
    assert result_of(broken, 0, kind.files(), None).result == WRONG_ROWS


def test_the_suite_sees_characters_and_values() -> None:
    kind = kinds()["csv"]

    def refusing(message: str) -> Any:
        def read(_: Path) -> Any:
            error = SourceError("t.csv")
            error.args = (message,)
            raise error

        return dataclasses.replace(kind, read=read)

    assert result_of(refusing("t.csv: \x1b[31m"), 0, kind.files(), None).result == LEAKED
    assert result_of(refusing("t.csv\n::error::fuzz"), 0, kind.files(), None).result == LEAKED
    assert result_of(refusing("t.csv: secret-001x is no number"), 0, kind.files(), None).result == VALUE
    assert result_of(refusing("Something went wrong."), 0, kind.files(), None).result == "exit 2, unnamed"


# Documents of any shape.


def refusal(act: Callable[[], object]) -> str | None:
    """Why it is refused; None if it is not."""
    try:
        act()
    except BDTError as error:
        return str(error)
    return None


@settings(max_examples=80, derandomize=True)
@given(key=st.sampled_from(sorted(CLARIFY)), value=JSON)
def test_any_value_of_a_clarify_configuration_is_read_or_refused(key: str, value: Any) -> None:
    told = refusal(lambda: read_analysis_config(CLARIFY | {key: value}))
    assert told is None or any(one in told for one in CLARIFY)


@settings(max_examples=80, derandomize=True)
@given(key=st.sampled_from(sorted(MANY_KEYS)), value=JSON)
def test_any_value_of_a_specification_is_read_or_refused_by_its_key(key: str, value: Any) -> None:
    told = refusal(lambda: parse_spec(MANY_KEYS | {key: value}, "a.yaml"))
    assert told is None or "a.yaml" in told


@settings(max_examples=80, derandomize=True)
@given(text=st.text(max_size=40))
def test_any_text_is_a_specification_or_refused_by_its_file(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.mktemp("spec") / "a.yaml"
    file.write_text(text, errors="surrogatepass")
    with pytest.raises(SpecError, match=r"a\.yaml"):
        load_spec(file)


@settings(max_examples=80, derandomize=True)
@given(place=st.lists(st.integers(0, 30), min_size=1, max_size=5), value=JSON)
def test_any_change_of_a_batch_is_refused(place: list[int], value: Any) -> None:
    kind = kinds()["history"]
    whole = json.loads(kind.files()[kind.mutated])
    changed = copy.deepcopy(whole)
    holder = changed["counts"]["tables"]
    for step in place[:-1]:
        entries = list(holder.values()) if isinstance(holder, dict) else holder
        inner = entries[step % len(entries)] if entries else None
        if not isinstance(inner, dict | list) or not inner:
            break
        holder = inner
    key = sorted(holder)[place[-1] % len(holder)] if isinstance(holder, dict) else place[-1] % len(holder)
    holder[key] = value
    if json.dumps(changed, sort_keys=True) != json.dumps(whole, sort_keys=True):
        with pytest.raises(DataError):
            Batch.from_dict(changed)


@settings(max_examples=50, derandomize=True)
@given(value=JSON)
def test_any_json_is_no_baseline(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    file = tmp_path_factory.mktemp("baseline") / "b.json"
    file.write_text(json.dumps(value))
    with pytest.raises(SourceError, match=r"b\.json"):
        read_baseline(file, parse_spec(SPEC))


# What was found, one by one.

ENDLESS = {
    "split.repeats": 100,
    "clustering.max_iter": 10_000,
    "clustering.n_init": 1_000,
    "clustering.stability": 10_000,
    "significance.permutations": 100_000,
    "worst_groups.permutations": 100_000,
    "local_bias.n_clusters": 10_000,
    "freshness_hours": 100_000,
    "inbox.every": 1_000_000,
    "inbox.settle": 1_000_000,
    "engine.dask.local_workers": 1_000,
}


@pytest.mark.parametrize("key", ENDLESS)
def test_a_count_that_never_ends_is_refused_by_its_key(key: str) -> None:
    *sections, last = key.split(".")
    inner: dict[str, Any] = {last: ENDLESS[key]}
    spec = copy.deepcopy(MANY_KEYS)
    if key.startswith("inbox"):
        spec |= {"source": {"path": "{partition}"}, "inbox": {"folder": "inbox"}, "schedule": None}
    place = spec
    for one in sections:
        place[one] = {**(place.get(one) or {})}
        place = place[one]
    place |= inner
    parse_spec(spec)
    place[last] = 100_000_000_000_000
    with pytest.raises(SpecError, match=rf"{key.replace('.', '[.]')}.*less than or equal to {ENDLESS[key]}"):
        parse_spec(spec)


def damaged(change: str) -> bytes:
    """A stored batch with one thing changed."""
    kind = kinds()["history"]
    batch = json.loads(kind.files()[kind.mutated])
    table = batch["counts"]["tables"][0]
    match change:
        case "a count":
            table["cells"][0][-1] += 1
        case "half a person":
            table["cells"][0][-1] += 0.5
        case "endless":
            table["cells"][0][-1] = float("inf")
        case "a list":
            batch["counts"] = [batch["counts"]]
        case "no time zone":
            batch["time"] = batch["time"].partition("+")[0]
        case "deep":
            return b"[" * 100_000
    return json.dumps(batch).encode()


@pytest.mark.parametrize("change", ["a count", "half a person", "endless", "a list", "no time zone", "deep"])
def test_a_damaged_batch_is_named_and_left_out(tmp_path: Path, change: str) -> None:
    kind = kinds()["history"]
    write(kind.files() | {kind.mutated: damaged(change)}, tmp_path)
    result = CliRunner().invoke(app, ["history", "people", "--storage", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "people: 2 batches" in result.output
    assert Path(kind.mutated).name in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"south,", b"", r"line \d+: 7 columns where 8 are expected. Write the row whole"),
        (b"\n", b",x\n", r"line 1: 9 columns where 8"),
        (b"south,", b'"south,', "a quotation mark is closed on line"),
        (b"secret-005x", b"\rsecret-005x", r"line \d+: 1 column where 8 are expected"),
    ],
)
@pytest.mark.parametrize("name", ["clarify_data", "clarify_without_header"])
def test_lines_that_clarify_would_fill_up_are_refused(
    tmp_path: Path, old: bytes, new: bytes, words: str, name: str
) -> None:
    files = kinds()[name].files()
    write(files, tmp_path)
    config = read_analysis_config(tmp_path / "c.json")
    assert len(read_clarify_data(config, str(tmp_path / "t.csv"))[0]) == 90
    written = files["t.csv"].replace(old, new, 2)
    (tmp_path / "t.csv").write_bytes(written)
    with pytest.raises((SourceError, SpecError), match=rf"t\.csv(, .*{words}| has 9 on its first line)"):
        read_clarify_data(config, str(tmp_path / "t.csv"))


@pytest.mark.parametrize(("name", "seed"), [("npy_embeddings", 20065), ("clarify_without_header", 20082)])
def test_what_was_found_later(name: str, seed: int) -> None:
    """A header of an array that has no end; a level of more than 308 digits."""
    outcome = outcome_of(kinds()[name], seed)
    assert outcome.is_good, outcome


def test_an_endless_count_ends_the_command_at_once(tmp_path: Path) -> None:
    write({"a.yaml": yaml.safe_dump(SPEC | {"split": {"repeats": 10**14}}).encode()}, tmp_path)
    result = CliRunner().invoke(app, [one.replace("{folder}", str(tmp_path)) for one in GATE])
    assert result.exit_code == 2
    assert "split.repeats" in result.stderr
