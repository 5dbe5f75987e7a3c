"""The specification: its defaults, its schema and its messages."""

import functools
import json
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
import yaml

from bdt_core.errors import SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.spec import GATE_METRICS, AuditSpec, json_schema, load_spec, parse_spec

SMALLEST = {"name": "loans", "source": {"path": "loans.csv"}, "bias_variable": {"column": "error"}}


def test_three_keys_are_enough_and_defaults_are_those_of_the_method():
    spec = parse_spec(SMALLEST)
    assert spec.clustering.max_iter == 10
    assert spec.clustering.n_init == 10
    assert spec.split.test_size == 0.2
    assert spec.significance.correction == "holm"
    assert [limit.check for limit in spec.gate] == ["worst_cluster"]


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
        ({"groups": {"facet": "sex"}}, "groups.facet", 'did you mean "facets"'),
        ({"clustering": {"method": "dbscan"}}, "clustering.method", "kprototypes"),
        ({"clustering": {"max_iter": 0}}, "clustering.max_iter", "greater than or equal to 1"),
        ({"split": {"test_size": 1.0}}, "split.test_size", "less than 1"),
        ({"name": "my audit"}, "name", "letters, digits and _"),
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
    assert set(GATE_METRICS.values()) - {"bias_score"} == {one.name for one in found.metrics}


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


def test_the_schema_accepts_what_the_model_accepts():
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.check_schema(json_schema())
    validator.validate(AuditSpec.model_validate(SMALLEST).to_dict())
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**SMALLEST, "clusterng": {}})


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
