"""Profiling characteristics: does each find what it should, and whom does it burden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from bdt_core.errors import DataError
from bdt_core.fairness import characteristics as module
from bdt_core.fairness.characteristics import Characteristics, judge_characteristics
from bdt_core.inference import compare_counts
from bdt_core.report import render_html
from bdt_core.report.markdown import render_markdown
from bdt_core.spec import parse_spec
from bdt_core.spec.reading import SpecError
from bdt_core.table.validate import validate
from tests.core.joined.made_tables import QUICK, quick_audit
from tests.core.tables_in_blocks import TableInBlocks

SPEC: dict[str, Any] = {
    "name": "checks", "source": {"path": "checks.csv"}, "protected": ["sex", "land"],
    "bias_variable": {"derive": "false_positive_rate", "label": "fraud", "prediction": "checked"},
    "worst_groups": None, "slices": None,
}  # fmt: skip
_NTA = Path("shared") / "data" / "tables" / "nta_simulated.csv.gz"
NTA = next((one / _NTA for one in Path(__file__).parents if (one / _NTA).exists()), None)


def people(rows: int = 6000, seed: int = 1) -> pd.DataFrame:
    """Debts find fraud; living alone finds nothing, is checked all the same, and is what women do more often."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    debts = rng.lognormal(size=rows)
    alone = (rng.random(rows) < np.where(sex == "f", 0.5, 0.2)).astype(int)
    fraud = (rng.random(rows) < np.where(debts > 2, 0.3, 0.1)).astype(int)
    checked = (rng.random(rows) < 0.1 + 0.3 * (debts > 2) + 0.3 * alone).astype(int)
    return pd.DataFrame(
        {
            "sex": sex, "land": rng.choice(list("abc"), rows), "debts": debts, "alone": alone,
            "home": rng.choice(["own", "rent", "none"], rows, p=[0.5, 0.497, 0.003]), "fraud": fraud,
            "checked": checked,
        }
    )  # fmt: skip


def judged(frame: pd.DataFrame, **changes: Any) -> Characteristics:
    spec = parse_spec(SPEC | changes)
    return judge_characteristics(validate(frame, spec), spec)


def by_column(found: Characteristics) -> dict[str, Any]:
    return {one.column: one for one in found.characteristics}


def test_what_finds_and_what_only_burdens_are_told_apart() -> None:
    found = by_column(judged(people()))
    assert set(found) == {"debts", "alone", "home"}
    debts, alone, home = (found[name].strongest for name in ("debts", "alone", "home"))
    assert debts.words.startswith("debts above 1.9")  # the highest quarter
    assert debts.found.significant
    assert debts.found.low < 0.2 < debts.found.high + 0.03
    assert debts.selected.significant
    assert not any(one.relation.significant for one in debts.burdens)
    assert alone.words == "alone is 1"
    assert not alone.found.significant
    assert alone.found.low < 0.0 < alone.found.high
    assert alone.selected.difference == pytest.approx(0.3, abs=0.05)
    assert alone.burdens[0].group == "sex is f"
    assert alone.burdens[0].relation.difference == pytest.approx(0.3, abs=0.05)
    assert alone.burdens[0].relation.significant
    assert len(alone.burdens) == 4  # one of two sexes, three countries
    assert not home.selected.significant
    assert not home.found.significant
    assert [len(found[name].levels) for name in ("debts", "alone", "home")] == [4, 1, 1]


def test_relations_are_those_of_independent_libraries() -> None:
    """Counts by pandas, Newcombe's interval at the corrected level and Holm's correction by statsmodels."""
    frame = people()
    found = by_column(judged(frame))
    edges = np.quantile(frame.debts, [0.25, 0.5, 0.75], method="inverted_cdf")
    sides = [pd.Series(np.searchsorted(edges, frame.debts, side="left") == i) for i in range(4)]
    sides += [frame.alone == 1, frame.home == ("rent" if "rent" in found["home"].strongest.words else "own")]
    tables = [(frame.fraud[one].sum(), one.sum(), frame.fraud[~one].sum(), (~one).sum()) for one in sides]
    alone = [compare_counts(*map(int, one)).p_value for one in tables]
    corrected = multipletests(alone, method="holm")[1]
    levels = {one.words: one for column in found.values() for one in column.levels}
    assert len(levels) == len(sides) == 6
    ordered = sorted(found["debts"].levels, key=lambda one: (not one.words.startswith("debts up"), one.words))
    mine = [ordered[0], *sorted(ordered[1:], key=lambda one: float(one.words.split()[2]))]
    mine += [found["alone"].strongest, found["home"].strongest]
    for one, (x, n, y, m), p_value in zip(mine, tables, corrected, strict=True):
        assert (one.rows, one.found.share) == (n, pytest.approx(x / n))
        assert one.found.share_others == pytest.approx(y / m)
        assert one.found.p_adjusted == pytest.approx(p_value)
        low, high = confint_proportions_2indep(x, n, y, m, compare="diff", method="newcomb", alpha=0.05 / 6)
        assert one.found.significant == (p_value <= 0.05)
        if p_value > 0.05:
            low, high = min(low, 0.0), max(high, 0.0)
        elif one.found.difference > 0:
            low = max(low, 0.0)
        else:
            high = min(high, 0.0)
        assert (one.found.low, one.found.high) == pytest.approx((low, high), abs=1e-9)


def test_rows_without_a_value_are_left_out_and_those_without_a_bias_variable_are_not() -> None:
    """A false positive rate leaves out people with a positive label, who are what a characteristic is to find."""
    frame = people()
    frame.loc[:999, "alone"] = None
    frame.loc[1000:1499, "fraud"] = None
    alone = by_column(judged(frame))["alone"].strongest
    kept = frame[1500:]
    assert alone.rows == int((frame.alone == 1).sum())
    assert alone.found.share == pytest.approx(kept.fraud[kept.alone == 1].mean())
    assert alone.found.share > 0


def test_persons_are_counted_where_they_have_several_rows() -> None:
    frame = people(2000).assign(person=lambda one: [f"p{i}" for i in range(len(one))])
    five = frame.loc[frame.index.repeat(5)].reset_index(drop=True)
    alone, keyed, rows = (
        judged(frame.drop(columns="person")),
        judged(five, split={"key": "person"}),
        judged(five.drop(columns="person")),
    )
    width = [by_column(one)["alone"].strongest.selected for one in (alone, keyed, rows)]
    wide, same, narrow = (one.high - one.low for one in width)
    assert same == pytest.approx(wide, rel=0.05)
    assert narrow < 0.5 * wide


def test_any_blocks_give_the_same_and_of_a_large_table_rows_are_drawn() -> None:
    spec = parse_spec(SPEC)
    whole = validate(people(), spec)
    assert judge_characteristics(TableInBlocks(whole, (1, 700, 2500)), spec) == judge_characteristics(whole, spec)
    few = parse_spec(SPEC | {"large_rows": 2000, "split": {"method": "hash"}})
    drawn = judge_characteristics(validate(people(), few), few).drawn
    assert drawn is not None
    assert (drawn.rows, drawn.of) == (2000, 6000)


def test_the_key_of_the_specification() -> None:
    """By default the features, where label and prediction are there; by name any column, with either of them."""
    frame = people()
    assert by_column(judged(frame, characteristics=["alone"])).keys() == {"alone"}
    assert by_column(judged(frame, characteristics=["home"], features={"exclude": ["home"]})).keys() == {"home"}
    assert not parse_spec(SPEC | {"characteristics": []}).asks_characteristics
    assert not parse_spec(SPEC | {"bias_variable": {"column": "fraud"}}).asks_characteristics
    only_label = {"bias_variable": {"column": "fraud"}, "groups": {"label": "fraud"}, "characteristics": ["alone"]}
    one = by_column(judged(frame, **only_label))["alone"].strongest
    assert one.selected is None
    assert one.found is not None
    with pytest.raises(SpecError, match='"characteristics" needs a label or a prediction'):
        parse_spec(SPEC | {"bias_variable": {"column": "fraud"}, "characteristics": ["alone"]})
    with pytest.raises(DataError, match='no column "aloen", which legitimate, characteristics'):
        judged(frame, characteristics=["aloen"])
    wide = frame.assign(**{f"x{i}": frame.alone for i in range(29)})
    assert str(judged(wide).reason).startswith("there are 32 features")
    assert judged(wide, characteristics=["x3"]).reason is None


def test_a_column_with_too_few_rows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people().assign(rare=lambda one: (np.arange(len(one)) < 20).astype(int))
    assert judged(frame).left_out == ("rare",)
    monkeypatch.setattr(module, "MOST_LEVELS", 2)
    assert len(by_column(judged(frame))["home"].levels) == 1


def test_the_report_says_it_and_no_limit_sees_it() -> None:
    changes = {name: SPEC[name] for name in ("protected", "bias_variable", "worst_groups")}
    gate = [{"check": "any_cluster", "max_difference": 0.5}]
    result = quick_audit(people(), **changes, gate=gate)
    told = render_markdown(result.document)
    assert result.document["characteristics"] == result.characteristics.to_dict()
    assert "These burden a group, and are not shown to find what they should: alone." in told
    assert "Sex is f" in told or "sex is f" in told
    assert "Every other value of the characteristics" in render_html(result.document)
    without = quick_audit(people(), **changes, gate=gate, characteristics=[]).document
    assert without["characteristics"] is None
    assert "Profiling characteristics" not in render_markdown(without)
    assert without["verdict"] == result.document["verdict"]
    assert QUICK["name"] == without["name"]


@pytest.mark.skipif(NTA is None, reason="The table is not there.")
def test_the_simulated_table_of_risk_factors() -> None:
    """Among its ten risk factors two find much and one a little; the others find nothing and burden groups."""
    assert NTA is not None
    frame = pd.read_csv(NTA)
    names = [f"x{i}" for i in range(1, 11)]
    found = judged(
        frame, protected=["Nationaliteiten", "Geslacht", "Leeftijd"], bias_variable={"column": "y"},
        groups={"label": "y"}, features={"include": names}, characteristics=names,
    )  # fmt: skip
    finds = {one.column for one in found.characteristics if one.strongest.found.significant}
    assert {"x6", "x7"} <= finds <= {"x1", "x6", "x7"}
    columns = by_column(found)
    x7, x5 = columns["x7"].strongest, columns["x5"].strongest
    assert x7.burdens[0].group == "Nationaliteiten is Totaal niet-Nederlandse nationaliteit"
    assert x7.burdens[0].relation.difference == pytest.approx(0.21, abs=0.01)
    assert x5.burdens[0].group == "Geslacht is Mannen"
    assert not x5.found.significant
