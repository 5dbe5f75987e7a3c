"""Alerts, to a real web server and a real mail sink: once per problem, when it changes, and when it is over."""

from __future__ import annotations

import email
import email.policy
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline.automation.problems import SEVEREST_FIRST, Problem, follow, in_short, news, of_check
from tests.pipeline.watched_audit import LENIENT, STRICT, Watched, WebHook

Make = Callable[..., AuditSpec]


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
    watched.audit(LENIENT)
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
    for name in ("a.csv", "b.csv"):
        (inbox / name).write_text("a,b\n1,2,3\n")
        instance.add_dynamic_partitions("loans_files", [name])
        watched.audit(part=name)
        watched.look()
        watched.look()
    assert [("(a.csv)" in one["message"], "(b.csv)" in one["message"]) for one in hook.received] == [
        (True, False),
        (False, True),
    ]


def test_the_sensor_sends_mail_to_a_server(loans_file: Path, make_spec: Make, instance: dg.DagsterInstance) -> None:
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
    watched = Watched(make_spec(loans_file, gate=STRICT, notify=[address], notify_from="critical"), instance)
    watched.audit()
    watched.look()
    watched.look()
    controller.stop()
    (mail,) = sink.mails
    parsed = email.message_from_string(mail, policy=email.policy.default)
    body = parsed.get_body(("plain", "html"))
    assert body is not None
    assert (parsed["To"], parsed["Subject"]) == ("team@example.org", "Bias audit loans: 2 critical")
    assert "CRITICAL: bias_report: bias_gate" in body.get_content()


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
        lambda key, severity, over, parts: Problem(key, key, severity, severity, "s", "r", over, parts),
        st.sampled_from("abc"), st.sampled_from(SEVEREST_FIRST), st.booleans(),
        st.sampled_from([(), ("2026-01-01",), ("2026-01-02",)]),
    )
)  # fmt: skip


@given(problems, st.sampled_from(SEVEREST_FIRST))
def test_nobody_is_told_the_same_twice(found, least):
    happened, known = follow(found, {})
    _, told = news(happened, {}, least)
    assert news(known.values(), told, least)[0] == []
    assert follow([], known) == ([], known)
    assert all(SEVEREST_FIRST.index(told[key].split()[-1]) <= SEVEREST_FIRST.index(least) for key in told)


@given(problems, st.sampled_from(SEVEREST_FIRST))
def test_nothing_is_swallowed_by_what_comes_after_it(found, least):
    fresh, told = news(follow(found, {})[0], {}, least)
    bad = [one for one in found if not one.over and SEVEREST_FIRST.index(one.severity) <= SEVEREST_FIRST.index(least)]
    assert {(one.key, one.state) for one in fresh if not one.over} == {(one.key, one.state) for one in bad}
    assert {one.key for one in fresh if one.over}.isdisjoint(told)
    assert in_short(fresh) == fresh


def test_an_inconclusive_gate_is_mild_and_a_broken_blocking_one_is_not():
    def severity(**changes: Any) -> str:
        given = {"passed": False, "error": False, "blocking": True, "description": "x", "metadata": {}, "part": None}
        return of_check("gate", **(given | changes)).severity

    assert severity() == "low"
    assert severity(error=True) == "critical"
    assert severity(error=True, blocking=False) == "high"
    assert severity(error=True, metadata={"severity": "medium"}) == "medium"
