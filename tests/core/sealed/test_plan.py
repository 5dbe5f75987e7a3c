"""The plan of an audit: every key of the specification decides something in it, or stands among those that do not."""

import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from bdt_core.errors import SourceError
from bdt_core.report.catalogue import sayings
from bdt_core.sealed.canonical import canonical_bytes, digest, digest_of_file
from bdt_core.sealed.plan import DECIDES_NOTHING, FOLDED, changes_between, plan_digest, plan_of
from bdt_core.spec import AuditSpec, load_spec, parse_spec, spec_of_keywords
from bdt_core.spec.gate import KINDS_OF_LIMIT

BASE: dict[str, Any] = {
    "name": "loans",
    "source": {"path": "loans.csv"},
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
    "protected": ["sex", "race"],
    "legitimate": ["income"],
}
QUERY = {"sql": "select * from loans", "database": "${LOANS}"}
JOIN = {"path": "labels.csv", "key": "id"}
PLACES = {"derive": "top_k", "prediction": "score"}
STACKED = {"by": "year", "rows": {one: {name: f"{name}_{one}" for name in ("repaid", "granted")} for one in "12"}}
OF_LABELS = {"source": {"path": "loans.csv", "stacked": STACKED}}
BY_PERSON = {"split": {"key": "person"}}
LOCAL = {"group": "race"}
THRESHOLDS = {"group": "race", "score": "risk"}
NUMBERS = {"numbers": True, "label": "grade", "prediction": "predicted"}
PARTS = {"source": {"path": "{partition}.csv"}}
DASK = {"local_workers": 2}
VARIANTS: dict[str, tuple[dict[str, Any], Any]] = {
    "name": ({}, "credit"),
    "source.path": ({}, "moved/loans.parquet"),
    "source.separator": ({}, ";"),
    "source.encoding": ({}, "cp1252"),
    "source.decimal": ({}, "comma"),
    "source.missing_values": ({}, ["?"]),
    "source.sheet": ({}, "people"),
    "source.bad_rows": ({}, "leave_out"),
    "source.sql": ({"source": QUERY}, "select * from loans where age > 30"),
    "source.database": ({"source": QUERY}, "${OTHER}"),
    "source.asset": ({"source": {"asset": "warehouse/loans"}}, "lake/loans"),
    "source.arrays": ({}, {"granted": "granted.npy"}),
    "source.join": ({}, JOIN),
    "source.join.path": ({"source": {"path": "loans.csv", "join": JOIN}}, "moved.csv"),
    "source.join.separator": ({"source": {"path": "loans.csv", "join": JOIN}}, ";"),
    "source.join.encoding": ({"source": {"path": "loans.csv", "join": JOIN}}, "cp1252"),
    "source.join.decimal": ({"source": {"path": "loans.csv", "join": JOIN}}, "comma"),
    "source.join.missing_values": ({"source": {"path": "loans.csv", "join": JOIN}}, ["?"]),
    "source.join.sheet": ({"source": {"path": "loans.csv", "join": JOIN}}, "labels"),
    "source.join.bad_rows": ({"source": {"path": "loans.csv", "join": JOIN}}, "leave_out"),
    "source.join.sql": ({"source": {"path": "loans.csv", "join": QUERY | {"key": "id"}}}, "select * from labels"),
    "source.join.database": ({"source": {"path": "loans.csv", "join": QUERY | {"key": "id"}}}, "${OTHER}"),
    "source.join.key": ({"source": {"path": "loans.csv", "join": JOIN}}, ["id", "year"]),
    "source.join.columns": ({"source": {"path": "loans.csv", "join": JOIN}}, ["repaid"]),
    "source.partition": (PARTS, "2026-01-31"),
    "source.clean": ({}, True),
    "source.ages": ({}, {"born": "2026-01-31"}),
    "source.stacked.by": (BY_PERSON | OF_LABELS, "loan"),
    "source.stacked.rows": (BY_PERSON | OF_LABELS, {"1": STACKED["rows"]["1"]}),
    "source.parameters": ({"source": QUERY}, {"year": "2026"}),
    "bias_variable.column": ({"bias_variable": {"column": "fined"}}, "checked"),
    "bias_variable.derive": ({}, "false_positive"),
    "bias_variable.label": ({}, "paid"),
    "bias_variable.prediction": ({}, "advice"),
    "bias_variable.positive": ({}, "yes"),
    "bias_variable.quantile": ({"bias_variable": BASE["bias_variable"] | {"derive": "pinball_loss"}}, 0.9),
    "bias_variable.k": ({"bias_variable": PLACES}, 5),
    "bias_variable.query": ({"bias_variable": PLACES}, "search"),
    "bias_variable.ranked": ({"bias_variable": PLACES}, "lowest_first"),
    "bias_variable.better": ({}, "higher"),
    "bias_variable.better_by": ({"bias_variable": {"column": "y", "better": "lower"}}, "guessed"),
    "favourable": ({}, "negative"),
    "features.include": ({}, ["age"]),
    "features.exclude": ({}, ["id"]),
    "features.leaks": ({}, ["id"]),
    "features.kinds": ({}, {"zip": "categorical"}),
    "features.at_most": ({}, 1),
    "protected": ({}, ["sex", "race", "age"]),
    "missing": ({}, "drop"),
    "split.test_size": ({}, 0.3),
    "split.method": ({}, "stratified"),
    "split.key": ({}, "person"),
    "split.stratify": ({}, False),
    "split.random_state": ({}, 7),
    "split.repeats": ({}, 3),
    "clustering.method": ({}, "kmodes"),
    "clustering.max_iter": ({}, 5),
    "clustering.min_cluster_size": ({}, 40),
    "clustering.n_init": ({}, 3),
    "clustering.margin": ({}, 0.1),
    "clustering.scale": ({}, False),
    "clustering.stability": ({}, 0),
    "clustering.engine": ({}, "reference"),
    "clustering.memory": ({}, "in_memory"),
    "clustering.memory_limit": ({}, "2 GiB"),
    "significance.alpha": ({}, 0.01),
    "significance.test": ({}, "welch"),
    "significance.permutations": ({}, 99),
    "significance.correction": ({}, "bh"),
    "significance.min_rows": ({}, 20),
    "groups.facets": ({}, ["sex"]),
    "groups.label": ({}, "paid"),
    "groups.prediction": ({}, "advice"),
    "groups.positive": ({}, "yes"),
    "groups.numbers": ({"groups": {"label": "grade", "prediction": "predicted"}}, True),
    "groups.tolerance": ({"groups": NUMBERS}, 0.5),
    "groups.score": ({}, "risk"),
    "groups.stratum": ({}, "branch"),
    "groups.thresholds": ({}, {"age": 40}),
    "groups.similar_by": ({}, ["age"]),
    "groups.reference": ({}, "everybody else"),
    "groups.pooled_from": ({}, 20),
    "groups.report": ({"favourable": "positive"}, ["ll144"]),
    "legitimate": ({}, ["income", "town"]),
    "characteristics": ({}, ["age"]),
    "worst_groups.columns": ({}, ["age"]),
    "worst_groups.min_share": ({}, 0.05),
    "worst_groups.max_groups": ({}, 2),
    "worst_groups.permutations": ({}, 99),
    "slices.columns": ({}, ["age"]),
    "slices.max_conditions": ({}, 2),
    "slices.min_support": ({}, 0.05),
    "slices.bins": ({}, 4),
    "slices.fdr": ({}, 0.05),
    "slices.max_difference": ({}, 0.1),
    "local_bias.group": ({"local_bias": LOCAL}, "sex"),
    "local_bias.embeddings": ({"local_bias": LOCAL}, ["age"]),
    "local_bias.texts": ({"local_bias": LOCAL}, "comment"),
    "local_bias.words_by": ({"local_bias": LOCAL}, "lda"),
    "local_bias.places": ({"local_bias": LOCAL}, "town"),
    "local_bias.describe_by": ({"local_bias": LOCAL}, ["age"]),
    "local_bias.metric": ({"local_bias": LOCAL}, "tpr"),
    "local_bias.n_clusters": ({"local_bias": LOCAL}, 5),
    "local_bias.weight": ({"local_bias": LOCAL}, 0.0),
    "local_bias.min_group_size": ({"local_bias": LOCAL}, 10),
    "local_bias.max_gap": ({"local_bias": LOCAL}, 0.1),
    "mitigation.group": ({"mitigation": THRESHOLDS}, "sex"),
    "mitigation.score": ({"mitigation": THRESHOLDS}, "chance"),
    "mitigation.constraint": ({"mitigation": THRESHOLDS}, "demographic_parity"),
    "mitigation.tolerance": ({"mitigation": THRESHOLDS}, 0.1),
    "mitigation.objective": ({"mitigation": THRESHOLDS}, "balanced_accuracy"),
    "mitigation.randomized": ({"mitigation": THRESHOLDS}, True),
    "gate": ({}, [{"check": "worst_slice"}]),
    "require": ({}, "majority"),
    "sealed": ({}, "required"),
    "seal": ({}, "loans.seal.json"),
    "looks": ({}, 5),
    "significance.alpha_of_all_looks": ({"looks": 5, "significance": {"alpha": 0.02}}, 0.1),
    "title": ({}, "Loans"),
    "language": ({}, "nl"),
    "pdf": ({}, "whole"),
    "labels": ({}, {"race": {"name": "origin"}}),
    "units": ({}, {"age": "years"}),
    "about": ({}, {"system": "Loans"}),
    "reference": ({}, {"sex": {"f": 52, "m": 48}}),
    "partition_by": (PARTS, {"time": "daily", "start": "2026-01-01"}),
    "inbox": (PARTS, {"folder": "inbox"}),
    "schedule": ({}, "0 6 * * *"),
    "automation": ({"source": {"asset": "warehouse/loans"}}, "eager"),
    "freshness_hours": ({}, 30),
    "pool": ({}, "audits"),
    "keep": ({}, 3),
    "history": ({}, {"drift": 0.1}),
    "notify": ({}, ["${SLACK}"]),
    "notify_from": ({}, "low"),
    "report_url": ({}, "https://reports.example/bias"),
    "large_rows": ({}, 5000),
    "engine": ({}, {"dask": DASK}),
}
OF_LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "cluster": ({}, {"inconclusive": "block", "check": "any_cluster", "max_difference": 0.1}),
    "metric": (
        {"metric": "disparate_impact", "facet": "sex", "min": 0.7},
        {"inconclusive": "block", "metric": "equalized_odds_ratio", "facet": "race", "min": 0.8, "max": 1.25,
         "rule": "point"},
    ),
    "numeric_metric": (
        {"metric": "mean_error", "facet": "sex", "max": 3.0},
        {"inconclusive": "block", "metric": "mean_outcome", "facet": "race", "min": 1.0, "max": 4.0, "rule": "point"},
    ),
    "worst_group": (
        {"check": "worst_group"},
        {"inconclusive": "block", "check": "declared_group", "max_difference": 0.1, "min_share": 0.1,
         "ruled_out_from": 0.1, "of": "remaining", "facet": "sex"},
    ),
    "slice": ({"check": "worst_slice"}, {"inconclusive": "block", "check": "worst_slice", "max_difference": 0.1}),
    "local_bias": ({"check": "local_bias"}, {"inconclusive": "block", "check": "local_bias", "max_gap": 0.1}),
    "four_fifths": ({"check": "four_fifths"}, {"inconclusive": "block", "check": "four_fifths", "facet": "sex"}),
}  # fmt: skip
NEEDED: dict[str, dict[str, Any]] = {
    "local_bias": {"local_bias": LOCAL},
    "four_fifths": {"favourable": "positive"},
    "numeric_metric": {"groups": NUMBERS},
    "metric": {"favourable": "positive"},
}
ONE_VALUE = {"slice.check", "local_bias.check", "four_fifths.check"}
WHOLE = ("about", "engine", "history", "inbox", "partition_by")
"""Sections of which nothing is in a plan; what "engine" decides, the division of rows has."""


def keys_of(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Every key of a specification, with the sections above it."""
    for key, info in model.model_fields.items():
        parts = typing.get_args(info.annotation) if isinstance(info.annotation, types.UnionType) else [info.annotation]
        inner = [one for one in parts if isinstance(one, type) and issubclass(one, BaseModel)]
        if inner and not path and key in WHOLE:
            inner = []
        if not inner or key == "join":
            yield f"{path}{key}"
        for one in inner:
            yield from keys_of(one, f"{path}{key}.")


def with_key(plain: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    return {**plain, first: with_key(dict(plain.get(first) or {}), rest, value) if rest else value}


def is_nothing(path: str) -> bool:
    section, _, key = path.rpartition(".")
    return key in DECIDES_NOTHING.get(section, ())


def test_no_key_is_forgotten() -> None:
    assert set(VARIANTS) == set(keys_of(AuditSpec))
    assert set(OF_LIMITS) == set(KINDS_OF_LIMIT)


def test_what_decides_nothing_or_stands_elsewhere_is_a_key() -> None:
    known = {*keys_of(AuditSpec)}
    for section, keys in (*DECIDES_NOTHING.items(), *FOLDED.items()):
        assert {f"{section}.{key}".lstrip(".") for key in keys} <= known


@pytest.mark.parametrize("path", VARIANTS)
def test_every_key_decides_something_or_is_named_as_one_that_does_not(path: str) -> None:
    needed, value = VARIANTS[path]
    base = BASE | needed
    one, other = parse_spec(base), parse_spec(with_key(base, path, value))
    assert one != other
    if path == "engine":  # where rows are in files they are divided by hash
        assert [what for what, (a, b) in differing(one, other).items() if a != b] == ["split"]
    else:
        assert (plan_digest(one) == plan_digest(other)) == is_nothing(path)


def differing(one: AuditSpec, other: AuditSpec) -> dict[str, tuple[Any, Any]]:
    a, b = plan_of(one), plan_of(other)
    return {key: (a[key], b[key]) for key in a if a[key] != b[key]}


@pytest.mark.parametrize("kind", OF_LIMITS)
def test_every_key_of_a_limit_decides_something(kind: str) -> None:
    limit, changed = OF_LIMITS[kind]
    assert set(changed) == set(KINDS_OF_LIMIT[kind].model_fields)
    base = BASE | NEEDED.get(kind, {})
    before = parse_spec(base | {"gate": [limit]})
    for key, value in changed.items():
        more = {"check": "declared_group"} if key == "facet" and kind == "worst_group" else {}
        after = parse_spec(base | {"gate": [limit | more | {key: value}]})
        assert after.gate[0].kind == kind
        assert (plan_digest(before) == plan_digest(after)) == (f"{kind}.{key}" in ONE_VALUE), key
        assert bool(changes_between(plan_of(before), plan_of(after))) == (f"{kind}.{key}" not in ONE_VALUE)


@pytest.mark.parametrize("path", [one for one in VARIANTS if not is_nothing(one)])
def test_every_change_is_said_in_both_languages(path: str) -> None:
    needed, value = VARIANTS[path]
    base = BASE | needed
    plans = [plan_of(parse_spec(one)) for one in (base, with_key(base, path, value))]
    for before, after in (plans, plans[::-1]):
        told = changes_between(before, after)
        assert told
        assert all(sayings("nl")(one) != one for one in told), told
        assert not changes_between(after, after)


def test_a_file_and_keywords_give_the_same_plan(tmp_path: Path) -> None:
    written = {
        **BASE,
        "bias_variable": {"label": "repaid", "derive": "error", "prediction": "granted", "better": "lower"},
        "gate": [{"check": "worst_group"}, {"metric": "disparate_impact", "facet": "sex", "min": 0.8}],
        "favourable": "positive",
        "groups": {"label": "repaid", "facets": ["race", "sex"]},
        "slices": {"max_difference": 0.1, "columns": ["age", "town"]},
        "features": {"exclude": ["id"], "leaks": ["paid_at"]},
        "worst_groups": {"min_share": 0.01},
    }
    keys = {
        "label": "repaid",
        "prediction": "granted",
        "protected": ["race", "sex"],
        "legitimate": [{"column": "income", "because": "it has to be paid back"}],
        "gate": [
            {"check": "worst_slice", "max_difference": 0.1},
            {"metric": "DI", "facet": ["sex"], "min": 0.8, "rule": "interval"},
            {},
        ],
        "favourable": "positive",
        "groups": {"facets": [["sex"], "race"]},
        "slices": {"columns": ["town", "age"]},
        "features": {"exclude": ["paid_at", "id"]},
    }
    keys["gate"][2] = {"check": "worst_group", "inconclusive": "warn"}
    file = tmp_path / "loans.yaml"
    file.write_text(yaml.safe_dump(written), encoding="utf-8")
    assert plan_of(load_spec(file)) == plan_of(spec_of_keywords(keys))
    assert plan_digest(load_spec(file)) == plan_digest(spec_of_keywords(keys))


@pytest.mark.parametrize("path", VARIANTS)
def test_what_was_stored_has_the_plan_of_what_was_written(path: str) -> None:
    needed, value = VARIANTS[path]
    spec = parse_spec(with_key(BASE | needed, path, value))
    assert plan_of(parse_spec({**spec.to_dict(), "notify": []})) == plan_of(spec)


def test_an_order_that_means_something_is_kept() -> None:
    groups = {"facets": [["sex", "race"]], "reference": ["m", "white"]}
    other = groups | {"reference": ["white", "m"]}
    assert plan_digest(parse_spec(BASE | {"groups": groups})) != plan_digest(parse_spec(BASE | {"groups": other}))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("legitimate", "The order was changed of income and age."),
        ("worst_groups", 'Settings of the search for the worst-treated groups were changed: "columns".'),
    ],
)
def test_an_order_by_which_other_numbers_are_drawn_is_part_of_the_plan(key: str, told: str) -> None:
    values: list[Any] = [["age", "income"], ["income", "age"]]
    before, after = (
        plan_of(parse_spec(BASE | {key: one if key == "legitimate" else {"columns": one}})) for one in values
    )
    assert changes_between(before, after) == (told,)


def test_two_limits_alike_are_two_where_a_majority_counts() -> None:
    one, two = (parse_spec(BASE | {"require": "majority", "gate": [{"check": "worst_slice"}] * n}) for n in (1, 2))
    assert changes_between(plan_of(one), plan_of(two)) == ("A limit on the intersections was added.",)


def test_what_decides_most_is_said_first() -> None:
    changed = {
        "features": {"include": ["age"]},
        "protected": ["race"],
        "legitimate": [],
        "clustering": None,
        "slices": {"bins": 4},
        "split": {"random_state": 7, "test_size": 0.3},
        "significance": {"alpha": 0.1},
        "missing": "drop",
        "gate": [
            {"metric": "equalized_odds_difference", "facet": "race", "max": 0.1},
            {"check": "worst_group", "max_difference": 0.2, "min_share": 0.02},
        ],
        "require": "majority",
    }
    before = parse_spec(BASE | {"gate": [{"check": "worst_group", "max_difference": 0.05}, {"check": "worst_slice"}]})
    told = changes_between(plan_of(before), plan_of(parse_spec(BASE | changed)))
    assert told == (
        "The limit on the worst group was moved from 5 to 20 of 100.",
        "The limit on the intersections was taken out.",
        "A limit on equalized_odds_difference by race was added.",
        "The share of the people from which on the limit on the worst group judges groups was moved from the default "
        "to 2 of 100.",
        "More than half of the limits must hold now; before, all of them had to.",
        "The level of the tests was changed from 0.05 to 0.1.",
        "Taken out of the protected columns: sex.",
        "People are no longer compared with people alike in income.",
        "The features are listed now: age. Before, every column without another role was one.",
        "Switched off: the search for clusters.",
        'Settings of the search for intersections were changed: "bins".',
        '"split.test_size" was changed from 0.2 to 0.3.',
        "The seed was changed from 42 to 7.",
        '"missing" was changed.',
    )
    assert sayings("nl")(told[0]) == "De grens voor de slechtste groep is verlegd van 5 naar 20 op de 100."


@pytest.mark.parametrize(
    ("bias", "limit", "expected"),
    [
        (
            {"column": "days"},
            {"check": "worst_group", "max_difference": [2, 8]},
            "the worst group was moved from 2 to 8",
        ),
        ({"column": "days"}, {"check": "local_bias", "max_gap": [0.05, 0.2]}, "clusters was moved from 5 to 20 of 100"),
        (
            BASE["bias_variable"],
            {"metric": "DI", "facet": "sex", "min": [0.8, 0.6]},
            "on DI by sex was moved from 0.8 to",
        ),
    ],
)
def test_a_limit_is_said_in_its_own_unit(bias: dict[str, Any], limit: dict[str, Any], expected: str) -> None:
    outcomes = {"groups": {"label": "repaid", "prediction": "granted"}, "local_bias": LOCAL, "favourable": "positive"}
    (key, ends) = next((key, value) for key, value in limit.items() if isinstance(value, list))
    before, after = (
        plan_of(parse_spec(BASE | outcomes | {"bias_variable": bias, "gate": [limit | {key: end}]})) for end in ends
    )
    (told,) = changes_between(before, after)
    assert expected in told


def test_the_same_data_has_the_same_bytes_and_another_has_others(tmp_path: Path) -> None:
    assert canonical_bytes({"b": "é", "a": [1, 0.1]}) == '{"a":[1,0.1],"b":"é"}'.encode()
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_bytes(float("nan"))
    file = tmp_path / "plan.json"
    file.write_bytes(canonical_bytes({"a": 1}))
    assert digest_of_file(file) == digest({"a": 1})
    with pytest.raises(SourceError, match=r"none\.json cannot be read: No such file"):
        digest_of_file(tmp_path / "none.json")
