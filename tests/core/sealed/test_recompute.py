"""The independent verifier agrees with every golden report, and finds a number or a cell that somebody has changed."""

from __future__ import annotations

import ast
import copy
import json
import math
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.report.write import canonical_json
from bdt_core.spec import parse_spec
from bdt_core.table.ranks import row_hashes
from bdt_core.table.sources import read_table
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate
from tests.goldens.audits import AUDITS, people
from tests.goldens.frozen import FOLDER

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "verifier" / "recompute.py"
DEMOS = {"compas": "compas", "compas_in_depth": "compas", "grants": "grants", "adult": "adult"}
REPORTS = sorted({one.report or name for name, one in AUDITS.items()})
SMALL = ("everything", "mixed", "chosen_is_better", "higher_is_better", "false_positives_drop_missing")
MUTATED = 8
_RUN_ALL = """
import json, runpy, sys
path, runs = sys.argv[1], json.loads(sys.argv[2])
main = runpy.run_path(path)["main"]
print(json.dumps({name: main(files) for name, files in runs.items()}), file=sys.stderr)
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})), file=sys.stderr)
"""

Report = dict[str, Any]


def verifier() -> Any:
    """The file as a module, for what is run many times."""
    spec = spec_from_file_location("recompute", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def program() -> Any:
    return verifier()


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tables_of_goldens(tmp_path_factory.mktemp("tables"))


def tables_of_goldens(folder: Path) -> dict[str, Path]:
    """The table of each golden report, as a CSV file."""
    for name, golden in AUDITS.items():
        if golden.people is not None:
            golden.people().to_csv(folder / f"{golden.report or name}.csv", index=False)
    for name, demo in DEMOS.items():
        file = ROOT / "bdt_core" / "data" / f"{demo}.csv"
        if file.exists():
            shutil.copy(file, folder / f"{name}.csv")
        else:
            pd.read_parquet(file.with_suffix(".parquet")).to_csv(folder / f"{name}.csv", index=False)
    return {name: folder / f"{name}.csv" for name in REPORTS}


def golden(name: str) -> Report:
    report: Report = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return report


def test_every_golden_report_agrees_and_nothing_of_ours_is_imported(tables: dict[str, Path]) -> None:
    runs = {name: [str(FOLDER / f"{name}.json"), str(table)] for name, table in tables.items()}
    asked = [sys.executable, "-I", "-c", _RUN_ALL, str(PROGRAM), json.dumps(runs)]
    ended = subprocess.run(asked, capture_output=True, text=True, check=True)
    codes, modules = map(json.loads, ended.stderr.splitlines()[-2:])
    differing = [line for line in ended.stdout.splitlines() if line.startswith("differs")]
    assert not differing
    assert codes == dict.fromkeys(REPORTS, 0)
    assert not {"bdt_core", "bdt_pipeline", "pandas", "numba", "pydantic"} & set(modules)


def test_it_names_what_it_imports() -> None:
    """The standard library, NumPy and SciPy, whatever a run comes by."""
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    imported = {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
    imported |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {one.split(".")[0] for one in imported} <= {*sys.stdlib_module_names, "numpy", "scipy"}


def test_as_a_command(tables: dict[str, Path], tmp_path: Path) -> None:
    def run(*files: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-I", PROGRAM, *files], capture_output=True, text=True, check=False)

    agrees = run(FOLDER / "compas.json", tables["compas"])
    assert (agrees.returncode, agrees.stderr) == (0, "")
    assert "rows: " in agrees.stdout
    assert re.search(r"limits: (\d+) recomputed, \1 agree", agrees.stdout)
    report = golden("compas")
    report["declared_outcomes"]["facets"][0]["groups"][0]["difference"] += 0.001
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    differs = run(tmp_path / "report.json", tables["compas"])
    assert differs.returncode == 1
    assert "differs: declared_outcomes.facets[0].groups[0].difference is " in differs.stdout
    for unreadable in ((), (tmp_path / "none.json", tables["compas"]), (FOLDER / "compas.json", tmp_path / "none.csv")):
        assert run(*unreadable).returncode == 2


def test_a_table_in_parts_is_one_table(program: Any, tables: dict[str, Path], tmp_path: Path) -> None:
    lines = tables["mixed"].read_text(encoding="utf-8").splitlines(keepends=True)
    parts = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for part, some in zip(parts, (lines[1:500], lines[500:]), strict=True):
        part.write_text("".join([lines[0], *some]), encoding="utf-8")
    report = golden("mixed")
    assert not program.Recomputed(report, program.Table(parts, report["spec"]["source"])).differing
    assert program.Recomputed(report, program.Table(parts[:1], report["spec"]["source"])).differing


def test_a_report_that_contradicts_itself_is_told(program: Any, tables: dict[str, Path]) -> None:
    """More events than people: nothing can be recomputed from them, and the rest is."""
    report = golden("everything")
    table = program.Table([tables["everything"]], report["spec"]["source"])
    report["mitigation"]["thresholds"]["accuracy"]["before"]["events"] += 10_000
    recomputed = program.Recomputed(report, table)
    assert {kind for kind, *_ in recomputed.differing} == {"contradictions", "thresholds"}
    assert recomputed.made["limits"]


INTERVALS = {
    "income up to 300": (-math.inf, 300.0),
    "income above 300": (300.0, math.inf),
    "income above 300 and up to 400": (300.0, 400.0),
    "income 301 to 1,000": (300.9999, 1000.0),
}


@pytest.mark.parametrize("words", INTERVALS)
def test_words_of_intervals_say_who_is_in_them(words: str, program: Any, tables: dict[str, Path]) -> None:
    report = golden("mixed")
    table = program.Table([tables["mixed"]], report["spec"]["source"])
    recomputed, x = program.Recomputed(report, table), table.numbers("income")
    low, high = INTERVALS[words]
    known = ~np.isnan(x)
    assert (recomputed.valued("income", words)[known] == ((x > low) & (x <= high))[known]).all()
    with pytest.raises(program.Skip):
        recomputed.valued("income", f"{words} or so")


def claims(program: Any, report: Report, table: Any) -> list[tuple[str, Any, Any]]:
    """Every member of the report that is held against something recomputed: kind, object or list, name or place."""
    claims: list[tuple[str, Any, Any]] = []

    class Noted(program.Recomputed):  # type: ignore[misc]
        def each(self, kind: str, where: str, stated: dict[str, Any], *within: float, **mine: Any) -> None:
            before = sum(self.made.values())
            super().each(kind, where, stated, *within, **mine)
            if sum(self.made.values()) > before:
                for name in (one for one in mine if one in stated):
                    several = stated[name]
                    places = range(len(several)) if isinstance(several, list) else None
                    claims.extend([(kind, stated, name)] if places is None else ((kind, several, i) for i in places))

    Noted(report, table)
    return claims


def _objects(part: Any) -> Iterator[int]:
    if isinstance(part, (dict, list)):
        yield id(part)
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _objects(inner)


def changed(value: Any) -> Any:
    """Another value of the same sort."""
    if value is None:
        return 0.5
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return "fail" if value != "fail" else "pass"
    if isinstance(value, int):
        return value + 1
    return 0.5 if math.isinf(value) else value * 1.0001 + 1e-6


@pytest.mark.parametrize("name", SMALL)
def test_each_number_that_is_changed_in_the_report_is_found(name: str, program: Any, tables: dict[str, Path]) -> None:
    """Of every kind of thing some, drawn."""
    report = golden(name)
    table = program.Table([tables[name]], report["spec"]["source"])
    own = set(_objects(report))
    compared = [one for one in claims(program, report, table) if id(one[1]) in own]
    rng = np.random.default_rng(17)
    kinds = sorted({kind for kind, *_ in compared})
    assert {"rows", "people found", "declared groups", "limits"} <= set(kinds)
    for kind in kinds:
        several = [one for one in compared if one[0] == kind]
        for i in rng.permutation(len(several))[:MUTATED]:
            _, stated, member = several[i]
            before = stated[member]
            stated[member] = changed(before)
            found = program.Recomputed(report, table).differing
            stated[member] = before
            assert found, f"{kind}: {member} was {before!r}"
    assert not program.Recomputed(report, table).differing


def numbers_of(part: Any, where: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Every number of the report but those that were asked for: what holds it, its place there, and its path."""
    for name, inner in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        at = f"{where}.{name}".strip(".") if isinstance(part, dict) else where
        if isinstance(inner, (int, float)) and not isinstance(inner, bool):
            yield part, name, at
        elif at not in ("spec", "sentences"):
            yield from numbers_of(inner, at)


@pytest.mark.parametrize(("name", "not_found"), [("compas", 0), ("grants", 0), ("mixed", 1)])
def test_numbers_of_the_whole_report(name: str, not_found: int, program: Any, tables: dict[str, Path]) -> None:
    """Of fifty that are drawn from all that there are, all but so many are found, and no fewer than it can."""
    report = golden(name)
    table = program.Table([tables[name]], report["spec"]["source"])
    numbers, missed = list(numbers_of(report)), []
    for i in np.random.default_rng(28).permutation(len(numbers))[:50]:
        part, member, where = numbers[i]
        before = part[member]
        part[member] = changed(before)
        if not program.Recomputed(report, table).differing:
            missed.append(where)
        part[member] = before
    assert len(missed) == not_found, missed


def test_nearly_all_numbers_of_all_reports_are_held(program: Any, tables: dict[str, Path]) -> None:
    """Of each some are random by construction, or stand in files that are not there."""
    held, of = 0, 0
    for name in REPORTS:
        report = golden(name)
        table = program.Table([tables[name]], report["spec"]["source"])
        compared = {(id(stated), member) for _, stated, member in claims(program, report, table)}
        numbers = [(id(part), member) for part, member, _ in numbers_of(report)]
        held, of = held + sum(one in compared for one in numbers), of + len(numbers)
    assert held / of > 0.99, (held, of)


def _parts_of_sums(report: Report) -> list[tuple[dict[str, Any], str]]:
    """What is recomputed only together with something else."""
    slices = report["slices"]["slices"][0]
    return [
        (report["split"], "train_rows"), (report["split"], "test_rows"),
        (report["bias_variable"], "train_mean"), (report["bias_variable"], "test_mean"),
        (slices, "train_rows"), (slices, "test_rows"), (slices, "train_value"), (slices["comparison"], "mean_a"),
        (report["data"]["rows_left_out"][0], "rows"),
    ]  # fmt: skip


def test_each_part_of_a_sum_is_found(program: Any, tables: dict[str, Path]) -> None:
    report = golden("false_positives_drop_missing")
    table = program.Table([tables["false_positives_drop_missing"]], report["spec"]["source"])
    for stated, member in _parts_of_sums(report):
        before = stated[member]
        stated[member] = changed(before)
        assert program.Recomputed(report, table).differing, member
        stated[member] = before


@pytest.mark.parametrize("name", ["everything", "limits", "higher_is_better", "compas_in_depth"])
def test_each_verdict_that_is_changed_is_found(name: str, program: Any, tables: dict[str, Path]) -> None:
    report = golden(name)
    table = program.Table([tables[name]], report["spec"]["source"])
    for limit in [*report["gate"], report["verdict"]]:
        others = {"pass", "fail", "inconclusive"} - {limit["verdict"]}
        for changed in ({"blocks": not limit["blocks"]}, *({"verdict": verdict} for verdict in sorted(others))):
            before = copy.copy(limit)
            limit.update(changed)
            assert program.Recomputed(report, table).differing, (limit.get("check"), changed)
            limit.update(before)


def test_what_holds_a_pass_back_is_known(program: Any, tables: dict[str, Path]) -> None:
    report = golden("chosen_is_better")
    table = program.Table([tables["chosen_is_better"]], report["spec"]["source"])
    assert report["verdict"]["verdict"] == "pass"
    report["verdict"] |= {"held_back": ["The plan is not sealed."], "verdict": "inconclusive", "blocks": True}
    assert not program.Recomputed(report, table).differing
    report["verdict"]["verdict"] = "pass"
    assert program.Recomputed(report, table).differing


@pytest.mark.parametrize("column", ["sex", "race", "contract", "repaid", "granted", "score", "town", "age"])
def test_a_cell_that_is_changed_in_the_table_is_found(
    column: str, program: Any, tables: dict[str, Path], tmp_path: Path
) -> None:
    """Of a column that is only a feature, if it puts a person into a group that was found, or out of it."""
    report = golden("everything")
    frame = pd.read_csv(tables["everything"], dtype=str)
    within = frame.index[(frame["town"] == "north") & (frame["age"].astype(int) <= 33)]
    others = sorted(set(frame[column].dropna()), reverse=True)
    for row in np.random.default_rng(3).choice(within if column in ("town", "age") else frame.index, 3):
        changed = frame.copy()
        changed.loc[row, column] = others[1] if changed.loc[row, column] == others[0] else others[0]
        changed.to_csv(tmp_path / "changed.csv", index=False)
        table = program.Table([tmp_path / "changed.csv"], report["spec"]["source"])
        assert program.Recomputed(report, table).differing, (column, int(row))


_SPLITS: dict[str, Report] = {
    "by row": {},
    "without strata": {"split": {"stratify": False, "random_state": 3}},
    "by hash": {"split": {"method": "hash", "test_size": 0.3}},
    "by person": {"split": {"key": "person"}},
    "of numbers in lists": {"bias_variable": {"derive": "exposure", "prediction": "score", "query": "person"}},
    "of complete rows": {"missing": "drop", "bias_variable": {"column": "grade"}},
    "of a large table": {"large_rows": 1_000, "groups": {"score": "score", "facets": ["sex"], "stratum": "job"}},
    "of a large table, by person": {"large_rows": 1_000, "split": {"key": "person", "random_state": 9}},
}


@pytest.mark.parametrize("name", _SPLITS)
def test_the_test_rows_are_those_of_the_audit(name: str, program: Any, tmp_path: Path) -> None:
    """Also where many rows are alike, and differ in what is only carried along."""
    frame, file = people(3_000, 90, gaps=True), tmp_path / "people.csv"
    frame["age"] = frame["age"] // 20 * 20 - 20.5 * (frame["age"] > 70)
    frame["income"] = frame["income"].round(-2)
    frame["granted"] = frame["granted"].where(frame["visits"] < 9)  # a whole number is a float where some are missing
    frame["flag"] = frame["contract"] == "open"
    frame.to_csv(file, index=False)
    spec = parse_spec({
        "name": "split",
        "source": {"path": str(file)},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
        "features": {"include": ["age", "income", "visits", "town"], "kinds": {"visits": "categorical"}},
        "protected": ["sex", "flag"],
        "clustering": None, "slices": None, "worst_groups": None,
        **_SPLITS[name],
    })  # fmt: skip
    report = json.loads(canonical_json(audit(None, spec).document))
    recomputed = program.Recomputed(report, program.Table([file], report["spec"]["source"]))
    assert recomputed.differing == []
    table = validate(read_table(spec.source), spec)
    ours = split_rows(table, spec.split)
    roles = {one.name: one.kind for one in ours[0].columns if one.role not in ("unused", "bias_variable")}
    hashes = recomputed.table.row_hashes(roles, **{"(bias variable)": recomputed.y})
    for part, rows in zip(ours, (recomputed.train, recomputed.test), strict=True):
        assert sorted(row_hashes(part.frame[part.used])) == sorted(hashes[rows])
        drawn = part.sample(spec.large_rows)
        if drawn.is_large:
            assert len(drawn.frame) == min(1_000, rows.sum())
            assert sorted(row_hashes(drawn.frame[part.used])) == sorted(hashes[recomputed.sample(rows)])


_NUMBERS = {"label": "asked", "prediction": "offered"}
_BIAS_VARIABLES: dict[str, Report] = {
    "signed_error": {**_NUMBERS, "better": "higher"},
    "squared_error": _NUMBERS,
    "pinball_loss": {**_NUMBERS, "quantile": 0.3},
    "false_positive": {"label": "outcome", "prediction": "decision", "positive": "yes"},
    "top_k": {"prediction": "score", "k": 100},
    "exposure": {"prediction": "score", "query": "person"},
    "position": {"prediction": "score", "query": "town", "ranked": "lowest_first"},
}


@pytest.mark.parametrize("derive", _BIAS_VARIABLES)
def test_every_other_derivation_agrees(derive: str, program: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    people(500, 41, gaps=True).to_csv(file, index=False)
    spec = parse_spec({
        "name": derive,
        "source": {"path": str(file)},
        "bias_variable": {"derive": derive, **_BIAS_VARIABLES[derive]},
        "features": {"include": ["age", "income"]},
        "protected": ["sex", "race"],
        "worst_groups": {"permutations": 39},
        "clustering": None,
        "slices": None,
    })  # fmt: skip
    report = json.loads(canonical_json(audit(None, spec).document))
    table = program.Table([file], report["spec"]["source"])
    assert program.Recomputed(report, table).differing == []
    label = _BIAS_VARIABLES[derive]["prediction"]
    table.columns[label] = np.roll(table.columns[label], 1)
    assert program.Recomputed(report, table).differing


_QUICK = {"stability": 0, "n_init": 3, "max_iter": 5}
_LOCAL = {"group": "sex", "n_clusters": 3}
_TRIED = {"group": "race", "score": "score"}
_SEARCHES: dict[str, tuple[Report, set[str]]] = {
    "places of small groups": ({"local_bias": {"group": "race", "metric": "tpr", "n_clusters": 7}}, {"local bias"}),
    "named places": ({"local_bias": {"group": "sex", "places": "town"}}, {"local bias"}),
    "places pulled far": ({"local_bias": {**_LOCAL, "metric": "fpr", "weight": 0.2}}, {"local bias"}),
    "categories alone": (
        {"features": {"include": ["town", "job"]}, "clustering": {**_QUICK, "margin": 0.01}, "pooled_from": 5}, set()
    ),
    "numbers alone": ({"features": {"include": ["age", "income"]}, "clustering": _QUICK}, {"clusters"}),
    "lots": ({"mitigation": {**_TRIED, "randomized": True, "constraint": "equal_opportunity"}}, {"thresholds"}),
    "two rates": ({"mitigation": {**_TRIED, "group": ["sex"], "constraint": "equalized_odds"}}, {"thresholds"}),
    "precision": ({"mitigation": {**_TRIED, "constraint": "predictive_parity", "tolerance": 0.2}}, {"thresholds"}),
    "persons": ({"split": {"key": "person"}, "local_bias": _LOCAL, "mitigation": _TRIED}, {"local bias"}),
    "drawn": ({"large_rows": 1_000, "local_bias": _LOCAL, "mitigation": _TRIED}, {"local bias", "thresholds"}),
}  # fmt: skip


@pytest.mark.parametrize("variant", _SEARCHES)
def test_other_searches_agree(variant: str, program: Any, tmp_path: Path) -> None:
    """Clusters, places and thresholds are found anew, whatever is asked for; a changed cell is then somewhere else."""
    keys, kinds = _SEARCHES[variant]
    file, groups = (
        tmp_path / "people.csv",
        {"facets": ["sex", ["sex", "race"]], "pooled_from": keys.get("pooled_from", 10)},
    )
    people(1_300, 44, gaps=True).to_csv(file, index=False)
    spec = parse_spec({
        "name": "searched",
        "source": {"path": str(file)},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
        "features": {"include": ["age", "income", "town", "job"]},
        "protected": ["sex", "race"],
        "groups": groups,
        "worst_groups": {"permutations": 39},
        "clustering": _QUICK,
        "slices": None,
        **{name: value for name, value in keys.items() if name != "pooled_from"},
    })  # fmt: skip
    report = json.loads(canonical_json(audit(None, spec).document))
    table = program.Table([file], report["spec"]["source"])
    recomputed = program.Recomputed(report, table)
    assert recomputed.differing == []
    assert kinds | {"clusters", "families of tests", "pooled groups"} <= recomputed.made.keys()
    assert recomputed.placed is not None
    assert [
        (recomputed.placed[recomputed.test & recomputed.audited] == c).sum() for c in range(len(report["clusters"]))
    ] == [one["test_rows"] for one in report["clusters"]]
    name = "town" if variant == "categories alone" else "age"
    table.columns[name] = np.roll(table.columns[name], 1)
    assert program.Recomputed(report, table).differing


def test_several_labels_of_each_row_agree(program: Any, tmp_path: Path) -> None:
    """The verifier makes a row of each label, too; a changed cell of one label is found."""
    file = tmp_path / "people.csv"
    frame = people(900, 7, gaps=True).drop(columns="person").rename_axis("nr").reset_index()
    second = frame["granted"].sample(frac=1.0, random_state=1).to_numpy()
    frame.assign(granted_2=second, repaid_2=frame["repaid"].iloc[::-1].to_numpy()).to_csv(file, index=False)
    labels = {"first": {"said": "granted", "true": "repaid"}, "then": {"said": "granted_2", "true": "repaid_2"}}
    spec = parse_spec({
        "name": "several",
        "source": {"path": str(file), "stacked": {"by": "loan", "rows": labels}},
        "bias_variable": {"derive": "error", "label": "true", "prediction": "said"},
        "split": {"key": "nr"},
        "features": {"include": ["loan", "age", "town"]},
        "protected": ["sex"],
        "local_bias": {"group": "sex", "places": "loan"},
        "clustering": _QUICK,
        "worst_groups": {"permutations": 39},
        "slices": None,
    })  # fmt: skip
    report = json.loads(canonical_json(audit(None, spec).document))
    table = program.Table([file], report["spec"]["source"])
    recomputed = program.Recomputed(report, table)
    assert table.rows == 1_800
    assert recomputed.differing == []
    assert {"local bias", "rows", "test rows", "people found"} <= recomputed.made.keys()
    table.columns["said"] = np.roll(table.columns["said"], 2)
    assert program.Recomputed(report, table).differing


def test_it_is_shipped_with_the_package() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"]["force-include"]["verifier/recompute.py"] == "bdt_core/sealed/recompute.py"
    assert "/verifier" in build["sdist"]["include"]


def test_codes_truth_values_and_another_separator_are_read_alike(program: Any, tmp_path: Path) -> None:
    frame = people(700, 77, gaps=True)
    frame["grp"] = np.where(frame["sex"] == "f", 1, 2)
    frame["flag"] = frame["contract"] == "open"
    frame["code"] = np.where(frame["job"] == "none", "007", "012")
    file = tmp_path / "people.csv"
    frame.to_csv(file, index=False, sep=";")
    spec = parse_spec({
        "name": "codes",
        "source": {"path": str(file), "missing_values": ["-", "b"]},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
        "features": {"include": ["age", "town"]},
        "protected": ["grp", "flag", "code", "race", "income"],
        "groups": {"facets": ["grp", "flag", "code", ["flag", "grp"], "race", "income"], "thresholds": {"income": 400}},
        "worst_groups": {"permutations": 39},
        "clustering": {"stability": 0, "max_iter": 3, "n_init": 2},
        "slices": None,
    })  # fmt: skip
    report = json.loads(canonical_json(audit(None, spec).document))
    assert any(one["column"] == "grp" and one["comparison"] for one in report["differences"]["features"])
    assert program.Recomputed(report, program.Table([file], report["spec"]["source"])).differing == []


def test_findings_without_a_search_for_the_worst_group_are_recomputed(program: Any, tmp_path: Path) -> None:
    """Found among declared groups alone."""
    frame, file = people(1_500, 78), tmp_path / "people.csv"
    frame.assign(granted=(frame["sex"] == "f").astype(int) * (frame["age"] > 22)).to_csv(file, index=False)
    keys = {"worst_groups": None, "slices": None, "clustering": None, "groups": {"facets": ["sex"]}}
    bias = {"derive": "positive_prediction", "prediction": "granted", "better": "higher"}
    report = audit(
        None, parse_spec({"name": "a", "source": {"path": str(file)}, "bias_variable": bias, **keys})
    ).document
    assert report["findings"]["findings"]
    (tmp_path / "report.json").write_text(canonical_json(report))
    assert program.main([str(tmp_path / "report.json"), str(file)]) == 0


def test_groups_found_one_after_another_where_more_is_better(program: Any, tmp_path: Path) -> None:
    """What a group lacks is told as harm, and the second one is compared with people alike in the first."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 3_000), "town": rng.choice(list("abcd"), 3_000)})
    lacks = 0.4 * (frame["age"] < 30) + 0.3 * (frame["town"] == "a")
    frame["granted"] = (rng.random(3_000) < 0.9 - lacks).astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    spec = {"name": "a", "source": {"path": "t.csv"}, "bias_variable": {"column": "granted", "better": "higher"}}
    quick = {"clustering": None, "slices": None, "worst_groups": {"permutations": 99}}
    report = json.loads(canonical_json(audit(frame, parse_spec({**spec, **quick})).document))
    assert any(one["groups_before"] for one in report["findings"]["findings"])
    recomputed = program.Recomputed(report, program.Table([tmp_path / "t.csv"], report["spec"]["source"]))
    assert recomputed.differing == []
    assert recomputed.made["people found"] > 10


_OF_GROUPS = ("groups.", "calibration.", "characteristics.", "declared_outcomes.", "gate.", "drawn.", "split.")


@pytest.mark.parametrize("name", ["large", "large_higher_is_better"])
def test_numbers_of_drawn_rows_and_of_persons_are_found(name: str, program: Any, tables: dict[str, Path]) -> None:
    """One of each member that is asked for, of some that are drawn."""
    report = golden(name)
    table = program.Table([tables[name]], report["spec"]["source"])
    members: dict[str, list[tuple[Any, Any]]] = {}
    for part, member, where in numbers_of(report):
        if where.startswith(_OF_GROUPS):
            members.setdefault(where, []).append((part, member))
    assert len(members) > 60
    rng = np.random.default_rng(5)
    for i in rng.permutation(len(members))[:12]:
        where = [*members][i]
        part, member = members[where][rng.integers(len(members[where]))]
        before = part[member]
        part[member] = changed(before)
        assert program.Recomputed(report, table).differing, where
        part[member] = before
    assert not program.Recomputed(report, table).differing


WORDS = {
    "age 30 to 40": lambda x: (x["age"] >= 30) & (x["age"] <= 40),
    "income above 300 or missing": lambda x: ~(x["income"] <= 300),
    "town is north or south and sex is f": lambda x: x["town"].isin(["north", "south"]) & (x["sex"] == "f"),
    "town is not missing and race is a, c or missing": lambda x: x["town"].notna() & ~x["race"].isin(["b", "rare"]),
    "race is neither a nor missing and age up to 50": lambda x: (
        x["race"].notna() & (x["race"] != "a") & (x["age"] <= 50)
    ),
    "job is not none and income up to 1,000": lambda x: (x["job"] != "none") & (x["income"] <= 1000),
}


@pytest.mark.parametrize("words", WORDS)
def test_words_of_groups_say_who_is_in_them(words: str, program: Any, tables: dict[str, Path]) -> None:
    report = golden("mixed")
    recomputed = program.Recomputed(report, program.Table([tables["mixed"]], report["spec"]["source"]))
    inside = WORDS[words](pd.read_csv(tables["mixed"], keep_default_na=False, na_values=[""]))
    assert inside.any()
    assert (recomputed.described(words) == inside.to_numpy()).all()


def test_words_that_may_be_more_than_one_group_are_left_out(program: Any, tables: dict[str, Path]) -> None:
    report = golden("mixed")
    recomputed = program.Recomputed(report, program.Table([tables["mixed"]], report["spec"]["source"]))
    for words in ("town is nowhere", "somebody is north", "age round 40"):
        with pytest.raises(program.Skip):
            recomputed.described(words)


_GROUPS = {"facets": ["sex", ["contract", "sex"]], "score": "score", "stratum": "job", "similar_by": ["income", "town"]}
_LIMITS = [
    {"metric": "auc", "facet": "sex", "min": 0.6},
    {"metric": "flip_test", "facet": ["contract", "sex"], "max": 0.2},
    {"check": "worst_group", "of": "calibration", "max_difference": 0.1},
    {"check": "declared_group", "max_difference": 0.1},
    {"check": "worst_group", "ruled_out_from": 0.2},
]
_VARIANTS: dict[str, Report] = {
    "persons": {"split": {"key": "person"}, "favourable": "negative"},
    "cut": {"groups": {**_GROUPS, "label": "grade", "prediction": "asked", "thresholds": {"grade": 50, "asked": 100}}},
    "others": {"groups": {**_GROUPS, "reference": "everybody else"}, "missing": "drop", "significance": {"alpha": 0.1}},
    "amounts": {"bias_variable": {"column": "grade", "better": "higher"}, "split": {"key": "person"}},
    "drawn": {"large_rows": 1_000, "missing": "drop"},
}


@pytest.mark.parametrize("variant", _VARIANTS)
def test_other_settings_of_groups_agree(variant: str, program: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    people(1_300, 43, gaps=True).to_csv(file, index=False)
    spec = parse_spec({
        "name": variant,
        "source": {"path": str(file)},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
        "favourable": "positive",
        "features": {"include": ["age", "income", "town", "job"]},
        "protected": ["sex", "race"],
        "groups": {**_GROUPS, "label": "repaid", "prediction": "granted"},
        "worst_groups": {"permutations": 79},
        "clustering": None,
        "slices": None,
        "gate": _LIMITS,
        **_VARIANTS[variant],
    })  # fmt: skip
    report = json.loads(canonical_json(audit(None, spec).document))
    assert report["calibration"]["ruled_out"]
    assert ("drawn" in report) == (variant == "drawn")
    recomputed = program.Recomputed(report, program.Table([file], report["spec"]["source"]))
    assert recomputed.differing == []
    assert {"calibration", "characteristics", "Clarify's metrics", "limits"} <= recomputed.made.keys()
