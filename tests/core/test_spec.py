"""The specification: its defaults, its schema and its messages."""

import functools
import json
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml

from bdt_core.errors import SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.report.catalogue import sayings
from bdt_core.said import Sentence
from bdt_core.spec import GATE_METRICS, AuditSpec, json_schema, load_spec, parse_spec
from bdt_core.spec.about import Label
from bdt_core.spec.wording import direction_warnings

SMALLEST = {"name": "loans", "source": {"path": "loans.csv"}, "bias_variable": {"column": "error"}}


def test_three_keys_are_enough_and_defaults_are_those_of_the_method():
    spec = parse_spec(SMALLEST)
    assert spec.clustering.max_iter == 10
    assert spec.clustering.n_init == 10
    assert spec.split.test_size == 0.2
    assert spec.significance.correction == "holm"
    assert [limit.check for limit in spec.gate] == ["worst_group"]


DIRECTIONS: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"column": "y"}, ("lower", "guessed")),
    ({"column": "y", "better": "lower"}, ("lower", "said")),
    ({"column": "y", "better": "higher"}, ("higher", "said")),
    ({"column": "refused"}, ("lower", "implied")),
    ({"column": "granted"}, ("higher", "implied")),
    ({"column": "granted", "better": "lower"}, ("lower", "said")),
    ({"derive": "error", "label": "a", "prediction": "b"}, ("lower", "implied")),
    ({"derive": "positive_prediction", "prediction": "y"}, ("lower", "guessed")),
    ({"derive": "positive_prediction", "prediction": "y", "positive": "hired"}, ("higher", "implied")),
]


@pytest.mark.parametrize(("bias", "expected"), DIRECTIONS)
def test_who_says_which_way_is_better_survives_being_stored(bias: dict[str, Any], expected: tuple[str, str]) -> None:
    spec = parse_spec({**SMALLEST, "bias_variable": bias})
    for _ in range(2):
        assert (spec.bias_variable.better, spec.bias_variable.better_by) == expected
        spec = parse_spec(json.loads(json.dumps(spec.to_dict())))


@pytest.mark.parametrize(
    ("bias", "dutch"),
    [
        ({"column": "share"}, "een hoge waarde van share gunstig is"),
        ({"derive": "error", "label": "a", "prediction": "b", "better": "higher"}, "van foutpercentage is beter"),
    ],
)
def test_a_doubt_names_a_column_as_it_is_and_a_derived_rate_in_the_language(bias: dict[str, Any], dutch: str) -> None:
    (doubt,) = direction_warnings(parse_spec({**SMALLEST, "bias_variable": bias}).bias_variable)
    assert sayings("nl")(Sentence("share")) == "aandeel"
    assert dutch in sayings("nl")(doubt)


def test_who_changes_a_stored_guess_says_it() -> None:
    stored = parse_spec({**SMALLEST, "bias_variable": {"column": "y"}}).to_dict()["bias_variable"]
    spec = parse_spec({**SMALLEST, "bias_variable": {**stored, "better": "higher"}})
    assert (spec.bias_variable.better, spec.bias_variable.better_by) == ("higher", "said")


def test_a_question_that_is_left_open_names_its_key() -> None:
    with pytest.raises(SpecError, match='bias_variable.better: this is to be answered first.*Write "better: lower"'):
        parse_spec({**SMALLEST, "bias_variable": {"column": "y", "better": "ANSWER_THIS"}})


def test_a_guess_does_not_say_which_prediction_is_wanted() -> None:
    """A limit that depends on it is refused in the same way before and after the specification was stored."""
    limit = [{"metric": "four_fifths_ratio", "facet": "sex", "min": 0.8}]
    bias = {"derive": "positive_prediction", "prediction": "y"}
    stored = parse_spec({**SMALLEST, "bias_variable": bias}).to_dict()["bias_variable"]
    for one in (bias, stored):
        with pytest.raises(SpecError, match="depends on the prediction that people want"):
            parse_spec({**SMALLEST, "bias_variable": one, "gate": limit})


def test_written_out_it_reads_back_the_same():
    spec = parse_spec(SMALLEST)
    assert parse_spec(json.loads(json.dumps(spec.to_dict()))) == spec


@pytest.mark.parametrize(
    ("change", "path", "advice"),
    [
        ({"clusterng": {}}, "clusterng", 'did you mean "clustering"'),
        ({"clustering": {"max_itr": 3}}, "clustering.max_itr", 'did you mean "max_iter"'),
        ({"engine": {"dask": {"local_workers": 2, "memory_limit": "lots"}}}, "engine.dask.memory_limit", "pattern"),
        ({"engine": {"dask": {"address": "{{ env.DASK }}"}}}, "engine.dask.address", "write ${NAME}"),
        ({"engine": {"dask": {"address": "foo"}}}, "engine.dask.address", "such as tcp://scheduler:8786"),
        ({"engine": {"dask": {"address": "nosuch://a:1"}}}, "engine.dask.address", "such as tcp://scheduler:8786"),
        ({"gate": [{"chek": "worst_cluster"}]}, "gate.0.chek", 'did you mean "check"'),
        ({"gate": [3]}, "gate.0", "valid"),
        ({"gate": [{"metric": "disparate_impct", "facet": "sex", "min": 0.8}]}, "gate.0.metric", '"disparate_impact"?'),
        ({"gate": [{"metric": "DI", "facet": "sex"}]}, "gate.0", 'give "min", "max" or both'),
        ({"gate": [{"metric": "DI", "facet": "sex", "min": 2, "max": 1}]}, "gate.0", "larger than"),
        ({"gate": [{"metric": "DI", "facet": ["sex", "sex"], "min": 1}]}, "gate.0", "different ones"),
        ({"gate": [{"metric": "DI", "facet": "sex", "mim": 1}]}, "gate.0.mim", 'did you mean "min"'),
        ({"gate": [{"metric": "DI", "min": 1}]}, "gate.0.facet", "missing"),
        ({"gate": [{"metric": "DI", "facet": "sex", "min": 1}]}, "top level", '"groups.label"'),
        ({"require": "most"}, "require", "majority"),
        ({"language": "xx"}, "language", "there are for en"),
        ({"labels": {"sex": {"nam": "x"}}}, "labels.sex.nam", 'did you mean "name"'),
        ({"about": {"ownr": "x"}}, "about.ownr", 'did you mean "owner"'),
        ({"about": {"tested_on": "last week"}}, "about.tested_on", "such as 2026-01-31"),
        ({"about": {"in_use_since": "2026"}}, "about.in_use_since", "such as 2026-01"),
        ({"about": {"in_use_since": "2026-00"}}, "about.in_use_since", "such as 2026-01"),
        ({"about": {"in_use_until": "2026-13"}}, "about.in_use_until", "such as 2026-01"),
        ({"about": {"model_file": "s3://me:secret@bucket/model"}}, "about.model_file", "holds a password"),
        ({"reference": {"sex": {"f": 1}}}, "top level", 'add it to "protected"'),
        ({"groups": {"facet": "sex"}}, "groups.facet", 'did you mean "facets"'),
        ({"clustering": {"method": "dbscan"}}, "clustering.method", "kprototypes"),
        ({"clustering": {"max_iter": 0}}, "clustering.max_iter", "greater than or equal to 1"),
        ({"split": {"test_size": 1.0}}, "split.test_size", "less than 1"),
        ({"name": "my audit"}, "name", "letters, digits and _"),
        ({"name": "a" * 101}, "name", "at most 100 characters"),
        ({"bias_variable": {}}, "bias_variable", '"column"'),
        ({"bias_variable": {"derive": "error", "label": "y"}}, "bias_variable", 'needs "prediction"'),
        ({"bias_variable": {"derive": "error", "prediction": "y"}}, "bias_variable", 'needs "label"'),
        ({"bias_variable": {"column": "e", "label": "y"}}, "bias_variable", 'go with "derive"'),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_path(change, path, advice):
    with pytest.raises(SpecError) as caught:
        parse_spec({**SMALLEST, **change}, "audit.yaml")
    assert "audit.yaml" in str(caught.value)
    assert f"  {path}:" in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize("month", ["2026-01", "2026-09", "2026-10", "2026-12"])
def test_every_month_of_a_year_is_one(month):
    about = parse_spec({**SMALLEST, "about": {"in_use_since": month, "in_use_until": month}}).about
    assert (about.in_use_since, about.in_use_until) == (month, month)


DERIVED = {"derive": "error", "label": "repaid", "prediction": "granted"}


@pytest.mark.parametrize(
    ("change", "facets"),
    [
        ({}, ()),
        ({"protected": ["sex"]}, ()),  # nothing to compare groups by
        ({"protected": ["sex"], "groups": {"prediction": "granted"}}, (("sex",),)),
        ({"protected": ["sex"], "bias_variable": DERIVED}, (("sex",),)),
        ({"protected": ["sex"], "bias_variable": DERIVED, "groups": {"facets": []}}, ()),
        ({"protected": ["sex"], "bias_variable": DERIVED | {"derive": "absolute_error"}}, ()),
        ({"protected": ["sex"], "bias_variable": DERIVED | {"derive": "signed_error", "better": "lower"}}, ()),
        ({"protected": ["sex"], "bias_variable": DERIVED | {"derive": "pinball_loss"}}, ()),
        ({"bias_variable": DERIVED, "groups": {"facets": ["sex", ["sex", "race"]]}}, (("sex",), ("sex", "race"))),
        (
            {
                "protected": ["sex"],
                "bias_variable": DERIVED,
                "favourable": "positive",
                "gate": [{"metric": "DI", "facet": "sex", "min": 1}, {"metric": "DI", "facet": "race", "min": 1}, {}],
            },
            (("sex",), ("race",)),
        ),
    ],
)
def test_which_groups_are_declared(change, facets):
    assert parse_spec({**SMALLEST, **change}).facets == facets


def test_every_metric_that_can_be_limited_is_computed():
    frame = pd.DataFrame(
        {"sex": list("fm") * 100, "y": [0, 0, 1, 1] * 50, "p": [0, 1, 0, 1] * 50, "s": [0.3, 0.6] * 100}
    )
    found = bias_metrics(frame, facet="sex", label="y", prediction="p", score="s", group="sex", features=["s"])
    numbers = bias_metrics(np.arange(200) / 7, np.arange(200) / 6, groups=frame["sex"], tolerance=0.5)
    computed = {one.name for result in (found, numbers) for one in result.metrics}
    assert set(GATE_METRICS.values()) - {"bias_score"} == computed


def test_a_missing_key_is_named():
    with pytest.raises(SpecError, match="source: required key is missing"):
        parse_spec({"name": "x", "bias_variable": {"column": "y"}})


@pytest.mark.parametrize(("text", "advice"), [("", "mapping"), ("- a\n", "a list"), ("a: [1\n", "valid YAML in line")])
def test_a_file_that_is_no_specification_is_refused(tmp_path, text, advice):
    file = tmp_path / "audit.yaml"
    file.write_text(text)
    with pytest.raises(SpecError, match=advice):
        load_spec(file)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(SpecError, match="does not exist"):
        load_spec(tmp_path / "none.yaml")


def test_a_relative_source_is_looked_up_beside_the_file(tmp_path):
    (tmp_path / "loans.csv").write_text("a,b\n1,2\n")
    file = tmp_path / "audit.yaml"
    file.write_text(yaml.safe_dump(SMALLEST))
    assert load_spec(file).source.path == str(tmp_path / "loans.csv")


FILES_THAT_COME_LATER = [
    ({"source": {"path": "days/{partition}.csv"}}, "source.path"),
    ({"source": {"path": "days/*.csv"}}, "source.path"),
    ({"source": {"path": "days/{partition}.csv"}, "inbox": {"folder": "days"}}, "inbox.folder"),
    ({"source": {"path": "a.csv", "join": {"path": "days/{partition}.csv", "key": "b"}}}, "source.join.path"),
]


def at(spec, dotted):
    return functools.reduce(getattr, dotted.split("."), spec)


@pytest.mark.parametrize(("change", "key"), FILES_THAT_COME_LATER)
@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (["specs/days"], "specs"),  # beside the file
        (["specs/days", "days/1.csv"], "."),  # where a file is
        (["specs/days/2.csv", "days/1.csv"], "specs"),
        (["days"], "."),  # in the working directory
        ([], "specs"),
    ],
)
def test_files_that_come_later_are_looked_up_where_their_folder_is(change, key, there, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for one in ["specs", *there]:
        place = Path(one)
        (place.parent if place.suffix else place).mkdir(parents=True, exist_ok=True)
        if place.suffix:
            place.write_text("a,b\n1,2\n")
    file = Path("specs/audit.yaml")
    file.write_text(yaml.safe_dump({**SMALLEST, **change}))
    wanted = Path(expected) / at(parse_spec({**SMALLEST, **change}), key)
    assert Path(at(load_spec(file), key)) == wanted


GROUPED = {"protected": ["sex"], "groups": {"facets": ["sex"], "label": "repaid", "prediction": "approved"}}


def test_databases_and_embeddings_are_looked_up_beside_the_file_too(tmp_path):
    for name in ("loans.db", "texts.npy"):
        (tmp_path / name).touch()
    file = tmp_path / "audit.yaml"
    places = {
        "sqlite:///loans.db?timeout=5": f"sqlite:///{tmp_path}/loans.db?timeout=5",
        "sqlite+pysqlite:///loans.db": f"sqlite+pysqlite:///{tmp_path}/loans.db",
        "sqlite:///other.db": "sqlite:///other.db",
        "sqlite:////data/loans.db": "sqlite:////data/loans.db",
        "sqlite:///:memory:": "sqlite:///:memory:",
        "postgresql+psycopg://host/loans.db": "postgresql+psycopg://host/loans.db",
        "${DATABASE}": "${DATABASE}",
    }
    for database, expected in places.items():
        source = {"sql": "select 1", "database": database}
        local = {"embeddings": "texts.npy", "group": "sex"}
        file.write_text(yaml.safe_dump({**SMALLEST, "source": source, **GROUPED, "local_bias": local}))
        spec = load_spec(file)
        assert spec.source.database == expected
        assert spec.local_bias.embeddings == str(tmp_path / "texts.npy")


def test_a_component_file_is_read_too(tmp_path):
    file = tmp_path / "defs.yaml"
    file.write_text(yaml.safe_dump({"type": "bdt_pipeline.BiasAudit", "attributes": SMALLEST}))
    assert load_spec(file) == parse_spec(SMALLEST)


def test_what_a_component_file_says_to_dagster_alone_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "defs.yaml"
    beside = {
        "requirements": {"env": ["TOKEN"]},
        "post_processing": {"assets": [{"attributes": {"owners": ["team:x"]}}]},
    }
    attributes = {**SMALLEST, "translation": {"group_name": "risk"}}
    file.write_text(yaml.safe_dump({"type": "bdt_pipeline.BiasAudit", "attributes": attributes, **beside}))
    assert load_spec(file).to_dict() == AuditSpec.model_validate(SMALLEST).to_dict()
    file.write_text(yaml.safe_dump({**SMALLEST, "translation": {"group_name": "risk"}}))
    with pytest.raises(SpecError, match="translation"):  # in a specification of its own it is none of the keys
        load_spec(file)


def test_the_schema_accepts_what_the_model_accepts():
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.check_schema(json_schema())
    validator.validate(AuditSpec.model_validate(SMALLEST).to_dict())
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**SMALLEST, "clusterng": {}})


@pytest.mark.parametrize("more", [{}, {"better_by": "implied", "better": "lower"}])
def test_nobody_guesses_whom_a_signed_error_harms(more):
    named = {"label": "income", "prediction": "error_granted"}  # names that say it of a column
    with pytest.raises(SpecError) as caught:
        parse_spec({**SMALLEST, "bias_variable": {"derive": "signed_error", **named, **more}})
    assert 'bias_variable: "derive: signed_error" needs "better"' in str(caught.value)
    assert 'Write "better: higher" where too low is worse for people' in str(caught.value)
    assert '"better: lower" where too high is worse' in str(caught.value)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_either_way_of_a_signed_error_is_said_and_stays_said(better):
    spec = parse_spec({**SMALLEST, "bias_variable": {**DERIVED, "derive": "signed_error", "better": better}})
    assert (spec.bias_variable.better, spec.bias_variable.better_by) == (better, "said")
    assert parse_spec(spec.to_dict()) == spec
    assert direction_warnings(spec.bias_variable) == []


def test_a_quantile_is_that_of_a_pinball_loss():
    pinball = {**DERIVED, "derive": "pinball_loss"}
    spec = parse_spec({**SMALLEST, "bias_variable": pinball})
    assert (spec.bias_variable.quantile, spec.bias_variable.better, spec.bias_variable.better_by) == (
        0.5, "lower", "implied",
    )  # fmt: skip
    spec = parse_spec({**SMALLEST, "bias_variable": {**pinball, "quantile": 0.9}})
    assert parse_spec(spec.to_dict()).bias_variable.quantile == 0.9
    upside_down = parse_spec({**SMALLEST, "bias_variable": {**pinball, "better": "higher"}})
    assert len(direction_warnings(upside_down.bias_variable)) == 1
    for derive in ("error", "signed_error", "absolute_error"):
        with pytest.raises(SpecError, match='"quantile" goes with "derive: pinball_loss" alone'):
            parse_spec({**SMALLEST, "bias_variable": {**DERIVED, "derive": derive, "better": "lower", "quantile": 0.5}})
    for quantile in (0, 1, -0.1, 95, True, "high"):
        with pytest.raises(SpecError, match=r"bias_variable\.quantile"):
            parse_spec({**SMALLEST, "bias_variable": {**pinball, "quantile": quantile}})


PLACES = {"derive": "top_k", "prediction": "score"}


def test_places_have_their_keys_and_a_direction():
    for derive, better in (("top_k", "higher"), ("exposure", "higher"), ("position", "lower")):
        spec = parse_spec({**SMALLEST, "bias_variable": {**PLACES, "derive": derive}})
        bias = spec.bias_variable
        assert (bias.better, bias.better_by, bias.ranked) == (better, "implied", "highest_first")
        assert (bias.k, bias.query) == (10 if derive == "top_k" else None, None)
        assert parse_spec(spec.to_dict()) == spec
        assert spec.group_columns() == (None, None)
        opposite = {"lower": "higher", "higher": "lower"}[better]  # first places may be what nobody wants
        other = parse_spec({**SMALLEST, "bias_variable": {**PLACES, "derive": derive, "better": opposite}})
        assert other.bias_variable.better_by == "said"
        assert direction_warnings(other.bias_variable) == []
    named = {**PLACES, "k": 3, "query": "search", "ranked": "lowest_first"}
    bias = parse_spec({**SMALLEST, "bias_variable": named}).bias_variable
    assert (bias.k, bias.query, bias.ranked) == (3, "search", "lowest_first")


@pytest.mark.parametrize(
    ("bias", "problem"),
    [
        ({**PLACES, "derive": "exposure", "k": 3}, '"k" goes with "derive: top_k" alone'),
        ({"column": "y", "query": "search"}, '"query" goes with "derive: top_k", "exposure" or "position" alone'),
        ({**DERIVED, "ranked": "lowest_first"}, '"ranked" goes with "derive: top_k", "exposure" or "position" alone'),
        ({**PLACES, "k": 0}, "bias_variable.k"),
        ({**PLACES, "label": "hired"}, 'leave "label" and "positive" out'),
        ({**PLACES, "positive": 1}, 'leave "label" and "positive" out'),
        ({"derive": "position"}, '"derive: position" needs "prediction"'),
    ],
)
def test_wrong_keys_of_places_are_named_with_a_mend(bias, problem):
    with pytest.raises(SpecError) as caught:
        parse_spec({**SMALLEST, "bias_variable": bias})
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "where", [{"clustering": {"memory": "out_of_core"}}, {"engine": {"dask": {"local_workers": 2}}}]
)
def test_places_are_not_made_block_by_block(where):
    with pytest.raises(SpecError) as caught:
        parse_spec({**SMALLEST, "bias_variable": PLACES, **where})
    assert "need all of its rows at once" in str(caught.value)
    assert 'name it in "bias_variable.column"' in str(caught.value)


def test_the_schema_has_examples_of_a_quantile():
    bias = json_schema()["$defs"]["BiasVariable"]["properties"]
    assert bias["quantile"]["examples"] == [0.5, 0.9]
    assert {"signed_error", "pinball_loss"} <= set(bias["derive"]["anyOf"][0]["enum"])


def test_every_setting_of_the_schema_is_described():
    def undescribed(schema, where=""):
        for name, part in schema.get("properties", {}).items():
            if "description" not in part and "$ref" not in part:
                yield f"{where}.{name}"

    full = json_schema()
    parts = {"": full, **full["$defs"]}
    assert [one for where, part in parts.items() for one in undescribed(part, where)] == []


def test_a_day_may_stand_in_yaml_with_and_without_quotation_marks(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    for written in ("2026-01-01", '"2026-01-01"'):
        file = tmp_path / "spec.yaml"
        file.write_text(
            "name: loans\nsource: {path: 'days/{partition}.csv'}\nbias_variable: {column: b}\n"
            f"partition_by: {{time: daily, start: {written}}}\n"
        )
        assert load_spec(file).partition_by.start == "2026-01-01"


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (
            "{check: worst_cluster, max_difference: .nan}",
            "(line 4): expected a number, found nan",
        ),
        ("{check: worst_slice, max_difference: .inf}", "gate.0.max_difference (line 4): expected a number, found inf"),
        ("{metric: DI, facet: sex, min: true}", "gate.0.min (line 4): expected a number, found true"),
        ("{metric: DI, facet: sex, max: -.inf}", "gate.0.max (line 4): expected a number, found -inf"),
        ("{metric: DI, facet: sex, max: 1, max: 9}", 'line 4: the key "max" stands twice, first in line 4'),
    ],
)
def test_a_limit_that_limits_nothing_is_an_error_with_its_line(tmp_path: Path, limit: str, told: str):
    file = tmp_path / "loans.yaml"
    file.write_text(f"name: loans\nsource: {{path: loans.csv}}\nbias_variable: {{column: error}}\ngate: [{limit}]\n")
    with pytest.raises(SpecError) as error:
        load_spec(file)
    assert told in str(error.value)


def test_a_section_that_stands_twice_is_an_error(tmp_path: Path):
    """The second would silently win: a gate below another gate."""
    file = tmp_path / "loans.yaml"
    file.write_text("name: loans\ngate: []\nsource: {path: loans.csv}\ngate:\n  - check: any_cluster\n")
    with pytest.raises(SpecError, match=r'line 4: the key "gate" stands twice, first in line 2; keep one of them'):
        load_spec(file)


def test_what_an_anchor_repeats_does_not_stand_twice(tmp_path: Path):
    file = tmp_path / "loans.yaml"
    file.write_text(
        "name: loans\nsource: {path: loans.csv}\nbias_variable: {column: error}\n"
        "gate: [&one {check: any_cluster, max_difference: 0.1}, {<<: *one, max_difference: 0.2}]\n"
    )
    assert [one.max_difference for one in load_spec(file).gate] == [0.1, 0.2]


# --- files that nobody would write by hand ----------------------------------------------------------------------------

BASE = "name: a\nsource: {path: t.csv}\nbias_variable: {column: error}\n"
LAUGHS = "x: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{'abcdefgh'[i + 1]}: &{'abcdefgh'[i + 1]} [{', '.join(['*' + 'abcdefgh'[i]] * 9)}]\n" for i in range(7)
)
STRANGE = {
    "a date that no calendar has": (
        BASE + "partition_by:\n  time: daily\n  start: 2026-02-31\n",
        'line 6: partition_by.start: "2026-02-31" is no date or time',
    ),
    "a time that no clock has": (BASE + "pool: 2026-01-01 25:61:61\n", "line 4: pool: .* is no date or time"),
    "an offset that no place has": (BASE + "pool: 2026-01-01 10:00:00 +99:99\n", "line 4: pool: .* is no date"),
    "a date as key": (BASE + "groups: {2026-02-31: 1}\n", "groups.2026-02-31: .* is no date"),
    "5,000 digits": (BASE + f"split: {{random_state: {'9' * 5000}}}\n", "split.random_state: .* is no whole number"),
    "20,000 digits": (BASE + f"split: {{random_state: 0x{'f' * 20_000}}}\n", "split.random_state: .* no whole number"),
    "base 60": (
        BASE + f"split: {{random_state: {':'.join(['59'] * 3000)}}}\n",
        "split.random_state: .* no whole number",
    ),
    "a number beyond 64 bits": (BASE + f"large_rows: {2**63}\n", "large_rows: .* is no whole number"),
    "no float": (BASE + "significance: {alpha: !!float abc}\n", 'significance.alpha: "abc" is no number'),
    "an octal": (
        BASE + "significance: {min_rows: 010}\n",
        'significance.min_rows: "010" is no whole number to the base',
    ),
    "minutes": (BASE + "significance: {min_rows: 1:05}\n", 'significance.min_rows: "1:05" is no whole number'),
    "no integer": (BASE + "significance: {min_rows: !!int abc}\n", 'significance.min_rows: "abc" is no whole number'),
    "no boolean": (BASE + "clustering: {scale: !!bool maybe}\n", 'clustering.scale: "maybe" is no true or false'),
    "deep lists": (BASE + f"groups: {'[' * 100_000}{']' * 100_000}\n", "line 4: it is nested more than 50 levels"),
    "deep mappings": (BASE + f"groups: {'{a: ' * 3000}1{'}' * 3000}\n", "line 4: it is nested more than 50 levels"),
    "deep blocks": (BASE + "".join("  " * i + "a:\n" for i in range(2000)), "nested more than 50 levels"),
    "a billion laughs": (BASE + LAUGHS, "more than 100,000 keys and entries"),
    "a long path": (BASE.replace("t.csv", "x" * 5000), r"source.path \(line 2\): a path has at most 4,000 characters"),
    "a long name": (BASE.replace("t.csv", f"d/{'x' * 300}*.csv"), r"source.path \(line 2\): .* 255 bytes"),
    "a long array": (
        BASE.replace("t.csv", f"t.csv, arrays: {{p: {'y' * 300}.npy}}"),
        r"source.arrays \(line 2\): a path has at most",
    ),
    "a long database": (
        BASE.replace("path: t.csv", f"sql: select 1, database: 'sqlite:///{'y' * 300}.db'"),
        r"source.database \(line 2\): a path has at most",
    ),
    "a long inbox": (
        BASE.replace("t.csv", "'{partition}.csv'") + f"inbox:\n  folder: {'y' * 300}\n",
        r"inbox.folder \(line 5\): a path has at most",
    ),
    "long embeddings": (
        BASE + f"local_bias: {{group: sex, embeddings: {'y' * 300}.npy}}\n",
        r"local_bias.embeddings \(line 4\): a path has at most",
    ),
    "nobody's home": (BASE.replace("t.csv", "~nobody_is_called_so/t.csv"), r"source.path \(line 2\): nobody is called"),
    "a limit of memory": (
        BASE + f"clustering: {{memory_limit: {'9' * 400} GiB}}\n",
        r"clustering.memory_limit \(line 4\)",
    ),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_file_is_refused_with_file_and_key(name: str, tmp_path: Path) -> None:
    text, message = STRANGE[name]
    path = tmp_path / "strange.yaml"
    path.write_text(text)
    begin = time.process_time()
    with pytest.raises(SpecError, match=message) as caught:
        load_spec(path)
    assert time.process_time() - begin < 20  # the aliases took hours
    assert "strange.yaml" in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("month", ["2026-01", "2026-09", "2026-10", "2026-12"])
@pytest.mark.parametrize("key", ["in_use_since", "in_use_until"])
def test_every_month_of_the_year_is_a_month(key, month):
    about = parse_spec({**SMALLEST, "about": {key: month}}).about
    assert getattr(about, key) == month


LABELLED = {**SMALLEST, "labels": "words/names.csv"}


@pytest.mark.parametrize("start", ["\ufeffcolumn,level,name", "Name;Level;Column;remark"])
def test_names_are_read_from_a_file_beside_the_specification(
    tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = {
        ",": ["sex,,gender", 'sex,f,"women, girls"', "pay,112,at work"],
        ";": ["gender;;sex", "women, girls;f;sex;x", "at work;112;pay"],
    }
    folder = tmp_path / "audit"
    (folder / "words").mkdir(parents=True)
    (folder / "words" / "names.csv").write_text("\n".join([start, *lines[";" if ";" in start else ","], ""]))
    (folder / "a.yaml").write_text(yaml.safe_dump(LABELLED))
    expected = {"sex": Label(name="gender", levels={"f": "women, girls"}), "pay": Label(levels={"112": "at work"})}
    assert load_spec(folder / "a.yaml").labels == expected
    monkeypatch.chdir(folder)
    assert parse_spec(LABELLED).labels == expected
    assert parse_spec(parse_spec(LABELLED).to_dict()).labels == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "names.csv does not exist; give the path of a CSV file"),
        (b"column,level,name\nsex,f,\xe9", 'names.csv is no UTF-8; save it anew as "CSV UTF-8"'),
        (b"column,naam\n", 'names.csv, line 1: it does not name the column "level"; write "column,level,name" there'),
        (b"column,level,name\n\nsex,f\n", 'names.csv, line 3: "sex", level "f", has no name; write one'),
        (b"column,level,name\n,f,woman\n", "names.csv, line 2: it names no column; write one"),
        (b"column,level,name\nsex,,a\nsex,,b\n", 'names.csv, line 3: "sex" was named in line 2; keep one of them'),
        (b'column,level,name\nsex,,"a\n', "names.csv, line 2: unexpected end of data; save it anew as CSV"),
    ],
)
def test_what_is_wrong_with_a_file_of_names_is_said_with_its_line(
    tmp_path: Path, text: bytes | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / "names.csv").write_bytes(text)
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**SMALLEST, "labels": "names.csv"}))
    with pytest.raises(SpecError, match=re.escape(problem)) as error:
        load_spec(tmp_path / "a.yaml")
    assert "  labels (line" in str(error.value)
