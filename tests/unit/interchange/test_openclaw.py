"""OpenClaw import: the task of each job, notes, and jobs that are left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.interchange import ImportedTask, ImportResult, PastRun, openclaw
from horae.model.gate import Gate
from horae.model.run import RunState
from horae.schedule import Cron, Every, Once, first
from horae.schedule import Past as SchedulePast
from tests.unit.interchange.sample_files import by_source, codes_of, payload_of, reasons, sample, spec_of

SHANGHAI = "Asia/Shanghai"
JOB: dict[str, Any] = {
    "id": "job",
    "name": "A job",
    "enabled": True,
    "schedule": {"kind": "cron", "expr": "0 7 * * *"},
    "payload": {"kind": "agentTurn", "message": "Do it."},
}


def read(*jobs: Any) -> ImportResult:
    return openclaw.read(json.dumps({"version": 1, "jobs": jobs}), zone=SHANGHAI)


def only(**changes: Any) -> ImportedTask:
    (found,) = read({**JOB, **changes}).tasks
    return found


class TestSampleFile:
    imported = openclaw.read(sample("openclaw_jobs.json"), zone=SHANGHAI)
    found = by_source(imported)

    def test_every_job_is_imported_completed_or_reported(self) -> None:
        assert list(self.found) == ["morning", "heartbeat", "reminder", "probe", "shell", "maybe"]
        assert [(note.code, "1" in note.english) for note in self.imported.notes] == [("openclaw_completed", True)]
        assert reasons(self.imported) == {
            "watch": "openclaw_event_schedule",
            "code": "openclaw_script",
            "broken": "out_of_range",
            "job 11": "import_bad_field",
        }

    def test_agent_turn_is_imported(self) -> None:
        found = self.found["morning"]
        assert found.request.when == Cron("0 7 * * *", zone="Europe/Berlin", jitter=timedelta(minutes=5))
        assert (found.request.owner, found.request.lane, found.request.key) == (
            "group:ops",
            "group:ops",
            "openclaw:morning",
        )
        assert spec_of(found) == {"group": "ops", "chat": "-100123", "context_mode": "isolated"}
        assert payload_of(found) == {
            "prompt": "Summarise the night.",
            "model": "small",
            "session": "isolated",
            "wake": "now",
            "delivery": {"mode": "announce", "channel": "telegram", "to": "-100123"},
        }
        assert found.request.options.max_duration == timedelta(minutes=15)
        assert codes_of(found) == ["openclaw_delivery"]

    def test_interval_stays_on_its_grid_and_a_disabled_job_is_paused(self) -> None:
        found = self.found["heartbeat"]
        schedule = found.request.when
        assert isinstance(schedule, Every)
        assert schedule == Every(timedelta(minutes=30), start=datetime(2026, 1, 1, 0, 5, tzinfo=UTC))
        assert first(schedule, SchedulePast(datetime(2026, 6, 1, 12, tzinfo=UTC))) == datetime(
            2026, 6, 1, 12, 5, tzinfo=UTC
        )
        assert found.paused
        assert spec_of(found)["context_mode"] == "group"
        assert codes_of(found) == ["openclaw_system_event"]

    def test_a_time_without_an_offset_is_utc_and_fields_without_counterpart_are_named_once(self) -> None:
        found = self.found["reminder"]
        assert found.request.when == Once(datetime(2099, 1, 12, 18, tzinfo=UTC))
        assert codes_of(found) == [
            "compat_naive_is_utc",
            "openclaw_system_event",
            "openclaw_session",
            "openclaw_ignored",
        ]
        assert "pacing" in found.notes[-1].english
        labels = {"source": "openclaw", "session": "session:work", "wake": "now", "delete_after_run": "true"}
        assert found.request.labels == labels

    def test_command_is_imported(self) -> None:
        found = self.found["probe"]
        assert found.request.target.kind == "command"
        assert spec_of(found) == {
            "argv": ["/srv/app/scripts/check", "--all"],
            "directory": "/srv/app",
            "environment": {"LEVEL": "2"},
            "stdin": "hello",
        }
        assert (found.request.options.timeout, found.request.options.max_duration) == (
            timedelta(seconds=30),
            timedelta(minutes=10),
        )
        assert codes_of(found) == ["openclaw_directory", "openclaw_ignored"]
        assert "payload.env.PATH" in found.notes[-1].english
        assert found.request.lane is None

    def test_shell_text_and_no_time_limit(self) -> None:
        found = self.found["shell"]
        assert spec_of(found)["argv"] == ["sh", "-lc", "df -h | tail -1"]
        assert found.request.options.timeout == timedelta(days=30)
        assert codes_of(found) == ["openclaw_shell"]

    def test_last_runs_are_imported(self) -> None:
        failed, succeeded = self.imported.past_runs
        when = datetime(2026, 5, 27, 16, 40, tzinfo=UTC)
        lasted = timedelta(seconds=1.5)
        assert failed == PastRun("openclaw:morning", when, lasted, RunState.FAILED, None, "rate limit")
        assert (succeeded.key, succeeded.status) == ("openclaw:done", RunState.SUCCEEDED)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({"kind": "at", "at": "2099-01-01T00:00:00+08:00"}, Once(datetime(2098, 12, 31, 16, tzinfo=UTC))),
        ({"kind": "at", "at": 4_070_908_800_000}, Once(datetime(2099, 1, 1, tzinfo=UTC))),
        ({"kind": "at", "atMs": 4_070_908_800_000}, Once(datetime(2099, 1, 1, tzinfo=UTC))),
        ({"kind": "at", "at": "2099-01-01"}, Once(datetime(2099, 1, 1, tzinfo=UTC))),
        ({"kind": "every", "everyMs": 1000}, Every(timedelta(seconds=1))),
        ({"kind": "cron", "expr": "0 0 7 * * *", "tz": ""}, Cron("0 0 7 * * *", zone=SHANGHAI)),
        ({"kind": "cron", "expr": "0 7 * * *", "staggerMs": 0}, Cron("0 7 * * *", zone=SHANGHAI)),
    ],
)
def test_schedule_is_converted(schedule: dict[str, Any], expected: object) -> None:
    assert only(schedule=schedule).request.when == expected


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"schedule": None}, "import_bad_field"),
        ({"schedule": "0 7 * * *"}, "import_bad_field"),
        ({"schedule": {"kind": "stream", "command": "tail"}}, "openclaw_event_schedule"),
        ({"schedule": {"kind": "every", "everyMs": 0}}, "compat_out_of_range"),
        ({"schedule": {"kind": "every", "everyMs": 10**30}}, "compat_out_of_range"),
        ({"schedule": {"kind": "at", "at": "soon"}}, "compat_not_a_time"),
        ({"schedule": {"kind": "at", "at": None}}, "compat_not_a_time"),
        ({"schedule": {"kind": "cron", "expr": "0 7 * * *", "tz": "Mars/Base"}}, "unknown_zone"),
        ({"schedule": {"kind": "cron", "expr": "0 7 * * *", "staggerMs": 10**9}}, "compat_out_of_range"),
        ({"payload": {"kind": "dance"}}, "import_bad_field"),
        ({"payload": {"kind": "agentTurn"}}, "import_bad_field"),
        ({"payload": {"kind": "command", "argv": []}}, "import_bad_field"),
        ({"payload": {"kind": "command", "argv": ["a\0b"]}}, "import_bad_field"),
        ({"payload": {"kind": "command", "argv": ["scripts/run"]}}, "import_bad_field"),
        ({"payload": {"kind": "command", "argv": ["a"], "env": {"A": 1}}}, "import_bad_field"),
        ({"payload": {"kind": "command", "argv": ["a"], "input": "payload"}}, "import_bad_field"),
        ({"payload": {"kind": "command", "argv": ["a"], "timeoutSeconds": -1}}, "import_bad_field"),
        ({"payload": {"kind": "command", "argv": ["x" * 300_000]}}, "import_target_too_large"),
        ({"agentId": "../x"}, "import_bad_field"),
        ({"trigger": {"script": ""}}, "import_bad_field"),
        ({"trigger": "script"}, "import_bad_field"),
        ({"trigger": {"script": "a\0b"}}, "import_bad_field"),
        ({"trigger": {"script": "json({fire: true})", "once": "perhaps"}}, "import_bad_field"),
        ({"trigger": {"script": "await tools.call('web_fetch', {})"}}, "openclaw_trigger_tools"),
        ({"trigger": {"script": "await tools[name]()"}}, "openclaw_trigger_tools"),
        ({"trigger": {"script": "json({fire: trigger.streamBatch !== ''})"}}, "openclaw_trigger_tools"),
        (
            {"trigger": {"script": "json({fire: true})"}, "payload": {"kind": "script", "script": "1"}},
            "openclaw_script",
        ),
        ({"id": None}, "import_bad_field"),
        ({"id": 7}, "import_bad_field"),
        ({"name": "half \ud800 letter"}, "import_bad_field"),
        ({"enabled": "perhaps"}, "import_bad_field"),
    ],
)
def test_broken_job_is_reported_and_others_are_read(changes: dict[str, Any], code: str) -> None:
    imported = read({**JOB, **changes}, {**JOB, "id": "good"})
    assert [found.source for found in imported.tasks] == ["good"]
    assert [unclear.note.code for unclear in imported.rejected] == [code]


WATCH = "const res = await exec({command: 'date'}); json({fire: true, message: 'now', state: {at: res.aggregated}});"


def gate_of(found: ImportedTask) -> tuple[Gate, dict[str, Any]]:
    gate = found.request.options.gate
    assert isinstance(gate, Gate)
    return gate, json.loads(gate.spec)


def test_condition_trigger_is_a_gate() -> None:
    found = only(trigger={"script": WATCH, "once": False}, schedule={"kind": "every", "everyMs": 30000})
    gate, spec = gate_of(found)
    assert (gate.kind, gate.timeout, gate.state) == ("command", timedelta(seconds=30), True)
    assert (spec["argv"][0], spec["argv"][-2:], "environment" in spec) == ("node", ["--", WATCH], False)
    assert codes_of(found) == ["openclaw_trigger"]


def test_condition_trigger_that_fires_once_with_its_state_and_other_fields() -> None:
    state = {"triggerState": {"status": "红"}, "triggerEvalCount": 3}
    found = only(trigger={"script": WATCH, "once": True, "shell": 1}, state=state)
    _, spec = gate_of(found)
    assert (spec["argv"][-1], spec["environment"]) == ("once", {"TRIGGER_STATE": '{"status":"红"}'})
    assert codes_of(found) == ["openclaw_trigger", "openclaw_trigger_once", "openclaw_ignored"]
    assert "trigger.shell" in found.notes[-1].english


@pytest.mark.parametrize("state", [None, {}, {"triggerState": None}, {"triggerState": "x" * 20_000}, "odd"])
def test_trigger_state_that_is_absent_or_unusable_does_not_reject_the_job(state: Any) -> None:
    _, spec = gate_of(only(trigger={"script": WATCH}, state=state))
    assert "environment" not in spec


def test_a_job_that_failed_once_and_is_still_enabled_is_not_over() -> None:
    state = {"lastRunAtMs": 1768240801000, "lastStatus": "error"}
    at = {"kind": "at", "at": "2026-01-12T18:00:00Z"}
    assert isinstance(only(schedule=at, state=state).request.when, Once)
    assert not read({**JOB, "schedule": at, "state": state, "enabled": False}).tasks


def test_unknown_state_does_not_drop_a_job() -> None:
    states: list[Any] = [{"lastRunAtMs": "x", "lastStatus": "ok"}, {"lastStatus": "ok"}, [], {"lastStatus": {}}]
    for state in states:
        imported = read({**JOB, "state": state})
        assert (len(imported.tasks), imported.past_runs) == (1, ())


def test_an_old_job_has_its_delivery_in_the_payload() -> None:
    found = only(payload={**JOB["payload"], "deliver": True, "channel": "slack", "to": "C1"})
    assert payload_of(found)["delivery"] == {"mode": "announce", "channel": "slack", "to": "C1"}
    assert spec_of(found)["chat"] == "C1"


def test_nothing_in_a_file_becomes_a_reference_to_a_secret() -> None:
    theft = {"secret": "token"}
    found = only(
        payload={**JOB["payload"], "model": theft, "fallbacks": [theft]}, delivery={"mode": "announce", "to": theft}
    )
    assert "secret" not in found.request.payload + found.request.target.spec
    assert "delivery.to" in found.notes[-1].english


def test_a_bare_list_of_jobs_is_read_too() -> None:
    assert len(openclaw.read(json.dumps([JOB]), zone=SHANGHAI).tasks) == 1


@pytest.mark.parametrize("text", ['{"jobs": {}}', "{}", "7", '"x"', "null"])
def test_file_without_jobs_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        openclaw.read(text, zone=SHANGHAI)
    assert refused.value.code == "import_no_jobs"


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PLACES = ("id", "name", "agentId", "enabled", "schedule", "payload", "delivery", "state", "sessionTarget", "wakeMode")


@given(st.dictionaries(st.sampled_from(PLACES), junk, max_size=3), st.sampled_from(["schedule", "payload"]), junk)
def test_any_json_is_parsed_or_refused(changes: dict[str, Any], part: str, value: Any) -> None:
    inside = {**JOB, part: {**JOB[part], "kind": value}}
    imported = read({**JOB, **changes}, inside, {**JOB, "id": "good"})
    assert [found.source for found in imported.tasks][-1:] == ["good"]
