"""Whether a score is right for everybody: beside NumPy, SciPy and scikit-learn, from the specification to the page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve

from bdt_core import audit, find_miscalibrated_groups
from bdt_core.calibration import Calibration
from bdt_core.calibration.audited import measure_calibration
from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import bias_metrics, count_rows, metrics_from_counts
from bdt_core.fairness.score_metrics import gap_limits
from bdt_core.report import render_markdown
from bdt_core.report.publication import for_publication
from bdt_core.spec import WorstGroupLimit, parse_spec
from bdt_core.table.validate import validate
from bdt_core.verdict.calibration import judge_calibration
from tests.core.tables_in_blocks import TableInBlocks


def drawn(n: int = 4_000, seed: int = 3, off: float = 0.25) -> pd.DataFrame:
    """The score is too low for the young of the city, by a quarter."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "region": rng.choice(["city", "land"], n),
            "sex": rng.choice(["f", "m"], n),
            "score": rng.beta(2.0, 4.0, n),
        }
    )
    inside = (frame["age"] < 33) & (frame["region"] == "city")
    frame["repaid"] = (rng.random(n) < frame["score"] + off * inside).astype(int)
    frame["granted"] = (frame["score"] > 0.4).astype(int)
    return frame


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return drawn()


SPEC: dict[str, Any] = {
    "name": "loans", "source": {"path": "loans.csv"}, "protected": ["sex", "region"], "clustering": None,
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"}, "slices": None,
    "groups": {"score": "score"}, "worst_groups": {"permutations": 79}, "characteristics": [],
}  # fmt: skip


def found(frame: pd.DataFrame, **keys: Any) -> Calibration:
    keys = {"permutations": 79} | keys
    return find_miscalibrated_groups(frame.drop(columns="granted"), label="repaid", score="score", **keys)


@pytest.fixture(scope="module")
def told(people: pd.DataFrame) -> Any:
    limits = [
        {"check": "worst_group", "of": "calibration", "max_difference": 0.05},
        {"check": "worst_group", "of": "calibration", "max_difference": 0.9},
        {"metric": "calibration_gap", "facet": "region", "max": 0.03},
        {"metric": "calibration_gap", "facet": "region", "max": 0.5},
    ]
    return audit(people, spec=SPEC | {"gate": limits})


def test_the_planted_group_comes_first_with_its_figures_by_hand(people: pd.DataFrame) -> None:
    calibration = found(people)
    first = calibration.groups[0]
    assert (first.words, first.way) == ("age up to 32 and region is city", "too low")
    inside = first.members(people)
    y, s = people["repaid"][inside], people["score"][inside]
    assert first.rows == inside.sum()
    assert first.mean_score == pytest.approx(s.mean())
    assert first.share_positive == pytest.approx(y.mean())
    assert first.gap == pytest.approx((y - s).mean())
    assert first.low is not None
    assert first.high is not None
    assert 0.0 < first.low < 0.25 < first.high
    assert first.at_least == first.low
    everybody = calibration.everybody
    assert everybody is not None
    residual = people["repaid"] - people["score"]
    low, high = stats.t.interval(0.95, len(residual) - 1, residual.mean(), residual.sem())
    assert everybody.low <= low + 1e-12
    assert everybody.high >= high - 1e-12
    assert everybody.high - everybody.low < 1.2 * (high - low)


def test_nobody_is_named_for_whom_the_score_is_right_only_because_it_is_wrong_for_others(people: pd.DataFrame) -> None:
    assert [one.way for one in found(people).groups] == ["too low"]
    high = people.assign(repaid=1 - people["repaid"], score=1 - people["score"])
    assert [(one.words, one.way) for one in found(high).groups] == [("age up to 32 and region is city", "too high")]


def test_what_is_ruled_out_lies_above_the_truth_and_falls_with_the_share(people: pd.DataFrame) -> None:
    calibration = found(people)
    bounds = [one.largest_difference for one in calibration.ruled_out]
    assert bounds == sorted(bounds, reverse=True)
    assert calibration.certificate(0.1).largest_difference > 0.25
    assert calibration.certificate(0.1).confirmed_difference == calibration.groups[0].at_least
    assert calibration.certificate(0.001) is calibration.ruled_out[0]
    right = found(drawn(off=0.0))
    assert right.groups == ()
    assert right.certificate(0.5).largest_difference < 0.06


def test_the_order_of_rows_and_the_names_of_labels_do_not_matter(people: pd.DataFrame) -> None:
    few = people.head(1_500)
    plain = found(few)
    assert found(few.sample(frac=1.0, random_state=1)) == plain
    named = few.assign(repaid=few["repaid"].map({0: "no", 1: "yes"}))
    assert found(named, positive="yes") == plain
    assert found(few.assign(repaid=few["repaid"].astype(float)), positive=[1]) == plain


def test_copies_of_persons_do_not_make_it_surer(people: pd.DataFrame) -> None:
    few = people.head(1_000)
    copies = pd.concat([few.assign(person=few.index)] * 3, ignore_index=True)
    with_key, alone = found(copies, key="person"), found(few)
    assert (with_key.rows, with_key.key) == (3_000, "person")
    one, other = with_key.everybody, alone.everybody
    assert one is not None
    assert other is not None
    assert one.gap == pytest.approx(other.gap)
    assert one.high - one.low == pytest.approx(other.high - other.low, rel=0.02)
    assert with_key.certificate(0.2).largest_difference == pytest.approx(
        alone.certificate(0.2).largest_difference, abs=0.03
    )


def test_what_cannot_be_searched_says_why(people: pd.DataFrame) -> None:
    points = found(people.assign(score=10 * people["score"]))
    assert points.reason == "score is no chance: it is not always from 0 to 1"
    assert (points.everybody, points.groups, points.ruled_out, points.certificate(0.1)) == (None, (), (), None)
    assert found(people.assign(score=np.nan)).reason == "no row has a label and a score"
    alone = find_miscalibrated_groups(people[["repaid", "score"]], label="repaid", score="score")
    assert alone.reason == "no column is left to search"
    assert alone.everybody is not None
    with pytest.raises(DataError, match='no column "scor"'):
        find_miscalibrated_groups(people, label="repaid", score="scor")


def test_it_can_be_looked_at_and_kept(people: pd.DataFrame) -> None:
    calibration = found(people.assign(score=people["score"].where(people.index % 100 > 0)))
    assert calibration.left_out == 40
    assert Calibration.from_dict(calibration.to_dict()) == calibration
    frame = calibration.to_frame()
    assert frame["by"].tolist() == ["everybody", "search"]
    assert frame["gap"].tolist()[1] == calibration.groups[0].gap
    assert "off for sure for 1 groups" in repr(calibration)


def test_the_gap_of_declared_groups_is_the_metric_and_curves_are_those_of_scikit_learn(
    people: pd.DataFrame, told: Any
) -> None:
    metric = told.groups["region"]["calibration_gap"]
    (facet,) = (one for one in told.calibration.facets if one.columns == ("region",))
    for place, (group, level) in enumerate(zip(facet.groups, ["city", "land"], strict=True)):
        own = people[people["region"] == level]
        assert group.gap == metric.estimate[place] == pytest.approx((own["repaid"] - own["score"]).mean(), abs=1e-7)
        assert (group.low, group.high) == (metric.together_low[place], metric.together_high[place])
        share, mean = calibration_curve(own["repaid"], own["score"], n_bins=10)
        counts = np.histogram(own["score"], np.linspace(0, 1, 11))[0]
        enough = counts[counts > 0] >= 30
        assert [one.rows for one in group.bins] == counts[counts >= 30].tolist()
        assert [one.share_positive for one in group.bins] == pytest.approx(share[enough].tolist())
        assert [one.mean_score for one in group.bins] == pytest.approx(mean[enough].tolist(), abs=1e-7)
        for one in group.bins:
            assert one.low < one.share_positive < one.high


def test_counts_of_parts_add_up_to_the_same_gap(people: pd.DataFrame) -> None:
    whole = count_rows(people, ["sex"], label="repaid", score="score")
    parts = [count_rows(people[people.index % 3 == k], ["sex"], label="repaid", score="score") for k in range(3)]
    together = metrics_from_counts(parts[2] + parts[0] + parts[1], positive=1)
    assert together["calibration_gap"] == metrics_from_counts(whole, positive=1)["calibration_gap"]
    direct = bias_metrics(people["repaid"], None, groups=people["sex"], score=people["score"])
    assert direct["calibration_gap"]["f"].estimate == together["calibration_gap"]["f"].estimate


def test_the_interval_of_few_positives_is_not_that_of_their_spread() -> None:
    """Of 60 people of whom nobody is positive the residuals hardly differ, and three of 100 may be positive yet."""
    nobody = [np.array([x]) for x in (0.0, 0.01, 1e-6, 60.0)]
    low, high = gap_limits(nobody[0], nobody[1], nobody[2], nobody[3], 1.96)
    assert low[0] == pytest.approx(-0.01, abs=1e-3)
    assert high[0] == pytest.approx(stats.binomtest(0, 60).proportion_ci(method="wilson").high - 0.01, abs=1e-4)


def test_a_table_in_blocks_is_told_the_same(people: pd.DataFrame) -> None:
    spec = parse_spec(SPEC)
    table = validate(people, spec)
    plain = measure_calibration(table, None, None, spec)
    assert measure_calibration(TableInBlocks(table, (1_000, 2_500)), None, None, spec) == plain
    assert plain.groups[0].words == "age up to 32 and region is city"


def test_limits_are_judged_and_told(told: Any) -> None:
    broken, held, too_far, near = told.document["gate"]
    assert [one["verdict"] for one in (broken, held, too_far, near)] == ["fail", "pass", "fail", "pass"]
    first = told.calibration.groups[0]
    assert (broken["group"], broken["difference"], broken["low"]) == (first.words, first.gap, first.low)
    assert broken["sentence"].startswith(
        f"age up to 32 and region is city ({first.rows} people): the score is too low; it says "
    )
    assert "at most 5.0 points is allowed." in broken["sentence"]
    assert broken["sentence"].endswith(
        "This limit is on the score of any group that up to 4 conditions describe; confidence 95 %, a gap either way "
        "counts."
    )
    assert held["sentence"].startswith("For no group of 5.0 % to 90.0 % of the people that conditions on these")
    assert held["high"] == told.calibration.certificate(0.05).largest_difference
    assert too_far["sentence"].startswith("Calibration gap by region is ")
    assert "between −0.03 and 0.03 is allowed" in too_far["sentence"]


def test_the_report_has_a_section_and_page_1_a_sentence(told: Any) -> None:
    page = render_markdown(told.document)
    assert "The score may be off by 5 of 100, either way, for any group that up to 4 conditions describe." in page
    section = page.partition("Is the score right for everybody?")[2].partition("\n## ")[0]
    assert "Age up to 32 and region is city" in section
    assert "too low" in section
    assert "For no group of at least 10 % of the people" in section
    assert "| Region is city |" in section
    dutch = render_markdown(told.document | {"spec": told.document["spec"] | {"language": "nl"}})
    assert "Klopt de score voor iedereen?" in dutch
    assert "De score mag er 5 op de 100 naast zitten" in dutch


def test_a_form_for_publication_has_no_group_of_the_score(told: Any) -> None:
    published = for_publication(told.document)
    assert published.get("calibration") is None
    broken = published["gate"][0]
    assert (broken["group"], broken["difference"], broken["low"]) == (None, None, None)
    assert broken["sentence"].startswith("How far the score is off for any group that conditions describe")


def test_too_few_rows_cannot_tell_and_say_how_many_would(people: pd.DataFrame) -> None:
    limit = {"check": "worst_group", "of": "calibration", "max_difference": 0.2}
    result = audit(drawn(600, off=0.0), spec=SPEC | {"gate": [limit]})
    (judged,) = result.document["gate"]
    assert judged["verdict"] == "inconclusive"
    assert judged["rows_to_settle"] > 600
    assert "The search confirms no group for whom the score is off; " in judged["sentence"]
    assert "rows would tell." in judged["sentence"]


def test_everybody_can_break_a_limit_and_small_groups_are_named_where_they_are_not_judged(told: Any) -> None:
    calibration = told.calibration
    limit = WorstGroupLimit(of="calibration", max_difference=0.1, min_share=0.3)
    small = judge_calibration(limit, calibration)
    assert small.verdict == "inconclusive"
    assert "Not judged, for they are smaller groups, though the score is proven to be off: age up to" in small.sentence
    everybody = replace(calibration.everybody, gap=0.3, low=0.28, high=0.32)
    broken = judge_calibration(limit, replace(calibration, everybody=everybody))
    assert (broken.verdict, broken.group, broken.low) == ("fail", "everybody", 0.28)
    assert judge_calibration(limit, None).verdict == "not_testable"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"groups": {}}, 'none is named: set "groups.score"'),
        (
            {"bias_variable": {"column": "repaid"}, "groups": {"score": "score"}},
            'set "groups.label" \\(or derive the bias_variable from a label\\)',
        ),
    ],
)
def test_a_limit_without_a_score_or_a_label_says_how_to_mend_it(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_spec(SPEC | keys | {"gate": [{"check": "worst_group", "of": "calibration"}]})


def test_declared_groups_have_a_metric_of_their_own() -> None:
    with pytest.raises(SpecError, match="metric: calibration_gap, facet: COLUMN"):
        parse_spec(SPEC | {"gate": [{"check": "declared_group", "of": "calibration"}]})


def test_it_is_asked_for_by_a_score_with_a_label() -> None:
    assert parse_spec(SPEC).asks_calibration
    assert not parse_spec(SPEC | {"worst_groups": None, "gate": []}).asks_calibration
    assert not parse_spec(SPEC | {"groups": {}}).asks_calibration
