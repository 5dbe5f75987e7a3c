"""What a table is taken for: content first, names in five languages second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import DataError
from bdt_core.inference.settled import settled_limit
from bdt_core.proposal import Proposal, chosen, look_at, looks, propose, proposed
from bdt_core.spec import BiasVariable, parse_spec
from bdt_core.table.validate import validate

N = 400


@pytest.fixture(scope="module")
def people() -> Callable[..., pd.DataFrame]:
    """A table of people with a number of their own, and more columns."""

    def made(**columns: Any) -> pd.DataFrame:
        rng = np.random.default_rng(5)
        beside = {"hours": rng.normal(30, 9, N).round(1), "floor": rng.integers(0, 9, N)}
        return pd.DataFrame(beside | {name.replace("__", " "): list(one) for name, one in columns.items()})

    return made


def draws(*values: Any, seed: int = 1, p: list[float] | None = None) -> list[Any]:
    return [values[i] for i in np.random.default_rng(seed).choice(len(values), N, p=p)]


def roles(found: Proposal) -> dict[str, str]:
    return {one.name: one.role for one in found.columns}


def checked(frame: pd.DataFrame) -> Proposal:
    """The proposal, whose specification passes validation."""
    found = propose(frame)
    validate(frame, parse_spec(found.specification("made", {"path": "made.csv"})))
    return found


PROTECTED = [
    "sex", "Gender", "SEX", "male", "race", "ethnicity", "religion", "disability", "Nationality", "foreign-worker",
    "Geslacht", "Nationaliteiten", "herkomst", "geboorteland", "huidskleur", "arbeidsbeperking", "burgerlijke staat",
    "Geschlecht", "Staatsangehörigkeit", "Herkunft", "Behinderung", "Familienstand",
    "sexe", "nationalité", "handicap", "état civil", "origine",
    "sexo", "género", "nacionalidad", "discapacidad", "estado civil",
]  # fmt: skip


@pytest.mark.parametrize("name", PROTECTED)
def test_protected_columns_in_five_languages(name: str, people: Callable[..., pd.DataFrame]) -> None:
    found = checked(people(**{name: draws(1, 2), "y": draws(0, 1, seed=2)}))
    assert roles(found)[name] == "protected"
    assert {one.name: one.kind for one in found.columns}[name] == "categorical"  # 1 and 2 are groups, not amounts


@pytest.mark.parametrize("name", ["Sussex", "trace", "racecourse", "essexual", "terrace"])
def test_a_word_within_another_is_no_group_of_people(name: str, people: Callable[..., pd.DataFrame]) -> None:
    assert roles(checked(people(**{name: draws(1, 2), "y": draws(0, 1, seed=2)})))[name] == "feature"


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (("Male", "Female"), "protected"),
        (("Mannen", "Vrouwen"), "protected"),
        (("männlich", "weiblich", "divers"), "protected"),
        (("homme", "femme"), "protected"),
        (("hombre", "mujer"), "protected"),
        (("White", "Non-White"), "protected"),
        (("M", "F"), "feature"),  # misdemeanour and felony
        (("blue", "white"), "feature"),
    ],
)
def test_values_say_groups_of_people_whatever_the_name(
    values: tuple[str, ...], role: str, people: Callable[..., pd.DataFrame]
) -> None:
    assert roles(checked(people(v7=draws(*values), y=draws(0, 1, seed=2))))["v7"] == role


@pytest.mark.parametrize("name", ["age", "Leeftijd", "Alter", "âge", "edad"])
def test_age_stays_a_feature(name: str, people: Callable[..., pd.DataFrame]) -> None:
    ages = list(np.random.default_rng(3).permutation(N))  # all different, and still ages
    assert roles(checked(people(**{name: ages, "y": draws(0, 1)})))[name] == "feature"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Leeftijd", ("18-25", "26-35", "100+")),
        ("age_cat", ("Less than 25", "25 - 45", "Greater than 45")),
        ("Leeftijdsklasse", ("t/m 25", "26+")),
        ("age group", (1, 2, 3, 4)),
        ("leeftijdscategorie", (1, 2)),
    ],
)
def test_classes_of_ages_are_protected_as_sex_is(
    name: str, values: tuple[Any, ...], people: Callable[..., pd.DataFrame]
) -> None:
    found = checked(people(**{name: draws(*values), "y": draws(0, 1, seed=2)}))
    assert roles(found)[name] == "protected"
    written = [f"{year} years" for year in range(18, 60)]  # ages all the same, and no classes
    assert roles(checked(people(**{name: draws(*written), "y": draws(0, 1, seed=2)})))[name] == "feature"


def test_classes_of_ages_are_in_the_order_of_their_numbers(people: Callable[..., pd.DataFrame]) -> None:
    classes = ["<18", "18-25", "26-35", "100+", "unknown"]
    seen = look_at(people(Leeftijd=draws(*reversed(classes)), y=draws(0, 1, seed=2)))
    assert seen.columns["Leeftijd"].levels == classes


def test_codes_of_few_values_are_categories(people: Callable[..., pd.DataFrame]) -> None:
    found = checked(people(race=draws(*range(1, 9)), zip=draws(*range(10_000, 10_040)), y=draws(0, 1, seed=2)))
    assert found.specification("made", {"path": "made.csv"})["features"]["kinds"] == {
        "race": "categorical", "zip": "categorical",
    }  # fmt: skip


def test_codes_of_too_many_values_are_left_out(people: Callable[..., pd.DataFrame]) -> None:
    codes = np.random.default_rng(1).integers(10_000, 99_999, N)
    assert roles(checked(people(zipcode=codes, y=draws(0, 1))))["zipcode"] == "left out"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Unnamed: 0", range(N)),
        ("x", range(7, N + 7)),
        ("x", np.random.default_rng(1).permutation(3 * N)[:N]),
        ("id_student", np.random.default_rng(1).integers(0, 1_000_000, N)),
        ("klantnummer", np.random.default_rng(2).integers(0, 1_000_000, N)),
        ("x", [f"a{i}" for i in range(N)]),
        ("x", [f"2024-05-{1 + i % 28:02d}" for i in range(N)]),
        ("x", pd.date_range("2024-01-01", periods=N)),
        ("x", [f"the case of number {i} was closed" for i in range(N)]),
        ("x", ["DE"] * N),
        ("x", [np.inf, *range(N - 1)]),
        ("x", [[1, 2]] * N),
    ],
)
def test_what_tells_nobody_apart_is_left_out(name: str, values: Any, people: Callable[..., pd.DataFrame]) -> None:
    found = checked(people(**{name: values, "y": draws(0, 1)}))
    assert roles(found)[name] == "left out"
    assert all(one.reason for one in found.of_role("left out"))


def test_free_text_and_identifiers_are_told_apart(people: Callable[..., pd.DataFrame]) -> None:
    texts = [f"the case of number {i} was closed" for i in range(N)]
    found = propose(people(notes=texts, person=[f"a{i}" for i in range(N)], y=draws(0, 1)))
    assert {one.name: one.look for one in found.columns if one.role == "left out"} == {
        "notes": "free text", "person": "identifier",
    }  # fmt: skip


OUTCOMES = [
    ("default", "lower"), ("default payment", "lower"), ("fraud", "lower"), ("two_year_recid", "lower"),
    ("FP", "lower"), ("refused", "lower"), ("pass_bar", "higher"), ("Promoted", "higher"), ("granted", "higher"),
    ("hired", "higher"), ("repaid", "higher"),
    ("wanbetaling", "lower"), ("afgewezen", "lower"), ("geslaagd", "higher"), ("toegekend", "higher"),
    ("Ausfall", "lower"), ("abgelehnt", "lower"), ("bestanden", "higher"), ("genehmigt", "higher"),
    ("défaut", "lower"), ("fraude", "lower"), ("accordé", "higher"), ("embauché", "higher"),
    ("impago", "lower"), ("rechazado", "lower"), ("aprobado", "higher"), ("contratado", "higher"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "better"), OUTCOMES)
def test_outcomes_and_which_way_is_better_in_five_languages(
    name: str, better: str, people: Callable[..., pd.DataFrame]
) -> None:
    found = checked(people(**{name: draws(0, 1, p=[0.7, 0.3]), "member": draws(0, 1, seed=2)}))
    assert found.measured.columns == (name,)
    assert (found.measured.settings.better, found.measured.is_better_sure) == (better, True)
    assert not found.measured.is_guess


@pytest.mark.parametrize(
    ("values", "positive", "better"),
    [
        (("Fail", "Pass"), "Pass", "higher"),
        (("geslaagd", "gezakt"), "geslaagd", "higher"),
        (("bestanden", "durchgefallen"), "bestanden", "higher"),
        (("accepté", "refusé"), "accepté", "higher"),
        (("aprobado", "suspenso"), "aprobado", "higher"),
        (("NO", "YES"), "YES", None),
        (("ja", "nee"), "ja", None),
        (("low risk", "high risk"), "high risk", "lower"),
        ((-1, 1), 1, None),
        ((1, 2), 2, None),
    ],
)
def test_two_values_that_are_not_nought_and_one(
    values: tuple[Any, Any], positive: Any, better: str | None, people: Callable[..., pd.DataFrame]
) -> None:
    found = checked(people(outcome=draws(*values)))
    settings = found.measured.settings
    assert (settings.derive, settings.prediction, settings.positive) == ("positive_prediction", "outcome", positive)
    assert settings.better == (better or "lower")
    assert found.measured.is_better_sure == (better is not None)
    assert any("better for people" in one for one in found.doubts) == (better is None)


@pytest.mark.parametrize(
    ("label", "prediction"),
    [
        ("repaid", "granted"),
        ("income", "predicted_income"),
        ("geslaagd", "voorspelling"),
        ("betaald", "toegekend"),
        ("Ergebnis", "Vorhersage"),
        ("résultat", "prédiction"),
        ("resultado", "predicción"),
    ],
)
def test_a_prediction_and_what_happened(label: str, prediction: str, people: Callable[..., pd.DataFrame]) -> None:
    found = checked(people(**{label: draws(0, 1), prediction: draws(0, 1, seed=2)}))
    settings = found.measured.settings
    assert (settings.derive, settings.label, settings.prediction) == ("error", label, prediction)
    assert (label,) in [one.columns for one in found.alternatives]


def test_a_decision_that_is_good_is_no_prediction_of_what_is_bad(people: Callable[..., pd.DataFrame]) -> None:
    """Everybody who is granted a loan and repays it would be an error."""
    found = checked(people(default=draws(0, 1), granted=draws(0, 1, seed=2)))
    assert found.measured.settings.derive != "error"
    assert {one.columns for one in (found.measured, *found.alternatives)} == {("granted",), ("default",)}


def test_numbers_and_their_prediction(people: Callable[..., pd.DataFrame]) -> None:
    rng = np.random.default_rng(1)
    found = checked(people(rent=rng.normal(800, 90, N), predicted_rent=rng.normal(800, 90, N)))
    settings = found.measured.settings
    assert (settings.derive, settings.label, settings.prediction) == ("absolute_error", "rent", "predicted_rent")


def test_a_score_is_measured_where_the_outcome_is_mostly_missing(people: Callable[..., pd.DataFrame]) -> None:
    seldom = ["Not available"] * (N - 10) + ["Duly"] * 4 + ["Unduly"] * 6
    found = checked(people(Risk__category=draws(*range(1, 7)), Outcome__visit=seldom))
    assert (found.measured.settings.column, found.measured.settings.better) == ("Risk category", "lower")
    assert [one.columns for one in found.alternatives] == [("Outcome visit",)]
    assert roles(found)["Outcome visit"] == "left out"


def test_where_nothing_looks_like_an_outcome_it_is_said_loudly(people: Callable[..., pd.DataFrame]) -> None:
    found = checked(people(smoke=draws("NO", "YES"), colour=draws("red", "blue", "green")))
    assert found.measured.is_guess
    assert found.measured.columns == ("smoke",)
    assert found.doubts[0].startswith("THIS IS A GUESS")


def test_columns_that_stand_twice_are_left_out_with_a_note(people: Callable[..., pd.DataFrame]) -> None:
    sex = draws(1, 2)
    race = draws(*range(1, 6), seed=3)
    table = people(sex=sex, race=race, y=draws(0, 1, seed=2))
    table["gender"] = table["sex"].map({1: "male", 2: "female"})
    table["asian"] = (table["race"] == 2).astype(int)
    table["origin_group"] = table["race"].map({1: "a", 2: "b", 3: "b", 4: "c", 5: "c"})
    table["again"] = table["hours"]
    table["passed"] = table["y"].map({0: "no", 1: "yes"})
    found = checked(table)
    reasons = {one.name: one.reason for one in found.of_role("left out")}
    assert reasons == {
        "sex": 'says the same as "gender"',  # words stay before codes
        "asian": 'follows from "race"',
        "origin_group": 'follows from "race"',
        "again": 'says the same as "hours"',
        "passed": 'says the same as "y"',
    }
    assert {one.name for one in found.of_role("protected")} == {"gender", "race"}


def test_what_has_a_value_for_each_person_is_no_copy_of_another(people: Callable[..., pd.DataFrame]) -> None:
    rng = np.random.default_rng(1)
    found = checked(people(a=rng.normal(size=N), b=rng.normal(size=N), y=draws(0, 1)))
    assert {roles(found)[name] for name in "ab"} == {"feature"}


def test_leaks_are_left_out(people: Callable[..., pd.DataFrame]) -> None:
    points = np.random.default_rng(1).normal(70, 9, N)
    found = checked(people(points=points, promoted=np.where(points >= 70, 1, -1)))
    assert {one.name: one.reason for one in found.of_role("left out")}["points"].endswith("a leak")


def test_a_value_that_decides_alone_and_tells_much_is_a_leak(people: Callable[..., pd.DataFrame]) -> None:
    """Who passes at first has passed; who does not may pass later, so that no column says it all."""
    passed = np.array(draws(0, 1, p=[0.3, 0.7]))
    first = np.where((passed == 1) & (np.array(draws(0, 1, seed=8, p=[0.4, 0.6])) == 1), "P", "F")
    found = checked(people(bar1=first, job=draws("a", "b", seed=9), pass_bar=passed))
    (bar1,) = [one for one in found.columns if one.name == "bar1"]
    assert (bar1.role, bar1.is_leak) == ("left out", True)
    assert found.specification("a", {"path": "a.csv"})["features"]["leaks"] == ["bar1"]
    assert roles(found)["job"] == "feature"


def test_a_value_that_decides_alone_and_tells_little_is_asked_about(people: Callable[..., pd.DataFrame]) -> None:
    """A place where all pass may be a place: it stays, and somebody is asked."""
    passed = np.array(draws(0, 1, p=[0.3, 0.7]))
    place = np.where((passed == 1) & (np.array(draws(0, 1, seed=8)) == 1), "P", "F")
    found = checked(people(place=place, pass_bar=passed))
    assert roles(found)["place"] == "feature"
    assert [one for one in found.doubts if "the same outcome" in one and '"place"' in one]


def test_a_name_of_persons_with_several_rows_is_asked_about(people: Callable[..., pd.DataFrame]) -> None:
    found = checked(people(id_person=[i // 2 + 1000 * (i % 2) for i in range(N - 60)] + [1] * 60, y=draws(0, 1)))
    assert any('split: {key: "id_person"}' in one for one in found.doubts)


def test_few_rows_get_settings_with_which_they_can_be_audited(people: Callable[..., pd.DataFrame]) -> None:
    table = people(y=draws(0, 1))
    assert checked(table.iloc[:118]).settings == {"split": {"test_size": 0.5}, "significance": {"min_rows": 14}}
    assert checked(table.iloc[:20]).reach.test_rows == 10
    assert checked(table).settings == {}
    with pytest.raises(DataError, match="takes 20 rows"):
        propose(table.iloc[:19])


def test_what_the_rows_can_show_is_the_plan_s_difference(people: Callable[..., pd.DataFrame]) -> None:
    from bdt_core.inference.plan import plan

    found = checked(people(y=draws(0, 1, p=[0.8, 0.2])))
    rate = found.reach
    frame_rate = 1 - people(y=draws(0, 1, p=[0.8, 0.2]))["y"].eq(0).mean()
    by_share = {one.share: one for one in plan(N, base_rate=float(frame_rate), difference=0.1).by_share}
    assert rate.difference == pytest.approx(by_share[rate.share].detectable)
    assert rate.test_rows == 80


def test_which_limit_on_the_worst_group_passes_is_the_plan_s_too() -> None:
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"age": rng.normal(50, 9, 2_000).round(1), "granted": (rng.random(2_000) < 0.9).astype(int)})
    refused = 1.0 - float(table["granted"].mean())
    found = checked(table)
    assert found.measured.settings.better == "higher"
    expected = settled_limit(2_000, base_rate=refused, share=0.05)
    assert found.reach.settled_limit == pytest.approx(expected)
    assert checked(table.iloc[:599]).reach.settled_limit is None  # 5 of 100 are fewer than the 30 people of a group
    assert checked(table.iloc[:600]).reach.settled_limit is not None
    amounts = table[["age"]].assign(error=rng.normal(size=2_000))
    assert (checked(amounts).reach.is_rate, checked(amounts).reach.settled_limit) == (False, None)


def test_groups_are_searched_where_there_is_nothing_else() -> None:
    found = checked(pd.DataFrame({"sex": draws("f", "m"), "y": draws(0, 1, seed=2)}))
    assert roles(found) == {"sex": "feature", "y": "measured"}
    assert any("Only" in one for one in found.doubts)


def test_a_sample_of_a_large_table_is_enough(
    people: Callable[..., pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people(code=[f"a{i}" for i in range(N)], race=draws(1, 2, 3), y=draws(0, 1, seed=2))
    whole = propose(table)
    monkeypatch.setattr(looks, "_SAMPLE", 100)
    part = checked(table)
    assert roles(part) == roles(whole)
    assert [one.levels for one in part.columns] == [one.levels for one in whole.columns]  # of all rows


def test_a_proposal_is_data(people: Callable[..., pd.DataFrame]) -> None:
    found = propose(people(sex=draws("f", "m"), y=draws(0, 1, seed=2)))
    assert Proposal.from_dict(found.to_dict()) == found


def test_a_sample_of_a_table_in_which_something_recurs_shows_all_of_it(
    people: Callable[..., pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "_SAMPLE", N // 4)
    found = checked(people(sex=draws("f", "m"), refused=[int(row % 4 == 1) for row in range(N)]))
    assert found.measured.settings.prediction == "refused"


def test_of_a_sample_alone_nothing_is_said_of_all_rows(
    people: Callable[..., pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people(sex=draws("f", "m"), refused=[int(row == 3) for row in range(N)])
    monkeypatch.setattr(looks, "_SAMPLE", N // 20)
    seen = look_at(frame)
    assert seen.sample["refused"].eq(0).all()
    wanted = chosen(BiasVariable(column="refused", better="lower"))
    assert proposed(seen, wanted).measured.settings.column == "refused"


@pytest.mark.parametrize(
    ("values", "look"),
    [
        ([111, 112, 120, 131], "code"),  # what economic activity is in a census
        ([1110, 1121, 1122, 1131], "code"),
        ([111, 112, 113, 114], "numeric"),
        ([100, 200, 500, 900], "numeric"),
        ([90, 111, 112, 120], "numeric"),
        ([2011, 2013, 2014, 2016], "numeric"),
    ],
)
def test_few_numbers_of_a_list_of_codes_are_categories(values: list[int], look: str) -> None:
    frame = pd.DataFrame({"activity": values * 50, "age": range(200), "refused": [0, 1, 1, 0, 1] * 40})
    seen = {one.name: one for one in propose(frame).columns}["activity"]
    assert (seen.look, seen.kind) == (look, "categorical" if look == "code" else None)
