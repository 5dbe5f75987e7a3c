"""Limits on people are judged by every confirmed finding of the audit, and say of whom they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core import audit
from bdt_core.errors import SpecError
from bdt_core.report.markdown import render_markdown
from bdt_core.spec import parse_spec
from bdt_core.spec.gate import RULED_OUT_FROM
from bdt_core.verdict import judge_limit
from bdt_core.verdict.kinds import kind_named

QUICK: dict[str, Any] = {
    "name": "fines", "clustering": {"stability": 0, "n_init": 1}, "slices": None, "worst_groups": {"permutations": 79},
    "split": {"repeats": 1},
}  # fmt: skip


def people(n: int = 5_000) -> pd.DataFrame:
    """Women in the south are fined 40 of 100, others 15; nobody differs by age."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south"], n, p=[0.8, 0.2]),
            "age": rng.integers(18, 80, n),
        }
    )
    harmed = (frame.sex == "f") & (frame.region == "south")
    return frame.assign(fined=(rng.random(n) < np.where(harmed, 0.40, 0.15)).astype(int))


def judged(frame: pd.DataFrame, **changes: Any) -> Any:
    return audit(frame, outcome="fined", better="lower", **QUICK | changes)


@pytest.mark.parametrize(
    ("limit", "changes"),
    [
        ({"check": "worst_cluster"}, {}),
        ({"check": "any_cluster"}, {}),
        ({"check": "worst_slice"}, {"slices": {"columns": ["age"], "max_conditions": 1}}),
    ],
)
def test_a_confirmed_finding_beyond_a_limit_breaks_it_whichever_search_made_it(
    limit: dict[str, Any], changes: dict[str, Any]
) -> None:
    result = judged(people(), gate=[limit | {"max_difference": 0.12}], features={"include": ["age"]},
                    protected=["sex", "region"], **changes)  # fmt: skip
    (found,) = result.gate.limits
    assert found.verdict == "fail"
    assert found.broken_by.who == result.findings[0].who
    assert found.low == found.broken_by.at_least > 0.12
    assert found.sentence.startswith(f"{found.broken_by.who} (")


def test_a_pass_is_none_where_a_confirmed_finding_was_found_beyond_the_limit() -> None:
    first = judged(people()).findings[0]
    between = (first.at_least + first.as_found) / 2
    limit = {"check": "worst_cluster", "max_difference": between}
    (found,) = judged(people(), gate=[limit], features={"include": ["age"]}, protected=["sex", "region"]).gate.limits
    assert found.verdict == "inconclusive"
    assert "Yet it was found to be more for people who are confirmed to fare worse: " in found.sentence


def test_a_limit_names_proven_groups_that_are_too_small_for_it() -> None:
    limit = {"check": "worst_group", "max_difference": 0.15, "min_share": 0.3}
    result = judged(people(), gate=[limit])
    (found,) = result.gate.limits
    assert found.verdict != "fail"
    assert [one.who for one in found.not_judged] == [result.findings[0].who]
    assert "any group of at least 30.0 % of the people that up to 4 conditions describe" in found.sentence
    published = kind_named(found.kind).for_publication(found, "fined", "rate", {})
    assert published.sentence.endswith(
        f"Smaller groups, which it does not judge, are proven to fare worse. {published.scope.sentence}"
    )
    for language, words in (("en", "of at least 30 of 100 people"), ("nl", "van minstens 30 op de 100 mensen")):
        page = render_markdown(result.document | {"spec": result.document["spec"] | {"language": language}})
        assert words in page.partition("\n# ")[0]
        assert ("Not judged by this limit" if language == "en" else "Niet beoordeeld door deze grens") in page


def test_the_scope_has_share_conditions_confidence_and_direction() -> None:
    (found,) = judged(people(2_000), gate=[{"check": "worst_group", "max_difference": 0.3}], alpha=0.1).gate.limits
    scope = found.scope
    assert (scope.people, scope.conditions, scope.min_share, scope.confidence) == ("groups", 4, None, 0.9)
    assert (scope.better, scope.default, scope.width, scope.of) == ("lower", False, "wide", "raw")
    assert found.sentence.endswith("; confidence 90 %, higher is worse. It is unusually wide.")


def test_raw_and_remaining_differences_are_limited_each() -> None:
    gate = [{"check": "worst_group", "max_difference": 0.1, "of": one} for one in ("raw", "remaining")]
    result = judged(people(20_000), gate=gate, legitimate=["sex", "region"])
    raw, remaining = result.gate.limits
    assert (raw.verdict, raw.scope.alike) == ("fail", ())
    assert (remaining.verdict, remaining.scope.alike) != ("fail", ("sex", "region"))
    assert "compared with people alike in sex and region" in remaining.sentence
    assert "compared with everybody else" in raw.sentence
    searched = result.worst_groups
    for limit, of_it in ((raw, searched.raw), (remaining, searched)):
        ruled_out = of_it.ruled_out(RULED_OUT_FROM)
        assert limit.scope.ruled_out_from == ruled_out.min_share
        assert limit.high == max(ruled_out.largest_difference, limit.low)


@pytest.mark.parametrize(
    ("before", "than"),
    [
        (0, "than everybody else by 30.0"),
        (1, "than people alike in the group found before by"),
        (2, "groups found before by"),
    ],
)
def test_whom_people_are_compared_with_who_break_a_limit(before: int, than: str) -> None:
    result = judged(people(), gate=[{"check": "worst_cluster", "max_difference": 0.12}], features={"include": ["age"]},
                    protected=["sex", "region"])  # fmt: skip
    (one,) = [one for one in result.ranked.confirmed if one.who == result.gate.limits[0].broken_by.who]
    later = replace(one, groups_before=before, difference=0.3, low=0.29, high=0.31)
    ranked = replace(result.ranked, confirmed=(later,), at_first_sight=())
    (limit,) = result.clusters.spec.limits
    assert than in judge_limit(limit, replace(result, ranked=ranked)).sentence


def test_no_limit_is_a_verdict_of_its_own() -> None:
    result = judged(people(1_000), gate=[])
    assert result.verdict == "no_limit"
    assert not result.gate.blocks
    assert "No limit was set" in render_markdown(result.document)


def test_over_a_broken_limit_a_majority_is_no_plain_yes() -> None:
    free = {"check": "worst_group", "max_difference": 0.95}
    gate = [{"check": "worst_group", "max_difference": 0.1}, free, free | {"max_difference": 0.96}]
    result = judged(people(), gate=gate, require="majority")
    assert result.verdict == "pass"
    assert f"Broken: {result.findings[0].who}." in result.gate.sentence
    page = render_markdown(result.document).partition("\n# ")[0]
    assert "Kept by majority only" in page
    assert page.count("It is so wide that hardly any data could break it.") == 2


def test_a_protected_factor_needs_a_reason_and_the_reason_is_printed() -> None:
    with pytest.raises(SpecError, match=r'"legitimate" names the protected column "sex".*because'):
        judged(people(1_000), protected=["sex"], legitimate=["sex"])
    because = [{"column": "sex", "because": "the law asks for it"}]
    result = judged(people(1_000), protected=["sex"], legitimate=because)
    assert result.document["spec"]["legitimate"] == because
    assert "The law asks for it." in render_markdown(result.document).partition("\n# ")[0]


def test_what_nobody_set_is_the_tools_own() -> None:
    page = render_markdown(judged(people()).document).partition("\n# ")[0]
    assert "larger than the 5 of 100 that this tool takes when nobody has set a limit" in page
    page = render_markdown(judged(people(), gate=[{"check": "worst_group", "max_difference": 0.05}]).document)
    assert "larger than was agreed" in page.partition("\n# ")[0]


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ({"check": "worst_group", "of": "raw"}, "add legitimate"),
        ({"check": "declared_group"}, "no group is declared"),
        ({"check": "worst_group", "facet": "sex"}, "declared_group"),
        ({"check": "declared_group", "of": "remaining"}, "worst_group"),
    ],
)
def test_keys_that_do_not_fit_are_named(gate: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_spec({"name": "a", "source": {"path": "a.csv"}, "bias_variable": {"column": "y"}, "gate": [gate]})
