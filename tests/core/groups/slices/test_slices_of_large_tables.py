"""Slices of large tables: any division into blocks gives the same bytes, and as far as it can be, those of all rows."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError
from bdt_core.groups.slices import Slices, columns, part
from bdt_core.groups.slices.audited import find_bias_slices
from bdt_core.groups.slices.coding import Coding
from bdt_core.groups.slices.outcome import CountedOutcome, Summed
from bdt_core.inference.summaries import Centring, look
from bdt_core.spec import SliceSearch
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_core.table.blocks import OneBlock
from tests.core.tables_in_blocks import TableInBlocks, audit_table

N = 3_000
WANTED: dict[str, dict[str, Any]] = {
    "rate": {},
    "counts": {"columns": ["sex", "region", "age"]},
    "values": {"columns": ["sex", "age"], "min_support": 0.15},  # permutations of single rows take their time
}


def people(seed: int, *, bias: str = "rate", n: int = N) -> pd.DataFrame:
    """Typed rows: text, numbers with many and with few values, missing ones; some outside the bias variable."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["a", "b", "c", None], n, p=[0.5, 0.3, 0.15, 0.05]),
            "age": rng.integers(18, 90, n).astype(float),
            "children": rng.choice([0.0, 1.0, 2.0, np.nan], n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(8, 1, n)),
            "rare": rng.choice([f"level {i}" for i in range(200)], n),
            "number": np.arange(n, dtype=float),
            "same": np.zeros(n),
        }
    )
    harm = 0.1 + 0.25 * ((frame.sex == "f") & (frame.age > 60)).to_numpy()
    y = {
        "rate": lambda: (rng.random(n) < harm).astype(float),
        "counts": lambda: rng.poisson(20 * harm).astype(float),
        "values": lambda: rng.exponential(harm),
    }[bias]()
    y[rng.random(n) < 0.05] = np.nan
    return frame.assign(**{BIAS_VARIABLE: y})


def found(train: Any, test: Any, **wanted: Any) -> Slices:
    return find_bias_slices(train, test, SliceSearch(**{"min_support": 0.03, **wanted}))


def parts(bias: str, large_rows: int) -> tuple[AuditTable, AuditTable]:
    train, test = (audit_table(people(seed, bias=bias), large_rows=large_rows) for seed in (1, 2))
    return train, test


def as_bytes(one: Slices) -> bytes:
    return json.dumps(one.to_dict(), sort_keys=True).encode()


@pytest.fixture(scope="module")
def large() -> dict[str, tuple[AuditTable, AuditTable, bytes]]:
    """Large tables in one block, whose sample holds a third of the rows, and what is found in them."""
    made = {}
    for bias in ("rate", "counts", "values"):
        train, test = parts(bias, 1_000)
        made[bias] = train, test, as_bytes(found(train, test, **WANTED[bias]))
    return made


@given(
    bias=st.sampled_from(["rate", "counts", "values"]),
    cuts=st.lists(st.integers(0, N), min_size=1, max_size=4),
    held=st.sampled_from([1, 1 << 25]),
)
@settings(max_examples=8)
def test_any_division_into_blocks_gives_the_same_bytes(large, bias, cuts, held):
    train, test, whole = large[bias]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, "MOST_CELLS_HELD", held)  # one combination of columns per pass, or all
        assert (
            as_bytes(found(TableInBlocks(train, tuple(cuts)), TableInBlocks(test, tuple(cuts[:2])), **WANTED[bias]))
            == whole
        )


@pytest.mark.parametrize("most", [1, 2, 4])
def test_blocks_that_differ_give_the_same_bytes_for_conjunctions_of_any_length(most):
    """Rows come sorted, as sources often are: most slices are frequent in some blocks and absent from others."""
    train, test = parts("rate", 1_000_000)
    whole = found(train, test, max_conditions=most)
    assert whole.reported
    assert {one.name for one in whole.excluded} == {"rare", "number", "same"}
    frame = train.frame.sort_values(["sex", "region", "age"], ignore_index=True)
    for cuts in ((700, 1_450, 1_500, 2_200), tuple(range(100, N, 100))):
        assert as_bytes(found(TableInBlocks(replace(train, frame=frame), cuts), test, max_conditions=most)) == as_bytes(
            whole
        )


def test_the_order_of_rows_does_not_matter(large):
    train, test, whole = large["values"]
    order = np.random.default_rng(0).permutation(N)
    train = replace(train, frame=train.frame.iloc[order].reset_index(drop=True))
    assert as_bytes(found(TableInBlocks(train, (1_000,)), test, **WANTED["values"])) == whole


def test_a_sample_decides_where_numbers_are_cut_and_all_rows_are_counted(large):
    train, test, _ = large["rate"]
    result = found(train, test)
    known = train.audited
    for column in result.columns:
        if column.kind == "intervals":
            for one in column.conditions:
                if one.kind != "interval":
                    continue
                inside = known[one.column].gt(-np.inf if one.low is None else one.low)
                inside &= known[one.column].le(np.inf if one.high is None else one.high)
                assert inside.sum() >= result.min_train_rows
    named = next(one for one in result.slices if len(one.conditions) == 1 and one.conditions[0].column == "sex")
    assert named.train_rows == (known.sex == named.conditions[0].values[0]).sum()


def test_values_that_the_sample_has_not_shown():
    """A column that is nearly constant: the sample sees few of its values, all rows many."""
    frame = people(3)
    frame["mostly"] = np.where(np.arange(N) % 20 == 0, np.arange(N), 7.0)
    train = audit_table(frame, large_rows=1_000)
    shown = train.frame.assign(mostly=7.0).iloc[:1_000]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AuditTable, "sample", lambda self, rows: replace(self, frame=shown))
        result = found(train, train, columns=["mostly", "sex"])
    assert {one.name: one.reason for one in result.excluded} == {"mostly": "nearly every row has the same value"}


def test_many_values_are_counted_up_to_a_number(monkeypatch):
    monkeypatch.setattr(columns, "MOST_COUNTED", 150)
    train, test = parts("rate", 1_000)
    for one in (train, TableInBlocks(train, (40, 90, 1_500))):
        reasons = {column.name: column.reason for column in found(one, test).excluded}
        assert reasons["rare"] == "it has more than 150 different values, more than 50: group them"


def test_what_is_measured_has_the_name_of_the_bias_variable_unless_a_searched_column_has_it():
    error = {"derive": "error", "label": "good", "prediction": "hired"}
    for name, measured in (("sex", "error rate"), ("error rate", BIAS_VARIABLE)):
        frames = [people(seed)[["sex", BIAS_VARIABLE]].rename(columns={"sex": name}) for seed in (1, 2)]
        slices = found(*(audit_table(frame, bias_variable=error) for frame in frames))
        assert (slices.outcome, slices.measured) == (measured, measured)


def test_an_unknown_column_is_named(large):
    train, test, _ = large["rate"]
    with pytest.raises(DataError, match='no column "regoin".*region'):
        found(train, test, columns=["regoin"])


def test_a_few_large_values_do_not_swallow_the_others():
    """Sums are whole numbers of steps: values of 1 beside one of a thousand million keep their variance."""
    frame = people(4, bias="values")
    frame.loc[0, BIAS_VARIABLE] = 1e9
    train = audit_table(frame, large_rows=1_000)
    result = found(train, train, columns=["sex", "region", "age"])
    one = max(result.slices, key=lambda one: one.comparison.n_a)
    inside = train.audited[np.logical_and.reduce([_meets(train.audited, c) for c in one.conditions])]
    assert one.comparison.mean_a == pytest.approx(inside[BIAS_VARIABLE].mean(), rel=1e-12)


def test_a_table_in_memory_is_coded_once_and_its_codes_go_nowhere():
    block = OneBlock(people(0, n=200).drop(columns=["rare", "number", "same"]))
    names = ["sex", "region"]
    fitted, _ = columns.fit_columns(block, block.frame, names, rows=200, bins=5, max_levels=50, min_rows=5)
    coding = Coding(tuple(fitted), CountedOutcome())
    unused = pickle.dumps(coding)
    coded = coding.of(block)
    assert coding.of(block) is coded
    assert coding.of(OneBlock(block.frame)) is not coded
    assert pickle.dumps(coding) == unused
    assert pickle.loads(unused).of(block).codes.tolist() == coded.codes.tolist()


def test_sums_are_exact_to_sixty_bits():
    values = np.random.default_rng(0).lognormal(3, 2, 5_000)
    centring = Centring.of(look(values))
    outcome = Summed(centring.scale(centring.count(values)))
    n, total, squares = outcome.totals(outcome.whole(outcome.payload(values)))
    assert n == 5_000
    around = [Fraction(one) - Fraction(outcome.zero) for one in values]
    assert total == pytest.approx(float(sum(around)), abs=5_000 * 2.0 ** (outcome.scale.unit - 60))
    assert squares == pytest.approx(float(sum(one * one for one in around)), rel=1e-15)


def _meets(frame: pd.DataFrame, condition: Any) -> Any:
    column = frame[condition.column]
    if condition.kind == "missing":
        return column.isna()
    if condition.kind == "values":
        return column == condition.values[0]
    return column.gt(-np.inf if condition.low is None else condition.low) & column.le(
        np.inf if condition.high is None else condition.high
    )
