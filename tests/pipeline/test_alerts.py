"""Alerts, to a real web server and a real mail sink: once per problem, when it changes, and when it is over."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.automation.problems import SEVEREST_FIRST, Problem, news, of_check
from bdt_pipeline.resources.notifier import tell

Make = Callable[..., AuditSpec]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class WebHook:
    """A server that keeps what it is sent; it can be told to refuse."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.status = 200
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if hook.status == 200:
                    hook.received.append(json.loads(body))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"json://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def hook() -> Iterator[WebHook]:
    one = WebHook()
    yield one
    one.server.shutdown()
    one.server.server_close()


class Watched:
    """An audit with its alert sensor."""

    def __init__(self, spec: AuditSpec, instance: dg.DagsterInstance) -> None:
        self.defs, self.instance, self.spec, self.cursor = bias_audit_definitions(spec), instance, spec, None
        self.look()  # what happened before the first look is not told

    def look(self) -> None:
        sensor = self.defs.resolve_sensor_def(f"{self.spec.name}_alerts")
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.defs.get_repository_def()
        )
        found = sensor(context)
        assert isinstance(found, dg.SensorResult)
        self.cursor = found.cursor

    def audit(self, config: dict[str, Any] | None = None) -> None:
        job = self.defs.resolve_job_def(f"{self.spec.name}_audit")
        ops = {f"{self.spec.name}__{asset}": {"config": values} for asset, values in (config or {}).items()}
        job.execute_in_process(instance=self.instance, raise_on_error=False, run_config={**QUIET, "ops": ops})


STRICT = [{"max_difference": 0.02}]


def test_a_failed_gate_is_told_once_and_its_end_too(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    spec = make_spec(loans_file, gate=STRICT, slices=None, notify=[hook.address], notify_from="high")
    watched = Watched(spec, instance)
    watched.audit()
    watched.look()
    (first,) = hook.received
    assert first["title"] == "Bias audit loans: 1 critical"
    assert "CRITICAL: bias_report: bias_gate" in first["message"]
    assert "at most 2.0 points is allowed" in first["message"]
    assert "To do: " in first["message"]
    watched.audit()
    watched.look()
    watched.look()
    assert len(hook.received) == 1
    watched.audit({"bias_report": {"gate": [{"max_difference": 1.0}]}})
    watched.look()
    assert len(hook.received) == 2
    assert "OVER: bias_report: bias_gate" in hook.received[1]["message"]


def test_checks_that_stop_nothing_and_broken_runs_are_told(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    file = tmp_path / "loans.csv"
    pd.concat([loans, loans]).to_csv(file, index=False)  # every row twice: a warning
    spec = make_spec(file, gate=[], notify=[hook.address])
    watched = Watched(spec, instance)
    watched.audit()
    watched.look()
    assert "LOW: raw_data: few_duplicate_rows" in hook.received[-1]["message"]
    file.unlink()
    watched.audit()
    watched.look()
    assert "HIGH: Run of loans_audit" in hook.received[-1]["message"]
    assert "loans.csv does not exist" in hook.received[-1]["message"]
    loans.to_csv(file, index=False)
    watched.audit()
    watched.look()
    assert "OVER: Run of loans_audit" in hook.received[-1]["message"]


def test_what_could_not_be_sent_is_sent_later_and_others_are_not_told_twice(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    other = WebHook()
    hook.status = 500
    watched = Watched(make_spec(loans_file, gate=STRICT, notify=[hook.address, other.address]), instance)
    watched.audit()
    watched.look()
    watched.look()
    assert (len(hook.received), len(other.received)) == (0, 1)
    hook.status = 200
    watched.look()
    watched.look()
    assert (len(hook.received), len(other.received)) == (1, 1)
    other.server.shutdown()
    other.server.server_close()


def test_each_file_of_an_inbox_is_a_problem_of_its_own(
    tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    spec = make_spec(inbox / "{partition}", inbox={"folder": str(inbox), "settle": 0}, notify=[hook.address])
    watched = Watched(spec, instance)
    job = watched.defs.resolve_job_def("loans_audit")
    for name in ("a.csv", "b.csv"):
        (inbox / name).write_text("a,b\n1,2,3\n")
        instance.add_dynamic_partitions("loans_files", [name])
        job.execute_in_process(instance=instance, partition_key=name, raise_on_error=False, run_config=QUIET)
        watched.look()
        watched.look()
    assert [("(a.csv)" in one["message"], "(b.csv)" in one["message"]) for one in hook.received] == [
        (True, False),
        (False, True),
    ]


def test_mail_reaches_a_server(loans_file: Path, make_spec: Make, instance: dg.DagsterInstance) -> None:
    from aiosmtpd.controller import Controller

    class Sink:
        def __init__(self) -> None:
            self.mails: list[str] = []

        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
            self.mails.append(envelope.content.decode())
            return "250 OK"

    sink = Sink()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(sink, hostname="127.0.0.1", port=port)
    controller.start()
    address = f"mailto://127.0.0.1:{port}?from=audit@example.org&to=team@example.org&mode=insecure"
    assert tell(address, "Bias audit loans: 1 critical", "CRITICAL: gate")
    controller.stop()
    assert "Bias audit loans" in sink.mails[0]
    assert "team@example.org" in sink.mails[0]


def test_secrets_stay_out_of_logs(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOOK", "json://user:topsecret@127.0.0.1:9/hook")
    watched = Watched(make_spec(loans_file, gate=STRICT, notify=["${HOOK}", "json://u:hidden@127.0.0.1:9/x"]), instance)
    watched.audit()
    watched.look()
    everything = "".join(capfd.readouterr()) + caplog.text + str(watched.cursor)
    assert "topsecret" not in everything
    assert "hidden" not in everything
    assert "Could not tell ${HOOK}" in everything


def test_an_address_that_is_none_is_refused(make_spec: Make) -> None:
    with pytest.raises(SpecError, match=r"notify.*not a URL"):
        make_spec("loans.csv", notify=["team@example.org"])


problems = st.lists(
    st.builds(
        lambda key, severity, over: Problem(key, key, severity, severity, "s", "r", over),
        st.sampled_from("abc"), st.sampled_from(SEVEREST_FIRST), st.booleans(),
    )
)  # fmt: skip


@given(problems, st.sampled_from(SEVEREST_FIRST))
def test_nobody_is_told_the_same_twice(found, least):
    _, told = news(found, {}, least)
    assert news(found, told, least)[0] == []
    assert all(SEVEREST_FIRST.index(told[key].split()[-1]) <= SEVEREST_FIRST.index(least) for key in told)


def test_an_inconclusive_gate_is_mild_and_a_broken_blocking_one_is_not():
    def severity(**changes: Any) -> str:
        given = {"passed": False, "error": False, "blocking": True, "description": "x", "metadata": {}, "part": None}
        return of_check("gate", **(given | changes)).severity

    assert severity() == "low"
    assert severity(error=True) == "critical"
    assert severity(error=True, blocking=False) == "high"
    assert severity(error=True, metadata={"severity": "medium"}) == "medium"
