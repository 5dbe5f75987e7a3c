"""Title, language, labels, units, about and reference of the specification decide what the first page says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.errors import DataError
from bdt_core.report import render_markdown
from tests.core.joined.made_tables import QUICK

SETTINGS: dict[str, Any] = {
    **QUICK,
    "name": "loan_checks",
    "bias_variable": {"derive": "positive_prediction", "prediction": "checked"},
    "features": {"include": ["age"]},
    "protected": ["town"],
}
CHANGES: dict[str, tuple[Any, str, str]] = {
    "title": ("Who is checked", "# Loan checks: are some people worse off?", "# Who is checked: are some"),
    "language": ("nl", "## Who is worse off?", "## Wie is slechter af?"),
    "labels": (
        {"town": {"name": "place", "levels": {"n": "the north"}}, "checked": {"name": "checked twice"}},
        "**Town is n**",
        "**Place is the north**: 59 of 100 such people got the result “checked twice”",
    ),
    "units": ({"age": "years"}, "**Age 41 to 59 and town is s**", "**Age 41 to 59 years and town is s**"),
    "about": ({"tested_on": "2026-01-31", "owner": "the city"}, "Day: not given", "Day: 31 January 2026"),
    "reference": ({"town": {"n": 1, "w": 2}}, "their numbers were not given", "How w fare: they are 67 of 100"),
}


def people() -> pd.DataFrame:
    """People from town n, and those of 40 to 59 from town s, are checked more often."""
    rng = np.random.default_rng(3)
    town, age = rng.choice(["n", "s", "e"], 3000), rng.integers(20, 80, 3000)
    often = np.where(town == "n", 0.6, np.where((town == "s") & (age >= 40) & (age < 60), 0.5, 0.15))
    return pd.DataFrame({"town": town, "age": age, "checked": (rng.random(3000) < often).astype(int)})


def said(**changes: Any) -> str:
    return render_markdown(audit(people(), {**SETTINGS, **changes}).document)


@pytest.fixture(scope="module")
def plainly() -> str:
    """The report without any words for readers."""
    return said()


@pytest.mark.parametrize("key", CHANGES)
def test_every_key_changes_what_is_said(key: str, plainly: str) -> None:
    value, before, after = CHANGES[key]
    changed = said(**{key: value})
    assert before in plainly
    assert before not in changed
    assert after in changed
    assert after not in plainly


def test_a_label_of_no_column_is_refused() -> None:
    for key, value in (("labels", {"twon": {"name": "place"}}), ("units", {"agge": "years"})):
        with pytest.raises(DataError, match=key):
            said(**{key: value})
