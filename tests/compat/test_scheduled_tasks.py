"""`/scheduled-tasks` as its API document describes it, with the document's own example requests."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from horae.model.accounts.principal import Principal
from horae.model.outcome import Failed, Succeeded
from horae.model.task import Target
from horae.service.tasks.task_request import TaskRequest
from horae.settings import read_settings
from tests.compat.compat_server import NOW, Answer, CompatServer, serve_compat
from tests.compat.example_requests import ONCE

PATH: Final = "/scheduled-tasks"
FIELDS: Final = {
    "id",
    "user_id",
    "name",
    "enabled",
    "schedule_type",
    "schedule_expr",
    "timezone",
    "payload",
    "next_run_at",
    "last_run_at",
    "locked_by",
    "locked_until",
    "created_at",
    "updated_at",
}
INTERVAL: Final = """{
    "name": "demo interval",
    "enabled": true,
    "schedule_type": "interval",
    "schedule_expr": "60",
    "timezone": "UTC",
    "payload": {
      "text": "每天 9 点提醒我打卡",
      "context": {"channel":"scheduled_task"}
    }
  }"""
CRON: Final[dict[str, Any]] = {
    "name": "clock in",
    "schedule_type": "cron",
    "schedule_expr": "0 9 * * *",
    "timezone": "Asia/Shanghai",
    "payload": {"text": "clock in"},
}


def warning_codes(answer: Answer) -> list[str]:
    return [each["code"] for each in answer.body.get("warnings", [])]


async def create_task(server: CompatServer, **fields: Any) -> Any:
    answer = await server.ada.post(PATH, {**CRON, **fields})
    assert answer.status == 200, answer.body
    return answer.body


# --- POST ------------------------------------------------------------------------------------------------------------


async def test_documented_interval_request() -> None:
    async with serve_compat() as server:
        answer = await server.ada.post(PATH, INTERVAL)
        assert answer.status == 200
        task = answer.body
        assert set(task) == FIELDS
        assert isinstance(task["id"], str)
        assert task["user_id"] == "ada"
        assert (task["schedule_type"], task["schedule_expr"], task["timezone"]) == ("interval", "60", "UTC")
        assert task["enabled"] is True
        assert task["payload"] == {"text": "每天 9 点提醒我打卡", "context": {"channel": "scheduled_task"}}
        assert task["next_run_at"] == "2026-03-01T12:01:00+00:00"
        assert task["created_at"] == task["updated_at"] == "2026-03-01T12:00:00+00:00"
        assert task["last_run_at"] is task["locked_by"] is task["locked_until"] is None


async def test_documented_once_request_in_the_past_is_due_at_once() -> None:
    async with serve_compat() as server:
        answer = await server.ada.post(PATH, ONCE)
        assert answer.status == 200
        assert answer.body["next_run_at"] == "2026-03-01T12:00:00+00:00"
        assert answer.body["payload"] == {"text": "hello", "mode": "hybrid"}
        assert warning_codes(answer) == ["compat_naive_is_utc", "compat_past_runs_at_once"]


async def _check_past_times(server: CompatServer) -> None:
    for past in ("2026-02-27T01:30:00", "2026-03-01T11:59:59Z"):
        for kind, expression, due in (("once", "", True), ("interval", "600", True), ("cron", "0 9 * * *", False)):
            fields = {"schedule_type": kind, "schedule_expr": expression, "timezone": "UTC"}
            posted = await server.ada.post(PATH, {**CRON, **fields, "name": f"{kind} {past}", "next_run_at": past})
            later = await create_task(server, **fields, name=f"later {kind} {past}", next_run_at="2026-03-09T10:00:00")
            put = await server.ada.put(f"{PATH}/{later['id']}", {"next_run_at": past})
            assert (posted.status, put.status) == (200, 200), put.body
            for answer in (posted, put):
                wait = _instant(answer.body["next_run_at"]) - server.clock.now()
                assert (
                    wait <= timedelta(seconds=1) if due else answer.body["next_run_at"] == "2026-03-02T09:00:00+00:00"
                )
                assert ("compat_past_runs_at_once" in warning_codes(answer)) is due


async def test_post_and_put_agree_that_a_past_time_is_due_at_once() -> None:
    async with serve_compat() as server:
        await _check_past_times(server)


async def _check_past_time_runs(server: CompatServer) -> None:
    task = await create_task(server, schedule_type="once", next_run_at="2026-03-09T10:00:00")
    await server.ada.put(f"{PATH}/{task['id']}", {"next_run_at": "2026-03-01T08:00:00"})
    server.advance(seconds=1)
    run = await server.run_due()
    assert run.task_id == task["id"]
    assert (await server.ada.get(f"{PATH}/{task['id']}")).body["enabled"] is False


async def test_a_task_moved_into_the_past_runs_within_a_second() -> None:
    async with serve_compat() as server:
        await _check_past_time_runs(server)


async def test_time_of_once_is_utc_unless_it_has_an_offset() -> None:
    async with serve_compat() as server:
        for time in ("2026-03-05T01:30:00", "2026-03-05T01:30:00Z", "2026-03-05T09:30:00+08:00"):
            body = json.loads(ONCE) | {"next_run_at": time, "timezone": "Asia/Shanghai"}
            assert (await server.ada.post(PATH, body)).body["next_run_at"] == "2026-03-05T01:30:00+00:00"


async def test_cron_is_evaluated_in_its_zone_and_next_run_at_is_utc() -> None:
    async with serve_compat() as server:
        task = await create_task(server)
        assert task["next_run_at"] == "2026-03-02T01:00:00+00:00"
        # The default type is cron and the default zone UTC.
        answer = await server.ada.post(PATH, {"name": "n", "schedule_expr": "0 9 * * *", "payload": {"text": "x"}})
        assert answer.body["schedule_type"] == "cron"
        assert answer.body["next_run_at"] == "2026-03-02T09:00:00+00:00"


async def test_given_next_run_at_is_the_first_run() -> None:
    async with serve_compat() as server:
        body = json.loads(INTERVAL) | {"next_run_at": "2026-03-01T20:00:00+08:00"}
        assert (await server.ada.post(PATH, body)).body["next_run_at"] == "2026-03-01T12:00:00+00:00"
        body |= {"next_run_at": "2026-03-01T15:00:00"}
        assert (await server.ada.post(PATH, body)).body["next_run_at"] == "2026-03-01T15:00:00+00:00"


async def test_defaulted_interval_and_cron_are_warned_about() -> None:
    async with serve_compat() as server:
        for seconds in ("0", "-5", -1):
            answer = await server.ada.post(PATH, json.loads(INTERVAL) | {"schedule_expr": seconds})
            assert answer.body["schedule_expr"] == "60"
            assert warning_codes(answer) == ["compat_interval_default"]
        empty = await server.ada.post(PATH, CRON | {"schedule_expr": ""}, Accept_Language="zh-CN")
        assert empty.body["schedule_expr"] == "* * * * *"
        assert empty.body["warnings"][0]["message"] == "cron 表达式为空；将每分钟执行一次。"


async def test_blank_name_is_defaulted_and_a_missing_name_is_refused() -> None:
    async with serve_compat() as server:
        assert (await create_task(server, name="  "))["name"] == "Scheduled Task"
        answer = await server.ada.post(PATH, {"schedule_expr": "0 9 * * *", "payload": {"text": "x"}})
        assert (answer.status, answer.body["code"]) == (422, "missing_field")


async def test_reserved_payload_keys_are_dropped_with_a_warning() -> None:
    async with serve_compat() as server:
        payload = {"text": "x", "agent": "root", "forced_agent": "root", "items": [1], "default_agent": "general"}
        answer = await server.ada.post(PATH, CRON | {"payload": payload})
        assert answer.body["payload"] == {"text": "x", "default_agent": "general"}
        assert warning_codes(answer) == ["compat_keys_dropped"]


REFUSED: Final[tuple[tuple[dict[str, Any], int, str], ...]] = (
    ({"schedule_expr": "not a cron"}, 422, "field_count"),
    ({"schedule_expr": "0 0 30 2 *"}, 422, "never"),
    ({"timezone": "Mars/Olympus"}, 422, "unknown_zone"),
    ({"timezone": "../../etc/passwd"}, 422, "unknown_zone"),
    ({"schedule_type": "sometimes"}, 422, "compat_unknown_choice"),
    ({"schedule_type": "once"}, 422, "compat_missing"),
    ({"schedule_type": "once", "next_run_at": "soon"}, 422, "compat_not_a_time"),
    ({"payload": {}}, 422, "orchestrator_text"),
    ({"payload": {"text": "  "}}, 422, "orchestrator_text"),
    ({"payload": [1]}, 422, "compat_bad_field"),
    ({"enabled": "perhaps"}, 422, "compat_not_flag"),
    ({"surprise": 1}, 422, "unknown_field"),
    # Clients expect 400 for these.
    ({"schedule_type": "interval", "schedule_expr": "soon"}, 400, "compat_bad_seconds"),
    ({"schedule_type": "interval", "schedule_expr": ""}, 400, "compat_bad_seconds"),
    ({"schedule_type": "interval", "schedule_expr": "9"}, 400, "interval_too_short"),
    ({"schedule_expr": "*/5 * * * * *"}, 400, "interval_too_short"),
)


async def test_invalid_tasks_are_refused_and_not_stored() -> None:
    async with serve_compat() as server:
        for fields, status, code in REFUSED:
            answer = await server.ada.post(PATH, CRON | fields)
            assert (answer.status, answer.body["code"]) == (status, code), answer.body
            assert answer.body["status"] == status
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.body["detail"]
        assert (await server.ada.get(PATH)).body == []


async def test_missing_orchestrator_is_refused_with_the_missing_setting(tmp_path: Path) -> None:
    async with serve_compat(orchestrator=None) as server:
        for body in (CRON, INTERVAL, ONCE):
            refused = await server.ada.post(PATH, body)
            assert (refused.status, refused.body["code"]) == (422, "compat_no_orchestrator")
            assert "'orchestrator_url' is missing" in refused.body["detail"]
            assert "ORCHESTRATOR_URL=https://" in refused.body["message"]
        answer = await server.ada.post(PATH, CRON)
        for hint in (answer.body["hint"], (await server.ada.post(PATH, CRON, Accept_Language="zh")).body["hint"]):
            (line,) = re.findall(r'orchestrator_url = "\S+"', hint)
            (variable,) = re.findall(r"ORCHESTRATOR_URL=https://[\w.]+", hint)
            name, _, value = variable.partition("=")
            file = tmp_path / "horae.toml"
            file.write_text(f"{line}\n", encoding="utf-8")
            for settings in (read_settings({}, (file,)), read_settings({name: value})):
                assert settings.value("orchestrator_url") == "https://orchestrator.example"


# --- limits ----------------------------------------------------------------------------------------------------------


async def test_at_most_twenty_tasks_are_enabled() -> None:
    async with serve_compat() as server:
        tasks = [await create_task(server, name=f"number {number}") for number in range(20)]
        answer = await server.ada.post(PATH, CRON)
        assert (answer.status, answer.body["code"]) == (409, "too_many_tasks")
        # A disabled task does not count until it is enabled.
        off = await create_task(server, enabled=False)
        refused = await server.ada.put(f"{PATH}/{off['id']}", {"enabled": True, "name": "renamed"})
        assert (refused.status, refused.body["code"]) == (409, "too_many_tasks")
        assert (await server.ada.get(f"{PATH}/{off['id']}")).body == off
        assert (await server.ada.put(f"{PATH}/{tasks[0]['id']}", {"enabled": False})).status == 200
        assert (await server.ada.put(f"{PATH}/{off['id']}", {"enabled": True})).body["enabled"] is True
        # The limit is per owner.
        assert (await server.bob.post(PATH, CRON)).status == 200


async def test_completed_task_that_is_enabled_again_counts_against_the_limit() -> None:
    async with serve_compat() as server:
        once = await create_task(server, **json.loads(ONCE))
        await server.run_due()
        for number in range(20):
            await create_task(server, name=f"number {number}")
        path = f"{PATH}/{once['id']}"
        before = (await server.ada.get(path)).body
        answer = await server.ada.put(path, {"enabled": True, "next_run_at": "2026-03-02T12:00:00", "name": "renamed"})
        assert (answer.status, answer.body["code"]) == (409, "too_many_tasks")
        assert (await server.ada.get(path)).body == before


async def test_limits_are_the_quotas_of_the_owner() -> None:
    async with serve_compat() as server:
        await server.service.accounts.put(
            Principal("local", admin=True), "bob", quotas={"shortest_interval": timedelta(minutes=5), "active_tasks": 1}
        )
        # The account is cached for half a second.
        server.advance(seconds=1)
        answer = await server.bob.post(PATH, INTERVAL)
        assert (answer.status, answer.body["code"]) == (400, "interval_too_short")
        assert "5m" in answer.body["detail"] + answer.body["hint"]
        assert (await server.bob.post(PATH, CRON)).status == 200
        assert (await server.bob.post(PATH, CRON)).status == 409


# --- GET -------------------------------------------------------------------------------------------------------------


async def test_list_is_sorted_by_last_change() -> None:
    async with serve_compat() as server:
        names = ["first", "second", "third"]
        tasks = []
        for name in names:
            tasks.append(await create_task(server, name=name))
            server.advance(seconds=1)
        assert [each["name"] for each in (await server.ada.get(PATH)).body] == ["third", "second", "first"]
        await server.ada.put(f"{PATH}/{tasks[1]['id']}", {"payload": {"text": "other"}})
        assert [each["name"] for each in (await server.ada.get(PATH)).body] == ["second", "third", "first"]


async def test_tasks_of_other_owners_answer_404() -> None:
    async with serve_compat() as server:
        task = await create_task(server)
        mine, absent = f"{PATH}/{task['id']}", f"{PATH}/tsk_{'0' * 32}"
        for who in (server.bob, server.root):
            assert (await who.get(PATH)).body == []
            for call in (who.get(mine), who.put(mine, {"name": "x"}), who.delete(mine), who.get(f"{mine}/runs")):
                assert (await call).status == 404
            foreign, nothing = (await who.get(mine)).body, (await who.get(absent)).body
            for each in (foreign, nothing):
                del each["request_id"], each["instance"]
            assert json.dumps(foreign).replace(task["id"], "") == json.dumps(nothing).replace(absent[17:], "")
        assert (await server.ada.get(mine)).body == task
        assert (await server.anonymous.get(PATH)).status == 401
        assert (await server.anonymous.post(PATH, INTERVAL)).status == 401


async def test_viewer_reads_and_changes_nothing() -> None:
    async with serve_compat() as server:
        assert (await server.viewer.get(PATH)).body == []
        answer = await server.viewer.post(PATH, INTERVAL)
        assert (answer.status, answer.body["code"]) == (403, "not_allowed")
        for path in ("/schedules", "/schedules/quick-reminder"):
            body = {"title": "tea", "scheduledTime": "2026-03-02T01:00:00Z"}
            reminder = {"title": "tea", "reminderTime": "2026-03-02T01:00:00Z"}
            refused = await server.viewer.post(path, reminder if path.endswith("reminder") else body)
            assert refused.status == 403
        assert (await server.viewer.get("/schedules")).data["total"] == 0


async def test_task_of_an_agent_awaits_approval_and_the_agent_sees_only_its_own() -> None:
    async with serve_compat() as server:
        theirs = await create_task(server)
        agent = await server.create_agent_client("ada")
        body = json.loads(ONCE) | {"next_run_at": "2026-03-02T12:00:00"}
        task = (await agent.post(PATH, body)).body
        assert task["enabled"] is False
        refused = await agent.put(f"{PATH}/{task['id']}", {"enabled": True})
        assert (refused.status, refused.body["code"]) == (409, "awaiting_approval")
        assert [each["id"] for each in (await agent.get(PATH)).body] == [task["id"]]
        assert (await agent.get(f"{PATH}/{theirs['id']}")).status == 404
        assert {each["id"] for each in (await server.ada.get(PATH)).body} == {task["id"], theirs["id"]}


async def test_tasks_of_other_front_ends_are_listed_as_far_as_the_format_allows() -> None:
    async with serve_compat() as server:
        ada = Principal("ada", actor="test")
        target = Target("event", '{"topic":"task.triggered"}')
        for when in ("every 90s", "every weekday at 9am"):
            await server.service.tasks.create(
                ada, TaskRequest(when, when, target, payload='"text"', zone="Europe/Berlin")
            )
        weekly, often = sorted((await server.ada.get(PATH)).body, key=lambda each: str(each["schedule_type"]))
        assert (often["schedule_type"], often["schedule_expr"]) == ("interval", "90")
        assert (weekly["schedule_type"], weekly["timezone"]) == ("calendar", "Europe/Berlin")
        assert "09:00" in weekly["schedule_expr"]
        assert weekly["payload"] == {"value": "text"}
        # Sending the shown fields back does not change the schedule.
        back = await server.ada.put(f"{PATH}/{weekly['id']}", weekly | {"name": "renamed", "payload": None})
        assert (back.status, back.body["name"]) == (200, "renamed")
        assert back.body["next_run_at"] == weekly["next_run_at"]
        moved = await server.ada.put(f"{PATH}/{weekly['id']}", {"timezone": "UTC"})
        assert moved.body["next_run_at"] == "2026-03-02T09:00:00+00:00"


# --- PUT -------------------------------------------------------------------------------------------------------------


async def test_put_changes_only_the_given_fields() -> None:
    async with serve_compat() as server:
        task = await create_task(server)
        server.advance(seconds=30)
        answer = await server.ada.put(f"{PATH}/{task['id']}", {"name": "new", "payload": None, "timezone": None})
        assert answer.body == task | {"name": "new", "updated_at": "2026-03-01T12:00:30+00:00"}
        # A blank name is ignored.
        assert (await server.ada.put(f"{PATH}/{task['id']}", {"name": " "})).body["name"] == "new"


async def test_changed_schedule_counts_from_now() -> None:
    async with serve_compat() as server:
        task = await create_task(server)
        path = f"{PATH}/{task['id']}"
        assert (await server.ada.put(path, {"schedule_expr": "30 18 * * *"})).body["next_run_at"] == (
            "2026-03-02T10:30:00+00:00"
        )
        assert (await server.ada.put(path, {"timezone": "UTC"})).body["next_run_at"] == "2026-03-01T18:30:00+00:00"
        often = await server.ada.put(path, {"schedule_type": "interval", "schedule_expr": "600"})
        assert often.body["next_run_at"] == "2026-03-01T12:10:00+00:00"
        once = await server.ada.put(path, {"schedule_type": "once", "next_run_at": "2026-03-01T21:00:00+08:00"})
        assert once.body["next_run_at"] == "2026-03-01T13:00:00+00:00"
        assert (once.body["schedule_type"], once.body["schedule_expr"]) == ("once", "")
        bad = await server.ada.put(path, {"schedule_type": "cron", "schedule_expr": "61 * * * *"})
        assert bad.status == 422
        assert (await server.ada.get(path)).body == {k: v for k, v in once.body.items() if k != "warnings"}


async def test_put_of_an_unchanged_task_changes_nothing() -> None:
    async with serve_compat() as server:
        later: dict[str, Any] = json.loads(ONCE) | {"next_run_at": "2026-03-09T10:00:00"}
        for fields in (CRON, json.loads(INTERVAL), later):
            task = await create_task(server, **fields)
            task.pop("warnings", None)
            for shown in (task["next_run_at"], task["next_run_at"].replace("+00:00", "Z")):
                answer = await server.ada.put(f"{PATH}/{task['id']}", task | {"next_run_at": shown})
                assert answer.body == task


async def test_reenabled_task_does_not_run_missed_occurrences() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        off = await server.ada.put(path, {"enabled": False})
        assert off.body["enabled"] is False
        assert off.body["next_run_at"] == task["next_run_at"]
        server.advance(hours=1)
        assert await server.claim() == []
        assert (await server.ada.get(path)).body["next_run_at"] is None
        on = await server.ada.put(path, {"enabled": True})
        assert on.body["enabled"] is True
        assert on.body["next_run_at"] > "2026-03-01T13:00:00+00:00"
        assert await server.claim() == []


async def test_enabling_a_once_task_whose_time_has_passed_warns() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(ONCE) | {"next_run_at": "2026-03-01T13:00:00", "enabled": False})
        assert task["next_run_at"] == "2026-03-01T13:00:00+00:00"
        server.advance(hours=2)
        answer = await server.ada.put(f"{PATH}/{task['id']}", {"enabled": True})
        assert answer.status == 200
        assert answer.body["enabled"] is False
        assert warning_codes(answer) == ["compat_nothing_left"]


# --- runs ------------------------------------------------------------------------------------------------------------


async def test_once_task_is_disabled_after_success_and_enabled_with_a_new_time() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(ONCE))
        path = f"{PATH}/{task['id']}"
        await server.run_due(Succeeded('{"answer": "hi"}'))
        done = (await server.ada.get(path)).body
        assert (done["enabled"], done["next_run_at"]) == (False, None)
        assert done["last_run_at"] == "2026-03-01T12:00:00+00:00"
        again = await server.ada.put(path, {"enabled": True})
        assert (again.status, again.body["code"]) == (409, "task_over")
        enabled = await server.ada.put(path, {"enabled": True, "next_run_at": "2026-03-01T14:00:00"})
        assert (enabled.body["enabled"], enabled.body["next_run_at"]) == (True, "2026-03-01T14:00:00+00:00")
        server.advance(hours=2)
        await server.run_due()
        # A new time alone does not enable the task.
        still = await server.ada.put(path, {"next_run_at": "2026-03-01T18:00:00"})
        assert (still.body["enabled"], still.body["next_run_at"]) == (False, "2026-03-01T18:00:00+00:00")


@pytest.mark.parametrize("body", [INTERVAL, ONCE, json.dumps(CRON | {"schedule_expr": "0 0 1 1 *"})])
async def test_failed_run_is_retried_every_minute_without_limit(body: str) -> None:
    async with serve_compat() as server:
        task = (await server.ada.post(PATH, body)).body
        server.clock.advance((_instant(task["next_run_at"]) - server.clock.now()).total_seconds())
        for _ in range(12):
            await server.run_due(Failed("the orchestrator answered 503"))
            shown = (await server.ada.get(f"{PATH}/{task['id']}")).body
            assert shown["enabled"] is True
            wait = _instant(shown["next_run_at"]) - server.clock.now()
            assert wait == timedelta(seconds=60)
            server.clock.advance(wait.total_seconds())
        runs = (await server.ada.get(f"{PATH}/{task['id']}/runs")).body
        assert [each["status"] for each in runs] == ["failed"] * 12
        assert runs[0]["error"] == "the orchestrator answered 503"
        await server.run_due()
        assert (await server.ada.get(f"{PATH}/{task['id']}/runs")).body[0]["status"] == "success"


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_runs_have_the_documented_fields() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}/runs"
        assert (await server.ada.get(path)).body == []
        server.advance(minutes=1)
        (run,) = await server.claim()
        (going,) = (await server.ada.get(path)).body
        assert set(going) == {
            "id",
            "task_id",
            "user_id",
            "status",
            "trace_id",
            "started_at",
            "finished_at",
            "error",
            "result",
        }
        assert (going["id"], going["task_id"], going["user_id"]) == (run.id, task["id"], "ada")
        assert (going["status"], going["finished_at"], going["error"], going["result"]) == ("running", None, None, None)
        assert len(going["trace_id"]) == 32
        server.advance(seconds=2)
        await server.settle(run, Succeeded('{"answer": "done"}'))
        (ended,) = (await server.ada.get(path)).body
        assert (ended["status"], ended["result"]) == ("success", {"answer": "done"})
        assert ended["started_at"] == "2026-03-01T12:01:00+00:00"
        assert ended["finished_at"] == "2026-03-01T12:01:02+00:00"


async def _check_results(server: CompatServer) -> None:
    task = await create_task(server, **json.loads(INTERVAL))
    path = f"{PATH}/{task['id']}/runs"
    results = {
        '{"status": 200, "body": {"reply": "早", "items": [1]}}': {"reply": "早", "items": [1]},
        '{"status": 200, "body": [1, 2]}': [1, 2],
        '{"status": 200, "body": "cut", "truncated": true}': "cut",
        '{"answer": "from a callback"}': {"answer": "from a callback"},
        "null": None,
    }
    for text, shown in results.items():
        server.advance(minutes=1)
        await server.run_due(Succeeded(text))
        assert (await server.ada.get(path)).body[0]["result"] == shown
    server.advance(minutes=1)
    await server.run_due(Failed("503"))
    assert (await server.ada.get(path)).body[0]["result"] is None


async def test_result_of_a_run_is_the_json_body_of_the_orchestrator() -> None:
    async with serve_compat() as server:
        await _check_results(server)


async def test_runs_are_the_newest_fifty_newest_first() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(INTERVAL))
        for _ in range(53):
            server.advance(minutes=1)
            await server.run_due()
        runs = (await server.ada.get(f"{PATH}/{task['id']}/runs")).body
        started = [each["started_at"] for each in runs]
        assert len(runs) == 50
        assert started == sorted(started, reverse=True)
        assert started[0] == (NOW + timedelta(minutes=53)).isoformat()


async def test_lock_of_a_live_node_is_shown_and_put_clears_only_an_expired_one() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        server.advance(minutes=1)
        (run,) = await server.claim()
        locked = (await server.ada.get(path)).body
        assert locked["locked_by"] == run.node
        assert locked["locked_until"] == "2026-03-01T12:01:15+00:00"
        results = (await server.ada.put(path, {"name": "renamed"})).body
        assert (results["locked_by"], results["locked_until"]) == (locked["locked_by"], locked["locked_until"])
        # The lease of the node has expired: PUT clears its lock.
        server.advance(seconds=16)
        cleared = (await server.ada.put(path, {"name": "renamed again"})).body
        assert cleared["locked_by"] is cleared["locked_until"] is None


# --- DELETE ----------------------------------------------------------------------------------------------------------


async def test_delete_removes_the_task_and_its_runs() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        server.advance(minutes=1)
        run = await server.run_due()
        answer = await server.ada.delete(path)
        assert (answer.status, answer.body) == (200, {"ok": True})
        for call in (server.ada.get(path), server.ada.get(f"{path}/runs"), server.ada.delete(path)):
            assert (await call).status == 404
        assert await server.service.store.run(run.id, None) is None


async def test_running_task_can_be_deleted() -> None:
    async with serve_compat() as server:
        task = await create_task(server, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        server.advance(minutes=1)
        await server.claim()
        assert (await server.ada.delete(path)).body == {"ok": True}
        assert (await server.ada.get(PATH)).body == []
        for call in (server.ada.get(path), server.ada.put(path, {"name": "x"}), server.ada.get(f"{path}/runs")):
            assert (await call).status == 404
        server.advance(minutes=5)
        assert await server.claim() == []
