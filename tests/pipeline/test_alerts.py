"""Alerts, to a real web server and a real mail sink: once per problem, when it changes, and when it is over."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline.automation.problems import SEVEREST_FIRST, Problem, follow, in_short, news, of_check, with_others
from tests.pipeline.ports import free_port
from tests.pipeline.test_history import ASSETS as OF_HISTORY
from tests.pipeline.test_history import DERIVED, GATE, people
from tests.pipeline.watched_audit import LENIENT, PATIENTLY, RAW, REPORT, STRICT, Watched, WebHook

Make = Callable[..., AuditSpec]


@pytest.mark.usefixtures("up_to_report")
def test_a_failed_gate_is_told_once_and_its_end_too(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    spec = make_spec(loans_file, gate=STRICT, notify=[hook.address], notify_from="high")
    watched = Watched(spec, instance)
    watched.audit(only=REPORT)
    watched.look()
    (first,) = hook.received
    assert first["title"] == "Bias audit loans: 1 critical"
    assert "CRITICAL: bias_report: bias_gate" in first["message"]
    assert "at most 2.0 points is allowed" in first["message"]
    assert "To do: " in first["message"]
    watched.audit(only=REPORT)
    watched.look()
    watched.look()
    assert len(hook.received) == 1
    watched.audit(LENIENT, only=REPORT)
    watched.look()
    assert len(hook.received) == 2
    assert "OVER: bias_report: bias_gate" in hook.received[1]["message"]


def test_checks_that_stop_nothing_and_broken_runs_are_told(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    file = tmp_path / "loans.csv"
    pd.concat([loans, loans]).to_csv(file, index=False)  # every row twice: a warning
    spec = make_spec(file, gate=[], notify=[hook.address], notify_from="low")
    watched = Watched(spec, instance)
    watched.audit(only=RAW)
    watched.look()
    assert "LOW: raw_data: few_duplicate_rows" in hook.received[-1]["message"]
    file.unlink()
    watched.audit()
    watched.look()
    assert "HIGH: Run of loans_audit" in hook.received[-1]["message"]
    assert "loans.csv does not exist" in hook.received[-1]["message"]
    loans.to_csv(file, index=False)
    watched.audit(only=RAW)
    watched.look()
    assert "OVER: Run of loans_audit" in hook.received[-1]["message"]


@pytest.mark.usefixtures("up_to_report")
def test_what_could_not_be_sent_is_sent_later_and_others_are_not_told_twice(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    other = WebHook()
    hook.status = 500
    watched = Watched(make_spec(loans_file, gate=STRICT, notify=[hook.address, other.address]), instance)
    watched.audit(only=REPORT)
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
    spec = make_spec(
        inbox / "{partition}", inbox={"folder": str(inbox), "settle": 0}, notify=[hook.address], notify_from="low"
    )
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
    port = free_port()
    controller = Controller(sink, hostname="127.0.0.1", port=port, ready_timeout=600)
    controller.start()
    address = f"mailto://127.0.0.1:{port}?from=audit@example.org&to=team@example.org&mode=insecure&{PATIENTLY}"
    watched = Watched(make_spec(loans_file, gate=STRICT, slices={}, notify=[address], notify_from="critical"), instance)
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


@pytest.mark.usefixtures("up_to_report")
def test_secrets_stay_out_of_logs(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOOK", "json://user:topsecret@127.0.0.1:9/hook")
    watched = Watched(make_spec(loans_file, gate=STRICT, notify=["${HOOK}", "json://u:hidden@127.0.0.1:9/x"]), instance)
    watched.audit(only=REPORT)
    watched.look()
    everything = "".join(capfd.readouterr()) + caplog.text + str(watched.cursor)
    assert "topsecret" not in everything
    assert "hidden" not in everything
    assert "Could not tell ${HOOK}" in everything


def test_an_address_that_is_none_is_refused(make_spec: Make) -> None:
    with pytest.raises(SpecError, match=r"notify.*not a URL"):
        make_spec("loans.csv", notify=["team@example.org"])


PAGER = "pagerduty://" + "i" * 32 + "@" + "a" * 20 + f"/loans?{PATIENTLY}"


@pytest.fixture
def pager(hook: WebHook, monkeypatch: pytest.MonkeyPatch) -> WebHook:
    """PagerDuty's door, on this machine."""
    from apprise.plugins import pagerduty

    monkeypatch.setitem(pagerduty.PAGERDUTY_API_LOOKUP, "us", f"http://127.0.0.1:{hook.server.server_port}/v2/enqueue")
    return hook


@pytest.mark.usefixtures("up_to_report")
def test_an_incident_that_is_over_is_resolved(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, pager: WebHook
) -> None:
    spec = make_spec(loans_file, gate=STRICT, notify=[PAGER], notify_from="high")
    watched = Watched(spec, instance)
    watched.audit(only=REPORT)
    watched.look()
    (opened,) = pager.received
    assert (opened["event_action"], opened["payload"]["severity"]) == ("trigger", "critical")
    assert opened["dedup_key"] == "bias audit loans: bias_report: bias_gate"
    assert "at most 2.0 points is allowed" in opened["payload"]["summary"]
    watched.audit(LENIENT, only=REPORT)
    pager.status = 500
    watched.look()  # cannot be sent yet
    pager.status = 200
    watched.look()
    watched.look()
    assert [(one["event_action"], one["dedup_key"]) for one in pager.received] == [
        ("trigger", opened["dedup_key"]),
        ("resolve", opened["dedup_key"]),
    ]


@pytest.mark.usefixtures("up_to_report")
def test_each_problem_has_an_incident_of_its_own_unless_the_address_names_one(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, pager: WebHook
) -> None:
    """Two problems, of which one is over before the other."""
    file = tmp_path / "loans.csv"
    pd.concat([loans, loans]).to_csv(file, index=False)  # every row twice: a warning
    spec = make_spec(file, gate=STRICT, notify=[PAGER, f"{PAGER}&dedup=everything"], notify_from="low")
    watched = Watched(spec, instance)

    def events() -> tuple[list[str], list[str]]:
        each = [one for one in pager.received if one["dedup_key"] != "everything"]
        named = [one["event_action"] for one in pager.received if one["dedup_key"] == "everything"]
        pager.received.clear()
        return sorted(f"{one['event_action']} {one['dedup_key']}" for one in each), named

    gate, twice = "bias audit loans: bias_report: bias_gate", "bias audit loans: raw_data: few_duplicate_rows"
    watched.audit(only=[*RAW, *REPORT])
    watched.look()
    assert events() == ([f"trigger {gate}", f"trigger {twice}"], ["trigger"])
    loans.to_csv(file, index=False)
    watched.audit(only=[*RAW, *REPORT])
    watched.look()
    assert events() == ([f"resolve {twice}"], ["trigger"])  # the named one goes on
    watched.audit(LENIENT, only=REPORT)
    watched.look()
    assert events() == ([f"resolve {gate}"], ["resolve"])


def test_nothing_to_test_is_no_news_and_a_limit_is_told_with_its_gate(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    """A fair day on which there are no intersections to test, and one on which the gate's limits are broken."""
    gate = [{"metric": "prevalence_difference", "facet": "sex", "min": -0.2, "max": 0.2}]
    groups = {"label": "error", "facets": ["sex"]}
    file = tmp_path / "loans.csv"
    rng = np.random.default_rng(3)
    fair = loans.assign(sex=rng.permutation(loans["sex"]), error=rng.permutation(loans["error"]))
    fair.to_csv(file, index=False)
    watched = Watched(
        make_spec(file, gate=gate, groups=groups, slices={}, notify=[hook.address], notify_from="low"), instance
    )
    watched.audit()
    watched.look()
    (findings,) = [one for one in instance.all_asset_keys() if one.path[-1] == "findings"]
    check = dg.AssetCheckKey(findings, "worst_slice")
    kept = instance.event_log_storage.get_latest_asset_check_execution_by_key([check])
    (record,) = kept.values()
    assert record.event is not None
    evaluation = record.event.dagster_event.asset_check_evaluation_data
    assert (evaluation.passed, evaluation.metadata["verdict"].value) == (False, "not_testable")
    assert hook.received == []
    worse = loans.assign(error=(loans["sex"] == "f").astype(int))
    worse.to_csv(file, index=False)
    watched.audit()
    watched.look()
    (told,) = hook.received
    assert "CRITICAL: bias_report: bias_gate" in told["message"]
    assert "prevalence_difference_by_sex" not in told["message"]  # its own check says what the gate says
    assert told["type"] == "failure"


def test_a_malformed_file_s_advice_is_to_mend_the_file(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    file = tmp_path / "loans.csv"
    spec = make_spec(file, gate=STRICT, notify=[hook.address], notify_from="low")
    watched = Watched(spec, instance)
    for text in ("a,b\n1,2,3\n", loans.drop(columns="error").to_csv(index=False)):
        file.write_text(text)
        watched.audit()
        watched.look()
        advice = hook.received[-1]["message"].split("To do: ")[1]
        assert advice.startswith("Correct the file or table")
        assert "groups and limits" not in hook.received[-1]["message"]


def of_day(name: str, day: str, *, passed: bool = False, severity: str = "medium") -> Problem:
    told = f"{name} of {day}"
    return of_check(
        name, passed=passed, error=False, blocking=False, description=told, metadata={"severity": severity},
        part=day, in_time=True,
    )  # fmt: skip


def test_a_day_on_which_more_comes_is_told_again_and_one_with_less_is_not() -> None:
    """The gate fails for four days; drift is beside it on the first and third, a difference over time on the second."""
    days = [("1", ["drift"]), ("2", ["difference"]), ("3", ["drift"]), ("4", [])]
    known: dict[str, Problem] = {}
    told: dict[str, str] = {}
    sent = []
    for day, names in days:
        found = with_others(of_day("gate", day), [], [of_day(one, day, severity="high") for one in names])
        happened, known = follow([found], known)
        fresh, told = news(happened, told, "low")
        sent.append([one.sentence for one in fresh])
    assert sent == [["gate of 1 drift of 1"], ["gate of 2 difference of 2"], [], ["gate of 4"]]
    assert list(known) == ["gate"]


def test_a_milder_gate_does_not_hide_what_is_severe() -> None:
    both = with_others(of_day("gate", "1", severity="low"), [], [of_day("drift", "1", severity="critical")])
    assert news([both], {}, "critical")[0] == [both]
    alone = with_others(of_day("gate", "1", severity="low"), [])
    assert news([alone], {}, "critical")[0] == []


@pytest.mark.usefixtures("up_to_report")
def test_by_default_what_stops_a_run_is_told_and_a_warning_is_not(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    file = tmp_path / "loans.csv"
    pd.concat([loans, loans]).to_csv(file, index=False)  # every row twice: a warning
    watched = Watched(make_spec(file, gate=STRICT, notify=[hook.address]), instance)
    watched.audit(LENIENT, only=[*RAW, *REPORT])
    watched.look()
    assert hook.received == []
    watched.audit(only=REPORT)
    watched.look()
    assert "bias_report: bias_gate" in hook.received[0]["message"]
    assert "LOW" not in hook.received[0]["message"]


@pytest.mark.parametrize(("told", "severity"), [("low", "medium"), ("high", "high"), ("", "critical")])
def test_what_stops_a_run_is_of_medium_severity_at_least(told, severity):
    """A limit of .05 that .052 breaks is a small difference, and stops the deployment all the same."""
    found = of_check(
        "gate", passed=False, error=True, blocking=True, description="", metadata={"severity": told}, part=None
    )
    assert found.severity == severity
    assert news([found], {}, AuditSpec.model_fields["notify_from"].default)[0] == [found]


def test_one_day_is_told_once(tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook) -> None:
    """Fair days are no news; then the gate fails, drifts, and all days together differ: one problem, and its end."""
    folder = tmp_path / "days"
    folder.mkdir()
    spec = make_spec(
        folder / "{partition}.csv",
        bias_variable=DERIVED,
        groups={"reference": "m"},
        partition_by={"time": "daily", "start": "2026-01-01"},
        gate=GATE,
        notify=[hook.address],
        notify_from="low",
    )
    watched = Watched(spec, instance)
    for number, women_err in enumerate((0.2, 0.2, 0.6, 0.2)):
        day = f"2026-01-0{number + 1}"
        people(number, women_err).to_csv(folder / f"{day}.csv", index=False)
        watched.audit(part=day, only=OF_HISTORY if number == 0 else None)
        watched.look()
        told = [line for one in hook.received for line in one["message"].splitlines() if not line.startswith(" ")]
        if number < 2:
            assert told == []
        elif number == 2:
            assert [line.split(": ", 1)[1] for line in told if line] == [f"bias_report: bias_gate ({day})"]
            assert "differences moved by more than" in hook.received[0]["message"]
    assert len(hook.received) == 2
    assert "OVER: bias_report: bias_gate" in hook.received[1]["message"]


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
