"""Several labels of each row in one audit: a row of each, the rows of a person together, and each gap as by itself."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.errors import DataError, SourceError, SpecError
from bdt_core.local_bias import LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.proposal import with_proposed_roles
from bdt_core.report.html import render_html
from bdt_core.report.markdown import render_markdown
from bdt_core.report.publication import for_publication
from bdt_core.spec import Source, Stacked, parse_spec, spec_of_keywords
from bdt_core.table.batches import open_batches
from bdt_core.table.sources import as_source_reads_it, read_table
from tests.core.joined.made_tables import OUT_OF_CORE

OBJECTS = tuple(f"object {number:02}" for number in range(1, 27))
HARMED = OBJECTS[16]
NOTHING_ELSE = {"clustering": None, "worst_groups": None, "slices": None, "gate": [], "protected": ["sex"]}


def images(rows: int, harm: float, seed: int = 1, objects: tuple[str, ...] = OBJECTS) -> pd.DataFrame:
    """Images of people, in each of which a model sees objects or not; it overlooks one more often beside women.

    Whether it is wrong depends on how sharp the image is, for all of its objects.
    """
    rng = np.random.default_rng(seed)
    sex, blurred = rng.choice(["f", "m"], rows), rng.random(rows) < 0.3
    columns: dict[str, Any] = {"image": [f"i{number}" for number in rng.permutation(rows)], "sex": sex}
    for name in objects:
        there = (rng.random(rows) < 0.5).astype(int)
        rate = 0.1 + 0.2 * blurred + harm * ((name == HARMED) & (sex == "f"))
        columns[name] = there
        columns[f"{name}, said"] = np.where(rng.random(rows) < rate, 1 - there, there)
    return pd.DataFrame(columns)


def stacked(objects: tuple[str, ...] = OBJECTS) -> dict[str, Any]:
    return {"by": "object", "rows": {name: {"there": name, "said": f"{name}, said"} for name in objects}}


def specification(objects: tuple[str, ...] = OBJECTS, **changes: Any) -> dict[str, Any]:
    return {
        "name": "images",
        "source": {"path": "(DataFrame)", "stacked": stacked(objects)},
        "bias_variable": {"derive": "error", "label": "there", "prediction": "said"},
        "split": {"key": "image", "test_size": 0.4},
        "local_bias": {"group": "sex", "places": "object"},
        **NOTHING_ELSE,
        **changes,
    }


def _of_one(name: str, **changes: Any) -> dict[str, Any]:
    """An audit of one object, as it was done before."""
    measured = {"derive": "error", "label": name, "prediction": f"{name}, said"}
    return specification(
        **{"source": {"path": "(DataFrame)"}, "bias_variable": measured, "local_bias": None, **changes}
    )


def gaps(result: AuditResult) -> dict[str, Any]:
    """What is said of each object."""
    assert result.local_bias is not None
    return {str(one.name): one for one in result.local_bias.logan.clusters}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return images(1_500, 0.3)


@pytest.fixture(scope="module")
def found(frame: pd.DataFrame) -> AuditResult:
    return audit(frame, specification())


def test_the_object_that_is_overlooked_beside_women_is_found(found: AuditResult) -> None:
    of_objects = gaps(found)
    assert sorted(of_objects) == list(OBJECTS)
    assert [name for name, one in of_objects.items() if one.held_out.confirmed] == [HARMED]
    assert of_objects[HARMED].held_out.gap == pytest.approx(0.3, abs=0.08)
    assert {one.held_out.status for one in of_objects.values()} == {"tested"}
    assert all("object" not in found.test.names(role) for role in ("label", "prediction"))


@pytest.mark.parametrize("name", [HARMED, *OBJECTS[::6]])
def test_each_gap_is_that_of_an_audit_of_this_object_alone(name: str, frame: pd.DataFrame, found: AuditResult) -> None:
    """The same images are train and test rows, for the key alone divides them."""
    alone = frame[["image", "sex", name, f"{name}, said"]].assign(noise=np.arange(len(frame)) % 7)
    single = audit(alone, _of_one(name, local_bias={"group": "sex", "n_clusters": 2})).local_bias
    assert single is not None
    both = gaps(found)[name], single.everywhere
    parts = [[getattr(one, part) for part in ("train", "test")] for one in both]
    assert parts[0] == parts[1]
    for number in ("gap", "counted_higher", "counted_lower", "train_gap"):
        assert getattr(both[0].held_out, number) == getattr(both[1].held_out, number), number
    for number in ("low", "high", "p_value"):
        assert getattr(both[0].held_out, number) == pytest.approx(getattr(both[1].held_out, number), abs=1e-12), number


def test_without_harm_there_are_no_more_alarms_than_are_allowed() -> None:
    """5 % of audits at most may have one, although each asks 26 questions."""
    source = Source.model_validate({"path": "i.csv", "stacked": stacked()})
    settings = LocalBiasSettings(places="object", n_clusters=2, n_init=1, permutations=0)
    alarms, low = 0, 0
    for seed in range(40):
        rows = as_source_reads_it(images(300, 0.0, seed), source)
        persons = pd.factorize(rows["image"])[0].astype(np.uint64)
        parts = [
            LocalRows(
                rows.index.to_numpy()[of, None] % 7.0,
                rows["sex"].to_numpy()[of],
                correct=(rows["there"] == rows["said"]).to_numpy()[of],
                persons=persons[of],
                places=rows["object"].to_numpy(dtype=object)[of],
            )
            for of in (persons < 150, persons >= 150)
        ]
        found = find_local_bias(*parts, settings).logan.clusters
        assert len(found) == len(OBJECTS)
        alarms += any(one.held_out.confirmed for one in found)
        low += sum(one.held_out.p_value <= 0.05 for one in found if one.held_out.p_value is not None)
    assert alarms <= 5  # more have a chance of 1 % at 5 %
    assert 0.02 < low / (40 * len(OBJECTS)) < 0.07  # each test by itself keeps its level, and is not empty


@pytest.mark.parametrize("language", ["en", "nl"])
def test_the_report_says_that_rows_are_pairs(language: str, frame: pd.DataFrame) -> None:
    """In the annex and on page 1; in the form for publication, too."""
    document = audit(frame[:200], specification(OBJECTS[:3], language=language)).document
    assert document["data"]["rows"] == 600
    note, beginning = {
        "en": (
            'Each of the 200 rows of the source is counted 3 times, once for each label in "source.stacked": what this '
            "report calls rows are pairs of a row and a label.",
            "Each row of the source is counted 3 times, once for each of its labels.",
        ),
        "nl": (
            'Elk van de 200 rijen van de bron telt 3 keer mee, eenmaal voor elk label in "source.stacked": wat dit '
            "rapport rijen noemt, zijn paren van een rij en een label.",
            "Elke rij van de bron telt 3 keer mee, eenmaal voor elk van haar labels.",
        ),
    }[language]
    assert note in html.unescape(render_html(document))
    assert beginning in render_markdown(document)
    assert beginning in render_markdown(for_publication(document))
    assert beginning not in render_markdown(audit(frame[:200], _of_one(OBJECTS[0], language=language)).document)


def test_in_memory_out_of_core_and_in_another_order_it_is_the_same_report(frame: pd.DataFrame, tmp_path: Path) -> None:
    some, objects = frame[:600], OBJECTS[15:19]
    some.to_csv(tmp_path / "i.csv", index=False)
    some.sample(frac=1.0, random_state=1).to_parquet(tmp_path / "i.parquet")
    searches = {"worst_groups": {"permutations": 39}, "clustering": {"stability": 0, "n_init": 2, "max_iter": 3}}
    spec = specification(objects, **searches)
    spec["source"]["path"] = str(tmp_path / "i.csv")
    whole = audit(None, spec).document
    within = {**searches["clustering"], **OUT_OF_CORE["clustering"]}
    assert audit(None, {**spec, "clustering": within}).document == whole
    other = stacked(objects[::-1]) | {"by": "object"}
    of_parquet = {**spec, "source": {"path": str(tmp_path / "i.parquet"), "stacked": other}}
    turned = audit(None, of_parquet).document
    for part in ("verdict", "findings", "local_bias", "worst_groups", "clusters"):
        assert turned[part], part
        assert turned[part] == whole[part], part
    assert turned["data"]["fingerprint"] == whole["data"]["fingerprint"]


def test_batches_of_any_length_are_the_table(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame[:50].to_csv(tmp_path / "i.csv", index=False)
    source = Source.model_validate({"path": str(tmp_path / "i.csv"), "stacked": stacked(OBJECTS[:3])})
    whole = read_table(source)
    assert list(whole.columns)[:3] == ["object", "said", "there"]
    assert len(whole) == 150
    for rows in (1, 3, 4, 7, 1000):
        with open_batches(source, batch_rows=rows) as batches:
            pieces = list(batches)
            assert batches.rows == 150
            assert {len(one) % 3 for one in pieces} == {0}
            pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), whole)
    with open_batches(source, columns=["there", "sex"]) as batches:
        assert [list(one.columns) for one in batches] == [["there", "sex"]]
    pd.testing.assert_frame_equal(as_source_reads_it(frame[:50], source)[list(whole)], whole, check_dtype=False)
    assert as_source_reads_it(whole, source) is not None
    assert len(as_source_reads_it(whole, source)) == 150


def test_labels_of_several_types_make_one_column() -> None:
    """Truth values are 1 and 0 among numbers; a label that is missing makes its row one without an outcome."""
    table = pd.DataFrame({
        "nr": range(80), "a": [True, False] * 40, "b": [1, None, 0, 0] * 20, "a_said": [1, 1, 0, 0] * 20,
        "b_said": [1.0, None, 1.0, 0.0] * 20, "kind": ["x", "y", "z", "z"] * 20,
    })  # fmt: skip
    rows = {name: {"y": name, "z": f"{name}_said"} for name in ("a", "b")}
    source = {"path": "(DataFrame)", "stacked": {"by": "which", "rows": rows}}
    result = audit(
        table, specification(source=source, split={"key": "nr"}, protected=["kind"], local_bias=None,
        bias_variable={"derive": "error", "label": "y", "prediction": "z"})
    )  # fmt: skip
    assert result.document["data"]["rows"] == 160
    assert result.document["data"]["rows_audited"] == 140
    words = pd.DataFrame({"nr": [1, 2], "a": ["yes", "no"], "b": pd.Categorical(["no", "yes"])})
    made = as_source_reads_it(
        words, Source(path="x.csv", stacked=Stacked(by="which", rows={"b": {"y": "b"}, "a": {"y": "a"}}))
    )
    assert made["y"].tolist() == ["yes", "no", "no", "yes"]
    assert made["which"].tolist() == ["a", "b"] * 2


def test_members_are_rows_of_the_file_once_for_each_label(frame: pd.DataFrame) -> None:
    some = frame[["image", "sex", *(name for one in OBJECTS[15:18] for name in (one, f"{one}, said"))]]
    some = some.set_axis(range(1_000, 1_000 + len(some)))
    result = audit(some, specification(OBJECTS[15:18], worst_groups={"permutations": 39}))
    members = result.members(some)
    assert members["object"].tolist() == list(OBJECTS[15:18]) * len(some)
    assert members.index.tolist() == np.repeat(some.index, 3).tolist()
    (name,) = [one for one in members.columns if "finding 1" in one]
    inside = members[members[name]]
    assert set(inside["object"]) == {HARMED}
    assert set(inside.index) == set(some.index[some["sex"] == "f"])
    pd.testing.assert_frame_equal(result.findings.members(some)[[name]], members[[name]])


def test_embeddings_of_images_are_those_of_all_their_rows(frame: pd.DataFrame, tmp_path: Path) -> None:
    some, objects = frame[:400], OBJECTS[:2]
    far = np.arange(len(some)) % 2
    np.save(tmp_path / "e.npy", np.column_stack([far * 50.0, np.zeros(len(some))]))
    local = {"group": "sex", "embeddings": str(tmp_path / "e.npy"), "n_clusters": 2, "min_group_size": 20}
    result = audit(some, specification(objects, local_bias=local)).local_bias
    assert result is not None
    rows = [sum(group.rows for part in (one.train, one.test) for group in part) for one in result.logan.clusters]
    assert rows == [400, 400]


def test_what_is_left_open_is_proposed_of_the_stacked_table(frame: pd.DataFrame) -> None:
    given = {"source": {"stacked": stacked()}, "label": "there", "prediction": "said", "key": "image"}
    spec, proposal = with_proposed_roles(spec_of_keywords(given), frame)
    assert proposal is not None
    assert spec.protected == ["sex"]
    assert {one.name: one.role for one in proposal.columns}["object"] == "feature"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"split": {}}, '"source.stacked" makes several rows of each row.*"split.key"'),
        ({"split": {"key": "object"}}, '"split.key" names "object"'),
        ({"split": {"key": "there"}}, '"split.key" names "there"'),
        ({"split": {"key": HARMED}}, f'"split.key" names "{HARMED}"'),
        ({"bias_variable": {"derive": "error", "label": ["a", "b"], "prediction": "c"}}, "label.*source.stacked"),
        ({"source": {"path": "x", "stacked": {"by": "o", "rows": {}}}}, "source.stacked.rows"),
        ({"source": {"path": "x", "stacked": {"by": "o", "rows": {"a": {"y": "a"}, "b": {"x": "b"}}}}}, "x of \"b\""),
        ({"source": {"path": "x", "stacked": {"by": "y", "rows": {"a": {"y": "a"}}}}}, '"y" would be two'),
        ({"source": {"path": "x", "stacked": {"by": "o", "rows": {"a": {"a": "a"}}}}}, '"a" would be two'),
    ],
)  # fmt: skip
def test_a_specification_that_cannot_be_meant_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        parse_spec(specification(**changes))


@pytest.mark.parametrize("as_file", [False, True])
def test_columns_that_do_not_fit_are_named(as_file: bool, frame: pd.DataFrame, tmp_path: Path) -> None:
    spec = specification(OBJECTS[:2])
    for table, says in (
        (frame.rename(columns={OBJECTS[1]: "Object 2"}), f'source.stacked: .*no column "{OBJECTS[1]}"'),
        (frame.assign(there=1), 'source.stacked: .*has a column "there" already'),
        (frame.assign(object=1), 'source.stacked: .*has a column "object" already'),
    ):
        table.to_csv(tmp_path / "i.csv", index=False)
        data = str(tmp_path / "i.csv") if as_file else table
        with pytest.raises(SourceError, match=says):
            audit(data, spec)
    with pytest.raises(DataError, match='"split.key".*"picture"'):
        audit(frame, specification(split={"key": "picture"}))
