"""A Dutch audit is told in Dutch everywhere: by the gate, on the screen, in Dagster and over the days."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import dagster as dg
import pytest

from bdt_core.report.annotations import Place, github_annotations, gitlab_code_quality
from bdt_core.report.catalogue import say_in
from bdt_core.report.comment import render_comment
from bdt_core.report.figure_history import history_svg
from bdt_core.report.gate_result import build_gate_result
from bdt_core.report.junit import render_junit
from bdt_core.report.printed import printed
from bdt_core.report.sheet import Sheet
from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.commands import show_history
from bdt_pipeline.commands.console import show_result
from bdt_pipeline.commands.run_gate import verdict_in_words
from tests.core.history.made_batches import days, history_spec
from tests.core.report.test_language import ENGLISH, ENGLISH_NUMBER, report
from tests.core.verdict.against import against
from tests.goldens.audits import people

CODE = re.compile(
    r"[\w.]*_[\w.]*|(?:history|split|features|clustering|significance|groups|gate)\.\w+|report\.\w+|inconclusive: block"
    r"|dagster/\S+|/\S+|ERROR|WARN"
)
"""Keys, files and other names of code, which no language changes."""
CASES = [("compas", "compas"), ("compas_in_depth", "compas"), ("grants", "grants"), ("limits", "")]


def english(said: Iterable[str], *names: str) -> list[str]:
    """Texts with an English word or number, code and names left out."""
    words = ENGLISH - {word for one in names for word in re.findall("[a-z]+", one.lower())}
    found = []
    for one in dict.fromkeys(said):
        told = CODE.sub("", one)
        if ENGLISH_NUMBER.search(told) or words & set(re.findall(r"[^\W\d_]+", told.lower())):
            found.append(one)
    return found


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_form_of_the_gate_is_dutch(name: str, case: str) -> None:
    document = report(name, case)
    # An earlier report with less harm and without the last limit: some limits are worse, one is not comparable.
    before = json.loads(json.dumps(document))
    before["gate"] = before["gate"][: max(1, len(before["gate"]) - 1)]
    for one in before["gate"]:
        one |= {key: one[key] - 0.5 for key in ("difference", "low", "high") if one.get(key) is not None}
    for baseline in (None, document, before):
        comparison = None if baseline is None else against(document, baseline)
        result, say = build_gate_result(document, 1, comparison), say_in(printed(document))
        places = [Place("audit.yaml", 1) for _ in result["limits"]]
        suites = ElementTree.fromstring(render_junit(result, say).partition("?>")[2])
        junit = [one.text or "" for one in suites.iter()] + [one.get("message", "") for one in suites.iter()]
        gitlab = [one["description"] for one in json.loads(gitlab_code_quality(result, places, say))]
        github = [one.split("title=")[1] for one in github_annotations(result, places, say).splitlines()]
        forms = [*render_comment(document, result).replace("\\", "").splitlines()[1:],
                 *verdict_in_words(result, say).splitlines(), *junit, *gitlab, *github]  # fmt: skip
        assert english(forms, name, *_names(document)) == []
        assert any("poort" in one.lower() for one in forms)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_the_terminal_is_dutch(name: str, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = report(name, case)
    show_result(document, [Path("report.json")])
    said = capsys.readouterr().out
    assert english(said.splitlines(), name, *_names(document)) == []
    assert "Rapport\n" in said
    assert said.lstrip().startswith(("VOLDOET", "NIET TE"))


def _names(document: dict[str, Any]) -> list[str]:
    return [one["name"] for one in document["data"]["columns"]] + re.findall(
        r'"level": "([^"]*)"', json.dumps(document)
    )


def test_dagster_is_dutch(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    frame = people(900, 7)
    frame.to_csv(table, index=False)
    spec = parse_spec(
        {
            "name": "leningen",
            "language": "nl",
            "source": {"path": str(table)},
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
            "protected": ["sex", "race"],
            "favourable": "positive",
            "groups": {"report": ["ll144", "four_fifths"], "score": "score"},
            "features": {"exclude": ["person", "wrong", "asked", "offered", "decision", "outcome", "grade"]},
            "slices": {},
            "local_bias": {"group": "sex"},
            "mitigation": {"group": "sex", "score": "score"},
            "gate": [{"check": "worst_group"}, {"check": "worst_slice"}, {"check": "four_fifths"},
                     {"metric": "accuracy_difference", "facet": "sex", "max": 0.1}],
            "labels": {"sex": {"name": "geslacht", "levels": {"f": "vrouw", "m": "man"}}},
        }
    )  # fmt: skip
    definitions = bias_audit_definitions(spec)
    said = [one.description or "" for one in definitions.resolve_all_asset_specs()]
    said += [
        one.description or ""
        for checks in definitions.asset_checks or ()
        for one in checks.check_specs  # type: ignore[union-attr]
    ]
    with dg.DagsterInstance.ephemeral(str(tmp_path), settings={"telemetry": {"enabled": False}}) as instance:
        run = definitions.resolve_job_def("leningen_audit").execute_in_process(
            instance=instance,
            raise_on_error=False,
            run_config={
                "ops": {"leningen__bias_report": {"config": {"output": str(tmp_path / "out")}}},
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            },
        )
    events = [
        one.event_specific_data
        for one in run.all_events
        if one.event_type_value in ("ASSET_MATERIALIZATION", "ASSET_CHECK_EVALUATION")
    ]
    assert len(events) > 20
    for one in events:
        made: Any = getattr(one, "materialization", one)
        said.append(str(getattr(one, "description", None) or ""))
        for key, value in made.metadata.items():
            if key in ("settings", "rapport", "verdict", "severity", "recommendation", "bron", "vingerafdruk"):
                continue
            said.append(key)
            text = getattr(value, "value", None)
            if isinstance(text, str) and "data:image" not in text:
                said += re.sub(r"\\(.)", r"\1", text).splitlines()
    assert english(said, *frame.columns, *map(str, frame["race"].unique()), "int64 float64 str object bool") == []
    assert any("gevonden clusters" in one for one in said)
    assert any("Is wat foutpercentage betreft geen groep die voorwaarden beschrijven" in one for one in said)
    assert any("Is wat foutpercentage betreft geen combinatie meer dan" in one for one in said)
    assert any(re.search(r": foutpercentage .*hoger .*dan bij alle anderen", one) for one in said)
    assert not any(re.search(r"\| (f|m) \|", one) for one in said)  # but labels


def test_no_name_of_the_table_is_translated_in_dagster(tmp_path: Path) -> None:
    frame = people(900, 7).rename(columns={"sex": "kind", "race": "mean"})
    frame["kind"] = frame["kind"].map({"f": "none", "m": "everybody else"})
    frame["mean"] = frame["mean"].map({"a": "yes", "b": "stable", "c": "Fail"}).fillna("left out")
    frame.to_csv(tmp_path / "table.csv", index=False)
    spec = parse_spec(
        {
            "name": "leningen",
            "language": "nl",
            "source": {"path": str(tmp_path / "table.csv")},
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
            "favourable": "positive",
            "groups": {"facets": ["kind", ["kind", "mean"]], "report": ["ll144", "four_fifths"], "score": "score"},
            "features": {"include": ["kind", "mean", "age"]},
            "slices": {"columns": ["kind", "mean"]},
            "mitigation": {"group": "mean", "score": "score"},
            "gate": [
                {"metric": "accuracy_difference", "facet": "kind", "max": 0.1},
                {"check": "four_fifths", "facet": "kind"},
            ],
        }
    )
    with dg.DagsterInstance.ephemeral(str(tmp_path), settings={"telemetry": {"enabled": False}}) as instance:
        job = bias_audit_definitions(spec).resolve_job_def("leningen_audit")
        run = job.execute_in_process(
            instance=instance,
            raise_on_error=False,
            run_config={
                "ops": {"leningen__bias_report": {"config": {"output": str(tmp_path / "out")}}},
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            },
        )
    named, keys = set(), set()  # by the first cells of rows
    for one in run.all_events:
        if one.event_type_value == "ASSET_MATERIALIZATION" and not one.asset_key.path[-1].endswith("report"):
            made: Any = one.event_specific_data
            keys |= made.materialization.metadata.keys()
            for value in made.materialization.metadata.values():
                if isinstance(value, dg.MarkdownMetadataValue):
                    told = re.sub(r"\\(.)", r"\1", str(value.value))
                    named |= {line[2:].split(" | ")[0] for line in told.splitlines() if line.startswith("| ")}
    assert {"kind", "mean", "kind & mean", "none", "everybody else", "none & yes", "none & stable"} <= named
    assert {"soort", "gemiddelde", "geen", "alle anderen", "geen & ja", "geen & stabiel"} & named == set()
    assert {"ja", "stabiel", "Voldoet niet", "weggelaten"} & named == set()  # groups of mitigation, by one column
    judged = {}  # by the gate and by the checks of its limits
    for one in run.get_asset_check_evaluations():
        told = {name: str(value.value) for name, value in one.metadata.items()}
        judged[one.check_name] = [told.get("groep"), told.get("referentie")]
    assert judged["accuracy_difference_by_kind"] == ["everybody else", None]
    assert sorted(map(str, judged["four_fifths_by_kind"])) == ["everybody else", "none"]
    assert {"rijen naar kind", "rijen naar kind & mean", "aandelen naar kind", "getelde rijen naar kind"} <= keys


def test_the_history_and_its_figure_are_dutch(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bdt_core.history import follow

    spec: AuditSpec = history_spec(
        language="nl",
        labels={"sex": {"name": "geslacht", "levels": {"f": "vrouw", "m": "man"}}},
        gate=[{"metric": "accuracy_difference", "facet": "sex", "max": 0.1},
              {"metric": "accuracy_ratio", "facet": "sex", "min": 0.8}],
    )  # fmt: skip
    fair = {"f": (300, 30, 30, 240), "m": (300, 30, 30, 240), "x": (3, 1, 1, 3)}
    unfair = {"f": (150, 180, 180, 90), "m": (300, 30, 30, 240), "x": (3, 1, 1, 3)}
    for several in ([fair] * 6, [*[fair] * 8, unfair, unfair], [fair]):
        history = follow(days(spec, several), spec)
        show_history._print("leningen", history, ["x.json"])
        said = capsys.readouterr().out
        assert english([" ".join(said.split())], "to") == []
        assert "vrouw" in said
        drawn, text = [], Sheet.text

        def kept(sheet: Sheet, x: float, y: float, words: str, **more: Any) -> None:
            drawn.append(str(sheet.said(words)))  # noqa: B023 - called within the loop
            text(sheet, x, y, words, **more)  # noqa: B023

        with monkeypatch.context() as patch:
            patch.setattr(Sheet, "text", kept)
            history_svg(history)
        assert english(drawn) == []
        assert len(drawn) > 5
