"""Errors with a sign and losses of a quantile, from the specification to the verdict and to what readers are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from bdt_core import audit, compare
from bdt_core.audit import AuditResult
from bdt_core.errors import SourceError, SpecError
from bdt_core.report import render_html, render_markdown
from bdt_core.spec import load_spec, parse_spec
from bdt_core.verdict.comparable import read_baseline
from tests.core.joined.made_tables import OUT_OF_CORE, QUICK

SIGNED = {"derive": "signed_error", "label": "asked", "prediction": "offered", "better": "higher"}
WHERE: dict[str, dict[str, Any]] = {"in memory": {}, "in blocks": OUT_OF_CORE}


def offers(rows: int = 2000) -> pd.DataFrame:
    """Women are offered 2.0 less than they ask, on average; men what they ask.

    Each error has its opposite in a row of the same sex, so that the means are exact.
    """
    rng = np.random.default_rng(6)
    half = rows // 2
    noise = rng.integers(-16, 17, half) / 8
    frame = pd.DataFrame(
        {
            "sex": np.tile(np.repeat(["f", "m"], half // 2), 2),
            "age": rng.integers(20, 60, rows),
            "town": rng.choice(["north", "south", "east"], rows),
            "asked": rng.integers(100, 400, rows) / 8,
        }
    )
    frame["offered"] = frame["asked"] + np.concatenate([noise, -noise]) - 2.0 * (frame["sex"] == "f")
    return frame


def written(folder: Path, frame: pd.DataFrame, **changes: Any) -> Path:
    """A specification in a file, and its table."""
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "offers.csv", index=False)
    spec = {
        **QUICK,
        "clustering": None,
        "source": {"path": str(folder / "offers.csv")},
        "bias_variable": SIGNED,
        "features": {"include": ["sex", "age", "town"]},
        "units": {"offered": "euro"},
        "gate": [{"check": "worst_group", "max_difference": 1.0}],
        **changes,
    }
    (folder / "audit.yaml").write_text(yaml.safe_dump(spec))
    return folder / "audit.yaml"


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            [
                "Sex is f**: For these people “offered” is on average 2 euro lower than “asked”; among everybody "
                "else 0 euro higher.",
                "how much higher “offered” is than “asked”, on average? Where it is lower, the number is below 0. "
                "Here less of this counts as worse: that was said for this audit.",
                "signed error (euro)",
            ],
        ),
        (
            "nl",
            [
                "Sex is f**: Bij deze mensen is ‘offered’ gemiddeld 2 euro lager dan ‘asked’; bij anderen 0 euro "
                "hoger.",
                "hoeveel hoger ‘offered’ is dan ‘asked’, gemiddeld? Is het lager, dan is het getal kleiner dan 0. "
                "Hier geldt minder hiervan als slechter: dat is zo opgegeven.",
                "fout met teken (euro)",
            ],
        ),
    ],
)
def test_who_is_predicted_too_low_is_named_with_the_amount(
    where: str, language: str, sentences: list[str], tmp_path: Path
) -> None:
    result = audit(None, load_spec(written(tmp_path, offers(), language=language, **WHERE[where])))
    assert result.verdict == "fail"
    first = result.findings[0]
    assert [(each.column, each.values) for each in first.conditions] == [("sex", ("f",))]
    assert (first.mean_inside, first.mean_outside) == pytest.approx((-2.0, 0.0), abs=1e-12)
    assert "lower (worse) in signed error than everybody else by 2 as found" in result.gate.sentence
    drawn = render_markdown(result.document)
    for sentence in sentences:
        assert sentence in drawn


def test_the_other_way_the_others_are_worse_off(tmp_path: Path) -> None:
    result = audit(None, load_spec(written(tmp_path, offers(), bias_variable={**SIGNED, "better": "lower"})))
    assert result.verdict == "fail"
    drawn = render_markdown(result.document)
    assert (
        "Sex is m**: For these people “offered” is on average 0 euro higher than “asked”; among everybody else 2 euro"
        in drawn
    )
    assert "Here more of this counts as worse" in drawn


def test_equal_people_are_compared(tmp_path: Path) -> None:
    """A factor says nothing here, so that all of the difference remains among people alike in it."""
    frame = offers()
    frame["level"] = np.where(np.arange(len(frame)) % 2, "junior", "senior")
    result = audit(None, load_spec(written(tmp_path, frame, legitimate=["level"])))
    drawn = render_markdown(result.document)
    assert "“offered” is on average 2 euro lower than “asked”" in drawn
    assert "Among people alike in level, it is 2 euro lower" in drawn or "alike in level it is 2 euro lower" in drawn


def losses(folder: Path, quantile: float | None) -> AuditResult:
    """Women are offered 2 less, men 2 more: on which of both the quantile lays weight, there the loss is."""
    frame = offers()
    frame["offered"] += 2.0 * (frame["sex"] == "m")
    bias = {"derive": "pinball_loss", "label": "asked", "prediction": "offered"}
    return audit(
        None,
        load_spec(written(folder, frame, bias_variable=bias if quantile is None else {**bias, "quantile": quantile})),
    )


@pytest.mark.parametrize(("quantile", "group"), [(0.9, "f"), (0.1, "m")])
def test_the_quantile_says_on_which_side_an_error_is_worse(quantile: float, group: str, tmp_path: Path) -> None:
    result = losses(tmp_path, quantile)
    assert result.verdict == "fail"
    assert [(each.column, each.values) for each in result.findings[0].conditions] == [("sex", (group,))]
    assert "higher (worse) in pinball loss" in result.gate.sentence
    english = f"(too low counts {quantile:g} times, too high {1 - quantile:g} times)"
    dutch = f"(te laag telt {quantile:g} keer, te hoog {1 - quantile:g} keer)".replace("0.", "0,")
    assert english in render_markdown(result.document)
    document = result.document
    told = render_markdown(document | {"spec": document["spec"] | {"language": "nl"}})
    assert dutch in told


def test_without_a_quantile_both_sides_count_alike(tmp_path: Path) -> None:
    result = losses(tmp_path, None)
    assert list(result.findings) == []
    assert result.document["spec"]["bias_variable"]["quantile"] == 0.5


def test_keywords_say_the_same_as_a_file(tmp_path: Path) -> None:
    result = audit(
        offers(),
        label="asked",
        prediction="offered",
        derive="pinball_loss",
        quantile=0.9,
        columns=["sex"],
        clustering=None,
        slices=None,
        worst_groups=None,
        protected=["town"],
    )
    assert (
        parse_spec(result.document["spec"]).bias_variable
        == load_spec(
            written(
                tmp_path,
                offers(),
                bias_variable={"derive": "pinball_loss", "label": "asked", "prediction": "offered", "quantile": 0.9},
            )
        ).bias_variable
    )
    with pytest.raises(SpecError, match='needs "better"'):
        audit(offers(), label="asked", prediction="offered", derive="signed_error")


def test_other_quantiles_are_not_compared(tmp_path: Path) -> None:
    low = losses(tmp_path, 0.1)
    (tmp_path / "report.json").write_text(json.dumps(low.document))
    same = parse_spec(low.document["spec"])
    assert read_baseline(tmp_path / "report.json", same)
    high = parse_spec({**same.to_dict(), "bias_variable": {**same.bias_variable.model_dump(), "quantile": 0.9}})
    with pytest.raises(SourceError, match=r"its bias_variable\.quantile is 0\.1, that of the specification 0\.9"):
        read_baseline(tmp_path / "report.json", high)
    with pytest.raises(SpecError, match=r"bias_variable\.quantile is 0\.1 in A and 0\.9 in B"):
        compare(same, high)


@pytest.mark.parametrize(
    ("bias", "english", "dutch"),
    [
        (SIGNED, "mean of offered less asked", "het gemiddelde van offered min asked"),
        (
            {"derive": "pinball_loss", "label": "asked", "prediction": "offered", "quantile": 0.25},
            "mean pinball loss of offered and asked at the quantile 0.25",
            "het gemiddelde pinballverlies van offered en asked bij het kwantiel 0,25",
        ),
    ],
)
def test_the_data_section_says_what_is_measured(bias: dict[str, Any], english: str, dutch: str, tmp_path: Path) -> None:
    clusters = {"clustering": QUICK["clustering"], "worst_groups": None, "gate": []}
    document = audit(None, load_spec(written(tmp_path, offers(400), bias_variable=bias, **clusters))).document
    assert document["bias_variable"]["description"] == english
    assert f"the {english}; train rows" in render_html(document)
    assert dutch in render_html(document | {"spec": document["spec"] | {"language": "nl"}})


def test_amounts_of_0_and_1_are_told_as_such() -> None:
    """Where a signed error is never below 0 and never beyond 1, its mean is a share of people."""
    frame = offers()
    frame["offered"] = frame["asked"] + (frame["sex"] == "f")
    result = audit(frame, {**QUICK, "bias_variable": {**SIGNED, "better": "lower"}, "clustering": None})
    assert "100 of 100 such people have “offered” 1 higher than “asked”" in render_markdown(result.document)
