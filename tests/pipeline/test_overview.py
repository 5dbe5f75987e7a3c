"""``bdt overview``: all audits of a storage or of a folder of reports, and their metrics for who watches."""

from __future__ import annotations

import datetime
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import dagster as dg
import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner
from upath import UPath

from bdt_core.history import difference_finding, follow
from bdt_core.report.known_audit import KnownAudit
from bdt_core.report.overview import overview_as_page
from bdt_core.result import FORMS
from bdt_pipeline import build_overview_asset
from bdt_pipeline.cli import app
from bdt_pipeline.resources.known_audits import known_audits
from tests.core.history.made_batches import days, history_spec
from tests.core.history.test_trend_drift_and_limits import EQUAL, RATES, WORSE
from tests.core.report.browser import chromium
from tests.core.report.read_openmetrics import read_openmetrics
from tests.core.sealed.test_cheating import FRAME
from tests.pipeline.local_page.served import PATIENCE, until

SPEC = """name: loans
source: {path: loans.csv}
bias_variable: {derive: positive_prediction, prediction: refused, better: lower}
groups: {prediction: refused, positive: 1}
protected: [sex]
gate: [{check: worst_group, max_difference: 0.05}]
worst_groups: {permutations: 39}
clustering: null
slices: null
freshness_hours: 24
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("DAGSTER_HOME", "BDT_STORAGE", "BDT_LOOKS", "BDT_REPORTS"):
        monkeypatch.delenv(name, raising=False)
    FRAME.to_csv("loans.csv", index=False)
    (tmp_path / "loans.yaml").write_text(SPEC)
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_reports_looks_and_batches_of_all_audits(folder: Path) -> None:
    run("gate", "loans.yaml", "--report", "kept/first", "--storage", "kept", code=1)
    (folder / "hiring.yaml").write_text(SPEC.replace("loans\n", "hiring\n").replace("0.05", "0.9"))
    run("gate", "hiring.yaml", "--report", "kept/hiring-1", "--storage", "kept")
    os.utime(folder / "kept" / "first" / "report.json", (2_000_000_000, 2_000_000_000))
    (folder / "kept" / "broken").mkdir()
    (folder / "kept" / "broken" / "report.json").write_text('{"schema_version": 2}')
    told = run("overview", "kept", "--out", "metrics/bdt.prom")
    assert "hiring: PASS, " in told
    assert "loans: FAIL, 2033-05-18 03:33, due 2033-05-19 03:33" in told
    assert "report.json holds no report and is left out." in told
    read = read_openmetrics((folder / "metrics" / "bdt.prom").read_text())
    for audit, verdict in (("hiring", "pass"), ("loans", "fail")):
        assert read["bdt_audit_verdict"].of(audit=audit, verdict=verdict) == 1
        assert read["bdt_history_batches"].of(audit=audit) == 1
    rate = {"by": "sex", "group": "f", "metric": "selection_rate"}
    refused = FRAME.loc[FRAME["sex"] == "f", "refused"].mean()
    assert read["bdt_group_rate_ratio"].of(audit="loans", **rate) == pytest.approx(refused)
    run("overview", "kept", "--out", "metrics/bdt.prom", "--out", "page.html")  # a file that is there is replaced
    page = (folder / "page.html").read_text()
    assert page.index("2033-05-18 03:33") < page.index("hiring")  # the worst answer first
    assert "worst_group: Fail" in page
    sentence = json.loads((folder / "kept" / "first" / "report.json").read_text())["verdict"]["sentence"]
    assert html.escape(sentence, quote=False) in page
    assert "overdue" not in page.split("<table")[1]
    assert "loans: FAIL" in run("overview", "kept/first")


def test_a_later_look_without_a_report_counts(folder: Path) -> None:
    run("audit", "loans.yaml")
    os.utime(folder / "bdt-reports" / "loans-1" / "report.json", (1_700_000_000, 1_700_000_000))
    (folder / "loans.yaml").write_text(SPEC.replace("0.05", "0.9"))
    run("gate", "loans.yaml")
    (audit,), remarks = known_audits(UPath("bdt-reports"))
    assert (audit.verdict, remarks) == ("pass", [])
    assert audit.look is not None
    assert audit.looked == datetime.datetime.fromisoformat(audit.look.began)
    assert audit.due is not None
    assert audit.due - audit.looked == datetime.timedelta(hours=24)
    (folder / "loans.csv").write_text("age,sex\n1,f\n")
    run("gate", "loans.yaml", code=2)
    assert run("overview").startswith("loans: -, ")  # stopped: no answer


def test_a_schedule_says_what_is_due(folder: Path) -> None:
    (folder / "loans.yaml").write_text(SPEC.replace("freshness_hours: 24", 'schedule: "0 6 * * 1"'))
    run("audit", "loans.yaml")
    os.utime(folder / "bdt-reports" / "loans-1" / "report.json", (4_000_000_000, 4_000_000_000))
    (audit,), _ = known_audits(UPath("bdt-reports"))
    assert audit.due == datetime.datetime(2096, 10, 8, 6, tzinfo=datetime.UTC)


def test_the_page_says_what_is_overdue_and_what_batches_show_together() -> None:
    spec = history_spec(gate=RATES, groups={"reference": "m"}, freshness_hours=24)
    history = follow(days(spec, [EQUAL] * 3 + [WORSE] * 40), spec)
    due = datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)
    audit = KnownAudit("<b>loans</b>", None, None, None, history, due)
    later = overview_as_page([audit], due + datetime.timedelta(hours=1))
    (row,) = later.data["audits"]
    assert (row["verdict"], row["overdue"], row["due"]) == (None, True, "2026-02-01 00:00")
    assert row["over_time"][0] == difference_finding(history).sentence
    assert row["over_time"][0] in html.unescape(later.html())
    assert "&lt;b&gt;loans" in later.html()
    assert "<b>loans" not in later.html()
    assert not overview_as_page([audit], due).data["audits"][0]["overdue"]
    dutch = overview_as_page([audit], due + datetime.timedelta(hours=1), "nl").html()
    assert "Alle onderzoeken" in dutch
    assert "te laat" in dutch
    assert "Last look" not in dutch
    assert row["over_time"][0] not in html.unescape(dutch)


def test_an_asset_shows_all_audits_of_an_instance(instance: dg.DagsterInstance, folder: Path) -> None:
    storage = Path(instance.storage_directory())
    run("gate", "loans.yaml", "--storage", str(storage), "--report", str(storage / "loans" / "reports" / "a"), code=1)
    asset = build_overview_asset(deps=[dg.AssetKey(["loans", "bias_report"])])
    for _ in range(2):  # each run replaces the files
        made = dg.materialize([asset], instance=instance)
        (shown,) = [one.metadata for one in made.asset_materializations_for_node("bias_audits")]
        assert shown["answers"].value == {"loans": "fail"}
    assert (storage / "bias_audits" / "overview.html").read_text().count("worst_group: Fail") == 1
    read = read_openmetrics((storage / "bias_audits" / "overview.prom").read_text())
    assert read["bdt_audit_verdict"].of(audit="loans", verdict="fail") == 1
    assert [one.name for one in (storage / "bias_audits").iterdir() if one.suffix == ".tmp"] == []


@contextmanager
def served(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``bdt overview --listen``, once it can be asked: its host with the port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bdt_pipeline.cli", "overview", *arguments, "--listen", "127.0.0.1:0"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if (address := re.search(r"Prometheus finds it at +http://([\d.:]+)/metrics", line)) is not None:
                yield address[1], process
                break
        else:
            raise AssertionError("".join(said))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def asked(host: str, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
    """Status, kind and content of an answer."""
    connection = HTTPConnection(host)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, str(answer.headers["content-type"]), answer.read().decode()
    finally:
        connection.close()


def test_the_overview_is_served_as_it_is_when_somebody_asks(folder: Path) -> None:
    run("gate", "loans.yaml", "--storage", "kept", "--report", "kept/loans-1", code=1)
    with served("kept") as (host, process):
        status, kind, page = asked(host, "/")
        assert (status, kind) == (200, "text/html; charset=utf-8")
        assert "loans" in page
        status, kind, told = asked(host, "/metrics")
        assert (status, kind.partition(";")[0]) == (200, "application/openmetrics-text")
        assert read_openmetrics(told)["bdt_audit_verdict"].of(audit="loans", verdict="fail") == 1
        (folder / "hiring.yaml").write_text(SPEC.replace("loans\n", "hiring\n").replace("0.05", "0.9"))
        run("gate", "hiring.yaml", "--storage", "kept", "--report", "kept/hiring-1")
        assert "hiring" in asked(host, "/")[2]
        assert read_openmetrics(asked(host, "/metrics")[2])["bdt_audit_verdict"].of(audit="hiring", verdict="pass") == 1
        assert asked(host, "/", "HEAD")[::2] == (200, "")
        for path, method, headers, status in (
            ("/", "POST", {}, 405),
            ("/kept/loans-1/report.json", "GET", {}, 404),
            ("/../loans.csv", "GET", {}, 404),
            ("/metrics", "GET", {"Host": "elsewhere.example"}, 403),
            ("/metrics", "GET", {"Sec-Fetch-Site": "cross-site"}, 403),
        ):
            assert asked(host, path, method, **headers)[0] == status, (path, method, headers)
        shutil.rmtree(folder / "kept")
        assert asked(host, "/metrics")[0] in (200, 503)  # no traceback, and it goes on
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in (0, 130)


def test_reports_are_served_and_nothing_else(folder: Path) -> None:
    run("gate", "loans.yaml", "--storage", "kept", "--report", "kept/loans/reports/a b", code=1)
    reports = folder / "kept" / "loans" / "reports"
    (folder / "secret.html").write_text("secret")
    (reports / "a b" / "members.csv").write_text("secret")
    (reports / "linked").symlink_to(folder)
    (reports / "b").mkdir()
    (reports / "b" / "report.html").symlink_to(folder / "secret.html")
    (folder / "report.html").write_text("secret")
    with served("kept") as (host, _):
        for form, kind in FORMS.items():
            status, found, _ = asked(host, f"/loans/reports/a%20b/report.{form}", "HEAD")
            assert (status, found) == (200, f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        whole = (reports / "a b" / "report.html").read_text()
        assert asked(host, "/loans/reports/a%20b/report.html")[2] == whole
        assert 'href="/loans/reports/a%20b/report.html"' in asked(host, "/")[2]
        (folder / "kept" / "other").symlink_to(folder / "kept" / "loans")
        batch = next((folder / "kept" / "loans" / "history").iterdir()).name
        for path in (
            "/loans/reports/a%20b/members.csv",
            "/loans/reports/a%20b/",
            "/loans/reports/a%20b",
            "/loans/reports/",
            f"/loans/history/{batch}",
            f"/loans/reports/../history/{batch}",
            "/loans/reports/%2e%2e/report.html",
            "/loans/reports/../../../report.html",
            "/../reports/a%20b/report.html",
            "/loans/reports/a%20b%2f..%2fa%20b/report.html",
            "/loans/reports/..%2f..%2floans%2freports%2fa%20b/report.html",
            "/loans/reports/a%20b/..%5creport.html",
            "/loans/reports/a%20b/report.html%00",
            "/loans/reports/a%20b/report.html/",
            "//loans/reports/a%20b/report.html",
            "/loans/reports/linked/report.html",
            "/loans/reports/b/report.html",
            "/other/reports/a%20b/report.html",
            f"/loans/reports/{'a' * 5000}/report.html",
            "/loans/reports/%ff%fe/report.html",
            "/loans/Reports/a%20b/report.html",
            "/loans/reports/a%20b/report.HTML",
        ):
            status, _, told = asked(host, path)
            assert (status, "secret" in told) == (404, False), path
        page = "/loans/reports/a%20b/report.html"
        elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        for method, headers, status in (
            ("GET", {**elsewhere, "Sec-Fetch-Dest": "document"}, 200),  # a link on Dagster's page
            ("GET", {**elsewhere, "Sec-Fetch-Dest": "iframe"}, 403),
            ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403),
            ("GET", {**elsewhere, "Sec-Fetch-Dest": "document", "Host": "elsewhere.example"}, 403),
            ("POST", {}, 405),
            ("PUT", {}, 405),
            ("DELETE", {}, 405),
        ):
            assert asked(host, page, method, **headers)[0] == status, (method, headers)
        assert (reports / "a b" / "report.html").read_text() == whole


@pytest.mark.parametrize("prefix", ["", "/bias"])
def test_reports_are_served_by_their_address_behind_a_proxy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    """Whether the proxy leaves the path of the address out or not."""
    run("gate", "loans.yaml", "--storage", "kept", "--report", "kept/loans/reports/a", code=1)
    monkeypatch.setenv("BDT_REPORTS", "https://Reports.example/bias/")
    with served("kept") as (host, _):
        behind = {"Host": "reports.example"}
        status, _, page = asked(host, f"{prefix}/", **behind)
        assert (status, 'href="https://Reports.example/bias/loans/reports/a/report.html"' in page) == (200, True)
        assert asked(host, f"{prefix}/loans/reports/a/report.html", **behind)[0] == 200
        assert asked(host, f"{prefix}/metrics", **behind)[0] == 200
        assert asked(host, "/biasx/loans/reports/a/report.html", **behind)[0] == 404
    run("overview", "kept", "--out", "page.html")
    assert 'href="https://Reports.example/bias/loans/reports/a/report.html"' in (folder / "page.html").read_text()
    monkeypatch.setenv("BDT_REPORTS", "the intranet")
    assert "BDT_REPORTS is no address such as https://" in run("overview", "kept", code=2)


def test_a_browser_goes_from_the_overview_to_a_report_that_works(folder: Path) -> None:
    run("gate", "loans.yaml", "--storage", "kept", "--report", "kept/loans/reports/a", code=1)
    document = json.loads((folder / "kept" / "loans" / "reports" / "a" / "report.json").read_text())
    with served("kept") as (host, _), chromium() as browser:
        page = browser.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://{host}/")
        page.get_by_role("link").click()
        until(lambda: page.url.endswith("/loans/reports/a/report.html"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Loans: are some people worse off?")
        assert document["findings"]["findings"][0]["who"].lower() in page.inner_text("body").lower()
        tools = page.evaluate("document.querySelectorAll('.tool').length")
        assert tools > 0  # which the script alone makes
        assert said == []


def test_what_is_not_there_is_named(folder: Path) -> None:
    assert "No audit is known in bdt-reports" in run("overview", code=2)
    assert "found x.csv" in run("overview", "--out", "x.csv", code=2)
    assert 'there is no "fr"' in run("overview", "--language", "fr", code=2)
    run("gate", "loans.yaml", "--storage", "kept", "--report", "kept/loans-1", code=1)
    assert "8050 is no place to listen at" in run("overview", "kept", "--listen", "8050", code=2)
