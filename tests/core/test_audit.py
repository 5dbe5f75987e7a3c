"""The whole audit on real data."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.clustering.clusters import Clusters
from bdt_core.errors import BDTError
from bdt_core.report.write import canonical_json
from bdt_core.significance.clusters import ClusterSignificance
from bdt_core.significance.features import FeatureDifferences
from bdt_core.spec import parse_spec
from bdt_core.stages import Stages, titles_of
from bdt_core.table.sources import read_table

COMPAS = {
    "name": "compas",
    "source": {"path": "demo:compas"},
    "bias_variable": {"derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"},
    "features": {"include": ["age", "priors_count", "juv_fel_count", "juv_misd_count", "c_charge_degree"]},
    "protected": ["race", "sex"],
    "clustering": {"stability": 2},
    "worst_groups": {"permutations": 39},
}
QUICK = {**COMPAS, "clustering": {"stability": 0}, "split": {"repeats": 1}}


@pytest.fixture(scope="module")
def told():
    """What the audit below told of its progress: stage, done, and of how many."""
    return []


@pytest.fixture(scope="module")
def result(told):
    return audit(None, COMPAS, progress=lambda stage, done, total: told.append((stage, done, total)))


def test_the_most_deviating_cluster_of_compas_is_proven_and_stands_in_for_race(result):
    assert result.verdict == "fail"
    first = result.document["clusters"][0]
    assert first["significant"]
    assert first["worse"]
    assert first["comparison"]["difference"] > 0.3
    proxies = {(one["column"], one["level"]): one for one in result.document["proxies"]}
    assert proxies["race", "African-American"]["significant"]
    assert "priors_count" in result.document["summary"]["cluster"]


def test_the_numbers_are_those_of_the_rows(result):
    labels = result.clusters.predict(result.test)
    for one in result.document["clusters"]:
        inside = labels == one["cluster"]
        assert one["test_rows"] == inside.sum()
        if one["test_mean"] is not None:
            assert one["test_mean"] == pytest.approx(result.test.y[inside].mean())
            assert one["comparison"]["mean_b"] == pytest.approx(result.test.y[~inside].mean())
    assert sum(one["test_rows"] for one in result.document["clusters"]) == len(result.test.y)
    race = next(one for one in result.document["differences"]["features"] if one["column"] == "race")
    share = (result.test.audited["race"][labels == 0] == "African-American").mean()
    level = next(one for one in race["levels"] if one["level"] == "African-American")
    assert level["share_cluster"] == pytest.approx(share)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The document of a small audit of a file, which takes the place of the source."""
    file = tmp_path_factory.mktemp("compas") / "again.csv"
    read_table("demo:compas").to_csv(file, index=False)
    return audit(file, QUICK).document


def test_rows_in_another_order_give_the_same_bytes(result):
    shuffled = read_table("demo:compas").sample(frac=1, random_state=3)
    assert canonical_json(audit(shuffled, COMPAS).document) == canonical_json(result.document)


def test_another_process_with_other_numbers_of_threads_gives_the_same_bytes(result):
    code = (
        "import sys, json; from bdt_core.audit import audit; from bdt_core.report.write import canonical_json; "
        "sys.stdout.buffer.write(canonical_json(audit(None, json.loads(sys.argv[1])).document).encode())"
    )
    import json

    told = subprocess.run(
        [sys.executable, "-c", code, json.dumps(COMPAS)],
        capture_output=True,
        check=True,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "2",
            "OPENBLAS_NUM_THREADS": "2",
            "NUMBA_NUM_THREADS": "1",
            "PYTHONHASHSEED": "7",
        },
    )
    assert told.stdout.decode() == canonical_json(result.document)


def test_results_come_back_from_plain_data_the_same(result):
    for kind, one in (
        (Clusters, result.clusters),
        (ClusterSignificance, result.significance),
        (FeatureDifferences, result.differences),
    ):
        assert kind.from_dict(one.to_dict()) == one
    again = Clusters.from_dict(result.clusters.to_dict())
    assert np.array_equal(again.predict(result.test), result.clusters.predict(result.test))


def test_progress_names_every_stage_in_order(result, told):
    spec = parse_spec(COMPAS)
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == list(titles_of(spec))
    search = [(done, total) for stage, done, total in told if stage == "find clusters"]
    assert search[-1][0] == search[-1][1]


def test_a_second_real_table_with_missing_values_and_mixed_columns():
    result = audit(
        None,
        {
            "name": "adult",
            "source": {"path": "demo:adult"},
            "bias_variable": {
                "derive": "false_negative_rate",
                "label": "over_50k",
                "prediction": "predicted_over_50k",
            },
            "features": {"exclude": ["probability"]},
            "protected": ["race", "sex"],
            "clustering": {"stability": 0},
            "worst_groups": {"permutations": 39},
        },
    )
    assert result.document["search"]["method"] == "kprototypes"
    assert result.verdict in ("fail", "inconclusive", "pass")
    assert len(result.document["clusters"]) > 2


def test_a_path_takes_the_place_of_the_source(quick):
    assert quick["data"]["source"] == "again.csv"


def test_groups_too_small_to_test_show_no_rates():
    frame = read_table("demo:compas")
    few = {**QUICK, "clustering": {"stability": 0, "min_cluster_size": 0.01}, "worst_groups": None, "slices": None}
    document = audit(frame, few).document
    small = [one for one in document["clusters"] if one["test_rows"] < 30]
    assert small
    for one in small:
        assert one["test_mean"] is None
        assert one["comparison"]["mean_a"] is None
        assert one["comparison"]["mean_b"] is None
        assert one["comparison"]["events_a"] is None
    assert any("Not tested" in one for one in document["warnings"])


def test_the_package_costs_next_to_nothing_to_import():
    code = (
        "import sys; before = set(sys.modules); import bdt_core; "
        "loaded = {one for one in set(sys.modules) - before if one.partition('.')[0] not in sys.stdlib_module_names}; "
        "assert loaded <= {'bdt_core', 'bdt_core.on_demand'}, loaded; "  # and of the standard library
        "import bdt_core.audit; heavy = {'dagster', 'great_expectations', 'matplotlib'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_frame_that_cannot_be_audited_is_refused_with_its_own_words():
    with pytest.raises(BDTError, match="Too few rows"):
        audit(pd.DataFrame({"a": [1, 2], "y": [0, 1]}), {"name": "x", "bias_variable": {"column": "y"}})


def test_levels_of_a_handful_of_people_show_no_shares(quick):
    race = next(one for one in quick["differences"]["features"] if one["column"] == "race")
    rare = next(one for one in race["levels"] if one["level"] == "(rare levels)")
    assert 0 < rare["rows"] < 10
    assert rare["share_cluster"] is None
    assert rare["share_rest"] is None
    assert all(one["rows"] >= 10 for one in race["levels"] if one is not rare)


class OlderThanThirty(Stages):
    """Reads fewer rows, and looks for fewer clusters."""

    def read_table(self, source):
        frame = super().read_table(source)
        return frame[frame["age"] > 30]

    def find_clusters(self, train, settings, progress=None):
        return super().find_clusters(train, settings.model_copy(update={"max_iter": 1}), progress)


def test_a_stage_that_is_replaced_reaches_the_report(result):
    """In Python as in Dagster: the same object, the same methods."""
    found = audit(None, QUICK, stages=OlderThanThirty())
    assert found.document["data"]["rows"] < result.document["data"]["rows"]
    assert len(found.clusters.train) == 2


@pytest.mark.parametrize(
    ("bias_variable", "declared", "kept"),
    [
        ({"column": "is_recid"}, {}, False),
        ({"column": "is_recid"}, {"protected": ["sex"]}, False),
        ({"derive": "error", "label": "is_recid", "prediction": "high_risk"}, {"protected": ["sex"]}, True),
    ],
)
def test_rows_of_the_source_stay_in_memory_where_groups_are_counted_in_them(bias_variable, declared, kept) -> None:
    spec = parse_spec({"name": "a", "source": {"path": "demo:compas"}, "bias_variable": bias_variable, **declared})
    with Stages().open_table(None, spec) as opened:
        assert (opened.source is not None) == kept
        assert opened.table.rows == 7214
