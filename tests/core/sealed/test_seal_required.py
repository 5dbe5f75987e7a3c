"""What a seal decides: with "sealed: required" nothing passes without one that fits, and looks share the level."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from bdt_core import audit
from bdt_core.auditing import AuditResult
from bdt_core.errors import SpecError
from bdt_core.report import for_publication
from bdt_core.report.markdown import render_markdown
from bdt_core.sealed.answer import GateAnswer, after_looks
from bdt_core.sealed.plan import plan_digest
from bdt_core.sealed.seal import seal_of
from bdt_core.spec import AuditSpec, load_spec, parse_spec, spec_of_keywords
from bdt_pipeline.cli import app

MOST = 0.35
"""No group is worse off by more, in these people."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BDT_LOOKS", str(tmp_path / "ledger"))
    rng = np.random.default_rng(3)
    rows = 2_000
    people = pd.DataFrame(
        {"age": rng.integers(18, 80, rows), "town": rng.choice(["a", "b"], rows), "sex": rng.choice(["f", "m"], rows)}
    )
    people.to_csv("people.csv", index=False)
    people.assign(repaid=rng.integers(0, 2, rows), granted=rng.integers(0, 2, rows)).to_csv("loans.csv", index=False)
    return tmp_path


def written(**changes: Any) -> Path:
    """A specification in the working directory; the seal that was written for the first one stays."""
    plain = {
        "name": "loans",
        "source": {"path": "loans.csv"},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
        "protected": ["sex"],
        "clustering": None,
        "slices": None,
        "gate": [{"check": "worst_group", "max_difference": MOST}],
        **changes,
    }
    Path("loans.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")
    return Path("loans.yaml")


def sealed(path: Path, data: str = "people.csv") -> None:
    """The seal as the command writes it, of the people before they have outcomes."""
    done = CliRunner().invoke(app, ["seal", str(path), "--data", data])
    assert done.exit_code == 0, done.output


def page_of(result: AuditResult) -> str:
    return render_markdown(result.document).split("# Report")[0]


def test_without_a_seal_a_pass_is_inconclusive_and_the_gate_is_shut(folder: Path) -> None:
    assert audit(None, written()).verdict == "pass"
    result = audit(None, written(sealed="required"))
    assert (result.verdict, result.gate.blocks) == ("inconclusive", True)
    assert [one.verdict for one in result.gate.limits] == ["pass"]
    assert result.gate.sentence.startswith('The plan has to be fixed beforehand ("sealed: required"), and there is no')
    assert 'Write one with "bdt seal"' in result.gate.sentence
    assert "seal" not in result.document
    page = page_of(result)
    assert "Not yet" in page
    assert '**Plan**: The plan was not fixed beforehand, as "sealed: required" asks.' in page
    assert "Of the limits 1 of 1 hold by themselves." in page
    assert "Have the plan fixed before anybody sees outcomes" in page
    assert "Collect data on more people" not in page


def test_a_plan_that_was_fixed_before_outcomes_were_known_passes(folder: Path) -> None:
    path = written(sealed="required")
    sealed(path)
    result = audit(None, path)
    assert (result.verdict, result.gate.blocks, result.gate.held_back) == ("pass", False, ())
    assert result.document["seal"]["differs"] == []
    assert "as its seal says, and this audit keeps to it." in page_of(result)
    assert result.document["spec"]["seal"] == "loans.seal.json"


def test_another_plan_or_other_people_do_not_pass(folder: Path) -> None:
    sealed(written(sealed="required"))
    moved = audit(None, written(sealed="required", gate=[{"check": "worst_group", "max_difference": 0.4}]))
    assert moved.verdict == "inconclusive"
    assert "The limit on the worst group was moved from 35 to 40 of 100." in moved.gate.sentence
    fewer = pd.read_csv("loans.csv")[:1_500]
    others = audit(fewer, load_spec(written(sealed="required")))
    assert others.verdict == "inconclusive"
    assert "The people are others than those of the seal, or their features were changed." in others.gate.sentence


def test_a_failure_stays_one_and_says_what_it_said(folder: Path) -> None:
    limits = [{"metric": "disparate_impact", "facet": "sex", "min": 1.5, "rule": "point"}]
    plain = audit(None, written(gate=limits, favourable="positive"))
    result = audit(None, written(gate=limits, favourable="positive", sealed="required"))
    assert (plain.verdict, result.verdict) == ("fail", "fail")
    assert result.gate.sentence == plain.gate.sentence
    assert "The plan was not fixed beforehand" in page_of(result)


def test_where_a_seal_is_optional_it_is_told_and_decides_nothing(folder: Path) -> None:
    sealed(written())
    result = audit(None, written(gate=[{"check": "worst_group", "max_difference": 0.4}]))
    assert (result.verdict, result.gate.held_back) == ("pass", ())
    assert "This audit is not as its seal says. The limit on the worst group was moved" in page_of(result)


@pytest.mark.parametrize("content", [None, "{}"])
def test_a_seal_that_cannot_be_read_stops_no_audit_and_lets_none_pass(folder: Path, content: str | None) -> None:
    if content is not None:
        Path("x.seal.json").write_text(content, encoding="utf-8")
    result = audit(None, written(sealed="required", seal="x.seal.json"))
    assert result.verdict == "inconclusive"
    assert "x.seal.json" in result.gate.sentence


def test_every_door_finds_the_same_seal_and_gives_the_same_answer(folder: Path) -> None:
    path = written(sealed="required")
    sealed(path)
    sealed_file = Path("loans.seal.json")
    keys = {key: one for key, one in yaml.safe_load(path.read_text(encoding="utf-8")).items() if key != "source"}
    by_keywords = audit("loans.csv", **keys, seal="loans.seal.json")
    of_frame = audit(pd.read_csv("loans.csv"), load_spec(path))
    assert by_keywords.verdict == of_frame.verdict == audit(None, path).verdict == "pass"
    assert audit("loans.csv", **keys).verdict == "inconclusive"
    run = CliRunner().invoke
    assert run(app, ["gate", "loans.yaml"]).exit_code == 0
    assert run(app, ["audit", "loans.yaml", "--out", "report"]).exit_code == 0
    assert json.loads(Path("report/report.json").read_text(encoding="utf-8"))["verdict"]["verdict"] == "pass"
    sealed_file.rename("elsewhere.json")
    shut = run(app, ["gate", "loans.yaml"])
    assert shut.exit_code == 1
    assert "there is no seal of it" in shut.output
    assert run(app, ["gate", "loans.yaml", "--seal", "elsewhere.json"]).exit_code == 0
    assert run(app, ["audit", "loans.yaml", "--out", "other", "--seal", "elsewhere.json"]).exit_code == 0
    assert json.loads(Path("other/report.json").read_text(encoding="utf-8"))["verdict"]["verdict"] == "pass"
    missing = run(app, ["gate", "loans.yaml", "--seal", "none.json"])
    assert missing.exit_code == 2
    assert "--seal: none.json does not exist." in missing.output


def test_every_form_of_the_gate_says_what_holds_it_back(folder: Path) -> None:
    written(sealed="required")
    run = CliRunner().invoke
    assert "::error" in run(app, ["gate", "loans.yaml", "--format", "github"]).output
    assert 'failures="1"' in run(app, ["gate", "loans.yaml", "--format", "junit"]).output
    (quality,) = json.loads(run(app, ["gate", "loans.yaml", "--format", "gitlab"]).output)
    assert "there is no seal of it" in quality["description"]
    told = json.loads(run(app, ["gate", "loans.yaml", "--format", "json"]).output)
    assert (told["verdict"], told["blocks"], told["exit_code"], len(told["held_back"])) == ("inconclusive", True, 1, 1)


def test_a_baseline_lets_nothing_pass_that_has_no_seal(folder: Path) -> None:
    run = CliRunner().invoke
    written()
    assert run(app, ["audit", "loans.yaml", "--out", "before"]).exit_code == 0
    asked = ["gate", "loans.yaml", "--baseline", "before/report.json"]
    assert run(app, asked).exit_code == 0
    written(sealed="required")
    shut = run(app, asked)
    assert shut.exit_code == 1
    assert "INCONCLUSIVE against the baseline: The plan has to be fixed" in shut.output


def test_a_form_for_publication_says_why_and_no_number(folder: Path) -> None:
    published = for_publication(audit(None, written(sealed="required")).document)
    assert published["verdict"]["verdict"] == "inconclusive"
    assert published["verdict"]["sentence"] == " ".join(published["verdict"]["held_back"])
    assert "there is no seal of it" in published["verdict"]["sentence"]


def test_in_dutch_it_is_said_in_dutch(folder: Path) -> None:
    page = page_of(audit(None, written(sealed="required", looks=5, language="nl")))
    assert 'Het plan moet vooraf zijn vastgelegd ("sealed: required")' in page
    assert "Significantieniveau 0,01: 0,05 verdeeld over de 5 keren" in page


def test_each_look_is_judged_at_its_share_of_the_level(folder: Path) -> None:
    slices = {"max_conditions": 1}
    one, five = audit(None, written(slices=slices)), audit(None, written(slices=slices, looks=5))
    assert [x.slices.fdr for x in (one, five) if x.slices is not None] == pytest.approx([0.1, 0.02])
    assert five.document["spec"]["slices"]["fdr"] == 0.1  # as it was asked for
    assert [x.gate.limits[0].confidence for x in (one, five)] == [0.95, 0.99]
    assert five.worst_groups is not None
    assert five.worst_groups.alpha == pytest.approx(0.01)
    assert five.declared is not None
    assert five.declared.alpha == pytest.approx(0.01)
    assert five.document["spec"]["significance"]["alpha"] == pytest.approx(0.01)
    assert five.document["spec"]["significance"]["alpha_of_all_looks"] == 0.05
    assert "Level 0.01: 0.05 over the 5 looks that the plan allows." in page_of(five)
    assert "Level" not in page_of(one)


LEAST = {"name": "loans", "source": {"path": "loans.csv"}, "bias_variable": {"column": "error"}}


def test_the_level_is_divided_once_however_often_it_is_read() -> None:
    spec = parse_spec({**LEAST, "looks": 4, "significance": {"alpha": 0.1}})
    for _ in range(3):
        assert (spec.significance.alpha, spec.significance.alpha_of_all_looks) == (0.025, 0.1)
        spec = AuditSpec.model_validate(json.loads(json.dumps(spec.to_dict())))
    by_keywords = spec_of_keywords({"outcome": "error", "alpha": 0.1, "looks": 4})
    assert by_keywords.significance == spec.significance
    without = parse_spec({**LEAST, "significance": {"alpha": 0.1}})
    assert without.significance.alpha_of_all_looks is None
    assert plan_digest(without) != plan_digest(spec)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"looks": 0}, "looks: input should be greater than or equal to 1"),
        ({"looks": 101}, "looks: input should be less than or equal to 100"),
        ({"looks": True}, "looks: expected a number, found true"),
        ({"sealed": "yes"}, "sealed: input should be 'optional' or 'required'"),
        ({"seal": ""}, "seal: string should have at least 1 character"),
        (
            {"looks": 5, "significance": {"alpha": 0.02, "alpha_of_all_looks": 0.05}},
            '"significance.alpha" is 0.02, and 0.05 over 5 looks is 0.01: leave "alpha_of_all_looks" out',
        ),
    ],
)
def test_what_is_no_such_value_is_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as raised:
        parse_spec({**LEAST, **keys})
    assert message in str(raised.value)


def test_after_the_looks_that_are_allowed_nothing_passes(folder: Path) -> None:
    answers = []
    for number in (1, 2, 3):  # the same look again would be none
        path = written(looks=2, split={"random_state": number})
        done = CliRunner().invoke(app, ["audit", str(path), "--out", f"report-{number}"])
        assert done.exit_code == 0, done.output
        answers.append(json.loads(Path(f"report-{number}/report.json").read_text(encoding="utf-8"))["verdict"])
    assert [one["verdict"] for one in answers] == ["pass", "pass", "inconclusive"]
    assert answers[2]["sentence"].startswith('This is look 3 at these people, and the plan allows 2 ("looks")')
    page = Path("report-3/report.md").read_text(encoding="utf-8").split("# Report")[0]
    assert "This is look 3 at these people, and the plan allows 2" in page
    ended = [json.loads(line) for line in Path("ledger/looks.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["verdict"] for one in ended if one["event"] == "ended"] == ["pass", "pass", "inconclusive"]
    assert CliRunner().invoke(app, ["gate", str(path)]).exit_code == 1


def test_a_look_names_its_seal(folder: Path) -> None:
    path = written()
    sealed(path)
    CliRunner().invoke(app, ["gate", str(path)])
    begun = json.loads(Path("ledger/looks.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert begun["seal"] == audit(None, path).document["seal"]["digest"]
    assert begun["plan_digest"] == plan_digest(load_spec(path))


def test_what_keeps_an_answer_from_being_a_pass() -> None:
    passed = GateAnswer(verdict="pass", blocks=False, sentence="It holds.")
    assert passed.held() is passed
    twice = passed.held("No seal.").held("Too many looks.")
    assert (twice.verdict, twice.blocks, twice.held_back) == ("inconclusive", True, ("No seal.", "Too many looks."))
    assert twice.sentence == "Too many looks. No seal. It holds."
    for verdict in ("fail", "not_testable", "no_limit", "inconclusive"):
        assert GateAnswer(verdict=verdict, blocks=False, sentence="").held("No seal.").verdict == verdict
    document = {"spec": {"looks": None}, "verdict": {"verdict": "pass"}}
    assert after_looks(document, 100) is document


def test_a_seal_in_another_folder_is_found_beside_its_specification(folder: Path) -> None:
    path = written(sealed="required")
    assert load_spec(path).seal is None
    seal_of(load_spec(path)).write(folder / "loans.seal.json")
    assert load_spec(folder / "loans.yaml").seal == str(folder / "loans.seal.json")
    named = load_spec(written(seal="kept/s.json"))
    assert named.seal == "kept/s.json"
    (folder / "kept").mkdir()
    seal_of(named).write(folder / "kept" / "s.json")
    assert load_spec(folder / "loans.yaml").seal == str(folder / "kept" / "s.json")
