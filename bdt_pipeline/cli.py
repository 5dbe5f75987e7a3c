"""The command line. What takes long to import is imported by a command when it knows that its files are there."""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

import typer
from typer.core import TyperGroup

from bdt_core.errors import OUT_OF_MEMORY, BDTError, OutputError, SpecError
from bdt_core.shards.scratch import remove_abandoned
from bdt_core.version import GATE, WHOLE, installed_version
from bdt_pipeline.commands.printing import put, screens

COULD_NOT_RUN = 2
INTERRUPTED = 130
_WHOLE_SENTENCE = 1_000
P = ParamSpec("P")
R = TypeVar("R")


class _OnScreens(TyperGroup):
    """All commands; whatever they and others print passes a screen, and so do messages about options."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Each command with its whole first sentence: one that is cut off says what a command does to nobody."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE_SENTENCE)) for name, one in commands if one])

    def main(self, *args: Any, **more: Any) -> Any:
        """Run the command that the arguments name."""
        remove_abandoned()
        try:
            with screens():
                return super().main(*args, **more)
        except OutputError as error:  # the last of it is written at the end
            put(f"Error: {error}", error=True)
            raise SystemExit(COULD_NOT_RUN) from None


app = typer.Typer(
    cls=_OnScreens,
    help="""Find the groups that an algorithm treats worse, prove it on held-out data, and gate deployments.

\b
See it work:    bdt demo
On a page:      bdt open DATA.csv
Your own data:  bdt init DATA.csv
                look at the specification that it wrote, then
                bdt audit DATA.yaml
""",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Verbose = Annotated[bool, typer.Option("--verbose", help="Show everything, and where an error came from.")]
Partition = Annotated[
    str | None, typer.Option(help="The part to audit: stands for {partition} in paths and :partition in queries.")
]
SealFile = Annotated[
    Path | None,
    typer.Option("--seal", help="The seal of the plan. Default: NAME.seal.json beside the specification."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="New folder for the report. Default: the next free bdt-reports/NAME-N."),
]


def main() -> None:
    """Entry point of ``bdt``."""
    gc.set_threshold(50_000)  # what is imported stays: to look through it all the time takes a fifth of importing it
    try:
        app()
    except SystemExit as end:
        # After an error native threads of libraries may still read ahead, which aborts Python at its end, or wait for
        # others that memory did not suffice to start, for ever.
        if end.code == COULD_NOT_RUN:
            atexit._run_exitfuncs()
            for stream in filter(None, (sys.stdout, sys.stderr)):  # a supervisor may close both
                with suppress(OSError):
                    stream.flush()
            os._exit(COULD_NOT_RUN)
        raise
    finally:
        gc.freeze()  # nor is it looked through at the end, when nothing is kept: that takes a second after the demo


def _reported(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one message on standard error and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            put("Stopped.", error=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if kwargs.get("verbose"):
                put(traceback.format_exc(), error=True)
            put(_message(error), error=True)
            raise typer.Exit(COULD_NOT_RUN) from None

    return wrapped


def _message(error: Exception) -> str:
    if isinstance(error, BDTError):
        return f"Error: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"Error: this needs {error.name}, which is not installed. {GATE}, for CI, comes without Dagster, Great "
            f"Expectations and a web server; {WHOLE} brings them: install it in place of {GATE}."
        )
    if isinstance(error, MemoryError):
        return f"Error: {OUT_OF_MEMORY}"
    first_line = (str(error).splitlines() or [""])[0]
    return f"Unexpected error: {type(error).__name__}: {first_line} (--verbose shows where it came from)"


def _version(asked: bool) -> None:
    if asked:
        put(f"bdt {installed_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before the command."""


@app.command()
@_reported
def demo(
    case: Annotated[
        str, typer.Option("--case", help="compas, or grants: a made-up check of students' grants.")
    ] = "compas",
    language: Annotated[
        str | None, typer.Option("--language", help="Language of the report: en or nl. Default: the case's own.")
    ] = None,
    out: Out = None,
    verbose: Verbose = False,
) -> None:
    """Audit ProPublica's COMPAS data or another case, through Dagster.

    Needs no set-up. When DAGSTER_HOME is set, the run is recorded there and shows in Dagster's UI.

    \b
    Example:  bdt demo
              bdt demo --case grants --language nl
    """
    from bdt_pipeline.commands.beforehand import MODULES, compiled_beforehand
    from bdt_pipeline.resources.expectations import evaluated_beside

    with evaluated_beside(MODULES), compiled_beforehand():  # begun before Dagster is imported
        from bdt_pipeline.commands.run_demo import run_demo

        run_demo(case, language, out, verbose=verbose)


@app.command("open")
@_reported
def open_page(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A table to begin with; else the page asks for one.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in the browser.")
    ] = True,
    max_size: Annotated[int, typer.Option(min=1, help="Largest file that the page takes, in MB.")] = 500,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Audit a table on a page in the browser: drop a file, answer four questions, read the report.

    The page is on this machine only, in English and Dutch; files lie in a temporary folder that goes with it. It shows
    what it took for what, as `bdt init` does, and gives the specification that makes the report again.

    \b
    Example:  bdt open
              bdt open loans.xlsx
              bdt open loans.csv --no-browser
    """
    from bdt_pipeline.local_page.serving import serve

    serve(file, most=max_size * 1_000_000, browser=browser)


@app.command("serve")
@_reported
def serve_page(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The address that people open: https, as the proxy has it.")
    ],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the proxy finds the page.")
    ] = "127.0.0.1:8050",
    user_header: Annotated[
        str, typer.Option(metavar="NAME", help="Header in which the proxy says who has logged in.")
    ] = "X-Forwarded-User",
    visits: Annotated[int, typer.Option(min=1, help="Most visits at once.")] = 20,
    audits: Annotated[int, typer.Option(min=1, help="Most audits at once; the others wait in a line.")] = 1,
    hours: Annotated[int, typer.Option(min=1, help="How long a visit is kept that nobody asks for.")] = 8,
    max_size: Annotated[int, typer.Option(min=1, help="Largest file that the page takes, in MB.")] = 500,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Serve the page of `bdt open` to an organisation, behind a proxy with its log-in.

    Everybody has a visit of their own, whose files nobody else sees. The proxy ends https and says who has logged in;
    nobody else may reach HOST:PORT.

    \b
    Example:  bdt serve https://bias.example.org/
              bdt serve https://intranet.example.org/bias/ --audits 2 --hours 2
    """
    from bdt_pipeline.local_page.serving import serve_visitors
    from bdt_pipeline.local_page.visitors import Rules

    serve_visitors(url, listen, Rules(user_header, max_size * 1_000_000, visits, audits, hours))


@app.command()
@_reported
def init(
    data: Annotated[
        str, typer.Argument(help="A .csv, .tsv or .parquet file, a folder of Parquet files, or demo:NAME.")
    ],
    out: Annotated[Path | None, typer.Option("--out", help="The file to write. Default: NAME.yaml.")] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Look at a table and write a specification that runs.

    Asks nothing and overwrites nothing. Says what it took for what, what so many rows can show, and last what is
    doubtful; that is marked with TODO in the file, beside what could stand there instead.

    \b
    Example:  bdt init loans.csv
              bdt init loans.csv --out audits/loans.yaml
    """
    from bdt_pipeline.commands.asked import table_named

    table_named(data)
    from bdt_pipeline.proposed.init_spec import write_spec

    put(write_spec(data, out))


@app.command()
@_reported
def audit(
    target: Annotated[str, typer.Argument(metavar="SPEC|DATA", help="A specification (.yaml), or a table.")],
    bias_variable: Annotated[
        str | None, typer.Option("--bias-variable", help="Numeric column that is measured per person.")
    ] = None,
    better: Annotated[str | None, typer.Option(help="Whether lower or higher values are better for people.")] = None,
    label: Annotated[str | None, typer.Option(help="Column with what really happened.")] = None,
    prediction: Annotated[str | None, typer.Option(help="Column with what the algorithm said.")] = None,
    derive: Annotated[
        str | None, typer.Option(help="What to make of label and prediction, e.g. error or false_positive_rate.")
    ] = None,
    protected: Annotated[str | None, typer.Option(help="Columns kept out of the search, e.g. race,sex.")] = None,
    features: Annotated[str | None, typer.Option(help="Only these columns, e.g. age,income.")] = None,
    exclude: Annotated[str | None, typer.Option(help="Not these columns, e.g. id,date.")] = None,
    partition: Partition = None,
    readers: Annotated[
        Literal["owner", "publication"],
        typer.Option(
            "--for",
            help="Who reads the report. owner: everything, a working file. publication: anybody; small groups, single "
            "people's values and exact counts are not in it.",
        ),
    ] = "owner",
    seal: SealFile = None,
    members: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="New file that says of each row in which cluster and which findings it is. It names people: for the "
            "owner of the data, not for publication. Only you can read it.",
        ),
    ] = None,
    out: Out = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Audit a table and write the report as HTML, PDF, Markdown and JSON.

    Of a table alone it says first, on standard error, what it took for what, as `bdt init` does.

    \b
    Example:  bdt audit loans.yaml
              bdt audit loans.csv
              bdt audit loans.csv --bias-variable error --protected sex,race
              bdt audit loans.csv --label repaid --prediction granted --derive false_negative_rate
              bdt audit loans.yaml --for publication --out loans-for-others
              bdt audit loans.yaml --members members.csv
              bdt audit loans.yaml --partition 2026-01-31
    """
    from bdt_pipeline.commands.asked import spec_of, with_seal

    if readers == "publication" and members is not None:
        raise SpecError(
            "--members names people, and --for publication writes a report in which nobody can be recognised. Leave "
            "one of them out."
        )
    bias = {"column": bias_variable, "better": better, "label": label, "prediction": prediction, "derive": derive}
    columns = {"include": _names(features), "exclude": _names(exclude)}
    changes = {"bias_variable": _given(bias), "features": _given(columns), "protected": _names(protected)}
    asked = {key: value for key, value in changes.items() if value}
    spec = with_seal(spec_of(target, asked, partition), seal)
    from bdt_pipeline.commands.run_audit import run_audit

    if not run_audit(spec, out, publication=readers == "publication", members=members):
        raise typer.Exit(COULD_NOT_RUN)


@app.command()
@_reported
def seal(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A specification (.yaml).")],
    data: Annotated[
        str | None, typer.Option(help="The people it is for, instead of the specification's source.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Sign with this private Ed25519 key; its passphrase in BDT_KEY_PASSPHRASE.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write. Default: NAME.seal.json beside the specification.")
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Fix the plan of an audit before anybody has seen an outcome.

    Of a text or Parquet file it reads the features and protected columns, and neither label, prediction nor bias
    variable. An audit that finds the seal says whether it keeps to it; with "sealed: required" nothing else passes.

    \b
    Example:  bdt seal loans.yaml
              bdt seal loans.yaml --data applicants.csv --key auditor-key
    """
    from bdt_pipeline.commands.run_seal import run_seal

    put(run_seal(spec, data, key, out))


@app.command()
@_reported
def gate(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A specification (.yaml).")],
    data: Annotated[str | None, typer.Option(help="Audit this table instead of the specification's source.")] = None,
    partition: Partition = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="REPORT.json", help="An earlier report.json: fail only on what is significantly worse than there."
        ),
    ] = None,
    form: Annotated[
        Literal["text", "github", "gitlab", "junit", "json", "markdown"],
        typer.Option(
            "--format",
            help="One line; annotations and step summary; code quality report; tests; data; pull-request comment.",
        ),
    ] = "text",
    out: Annotated[
        Path | None, typer.Option("--out", help="File for what --format makes; the verdict is still printed.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="New folder for the report, and for gate.json, gate.xml (JUnit), gate.md (comment) and "
            "gate-codequality.json (GitLab)."
        ),
    ] = None,
    seal: SealFile = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Folder or URL of the audits' storage, where the counts of declared groups are kept for bdt history. "
            "Default: BDT_STORAGE, else that of DAGSTER_HOME; without any nothing is kept."
        ),
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Audit files and say by the exit code whether the limits hold. Needs no Dagster set-up.

    \b
    0  pass           every limit holds, or what is broken is not worse than the baseline
    1  fail           a limit is broken for certain, or cannot tell and says "inconclusive: block"
    2  could not run  the specification, the table or the baseline is at fault
    3  inconclusive   the data cannot tell, or there are too few rows to test

    \b
    Example:  bdt gate loans.yaml && ./deploy.sh
              bdt gate loans.yaml --data validation.csv --format github --report bias-report
              bdt gate loans.yaml --baseline bias/baseline.json --format junit --out gate.xml
              bdt gate loans.yaml --partition 2026-01-31 --storage /srv/audits
    """
    from bdt_core.table.named_files import refuse_missing
    from bdt_pipeline.commands.asked import Request

    asked = Request(spec, data, partition, baseline, form, out, report, storage, seal)
    refuse_missing(asked.audited.source, "source.path" if data is None else "--data")
    from bdt_pipeline.commands.run_gate import run_gate

    code, sentence = run_gate(asked)
    put(sentence, commands=form == "github" and out is None)
    raise typer.Exit(code)


@app.command()
@_reported
def compare(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="A specification (.yaml) of the system as it was, or its report.json.")
    ],
    b: Annotated[
        Path | None,
        typer.Argument(metavar="[B]", help="The same of the system as it is now. Default: A, with the options below."),
    ] = None,
    prediction_b: Annotated[
        str | None,
        typer.Option(help="Column with what B said (or with B's bias variable), where B's table is A's."),
    ] = None,
    data_b: Annotated[str | None, typer.Option(help="B's table, in place of its specification's source.")] = None,
    partition: Annotated[
        str | None, typer.Option(help="The part to compare: stands for {partition} in paths and :partition in queries.")
    ] = None,
    partition_b: Annotated[str | None, typer.Option(help="B's part, where it is another one than A's.")] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="Column that names the person in both tables. Default: split.key; in one table each row is a person."
        ),
    ] = None,
    max_worse: Annotated[
        float | None,
        typer.Option(
            help="How much worse off B may leave everybody and every group, e.g. 0.02 for 2 of 100. Without it nothing "
            "is judged."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the files. Default: the next free bdt-reports/NAME-compared-N."),
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Say what became better or worse from model A to model B, and for whom: one page, with intervals.

    Everybody, each declared group and each finding of A are followed, and the differences between groups. People who
    are in both tables are compared with themselves, which makes the answer a good deal more precise; who is in one
    table only is counted and left out. Without a key the people of two tables are taken to be different ones. Of two
    report.json only declared groups can be compared, and their people are taken to be different ones.

    \b
    0  pass           nobody is worse off by more than --max-worse (or none is given)
    1  fail           somebody is, for certain
    2  could not run  a specification or a table is at fault, or A and B do not fit together
    3  inconclusive   it is certain of nobody, and not ruled out for everybody

    \b
    Example:  bdt compare loans.yaml --prediction-b new_model
              bdt compare loans-2025.yaml loans-2026.yaml --key person --max-worse 0.02
              bdt compare loans.yaml --data-b after.csv --out what-changed
              bdt compare loans.yaml --partition 2026-01 --partition-b 2026-02
              bdt compare 2025/report.json 2026/report.json
    """
    from bdt_pipeline.commands.asked import specs_of

    reports = ".json" in (a.suffix, b.suffix if b else None)
    specs = None if reports else specs_of(a, b, prediction_b, data_b, partition, partition_b)
    from bdt_pipeline.commands.run_compare import run_compare

    of_specs = (prediction_b, data_b, partition, partition_b, key)
    code = run_compare(a, b, specs, of_specs=of_specs, key=key, max_worse=max_worse, out=out)
    raise typer.Exit(code)


@app.command()
@_reported
def dossier(
    target: Annotated[
        str, typer.Argument(metavar="SPEC|REPORT.json", help="A report.json, or a specification that is audited first.")
    ],
    form: Annotated[
        str,
        typer.Option(
            help="annex-iv, art-10, bias-profile, ll144, register, model-card, system-card, fria, atrs, rekenkamer or "
            "college."
        ),
    ],
    language: Annotated[str | None, typer.Option(help="en or nl. Default: that of the specification.")] = None,
    partition: Partition = None,
    on: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Day on which ll144 is read: it says whether the audit has expired."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the files. Default: the next free bdt-reports/NAME-FORM-N.")
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Fill in a form of a regulator or a register, as HTML, PDF and Markdown, and as data where machines read it.

    Every answer has the place in report.json that it comes from, or says that it is not given, with who could fill it
    in. What a person knows is written under "about" in the specification. Names articles, and is no legal advice.

    \b
    Example:  bdt dossier loans.yaml --form fria --language nl
              bdt dossier bias-report/report.json --form system-card --out files
              bdt dossier hiring/report.json --form ll144 --on 2026-11-28
    """
    from bdt_pipeline.commands.run_dossier import run_dossier

    if not run_dossier(target, form, language, out, partition, None if on is None else on.date()):
        raise typer.Exit(COULD_NOT_RUN)


@app.command()
@_reported
def attest(
    folder: Annotated[Path, typer.Argument(metavar="REPORT_FOLDER", help="Folder with a report.json.")],
    key: Annotated[Path, typer.Option(help="Private Ed25519 key, as ssh-keygen -t ed25519 makes it, or PEM.")],
    subject: Annotated[
        str | None,
        typer.Option(
            help="What was audited: the file of the model or of its predictions, or sha256:DIGITS. "
            "Default: about.model_file, as it was when the audit was made."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the subject is called. Default: the file's name.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. Default: attestation.intoto.jsonl in the folder.")
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Sign what a report says of a model, so that a deployment can ask for it.

    Writes two in-toto statements, each in a signed envelope (DSSE): test-result, which policy engines read, and one
    with the plan, the looks, the limits and the findings. The passphrase of a key is read from BDT_KEY_PASSPHRASE.
    Needs the extra "sealed".

    \b
    Example:  bdt attest bias-report --subject model.onnx --key ~/.ssh/id_ed25519
              bdt verify bias-report/attestation.intoto.jsonl --subject model.onnx --passed --key id_ed25519.pub
    """
    from bdt_pipeline.commands.run_attest import run_attest

    run_attest(folder, subject, name, key, out)


@app.command()
@_reported
def bundle(
    folder: Annotated[Path, typer.Argument(metavar="REPORT_FOLDER", help="Folder with a report.json.")],
    key: Annotated[
        Path | None, typer.Option(help="Private Ed25519 key that signs it. Without one it says that nobody did.")
    ] = None,
    seal: Annotated[
        Path | None, typer.Option(help="Seal of the specification, as bdt seal wrote it. Default: that in the folder.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. Default: the folder's name and .zip, beside it.")
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Pack a report and all that it rests on into one file, for a file cabinet or an inspector.

    Report in all forms, the gate's answer, plan, seal, looks up to this one, counts and versions, described as an
    RO-Crate (who, when, of which inputs). No rows of persons: other files of the folder stay where they are. The same
    report gives the same bytes.

    \b
    Example:  bdt bundle bias-report --key ~/.ssh/id_ed25519
              bdt verify bias-report.zip --key ~/.ssh/id_ed25519.pub
    """
    from bdt_pipeline.commands.run_bundle import run_bundle

    run_bundle(folder, key, seal, out)


@app.command()
@_reported
def verify(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A bundle, a report's folder, an attestation, a ledger or a seal."),
    ],
    key: Annotated[Path | None, typer.Option(help="Public key (.pub or PEM) of whoever has to have signed it.")] = None,
    subject: Annotated[
        str | None, typer.Option(help="Model or predictions that it has to be about: a file, or sha256:DIGITS.")
    ] = None,
    passed: Annotated[bool, typer.Option("--passed", help="The audit has to have passed.")] = False,
    data: Annotated[str | None, typer.Option(help="Table that has to be the audited one.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Audit --data again: every number of the report has to come out.")
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger of looks. Default: that in the bundle, or beside the report's folder.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="en or nl. Default: that of the report.")] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Check what was signed, bundled or recorded, and say what holds and what does not.

    \b
    0  all of it holds
    1  something does not hold: changed, signed by another key, of another model or table, not passed
    2  it cannot be read, or nothing could be checked

    \b
    Example:  bdt verify bias-report.zip --key auditor.pub --data loans.csv
              bdt verify attestation.intoto.jsonl --key auditor.pub --subject model.onnx --passed
    """
    from bdt_pipeline.commands.run_verify import run_verify

    raise typer.Exit(run_verify(path, key, subject, passed, data, again, ledger, language))


@app.command()
@_reported
def plan(
    rows: Annotated[int, typer.Option(help="Rows that can be audited.")],
    base_rate: Annotated[float, typer.Option(help="Rate among everybody else of what harms people, e.g. 0.2.")],
    difference: Annotated[float, typer.Option(help="Difference that must not be missed, e.g. 0.1 for 10 points.")],
    test_size: Annotated[float, typer.Option(help="Share of the rows kept for testing.")] = 0.2,
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = 0.05,
    power: Annotated[float, typer.Option(help="Chance wanted of finding the difference.")] = 0.8,
    clusters: Annotated[int, typer.Option(help="Clusters that are compared at once, as any_cluster does.")] = 1,
    limit: Annotated[
        float,
        typer.Option(help="Difference that the gate tolerates; it has to be found beyond, and ruled out for a pass."),
    ] = 0.0,
    design_effect: Annotated[
        float, typer.Option(help="Where persons have several rows: how many say as much as one of a person of its own.")
    ] = 1.0,
) -> None:
    """Say what a table of so many rows can show, before the audit.

    \b
    Example:  bdt plan --rows 20000 --base-rate 0.1 --difference 0.05
              bdt plan --rows 20000 --base-rate 0.1 --difference 0.1 --clusters 8 --limit 0.05
    """
    from bdt_core.inference.plan import plan as make_plan
    from bdt_pipeline.commands.show_plan import plan_in_words

    planned = make_plan(
        rows, base_rate=base_rate, difference=difference, test_size=test_size, alpha=alpha, power=power,
        clusters=clusters, limit=limit, design_effect=design_effect,
    )  # fmt: skip
    put(plan_in_words(planned))


@app.command()
@_reported
def clarify(
    config: Annotated[
        Path, typer.Argument(metavar="ANALYSIS_CONFIG.json", help="A bias configuration of SageMaker Clarify.")
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            help="CSV with or without a header line, JSON, JSON lines, Parquet, or demo:NAME. Default: dataset_uri.",
        ),
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(help="File of predictions. Default: predicted_label_dataset_uri, else a column of the data."),
    ] = None,
    facets: Annotated[
        str | None, typer.Option(help="File with the facets. Default: facet_dataset_uri, else columns of the data.")
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(
            help="Column by which rows of several files belong together. Default: joinsource_name_or_index, else the "
            "order of the rows."
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="An earlier analysis.json: constraint_violations.json lists what is farther from no bias now, as "
            "Model Monitor does."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="New or empty folder. Default: the next free bdt-reports/clarify-NAME-N."),
    ] = None,
    signs: Annotated[
        Literal["paper", "smclarify"],
        typer.Option(help="Sign of the flip test: above 0 is against d (paper), or below 0 as in Clarify's open code."),
    ] = "paper",
    flip_distance: Annotated[
        Literal["standardised", "raw"],
        typer.Option(help="Units of the flip test: standard deviations, or those of the columns as in Clarify's code."),
    ] = "standardised",
    continuous: Annotated[
        str | None,
        typer.Option(help="Columns of whole numbers whose value_or_threshold is a threshold, e.g. age,hours."),
    ] = None,
    values: Annotated[
        str | None, typer.Option(help="Columns of numbers whose value_or_threshold is a value, e.g. region_code.")
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Compute the bias metrics that a SageMaker Clarify configuration asks for.

    Writes analysis.json in Clarify's shape, every number with its interval as metrics.csv, and a report as HTML, PDF
    and Markdown. Keys that are unknown or not supported are named on the screen. No model is called: predictions must
    be a column of the data, named in predicted_label, or a file of their own.

    \b
    Example:  bdt clarify analysis_config.json --data adult.csv --out bias
              bdt clarify analysis_config.json --data people.csv --predictions said.csv --join id
              bdt clarify analysis_config.json --data may.csv --baseline april/analysis.json
              bdt clarify analysis_config.json --data adult.csv --signs smclarify --flip-distance raw
    """
    from bdt_pipeline.commands.run_clarify import run_clarify

    whole = run_clarify(
        config,
        data,
        out,
        predictions=predictions,
        facets=facets,
        join=join,
        baseline=baseline,
        signs=signs,
        flip_distance=flip_distance,
        kinds={
            **dict.fromkeys(_names(continuous) or [], "continuous"),
            **dict.fromkeys(_names(values) or [], "values"),
        },
    )
    if not whole:
        raise typer.Exit(COULD_NOT_RUN)


@app.command()
@_reported
def score(
    tpr_a: Annotated[float | None, typer.Option(help="True positive rate of group A.")] = None,
    tpr_b: Annotated[float | None, typer.Option(help="True positive rate of group B.")] = None,
    fpr_a: Annotated[float | None, typer.Option(help="False positive rate of group A.")] = None,
    fpr_b: Annotated[float | None, typer.Option(help="False positive rate of group B.")] = None,
    positive_rate_a: Annotated[float | None, typer.Option(help="Share with a positive prediction in group A.")] = None,
    positive_rate_b: Annotated[float | None, typer.Option(help="Share with a positive prediction in group B.")] = None,
    score_a: Annotated[float | None, typer.Option(help="Mean predicted probability in group A.")] = None,
    score_b: Annotated[float | None, typer.Option(help="Mean predicted probability in group B.")] = None,
    n_a: Annotated[int | None, typer.Option(help="Rows of group A; with --n-b: interval and noise floor.")] = None,
    n_b: Annotated[int | None, typer.Option(help="Rows of group B.")] = None,
    weight_parity: Annotated[float, typer.Option("--weight-parity", "--w1", help="Of demographic parity.")] = 0.333,
    weight_odds: Annotated[float, typer.Option("--weight-odds", "--w2", help="Of equalized odds.")] = 0.333,
    weight_calibration: Annotated[
        float, typer.Option("--weight-calibration", "--w3", help="Of the difference of mean scores.")
    ] = 0.334,
    groups: Annotated[
        Path | None,
        typer.Option(help="Table of any number of groups instead: group, tpr, fpr, positive_rate, score and maybe n."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Work out the composite Bias Detection Score of two groups from their rates.

    Rates are shares between 0 and 1. The score is 0 when both groups have the same rates and 1 at most; from 0.05 it
    is low, from 0.10 moderate, from 0.20 high, from 0.35 severe. The three weights add up to 1.

    \b
    Example:  bdt score --tpr-a 0.85 --tpr-b 0.70 --fpr-a 0.10 --fpr-b 0.18 \\
                  --positive-rate-a 0.60 --positive-rate-b 0.42 --score-a 0.55 --score-b 0.48
              bdt score --groups rates.csv --json
    """
    from bdt_pipeline.commands import show_score

    rates: dict[str, float | None] = {
        "tpr_a": tpr_a, "tpr_b": tpr_b, "fpr_a": fpr_a, "fpr_b": fpr_b, "positive_rate_a": positive_rate_a,
        "positive_rate_b": positive_rate_b, "score_a": score_a, "score_b": score_b, "n_a": n_a, "n_b": n_b,
    }  # fmt: skip
    given, names, rows = show_score.rates_of(rates, groups)
    result = show_score.score_of(given, names, rows, (weight_parity, weight_odds, weight_calibration))
    put(show_score.score_as_json(result) if as_json else show_score.score_in_words(result, given))


@app.command()
@_reported
def history(
    name: Annotated[str, typer.Argument(help="Name of an audit whose batches have been recorded.")],
    storage: Annotated[
        str | None,
        typer.Option(help="Folder or URL of the audits' storage. Default: BDT_STORAGE, else that of DAGSTER_HOME."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Draw the figure into this file, .png or .svg.")] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Show what all batches of an audit say together: differences between groups, trends, drift and limits.

    The asset bias_history records a batch at every run of an audit with declared groups, and so does bdt gate where
    it knows the storage. Confidence sequences and p-values stay valid however often one looks.

    \b
    Example:  bdt history loans
              bdt history loans --storage s3://bucket/audits --out loans.png
    """
    from bdt_pipeline.commands.show_history import show_history

    show_history(name, storage, out)


@app.command()
@_reported
def looks(
    folder: Annotated[
        Path | None, typer.Argument(help="Where looks.jsonl stands. Default: BDT_LOOKS, else bdt-reports.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Looks of this audit alone.")] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Storage of the audit's batches: what all of them show together stands on the page, too."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the page: looks.html, looks.pdf, looks.md, looks.json.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Private Ed25519 key that signs each of these files, as FILE.sig beside it.")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the page: en or nl.")] = "en",
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Show all looks that are recorded beside reports: when, with which answer, and what was changed in between.

    Exit code 1: lines of the record were changed, or are missing.

    \b
    Example:  bdt looks
              bdt looks bdt-reports --name loans --out history
              bdt looks bdt-reports --name loans --storage audits --out history --key ~/.ssh/id_ed25519
    """
    from bdt_pipeline.commands.show_looks import show_looks

    raise typer.Exit(show_looks(folder, name, storage, out, key, language))


@app.command()
@_reported
def overview(
    storage: Annotated[
        str | None,
        typer.Argument(
            help="Folder or URL of the audits' storage, or a folder of reports. Default: BDT_STORAGE, else the storage "
            "of DAGSTER_HOME, else bdt-reports."
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            help="File for it: .html, a page; .prom, metrics in the OpenMetrics format. One that is there is replaced.",
        ),
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the page: en or nl.")] = "en",
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve the page, the reports, and the metrics as /metrics, until Ctrl-C."
        ),
    ] = None,
    verbose: Verbose = False,  # noqa: ARG001 - _reported reads it
) -> None:
    """Show all audits: when each was looked at last, with which answer, and when the next look is due.

    \b
    Example:  bdt overview
              bdt overview /srv/audits --out audits.html --out /var/lib/node_exporter/bdt.prom
              bdt overview /srv/audits --listen 127.0.0.1:9464
    """
    from bdt_pipeline.commands.show_overview import show_overview

    answer = show_overview(storage, out or [], language)
    if listen is not None:
        from bdt_pipeline.local_page.serving import serve_overview
        from bdt_pipeline.resources.served_reports import address_of_reports

        serve_overview(listen, answer, address_of_reports())


@app.command()
@_reported
def schema() -> None:
    """Print the JSON Schema of specifications, for editors that complete and check YAML.

    \b
    Example:  bdt schema > bdt.schema.json
              and at the top of a specification:
              # yaml-language-server: $schema=bdt.schema.json
    """
    from bdt_core.spec import json_schema

    put(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [one.strip() for one in text.split(",") if one.strip()]


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


if __name__ == "__main__":
    main()
