"""`/scheduled-tasks` as its document describes it, line by line, with the document's own requests."""

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
from tests.compat.compat_server import stage

from .compat_server import NOW, Answer, Stage

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
ONCE: Final = """{
    "name": "demo once",
    "schedule_type": "once",
    "timezone": "UTC",
    "next_run_at": "2026-02-27T01:30:00",
    "payload": {"text":"hello","mode":"hybrid"}
  }"""
CRON: Final[dict[str, Any]] = {
    "name": "clock in",
    "schedule_type": "cron",
    "schedule_expr": "0 9 * * *",
    "timezone": "Asia/Shanghai",
    "payload": {"text": "clock in"},
}


def warned(answer: Answer) -> list[str]:
    return [each["code"] for each in answer.body.get("warnings", [])]


async def made(here: Stage, **fields: Any) -> Any:
    answer = await here.ada.post(PATH, {**CRON, **fields})
    assert answer.status == 200, answer.body
    return answer.body


# --- POST ------------------------------------------------------------------------------------------------------------


async def test_the_interval_of_the_document() -> None:
    async with stage() as here:
        answer = await here.ada.post(PATH, INTERVAL)
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


async def test_the_once_of_the_document_has_passed_and_is_due_at_once() -> None:
    async with stage() as here:
        answer = await here.ada.post(PATH, ONCE)
        assert answer.status == 200
        assert answer.body["next_run_at"] == "2026-03-01T12:00:00+00:00"
        assert answer.body["payload"] == {"text": "hello", "mode": "hybrid"}
        assert warned(answer) == ["compat_naive_is_utc", "compat_past_runs_at_once"]


async def _past_times(here: Stage) -> None:
    for past in ("2026-02-27T01:30:00", "2026-03-01T11:59:59Z"):
        for kind, expression, due in (("once", "", True), ("interval", "600", True), ("cron", "0 9 * * *", False)):
            fields = {"schedule_type": kind, "schedule_expr": expression, "timezone": "UTC"}
            posted = await here.ada.post(PATH, {**CRON, **fields, "name": f"{kind} {past}", "next_run_at": past})
            later = await made(here, **fields, name=f"later {kind} {past}", next_run_at="2026-03-09T10:00:00")
            put = await here.ada.put(f"{PATH}/{later['id']}", {"next_run_at": past})
            assert (posted.status, put.status) == (200, 200), put.body
            for answer in (posted, put):
                wait = _instant(answer.body["next_run_at"]) - here.clock.now()
                assert (
                    wait <= timedelta(seconds=1) if due else answer.body["next_run_at"] == "2026-03-02T09:00:00+00:00"
                )
                assert ("compat_past_runs_at_once" in warned(answer)) is due


async def test_post_and_put_agree_that_a_past_time_is_due_at_once() -> None:
    async with stage() as here:
        await _past_times(here)


async def _past_time_runs(here: Stage) -> None:
    task = await made(here, schedule_type="once", next_run_at="2026-03-09T10:00:00")
    await here.ada.put(f"{PATH}/{task['id']}", {"next_run_at": "2026-03-01T08:00:00"})
    here.later(seconds=1)
    run = await here.ran()
    assert run.task_id == task["id"]
    assert (await here.ada.get(f"{PATH}/{task['id']}")).body["enabled"] is False


async def test_a_task_moved_into_the_past_runs_within_a_second() -> None:
    async with stage() as here:
        await _past_time_runs(here)


async def test_the_time_of_once_is_utc_and_an_offset_is_honoured() -> None:
    async with stage() as here:
        for said in ("2026-03-05T01:30:00", "2026-03-05T01:30:00Z", "2026-03-05T09:30:00+08:00"):
            body = json.loads(ONCE) | {"next_run_at": said, "timezone": "Asia/Shanghai"}
            assert (await here.ada.post(PATH, body)).body["next_run_at"] == "2026-03-05T01:30:00+00:00"


async def test_cron_is_read_in_its_zone_and_next_run_at_is_told_in_utc() -> None:
    async with stage() as here:
        task = await made(here)
        assert task["next_run_at"] == "2026-03-02T01:00:00+00:00"
        # It is the type by default, and UTC the zone.
        answer = await here.ada.post(PATH, {"name": "n", "schedule_expr": "0 9 * * *", "payload": {"text": "x"}})
        assert answer.body["schedule_type"] == "cron"
        assert answer.body["next_run_at"] == "2026-03-02T09:00:00+00:00"


async def test_a_first_time_that_the_client_chose_is_the_first() -> None:
    async with stage() as here:
        body = json.loads(INTERVAL) | {"next_run_at": "2026-03-01T20:00:00+08:00"}
        assert (await here.ada.post(PATH, body)).body["next_run_at"] == "2026-03-01T12:00:00+00:00"
        body |= {"next_run_at": "2026-03-01T15:00:00"}
        assert (await here.ada.post(PATH, body)).body["next_run_at"] == "2026-03-01T15:00:00+00:00"


async def test_what_falls_back_says_so() -> None:
    async with stage() as here:
        for seconds in ("0", "-5", -1):
            answer = await here.ada.post(PATH, json.loads(INTERVAL) | {"schedule_expr": seconds})
            assert answer.body["schedule_expr"] == "60"
            assert warned(answer) == ["compat_interval_default"]
        empty = await here.ada.post(PATH, CRON | {"schedule_expr": ""}, Accept_Language="zh-CN")
        assert empty.body["schedule_expr"] == "* * * * *"
        assert empty.body["warnings"][0]["message"] == "cron 表达式为空；将每分钟执行一次。"


async def test_a_name_of_nothing_is_the_usual_one_and_none_is_refused() -> None:
    async with stage() as here:
        assert (await made(here, name="  "))["name"] == "Scheduled Task"
        answer = await here.ada.post(PATH, {"schedule_expr": "0 9 * * *", "payload": {"text": "x"}})
        assert (answer.status, answer.body["code"]) == (422, "missing_field")


async def test_a_payload_cannot_choose_the_agent_or_the_items() -> None:
    async with stage() as here:
        payload = {"text": "x", "agent": "root", "forced_agent": "root", "items": [1], "default_agent": "general"}
        answer = await here.ada.post(PATH, CRON | {"payload": payload})
        assert answer.body["payload"] == {"text": "x", "default_agent": "general"}
        assert warned(answer) == ["compat_keys_dropped"]


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
    # As clients know them, these two are 400.
    ({"schedule_type": "interval", "schedule_expr": "soon"}, 400, "compat_bad_seconds"),
    ({"schedule_type": "interval", "schedule_expr": ""}, 400, "compat_bad_seconds"),
    ({"schedule_type": "interval", "schedule_expr": "9"}, 400, "interval_too_short"),
    ({"schedule_expr": "*/5 * * * * *"}, 400, "interval_too_short"),
)


async def test_what_cannot_be_is_refused_and_nothing_is_kept() -> None:
    async with stage() as here:
        for fields, status, code in REFUSED:
            answer = await here.ada.post(PATH, CRON | fields)
            assert (answer.status, answer.body["code"]) == (status, code), answer.body
            assert answer.body["status"] == status
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.body["detail"]
        assert (await here.ada.get(PATH)).body == []


async def test_without_an_orchestrator_it_says_which_line_is_missing(tmp_path: Path) -> None:
    async with stage(orchestrator=None) as here:
        answer = await here.ada.post(PATH, CRON)
        assert (answer.status, answer.body["code"]) == (422, "compat_no_orchestrator")
        assert "'orchestrator_url' is missing" in answer.body["detail"]
        for hint in (answer.body["hint"], (await here.ada.post(PATH, CRON, Accept_Language="zh")).body["hint"]):
            (line,) = re.findall(r'orchestrator_url = "\S+"', hint)
            (variable,) = re.findall(r"ORCHESTRATOR_URL=https://[\w.]+", hint)
            name, _, value = variable.partition("=")
            file = tmp_path / "horae.toml"
            file.write_text(f"{line}\n", encoding="utf-8")
            for settings in (read_settings({}, (file,)), read_settings({name: value})):
                assert settings.value("orchestrator_url") == "https://orchestrator.example"


# --- limits ----------------------------------------------------------------------------------------------------------


async def test_at_most_twenty_are_enabled_at_once() -> None:
    async with stage() as here:
        tasks = [await made(here, name=f"number {number}") for number in range(20)]
        answer = await here.ada.post(PATH, CRON)
        assert (answer.status, answer.body["code"]) == (409, "too_many_tasks")
        # What is disabled does not count, until somebody enables it.
        off = await made(here, enabled=False)
        refused = await here.ada.put(f"{PATH}/{off['id']}", {"enabled": True, "name": "renamed"})
        assert (refused.status, refused.body["code"]) == (409, "too_many_tasks")
        assert (await here.ada.get(f"{PATH}/{off['id']}")).body == off
        assert (await here.ada.put(f"{PATH}/{tasks[0]['id']}", {"enabled": False})).status == 200
        assert (await here.ada.put(f"{PATH}/{off['id']}", {"enabled": True})).body["enabled"] is True
        # Another user has twenty of their own.
        assert (await here.bob.post(PATH, CRON)).status == 200


async def test_what_was_over_counts_again_when_it_wakes() -> None:
    async with stage() as here:
        once = await made(here, **json.loads(ONCE))
        await here.ran()
        for number in range(20):
            await made(here, name=f"number {number}")
        path = f"{PATH}/{once['id']}"
        before = (await here.ada.get(path)).body
        answer = await here.ada.put(path, {"enabled": True, "next_run_at": "2026-03-02T12:00:00", "name": "renamed"})
        assert (answer.status, answer.body["code"]) == (409, "too_many_tasks")
        assert (await here.ada.get(path)).body == before


async def test_the_limits_are_the_owners_quotas() -> None:
    async with stage() as here:
        await here.service.accounts.put(
            Principal("local", admin=True), "bob", quotas={"shortest_interval": timedelta(minutes=5), "active_tasks": 1}
        )
        # Who he is, is remembered for half a second.
        here.later(seconds=1)
        answer = await here.bob.post(PATH, INTERVAL)
        assert (answer.status, answer.body["code"]) == (400, "interval_too_short")
        assert "5m" in answer.body["detail"] + answer.body["hint"]
        assert (await here.bob.post(PATH, CRON)).status == 200
        assert (await here.bob.post(PATH, CRON)).status == 409


# --- GET -------------------------------------------------------------------------------------------------------------


async def test_the_list_has_the_last_changed_first() -> None:
    async with stage() as here:
        names = ["first", "second", "third"]
        tasks = []
        for name in names:
            tasks.append(await made(here, name=name))
            here.later(seconds=1)
        assert [each["name"] for each in (await here.ada.get(PATH)).body] == ["third", "second", "first"]
        await here.ada.put(f"{PATH}/{tasks[1]['id']}", {"payload": {"text": "other"}})
        assert [each["name"] for each in (await here.ada.get(PATH)).body] == ["second", "third", "first"]


async def test_users_see_and_touch_only_what_is_theirs() -> None:
    async with stage() as here:
        task = await made(here)
        mine, absent = f"{PATH}/{task['id']}", f"{PATH}/tsk_{'0' * 32}"
        for who in (here.bob, here.root):
            assert (await who.get(PATH)).body == []
            for call in (who.get(mine), who.put(mine, {"name": "x"}), who.delete(mine), who.get(f"{mine}/runs")):
                assert (await call).status == 404
            foreign, nothing = (await who.get(mine)).body, (await who.get(absent)).body
            for each in (foreign, nothing):
                del each["request_id"], each["instance"]
            assert json.dumps(foreign).replace(task["id"], "") == json.dumps(nothing).replace(absent[17:], "")
        assert (await here.ada.get(mine)).body == task
        assert (await here.nobody.get(PATH)).status == 401
        assert (await here.nobody.post(PATH, INTERVAL)).status == 401


async def test_who_may_only_look_changes_nothing() -> None:
    async with stage() as here:
        assert (await here.guest.get(PATH)).body == []
        answer = await here.guest.post(PATH, INTERVAL)
        assert (answer.status, answer.body["code"]) == (403, "not_allowed")
        for path in ("/schedules", "/schedules/quick-reminder"):
            body = {"title": "tea", "scheduledTime": "2026-03-02T01:00:00Z"}
            reminder = {"title": "tea", "reminderTime": "2026-03-02T01:00:00Z"}
            refused = await here.guest.post(path, reminder if path.endswith("reminder") else body)
            assert refused.status == 403
        assert (await here.guest.get("/schedules")).data["total"] == 0


async def test_what_an_agent_makes_waits_for_a_person_and_it_sees_nothing_else() -> None:
    async with stage() as here:
        theirs = await made(here)
        agent = await here.agent_of("ada")
        body = json.loads(ONCE) | {"next_run_at": "2026-03-02T12:00:00"}
        task = (await agent.post(PATH, body)).body
        assert task["enabled"] is False
        refused = await agent.put(f"{PATH}/{task['id']}", {"enabled": True})
        assert (refused.status, refused.body["code"]) == (409, "awaiting_approval")
        assert [each["id"] for each in (await agent.get(PATH)).body] == [task["id"]]
        assert (await agent.get(f"{PATH}/{theirs['id']}")).status == 404
        assert {each["id"] for each in (await here.ada.get(PATH)).body} == {task["id"], theirs["id"]}


async def test_tasks_made_elsewhere_are_told_as_far_as_they_can_be() -> None:
    async with stage() as here:
        ada = Principal("ada", actor="test")
        target = Target("event", '{"topic":"task.triggered"}')
        for when in ("every 90s", "every weekday at 9am"):
            await here.service.tasks.create(
                ada, TaskRequest(when, when, target, payload='"text"', zone="Europe/Berlin")
            )
        weekly, often = sorted((await here.ada.get(PATH)).body, key=lambda each: str(each["schedule_type"]))
        assert (often["schedule_type"], often["schedule_expr"]) == ("interval", "90")
        assert (weekly["schedule_type"], weekly["timezone"]) == ("calendar", "Europe/Berlin")
        assert "09:00" in weekly["schedule_expr"]
        assert weekly["payload"] == {"value": "text"}
        # What is sent back as it came changes nothing of its schedule.
        back = await here.ada.put(f"{PATH}/{weekly['id']}", weekly | {"name": "renamed", "payload": None})
        assert (back.status, back.body["name"]) == (200, "renamed")
        assert back.body["next_run_at"] == weekly["next_run_at"]
        moved = await here.ada.put(f"{PATH}/{weekly['id']}", {"timezone": "UTC"})
        assert moved.body["next_run_at"] == "2026-03-02T09:00:00+00:00"


# --- PUT -------------------------------------------------------------------------------------------------------------


async def test_only_what_is_given_changes() -> None:
    async with stage() as here:
        task = await made(here)
        here.later(seconds=30)
        answer = await here.ada.put(f"{PATH}/{task['id']}", {"name": "new", "payload": None, "timezone": None})
        assert answer.body == task | {"name": "new", "updated_at": "2026-03-01T12:00:30+00:00"}
        # A name of nothing is no name.
        assert (await here.ada.put(f"{PATH}/{task['id']}", {"name": " "})).body["name"] == "new"


async def test_a_new_schedule_counts_from_now() -> None:
    async with stage() as here:
        task = await made(here)
        path = f"{PATH}/{task['id']}"
        assert (await here.ada.put(path, {"schedule_expr": "30 18 * * *"})).body["next_run_at"] == (
            "2026-03-02T10:30:00+00:00"
        )
        assert (await here.ada.put(path, {"timezone": "UTC"})).body["next_run_at"] == "2026-03-01T18:30:00+00:00"
        often = await here.ada.put(path, {"schedule_type": "interval", "schedule_expr": "600"})
        assert often.body["next_run_at"] == "2026-03-01T12:10:00+00:00"
        once = await here.ada.put(path, {"schedule_type": "once", "next_run_at": "2026-03-01T21:00:00+08:00"})
        assert once.body["next_run_at"] == "2026-03-01T13:00:00+00:00"
        assert (once.body["schedule_type"], once.body["schedule_expr"]) == ("once", "")
        bad = await here.ada.put(path, {"schedule_type": "cron", "schedule_expr": "61 * * * *"})
        assert bad.status == 422
        assert (await here.ada.get(path)).body == {k: v for k, v in once.body.items() if k != "warnings"}


async def test_a_form_that_is_sent_back_whole_changes_nothing() -> None:
    async with stage() as here:
        later: dict[str, Any] = json.loads(ONCE) | {"next_run_at": "2026-03-09T10:00:00"}
        for fields in (CRON, json.loads(INTERVAL), later):
            task = await made(here, **fields)
            task.pop("warnings", None)
            for shown in (task["next_run_at"], task["next_run_at"].replace("+00:00", "Z")):
                answer = await here.ada.put(f"{PATH}/{task['id']}", task | {"next_run_at": shown})
                assert answer.body == task


async def test_disabled_and_enabled_again_it_makes_up_for_nothing() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        off = await here.ada.put(path, {"enabled": False})
        assert off.body["enabled"] is False
        assert off.body["next_run_at"] == task["next_run_at"]
        here.later(hours=1)
        assert await here.claim() == []
        assert (await here.ada.get(path)).body["next_run_at"] is None
        on = await here.ada.put(path, {"enabled": True})
        assert on.body["enabled"] is True
        assert on.body["next_run_at"] > "2026-03-01T13:00:00+00:00"
        assert await here.claim() == []


async def test_once_that_passed_while_it_was_disabled_says_that_it_will_not_run() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(ONCE) | {"next_run_at": "2026-03-01T13:00:00", "enabled": False})
        assert task["next_run_at"] == "2026-03-01T13:00:00+00:00"
        here.later(hours=2)
        answer = await here.ada.put(f"{PATH}/{task['id']}", {"enabled": True})
        assert answer.status == 200
        assert answer.body["enabled"] is False
        assert warned(answer) == ["compat_nothing_left"]


# --- runs ------------------------------------------------------------------------------------------------------------


async def test_once_is_disabled_after_it_succeeded_and_wakes_with_a_new_time() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(ONCE))
        path = f"{PATH}/{task['id']}"
        await here.ran(Succeeded('{"answer": "hi"}'))
        done = (await here.ada.get(path)).body
        assert (done["enabled"], done["next_run_at"]) == (False, None)
        assert done["last_run_at"] == "2026-03-01T12:00:00+00:00"
        again = await here.ada.put(path, {"enabled": True})
        assert (again.status, again.body["code"]) == (409, "task_over")
        woken = await here.ada.put(path, {"enabled": True, "next_run_at": "2026-03-01T14:00:00"})
        assert (woken.body["enabled"], woken.body["next_run_at"]) == (True, "2026-03-01T14:00:00+00:00")
        here.later(hours=2)
        await here.ran()
        # A new time alone does not switch it on.
        still = await here.ada.put(path, {"next_run_at": "2026-03-01T18:00:00"})
        assert (still.body["enabled"], still.body["next_run_at"]) == (False, "2026-03-01T18:00:00+00:00")


@pytest.mark.parametrize("body", [INTERVAL, ONCE, json.dumps(CRON | {"schedule_expr": "0 0 1 1 *"})])
async def test_what_fails_is_tried_again_after_exactly_a_minute_for_as_long_as_it_takes(body: str) -> None:
    async with stage() as here:
        task = (await here.ada.post(PATH, body)).body
        here.clock.advance((_instant(task["next_run_at"]) - here.clock.now()).total_seconds())
        for _ in range(12):
            await here.ran(Failed("the orchestrator answered 503"))
            shown = (await here.ada.get(f"{PATH}/{task['id']}")).body
            assert shown["enabled"] is True
            wait = _instant(shown["next_run_at"]) - here.clock.now()
            assert wait == timedelta(seconds=60)
            here.clock.advance(wait.total_seconds())
        runs = (await here.ada.get(f"{PATH}/{task['id']}/runs")).body
        assert [each["status"] for each in runs] == ["failed"] * 12
        assert runs[0]["error"] == "the orchestrator answered 503"
        await here.ran()
        assert (await here.ada.get(f"{PATH}/{task['id']}/runs")).body[0]["status"] == "success"


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_runs_are_told_in_the_words_of_the_document() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}/runs"
        assert (await here.ada.get(path)).body == []
        here.later(minutes=1)
        (run,) = await here.claim()
        (going,) = (await here.ada.get(path)).body
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
        here.later(seconds=2)
        await here.settle(run, Succeeded('{"answer": "done"}'))
        (ended,) = (await here.ada.get(path)).body
        assert (ended["status"], ended["result"]) == ("success", {"answer": "done"})
        assert ended["started_at"] == "2026-03-01T12:01:00+00:00"
        assert ended["finished_at"] == "2026-03-01T12:01:02+00:00"


async def _results(here: Stage) -> None:
    task = await made(here, **json.loads(INTERVAL))
    path = f"{PATH}/{task['id']}/runs"
    kept = {
        '{"status": 200, "body": {"reply": "早", "items": [1]}}': {"reply": "早", "items": [1]},
        '{"status": 200, "body": [1, 2]}': [1, 2],
        '{"status": 200, "body": "cut", "truncated": true}': "cut",
        '{"answer": "from a callback"}': {"answer": "from a callback"},
        "null": None,
    }
    for text, shown in kept.items():
        here.later(minutes=1)
        await here.ran(Succeeded(text))
        assert (await here.ada.get(path)).body[0]["result"] == shown
    here.later(minutes=1)
    await here.ran(Failed("503"))
    assert (await here.ada.get(path)).body[0]["result"] is None


async def test_the_result_of_a_run_is_the_json_of_the_orchestrator_itself() -> None:
    async with stage() as here:
        await _results(here)


async def test_the_newest_fifty_runs_are_told_newest_first() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(INTERVAL))
        for _ in range(53):
            here.later(minutes=1)
            await here.ran()
        runs = (await here.ada.get(f"{PATH}/{task['id']}/runs")).body
        started = [each["started_at"] for each in runs]
        assert len(runs) == 50
        assert started == sorted(started, reverse=True)
        assert started[0] == (NOW + timedelta(minutes=53)).isoformat()


async def test_a_lock_is_shown_while_a_live_node_holds_it_and_put_clears_only_a_dead_one() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        here.later(minutes=1)
        (run,) = await here.claim()
        locked = (await here.ada.get(path)).body
        assert locked["locked_by"] == run.node
        assert locked["locked_until"] == "2026-03-01T12:01:15+00:00"
        kept = (await here.ada.put(path, {"name": "renamed"})).body
        assert (kept["locked_by"], kept["locked_until"]) == (locked["locked_by"], locked["locked_until"])
        # The node is gone: nobody has to wait for a lock that nobody holds.
        here.later(seconds=16)
        cleared = (await here.ada.put(path, {"name": "renamed again"})).body
        assert cleared["locked_by"] is cleared["locked_until"] is None


# --- DELETE ----------------------------------------------------------------------------------------------------------


async def test_a_deleted_task_is_gone_with_its_runs() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        here.later(minutes=1)
        run = await here.ran()
        answer = await here.ada.delete(path)
        assert (answer.status, answer.body) == (200, {"ok": True})
        for call in (here.ada.get(path), here.ada.get(f"{path}/runs"), here.ada.delete(path)):
            assert (await call).status == 404
        assert await here.service.store.run(run.id, None) is None


async def test_what_is_running_can_be_deleted_too() -> None:
    async with stage() as here:
        task = await made(here, **json.loads(INTERVAL))
        path = f"{PATH}/{task['id']}"
        here.later(minutes=1)
        await here.claim()
        assert (await here.ada.delete(path)).body == {"ok": True}
        assert (await here.ada.get(PATH)).body == []
        for call in (here.ada.get(path), here.ada.put(path, {"name": "x"}), here.ada.get(f"{path}/runs")):
            assert (await call).status == 404
        here.later(minutes=5)
        assert await here.claim() == []
