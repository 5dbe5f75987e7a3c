"""``bdt score``: the calculator of the composite score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bdt_core.fairness import bias_score_from_rates
from bdt_pipeline.cli import app

RATES = {
    "tpr-a": 0.85, "tpr-b": 0.70, "fpr-a": 0.10, "fpr-b": 0.18,
    "positive-rate-a": 0.60, "positive-rate-b": 0.42, "score-a": 0.55, "score-b": 0.48,
}  # fmt: skip
TABLE = """group,tpr,fpr,positive_rate,score,n
white,0.80,0.10,0.50,0.50,400
black,0.70,0.12,0.40,0.45,300
asian,0.75,0.10,0.45,0.47,200
"""


@pytest.fixture
def bdt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs ``bdt score`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["score", *map(str, arguments)])


def options(*without: str, **changes: float | str) -> list[str]:
    given = {**RATES, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return [one for name, value in given.items() if name not in without for one in (f"--{name}", str(value))]


def test_by_hand(bdt: Callable[..., Result]) -> None:
    result = bdt(*options())
    assert result.exit_code == 0
    # .333 * .18 + .333 * (.15 + .08) / 2 + .334 * .07
    assert result.stdout.startswith("Bias Detection Score 0.1216 of 1: moderate\n")
    lines = {line.strip().split("  ")[0]: line.split() for line in result.stdout.splitlines()[3:10]}
    assert lines["Demographic parity (DPD)"][3:] == ["0.1800", "0.333", "0.0599", "moderate"]
    assert lines["Equalized odds (EOD)"][3:] == ["0.1150", "0.333", "0.0383", "moderate"]
    assert lines["Calibration (CD)"][2:] == ["0.0700", "0.334", "0.0234", "low"]
    assert lines["positive predictions"][2:] == ["0.6000", "0.4200", "+0.1800"]
    assert lines["false positive rate"][3:] == ["0.1000", "0.1800", "−0.0800", "0.0800", "0.1665", "0.0133"]
    told = " ".join(result.stdout.split())
    assert "(B over A positive predictions): 0.7000, below 4/5, adverse impact is indicated against group B." in told
    assert "Higher is worse" in told
    assert "nobody can tell this score from chance" in told


@pytest.mark.parametrize(
    ("gap", "severity"),
    [(0.0, "minimal"), (0.049, "minimal"), (0.05, "low"), (0.1, "moderate"), (0.2, "high"), (0.35, "severe")],
)
def test_severity_bands(gap: float, severity: str, bdt: Callable[..., Result]) -> None:
    same = {"tpr_a": 0.9, "tpr_b": 0.9, "fpr_a": 0.1, "fpr_b": 0.1, "score_a": 0.5, "score_b": 0.5}
    result = bdt(*options(**same, positive_rate_a=0.6, positive_rate_b=0.6 - gap, w1=1, w2=0, w3=0))
    assert f"{gap:.4f} of 1: {severity}\n" in result.stdout


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (0.6, 0.48, "0.8000, not below 4/5."),
        (0.48, 0.6, "1.2500, not below 4/5."),
        (0.42, 0.6, "1.4286, not below 4/5, but its inverse 0.7000 is: adverse impact is indicated against group A."),
        (0.0, 0.4, "infinite, group A has no positive prediction."),
        (0.0, 0.0, "undefined, nobody has a positive prediction."),
    ],
)
def test_disparate_impact_ratio(a: float, b: float, told: str, bdt: Callable[..., Result]) -> None:
    given = options(positive_rate_a=a, positive_rate_b=b, fpr_a=0, fpr_b=0)
    assert told in " ".join(bdt(*given).stdout.split())
    found = json.loads(bdt(*given, "--json").stdout)["disparate_impact_ratio"]
    assert found == ("Infinity" if "infinite" in told else None if "undefined" in told else pytest.approx(b / a))


def test_json_is_the_librarys_result(bdt: Callable[..., Result]) -> None:
    wanted = bias_score_from_rates(
        true_positive_rates=[0.85, 0.70],
        false_positive_rates=[0.10, 0.18],
        selection_rates=[0.60, 0.42],
        mean_scores=[0.55, 0.48],
        rows=[500, 400],
    )
    assert json.loads(bdt(*options(), "--n-a", 500, "--n-b", 400, "--json").stdout) == wanted.to_dict()


def test_rows_give_interval_and_noise_floor(bdt: Callable[..., Result]) -> None:
    few, many = (" ".join(bdt(*options(n_a=n, n_b=n)).stdout.split()) for n in (60, 2_000))
    assert "This score is not above it" in few
    assert "This score is above it (p < 0.001)" in many
    assert "95 % interval: 0.0000 to" in few
    assert "95 % interval: 0.0000 to" not in many


def test_any_number_of_groups(bdt: Callable[..., Result]) -> None:
    Path("rates.csv").write_text(TABLE)
    result = bdt("--groups", "rates.csv")
    assert result.exit_code == 0
    assert "Bias Detection Score 0.0700 of 1: low" in result.stdout
    assert "black 0.4000  white 0.5000" in result.stdout
    assert "(lowest over highest positive predictions): 0.8000, not below 4/5" in result.stdout
    assert "Noise floor" in result.stdout
    Path("rates.csv").write_text("\n".join(line.rpartition(",")[0] for line in TABLE.splitlines()) + "\n")
    assert "Noise floor" not in bdt("--groups", "rates.csv").stdout


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tpr_b": 0.1}, "Group B: the true positive rate is below the false positive rate"),
        ({"positive_rate_a": 0.95}, "Group A: the rate of positive predictions lies outside"),
        ({"positive_rate_a": 0.95, "n_a": 100, "n_b": 100}, "No interval and no noise floor: of group A"),
        ({"n_a": 15, "n_b": 100}, "of group A, fewer than 10 labels are positive or negative"),
    ],
)
def test_rates_that_are_odd_are_warned_of(changes: dict[str, float], told: str, bdt: Callable[..., Result]) -> None:
    result = bdt(*options(**changes))
    assert result.exit_code == 0
    assert "Warning: " in result.stdout
    assert told in " ".join(result.stdout.split())
    assert told in " ".join(json.loads(bdt(*options(**changes), "--json").stdout)["warnings"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (options("fpr-b", "score-a"), "Missing: --fpr-b, --score-a."),
        ([], "Missing: --tpr-a, --tpr-b"),
        (options(tpr_a=85), "--tpr-a must lie between 0 and 1; found 85. Write 85 % as 0.85."),
        (options(score_b=-0.1), "--score-b must lie between 0 and 1; found -0.1"),
        (options(fpr_a="nan"), "--fpr-a must lie between 0 and 1; found nothing"),
        (options(w1=0.5, w2=0.6, w3=-0.1), "Weights must be 0 or more"),
        (options(w1=0.5), "Weights must add up to 1; these add up to 1.167"),
        (options(n_a=100), "--n-a and --n-b together"),
        (options(n_a=100, n_b=0), "--n-b must be a whole number of rows, 1 or more"),
        ([*options(), "--groups", "rates.csv"], "Leave out --tpr-a, --tpr-b"),
        (["--groups", "none.csv"], "none.csv does not exist"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: list[str], told: str, bdt: Callable[..., Result]) -> None:
    result = bdt(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("tpr", "tpt", 'has no column tpr. Did you mean "tpt"?'),
        (",n\n", ",rows\n", "column rows is not known"),
        ("black", "white", "group white stands there more than once"),
        ("0.70", "70", "group black: tpr must lie between 0 and 1; found 70"),
        ("0.70", "", "group black: tpr must lie between 0 and 1; found nothing"),
        ("0.70", "many", "group black: tpr must be a number between 0 and 1"),
        ("300", "300.5", "group black: n must be a whole number of rows"),
    ],
)
def test_a_bad_table_is_refused_by_group_and_column(old: str, new: str, told: str, bdt: Callable[..., Result]) -> None:
    Path("rates.csv").write_text(TABLE.replace(old, new, 1))
    result = bdt("--groups", "rates.csv")
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.startswith("Error: rates.csv")


def test_a_table_of_one_group_and_a_word_for_a_rate(bdt: Callable[..., Result]) -> None:
    Path("rates.csv").write_text("".join(TABLE.splitlines(keepends=True)[:2]))
    one = bdt("--groups", "rates.csv")
    assert (one.exit_code, "two groups or more" in one.stderr) == (2, True)
    word = bdt(*options(tpr_a="high"))
    assert (word.exit_code, "--tpr-a" in word.stderr) == (2, True)


def test_help_has_an_example(bdt: Callable[..., Result]) -> None:
    assert "bdt score --tpr-a 0.85" in bdt("--help").stdout
