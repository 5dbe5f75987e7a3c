"""Every block of every page: a command is parsed by its program, YAML taken by the model that reads it, Python run."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import crossplane
import numpy as np
import pandas as pd
import pytest
import typer
import yaml
from dagster.components.testing import create_defs_folder_sandbox
from typer.testing import CliRunner

from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.table.sources import read_table
from bdt_pipeline import BiasAudit
from bdt_pipeline.cli import app
from bdt_pipeline.components.scaffolder import ScaffoldedAudit
from tests.pipeline.foreign_commands import CHECKS, reads

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "gate/*.md", "benchmarks/*.md", "bdt_core/data/*.md")
    for path in ROOT.glob(pattern)
)
WORDS_ONLY = {"text"}
"""Languages in which there is nothing to be run or checked."""
BASE = {
    "name": "page",
    "source": {"path": "page.csv"},
    "bias_variable": {"derive": "error", "label": "label", "prediction": "prediction"},
    "favourable": "positive",
    "protected": ["sex", "gender", "race", "origin", "race_eth_2"],
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    fence = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2[ ]*$", re.MULTILINE | re.DOTALL)
    told = page.read_text(encoding="utf-8")
    for one in fence.finditer(told):
        text = "".join(line.removeprefix(one[1]) for line in one[4].splitlines(keepends=True))
        yield Block(page, told.count("\n", 0, one.start()) + 1, one[3].strip(), text)


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of(language: str) -> list[Block]:
    return [one for one in BLOCKS if one.language == language]


def test_every_block_says_what_it_is_and_is_checked() -> None:
    checked = {"bash", "console", "yaml", "python", "po", "nginx", "mermaid", *WORDS_ONLY}
    assert [str(one) for one in BLOCKS if one.language not in checked and not one.language.startswith("{")] == []
    assert len(BLOCKS) > 60  # they are found at all


# Commands


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of each command of a shell's text, without comments, variables and what joins them."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set(";|&"):
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words = words[1:]
                if words:
                    yield words
                words = []
            else:
                words.append(word)


INLINE = [
    (page, one[1])
    for page in PAGES
    for one in re.finditer(
        r"(?<!`)`((?:bdt|dg|dagster|python -m|pip install|pipx|docker|kubectl) [^`\n]+)`(?!`)",
        page.read_text(encoding="utf-8"),
    )
]


def checked(words: list[str], where: str, *, whole: bool) -> None:
    """Ask the program that a command calls whether it knows the command and its options.

    Parameters
    ----------
    words : list of str
    where : str
        For the message.
    whole : bool
        Whether what the command needs must be there, too; in a sentence only a part of it may stand.
    """
    program, *rest = words
    if ">" in rest:
        rest = rest[: rest.index(">")]
    rest = [one for one in rest if one != "..."]
    program = program.rpartition("/")[2]
    if program == "bdt":
        known(typer.main.get_command(app), rest, where, whole=whole and "..." not in words)
    elif program in ("dagster", "dg", "dask", "dagster-webserver"):
        known(group_of(program), rest, where, whole=False)
    elif program in ("python", "python3") and rest[:1] == ["-m"]:
        module, *given = rest[1:]
        if module == "benchmarks" and given:
            benchmark(given, where)
        elif not module.endswith("..."):
            assert importlib.util.find_spec(module) is not None, f"{where}: {module}"
    elif program == "pip":
        assert rest[0] == "install", where
        for target in rest[1:]:
            installable(target, where)
    elif program != "." and not (ROOT / words[0]).exists() and program != "deploy.sh":
        assert program in CHECKS, f"{where}: nobody checks {program}"
        for inner in CHECKS[program](rest):
            checked(inner, where, whole=whole)


def benchmark(given: list[str], where: str) -> None:
    """``benchmarks.NAME`` and the keywords of its ``run``; a name in capitals stands for any."""
    if given[0].isupper():
        return
    source = ROOT / "benchmarks" / f"{given[0]}.py"
    assert source.exists(), f"{where}: no benchmark {given[0]}"
    (run,) = [
        one for one in ast.parse(source.read_text()).body if isinstance(one, ast.FunctionDef) and one.name == "run"
    ]
    keywords = {one.arg for one in [*run.args.args, *run.args.kwonlyargs]}
    asked = {one.removeprefix("--").partition("=")[0].replace("-", "_") for one in given[1:]}
    assert asked <= keywords, f"{where}: {asked - keywords}"


def installable(target: str, where: str) -> None:
    name, _, extras = target.rstrip("]").partition("[")
    if target.startswith("-"):
        return
    if name in (".", "bdt-pipeline"):
        there = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert set(extras.split(",")) <= {"", *there}, f"{where}: {target}"
    elif name.startswith("./"):
        assert (ROOT / name / "pyproject.toml").exists(), f"{where}: {target}"
    elif name.startswith("requirements/"):
        assert (ROOT / name).exists(), f"{where}: {target}"
    else:
        assert re.fullmatch(r"[a-z0-9-]+", name), f"{where}: {target}"


def group_of(program: str) -> Any:
    if program == "dagster":
        from dagster._cli import create_dagster_cli

        return create_dagster_cli()
    if program == "dg":
        from dagster_dg_cli.cli import create_dg_cli

        return create_dg_cli()
    if program == "dagster-webserver":
        from dagster_webserver.cli import create_dagster_webserver_cli

        return create_dagster_webserver_cli()
    from distributed.cli.dask_scheduler import main as scheduler
    from distributed.cli.dask_worker import main as worker

    return click.Group("dask", {"scheduler": scheduler, "worker": worker})


def known(command: Any, rest: list[str], where: str, *, whole: bool) -> None:
    """Walk down the commands that the words name, and look for the options."""
    while rest and not rest[0].startswith("-") and hasattr(command, "get_command") and command.name != "defs":
        below = command.get_command(click.Context(command) if isinstance(command, click.Group) else None, rest[0])
        assert below is not None, f"{where}: no command {rest[0]}"
        command, rest = below, rest[1:]
    options = {name for one in command.params for name in [*one.opts, *one.secondary_opts]} | {"--help", "-h"}
    if command.name == "defs" and rest:  # dg scaffold defs: a component, which has options of its own
        assert rest[0] == "bdt_pipeline.BiasAudit", where
        options |= {f"--{name.replace('_', '-')}" for name in ScaffoldedAudit.model_fields}
    for one in rest:
        if one.startswith("-") and not re.fullmatch(r"-\d.*", one):
            assert one.partition("=")[0] in options, f"{where}: no option {one}"
    if whole and rest and hasattr(command, "make_context"):
        command.make_context(command.name, list(rest))


@pytest.mark.parametrize("block", of("bash"), ids=str)
def test_commands_are_known_to_their_programs(block: Block) -> None:
    assert reads(block.text)
    found = list(commands_of(block.text))
    assert found
    for words in found:
        checked(words, str(block), whole=True)


def test_commands_within_sentences_are_known_to_their_programs() -> None:
    assert len(INLINE) > 20
    for page, text in INLINE:
        for words in commands_of(text):
            checked(words, f"{page.relative_to(ROOT)}: {text}", whole=False)


def test_a_wrong_command_is_found() -> None:
    for wrong in (
        "bdt adit x",
        "bdt audit x --fr owner",
        "python -m benchmarks nothing",
        "pip install '.[tests]'",
        "rm x",
        "docker build -f docs/kubernetes/Dockerfil -t bias-audits:1 .",
        "docker build -f docs/kubernetes/Dockerfile -t bias-audit:1 .",
        "kubectl -n bias-audit create namespace bias-audits",
        "kubectl create secret generic audit-secret --from-env-file=secrets.env",
        "kubectl exec deployment/daemons -- dagster instance",
        "kubectl exec deployment/daemon -- dagster instanc",
        "kubectl port-forward deployment/webserver 3001",
        "kubectl delete namespace bias-audits",
        "sed -i s,bias-audits:2,YOUR/bias-audits:2, docs/kubernetes/services.yaml",
        "oauth2-proxy --provider=oidc --upstream=http://127.0.0.1:3001",
        "export OAUTH2_PROXY_CLIENT=x",
        "cp report/report.json bias/baseline.json",
        "pipx install .[everything]",
        "bash .ci/runs",
    ):
        with pytest.raises((AssertionError, OSError)):
            checked(next(commands_of(wrong)), "here", whole=True)


# Sessions of a terminal

WITH_SESSIONS = sorted({one.page for one in of("console")})


def wrong_in(block: Block) -> Iterator[str]:
    """Carry out the commands behind `$`, and name each that prints something else than what stands below it."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    code = 0
    for part in re.split(r"(?m)^\$ ", block.text)[1:]:
        command, _, shown = part.partition("\n")
        if command == "echo $?":
            printed = f"{code}\n"
        else:
            program, *words = shlex.split(command)
            assert program == "bdt", f"{block}: nobody runs {program}"
            done = CliRunner().invoke(app, words, prog_name="bdt", env={"COLUMNS": "100"})
            code, printed = done.exit_code, done.stderr + done.stdout  # a terminal shows them so
        if not doctest.OutputChecker().check_output(shown, printed, flags):
            yield f"{block}: {command} prints\n{printed}"


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_prints_what_the_page_shows(page: Path, desk: Path) -> None:
    assert [wrong for block in of("console") if block.page == page for wrong in wrong_in(block)] == []


def test_a_session_that_shows_something_else_is_found(desk: Path) -> None:
    text = "$ bdt plan --rows 200 --base-rate 0.1 --difference 0.1\n200 rows leave ...\n"
    text += "$ bdt gate none.yaml\n...\n$ echo $?\n2\n"
    assert list(wrong_in(Block(ROOT / "here", 1, "console", text))) == []
    for right, wrong in (("200 rows leave", "201 rows leave"), ("\n2\n", "\n0\n")):
        assert len(list(wrong_in(Block(ROOT / "here", 1, "console", text.replace(right, wrong))))) == 1


# Names of files, modules and what is in them

PACKAGES = ("bdt_core", "bdt_pipeline", "benchmarks", "tests")
NAMED = [
    (page, one)
    for page in PAGES
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", page.read_text(encoding="utf-8"))
    for one in re.findall(
        rf"(?<![\w:/.<*-])(?:(?:{'|'.join(PACKAGES)})(?:\.\w+)+|(?:{'|'.join(PACKAGES)}|docs|gate|notebooks)/[\w./*-]+)",
        span,
    )
]


def stands(named: str) -> bool:
    """Whether there is such a file; of a dotted name, whether its module holds the rest of it."""
    if "/" in named:
        return next(ROOT.glob(named.rstrip("/")), None) is not None
    place, names = ROOT, named.split(".")
    while names and (place / names[0]).is_dir():
        place, names = place / names[0], names[1:]
    if names and (place / f"{names[0]}.py").exists():
        place, names = place / f"{names[0]}.py", names[1:]
    held = place if place.suffix else place / "__init__.py"
    return all(re.search(rf"\b{one}\b", held.read_text(encoding="utf-8")) for one in names)


def test_what_sentences_name_is_there() -> None:
    assert len(NAMED) > 60
    assert [(page.name, one) for page, one in NAMED if not stands(one) and not one.endswith("_")] == []
    assert not stands("bdt_core.audit.audits")
    assert not stands("bdt_core/spec/gates.py")


def test_constants_that_the_architecture_names_are_there() -> None:
    sources = [one for package in PACKAGES for one in (ROOT / package).rglob("*.py")]
    words = {one for source in sources for one in re.findall(r"\b_?[A-Z][A-Z_]+\b", source.read_text(encoding="utf-8"))}
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(_?[A-Z][A-Z_]+)`", page))
    assert len(named) > 8
    assert named - {"LICENSE"} <= words


# YAML


def alternatives(text: str) -> Iterator[Any]:
    """What a block says; where a key stands twice, as one way or another, each of them."""
    node = yaml.compose(text)
    if not isinstance(node, yaml.MappingNode):
        yield yaml.safe_load(text)
        return
    names = [key.value for key, _ in node.value]
    most = max(names.count(one) for one in names)
    for turn in range(most):
        chosen = {}
        for name in dict.fromkeys(names):
            values = [value for key, value in node.value if key.value == name]
            chosen[name] = yaml.safe_load(yaml.serialize(values[min(turn, len(values) - 1)]))
        yield chosen


def load_component(attributes: dict[str, Any]) -> None:
    """In a project of somebody's, as Dagster loads it."""
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": "bdt_pipeline.BiasAudit", "attributes": attributes}
        path = sandbox.scaffold_component(component_cls=BiasAudit, defs_path="audit", defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(defs_path=path):
            pass


def check_yaml(told: Any, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the model that reads it take it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    gitlab = yaml.safe_load((ROOT / "docs" / "gitlab-bias-gate.yml").read_text())[".bias-gate"]
    if isinstance(told, list):
        for step in told:
            assert set(step["with"]) <= set(action["inputs"]), where
        return
    for name in re.findall(r"\$\{(\w+)\}", str(told)):
        monkeypatch.setenv(name, "tcp://127.0.0.1:8786")
    if "type" in told:
        assert told["type"] == "bdt_pipeline.BiasAudit", where
        for name in re.findall(r"env\.(\w+)", str(told)):
            monkeypatch.setenv(name, "page.csv")
        load_component(told["attributes"])
    elif set(told) <= set(AuditSpec.model_fields):
        parse_spec(BASE | told, where)
    elif set(told) <= set(BiasAudit.model_fields):
        load_component(BASE | told)
    elif set(told) <= {"resources", "ops"}:
        for resource in told["resources"].values():
            parse_spec(BASE | resource["config"], where)
    elif "include" in told:
        for name, job in told.items():
            assert name == "include" or set(job["variables"]) <= set(gitlab["variables"]), where
    else:
        from dagster._config import validate_config
        from dagster._core.instance.config import dagster_instance_config_schema

        settled = validate_config(dagster_instance_config_schema(), told)
        assert settled.success, f"{where}: {settled.errors}"


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_yaml_is_taken_by_what_reads_it(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    for told in alternatives(block.text):
        check_yaml(told, str(block), monkeypatch)


@pytest.mark.parametrize(
    "wrong", [{"gat": []}, {"protected": "sex", "gate": [{"check": "worst"}]}, {"concurrency": {"rns": 1}}]
)
def test_wrong_yaml_is_found(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((Exception, AssertionError)):
        check_yaml(wrong, "here", monkeypatch)


# Python


@pytest.fixture
def desk(
    loans: pd.DataFrame, make_spec: Callable[..., AuditSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with what the pages speak of: tables, specifications, a report."""
    monkeypatch.chdir(tmp_path)
    table = loans.assign(person=np.arange(len(loans)), granted=loans["approved"])
    table.to_csv("loans.csv", index=False)
    spec = make_spec(
        "loans.csv", bias_variable={"derive": "error", "label": "repaid", "prediction": "granted"}
    ).to_dict()
    Path("loans.yaml").write_text(yaml.safe_dump(spec))
    Path("loans-new.yaml").write_text(yaml.safe_dump(spec))
    compas = read_table("demo:compas")
    compas.to_csv("people.csv", index=False)
    compas.to_csv("data.csv", index=False)
    config = {
        "dataset_type": "text/csv", "headers": [*map(str, compas.columns)], "label": "two_year_recid",
        "predicted_label": "high_risk", "label_values_or_threshold": [0],
        "facet": [{"name_or_index": "sex", "value_or_threshold": ["Female"]}],
        "methods": {"pre_training_bias": {"methods": "all"}},
    }  # fmt: skip
    Path("analysis_config.json").write_text(json.dumps(config))
    return tmp_path


def names_before(page: Path, desk: Path) -> dict[str, Any]:
    """What stands before the first block of a page: what a sentence of it, or another page, has made."""
    import dagster as dg

    from bdt_core.audit import audit
    from bdt_pipeline import load_audits

    compas = read_table("demo:compas").drop(columns=["is_recid", "score_text", "decile_score"])
    frame = compas.assign(wrong=(compas["two_year_recid"] != compas["high_risk"]).astype(float))
    names: dict[str, Any] = {"frame": frame, "json": json, "Path": Path, "dg": dg, "load_audits": load_audits}
    if page.name == "README.md":
        names["frame"] = pd.read_csv("loans.csv")[["age", "region", "income", "sex", "error"]]
    if page.name == "security.md":
        names["result"] = audit(None, "loans.yaml")
        names["result"].write("earlier")
        Path("report.json").write_bytes(Path("earlier/report.json").read_bytes())
    return names


def as_shown(block: Block, names: dict[str, Any]) -> None:
    """Run a session of the interpreter, and hold what it prints against what the page shows."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    session = doctest.DocTestParser().get_doctest(block.text, names, str(block), str(block.page), block.line)
    assert session.examples
    session.globs = names  # the next block goes on from here
    with pd.option_context("display.width", 100, "display.max_columns", 20):
        done = doctest.DocTestRunner(optionflags=flags).run(session, clear_globs=False)
    assert done.failed == 0


WITH_PYTHON = sorted({one.page for one in of("python")})


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_a_page_runs_from_top_to_bottom(page: Path, desk: Path) -> None:
    names = names_before(page, desk)
    for block in [one for one in of("python") if one.page == page]:
        if block.text.startswith(">>>"):
            as_shown(block, names)
        else:
            exec(compile(ast.parse(block.text, str(block)), str(block), "exec"), names)


# Web servers and diagrams


def errors_in(server: str, folder: Path) -> list[str]:
    """What nginx would not know: directives, where they stand, and how many words they take."""
    (folder / "nginx.conf").write_text(f"events {{}}\nhttp {{\n{server}}}\n")
    return [one["error"] for one in crossplane.parse(str(folder / "nginx.conf"), strict=True)["errors"]]


@pytest.mark.parametrize("block", of("nginx"), ids=str)
def test_nginx_knows_what_it_is_told(block: Block, tmp_path: Path) -> None:
    assert errors_in(block.text, tmp_path) == []
    assert "http://127.0.0.1:3000;" in block.text  # where Dagster's web server listens by itself
    assert errors_in(block.text.replace("proxy_pass", "proxy_pas"), tmp_path) != []


@pytest.mark.parametrize("block", of("mermaid"), ids=str)
def test_a_diagram_is_whole(block: Block) -> None:
    first, *lines = (one.strip() for one in block.text.strip().splitlines())
    assert re.fullmatch(r"flowchart (LR|TB)", first)
    assert sum(one.startswith("subgraph ") for one in lines) == lines.count("end")
    for one in lines:
        assert [one.count(left) for left in "([{"] == [one.count(right) for right in ")]}"], one
        assert one == "end" or re.match(r"subgraph \w+\[|direction |\w+[\[(]|\w+( & \w+)* (--|-\.|==)", one), one


# Translations


@pytest.mark.parametrize("block", of("po"), ids=str)
def test_messages_stand_in_the_catalogue(block: Block) -> None:
    catalogue = (ROOT / "bdt_core" / "report" / "languages" / "nl.po").read_text(encoding="utf-8")
    assert block.text.strip() in catalogue
