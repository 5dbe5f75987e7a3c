"""More columns than are searched: the first ones are, and every way in says how many are left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.proposal import look_at, propose, proposed, with_proposed_roles
from bdt_core.report import render_markdown
from bdt_core.spec import Source, parse_spec
from bdt_core.spec.audit_spec import MOST_FEATURES
from bdt_core.table.validate import validate
from tests.core.joined.made_tables import harmed, quick_audit

FAR_AWAY = ["x0", "x1", "kind"]


def roles(result: object) -> dict[str, str]:
    """Part that each column of an audit played."""
    return {one["name"]: one["role"] for one in result.document["data"]["columns"]}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("at_most", "left_out"), [(1, ["x1", "kind"]), (2, ["kind"]), (3, [])])
def test_the_first_columns_are_searched(at_most: int, left_out: list[str]) -> None:
    result = quick_audit(harmed(), features={"at_most": at_most})
    assert [name for name, role in roles(result).items() if role == "unused"] == left_out
    said = [one for one in result.document["warnings"] if "features.at_most" in one]
    assert len(said) == bool(left_out)
    for sentence in said:
        assert sentence.startswith(f"{len(left_out)} of the 4 columns are not searched, only the first {at_most} ")
        assert sentence.split(",")[0] in " ".join(render_markdown(result.document).split())


def test_who_is_worse_off_by_a_column_too_many_is_not_found() -> None:
    table = harmed(harm=0.4)[["x1", "kind", "x0", "y"]]
    assert quick_audit(table, features={"at_most": 2}).document["worst_groups"]["groups"] == []
    named = quick_audit(table, features={"at_most": 2, "include": ["kind", "x1", "x0"]})
    for found in (named, quick_audit(table, features={"at_most": 3})):
        (group, *_) = found.document["worst_groups"]["groups"]
        assert [one["column"] for one in group["conditions"]] == ["x0"]
    assert not [one for one in named.document["warnings"] if "features.at_most" in one]


def test_what_is_used_otherwise_does_not_count() -> None:
    table = harmed().assign(nr=np.arange(2400))[["nr", *FAR_AWAY, "y"]]
    result = quick_audit(table, features={"at_most": 2, "exclude": ["nr"]}, protected=["x0"])
    assert roles(result) == {
        "nr": "unused", "x0": "protected", "x1": "feature", "kind": "feature", "y": "bias_variable",
    }  # fmt: skip
    assert not [one for one in result.document["warnings"] if "features.at_most" in one]


def wide(columns: int) -> pd.DataFrame:
    """A number for each row, columns of numbers, and at the end two that say what they are."""
    rng = np.random.default_rng(3)
    numbers = pd.DataFrame(rng.integers(0, 50, (400, columns)), columns=[f"f{i}" for i in range(columns)])
    people = {"sex": rng.choice(["man", "woman"], 400), "refused": rng.integers(0, 2, 400)}
    return pd.concat([pd.DataFrame({"nr": np.arange(400)}), numbers, pd.DataFrame(people)], axis="columns")


def test_of_a_wide_table_a_part_is_looked_at_by_every_way_in(tmp_path: Path) -> None:
    table = wide(700)
    file = tmp_path / "wide.csv"
    table.to_csv(file, index=False)
    found = propose(Source(path=str(file)))
    assert found.measured.columns == ("refused",)
    assert [one.name for one in found.of_role("protected")] == ["sex"]
    assert [one.name for one in found.of_role("feature")] == [f"f{i}" for i in range(MOST_FEATURES)]
    said = f"{700 - MOST_FEATURES} of the 703 columns are not searched, only the first {MOST_FEATURES} "
    assert [one for one in found.doubts if one.startswith(said)]
    assert propose(table).columns == found.columns
    keys = found.specification("wide", {"path": str(file)})
    assert keys["features"]["exclude"] == ["nr"]
    validated = validate(table, parse_spec(keys))
    assert validated.names("feature") == [f"f{i}" for i in range(MOST_FEATURES)]
    assert [one for one in validated.warnings if one.startswith(said)]


def test_an_outcome_that_is_named_is_looked_at_wherever_it_stands() -> None:
    table = wide(700)
    table["f650"] = table.pop("refused")
    result = audit(
        table, outcome="f650", better="lower", clustering=None, slices=None, worst_groups={"permutations": 39}
    )
    assert roles(result)["f650"] == "bias_variable"
    assert (roles(result)["nr"], roles(result)["sex"]) == ("unused", "protected")


def test_roles_that_are_filled_in_follow_the_key() -> None:
    asked = parse_spec({"name": "wide", "source": {"path": "x.csv"}, "bias_variable": {"column": "refused"},
                        "features": {"at_most": 300}})  # fmt: skip
    spec, proposal = with_proposed_roles(asked, wide(350))
    assert proposal is not None
    assert spec.features.at_most == 300
    assert [one.name for one in proposal.of_role("feature")] == [f"f{i}" for i in range(300)]
    assert [one for one in proposal.doubts if one.startswith("50 of the 353 columns are not searched")]


def test_what_is_set_aside_makes_room_for_the_next_column() -> None:
    """A column that says the outcome is no feature; what the proposal names as features is what the audit searches."""
    table = wide(300)
    table["f3"] = table["refused"] * 40 + table["f3"] % 3
    found = propose(table)
    features = [f"f{i}" for i in range(MOST_FEATURES + 1) if i != 3]
    assert [one.name for one in found.of_role("feature")] == features
    said = [one for one in found.doubts if "features.at_most" in one]
    assert [one.split(",")[0] for one in said] == ["49 of the 303 columns are not searched"]
    result = audit(
        table, outcome="refused", better="lower", clustering=None, slices=None, worst_groups={"permutations": 39}
    )
    assert [name for name, role in roles(result).items() if role == "feature"] == features
    assert said[0] in result.document["warnings"]


def test_a_column_that_a_person_names_is_a_feature_wherever_it_stands() -> None:
    seen = look_at(wide(300))
    features = [one.name for one in proposed(seen, roles={"f299": "feature"}).of_role("feature")]
    assert features == [*(f"f{i}" for i in range(MOST_FEATURES)), "f299"]


@pytest.mark.parametrize(("at_most", "looks"), [(1, 500), (300, 600)])
def test_more_is_looked_at_where_more_is_asked_for(at_most: int, looks: int) -> None:
    assert len(look_at(wide(700), at_most=at_most).columns) == looks + 2  # and the two that say what they are
