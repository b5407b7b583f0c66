"""What can be done with schedules of `/schedules`: executed, switched, paused, snoozed, many at once."""

from __future__ import annotations

from typing import Any, Final

from horae.model.outcome import Failed, Succeeded
from tests.compat.compat_server import stage

from .compat_server import Stage
from .test_schedules import PATH, REMINDER, STANDUP, looked_at, made


async def act(here: Stage, task: Any, action: str, body: object = None) -> Any:
    answer = await here.ada.post(f"{PATH}/{task['uuid']}/{action}", body)
    assert answer.status == 200, answer.body
    return answer.data


async def test_execute_runs_it_now_and_its_times_stay() -> None:
    async with stage() as here:
        task = await made(here, STANDUP)
        data = await act(here, task, "execute", {"force": True})
        result = data["executionResult"]
        assert (result["success"], result["taskUuid"]) == (True, task["uuid"])
        (run,) = await here.claim()
        assert run.id == result["executionUuid"]
        assert (await looked_at(here, task))["status"] == "RUNNING"
        again = await here.ada.post(f"{PATH}/{task['uuid']}/execute")
        assert (again.status, again.body["code"]) == (409, "already_running")
        await here.settle(run, Succeeded('{"delivered": ["process"]}'))
        after = await looked_at(here, task)
        assert (after["status"], after["nextScheduledAt"]) == ("PENDING", task["nextScheduledAt"])
        (line,) = (await here.ada.get(f"{PATH}/{task['uuid']}/history")).data["history"]
        assert (line["status"], line["success"], line["result"]) == ("COMPLETED", True, {"delivered": ["process"]})
        assert (line["taskUuid"], line["accountUuid"], line["retryCount"]) == (task["uuid"], "ada", 0)


async def test_disabled_and_paused_are_told_apart_and_neither_runs() -> None:
    async with stage() as here:
        task = await made(here)
        seen = {}
        for action in ("disable", "pause", "resume", "disable", "enable"):
            shown = (await act(here, task, action))["task"]
            seen[action] = (shown["enabled"], shown["status"])
        assert seen == {
            "disable": (False, "PENDING"),
            "pause": (True, "PAUSED"),
            "resume": (True, "PENDING"),
            "enable": (True, "PENDING"),
        }
        await act(here, task, "disable")
        here.later(minutes=10)
        assert await here.claim() == []


async def test_what_was_missed_in_a_pause_stays_missed() -> None:
    async with stage() as here:
        task = await made(here, STANDUP)
        await act(here, task, "pause")
        here.later(days=3)
        resumed = (await act(here, task, "resume"))["task"]
        assert resumed["nextScheduledAt"] == "2026-03-05T01:00:00.000Z"
        assert await here.claim() == []
        (line,) = (await here.ada.get(f"{PATH}/{task['uuid']}/history")).data["history"]
        assert (line["status"], line["reason"]) == ("CANCELLED", "paused")


async def test_a_reminder_that_was_shown_is_snoozed() -> None:
    async with stage() as here:
        task = await made(here)
        here.later(minutes=5)
        await here.ran()
        snoozed = (await act(here, task, "snooze", {"snoozeMinutes": 10, "reason": "busy"}))["task"]
        assert (snoozed["uuid"], snoozed["status"]) == (task["uuid"], "PENDING")
        assert snoozed["nextScheduledAt"] == "2026-03-01T12:15:00.000Z"
        here.later(minutes=10)
        assert len(await here.claim()) == 1


async def test_what_recurs_keeps_its_times_when_it_is_snoozed() -> None:
    async with stage() as here:
        task = await made(here, STANDUP, sourceType="goal", sourceId="g-1")
        data = await act(here, task, "snooze", {"snoozeMinutes": 15})
        assert data["task"]["nextScheduledAt"] == task["nextScheduledAt"]
        extra = data["snoozed"]
        assert extra["uuid"] != task["uuid"]
        assert (extra["title"], extra["nextScheduledAt"]) == (task["title"], "2026-03-01T12:15:00.000Z")
        # It belongs to the same thing, and goes with it.
        assert (await here.ada.delete(f"{PATH}?sourceId=g-1")).data["removed"] == 2


async def test_a_paused_reminder_that_is_snoozed_is_awake_again() -> None:
    async with stage() as here:
        task = await made(here)
        await act(here, task, "pause")
        snoozed = (await act(here, task, "snooze", {"snoozeMinutes": 30}))["task"]
        assert (snoozed["status"], snoozed["nextScheduledAt"]) == ("PENDING", "2026-03-01T12:30:00.000Z")


async def test_a_reminder_that_failed_is_tried_again_when_it_is_snoozed() -> None:
    async with stage() as here:
        task = await made(here, maxRetries=0)
        here.later(minutes=5)
        await here.ran(Failed("nobody listens"))
        assert (await looked_at(here, task))["status"] == "FAILED"
        snoozed = (await act(here, task, "snooze", {"snoozeMinutes": 1}))["task"]
        assert (snoozed["status"], snoozed["nextScheduledAt"]) == ("PENDING", "2026-03-01T12:06:00.000Z")
        here.later(minutes=1)
        await here.ran()
        assert (await looked_at(here, task))["status"] == "COMPLETED"


async def test_what_does_not_allow_it_is_not_snoozed() -> None:
    async with stage() as here:
        quiet = await made(here, alertConfig={"methods": ["POPUP"], "allowSnooze": False})
        answer = await here.ada.post(f"{PATH}/{quiet['uuid']}/snooze", {"snoozeMinutes": 5})
        assert (answer.status, answer.body["code"]) == (409, "compat_no_snooze")
        task = await made(here)
        for minutes in (0, -5, "soon", None, 10**9):
            answer = await here.ada.post(f"{PATH}/{task['uuid']}/snooze", {"snoozeMinutes": minutes})
            assert answer.status == 422, minutes
        assert (await looked_at(here, task))["nextScheduledAt"] == task["nextScheduledAt"]


async def test_many_at_once_each_for_itself() -> None:
    async with stage() as here:
        tasks = [await made(here, title=f"number {number}") for number in range(3)]
        uuids = [each["uuid"] for each in tasks]
        absent = f"tsk_{'0' * 32}"
        expected = {
            "disable": (False, "PENDING"),
            "enable": (True, "PENDING"),
            "pause": (True, "PAUSED"),
            "resume": (True, "PENDING"),
            "cancel": (False, "CANCELLED"),
        }
        for operation, shown in expected.items():
            body = {"taskUuids": [*uuids[:2], absent], "operation": operation}
            data = (await here.ada.post(f"{PATH}/batch", body)).data
            assert data["success"] == uuids[:2]
            assert [each["taskUuid"] for each in data["failed"]] == [absent]
            assert data["summary"] == {"total": 3, "success": 2, "failed": 1}
            for task in tasks[:2]:
                now = await looked_at(here, task)
                assert (now["enabled"], now["status"]) == shown
            assert (await looked_at(here, tasks[2]))["status"] == "PENDING"
        gone = await here.ada.post(f"{PATH}/batch", {"taskUuids": uuids, "operation": "delete"})
        assert gone.data["success"] == uuids
        assert (await here.ada.get(PATH)).data["total"] == 0


async def test_a_batch_that_makes_no_sense_is_refused() -> None:
    async with stage() as here:
        for body in (
            {"taskUuids": [], "operation": "explode"},
            {"taskUuids": "all", "operation": "delete"},
            {"taskUuids": ["x"] * 1_001, "operation": "delete"},
            {"operation": "delete"},
        ):
            answer = await here.ada.post(f"{PATH}/batch", body)
            assert (answer.status, answer.body["code"]) == (422, "compat_bad_field")
        odd = await here.ada.post(f"{PATH}/batch", {"taskUuids": [1, None, {}, "\ud800"], "operation": "delete"})
        assert odd.data["summary"] == {"total": 4, "success": 0, "failed": 4}


async def test_the_newest_executions_of_all_schedules() -> None:
    async with stage() as here:
        await made(here, maxRetries=0)
        await made(here, STANDUP)
        here.later(minutes=5)
        await here.ran(Failed("nobody listens"))
        here.later(days=1)
        await here.ran()
        data = (await here.ada.get(f"{PATH}/execution-history")).data
        assert [each["status"] for each in data["history"]] == ["COMPLETED", "FAILED"]
        assert data["history"][1]["error"] == "nobody listens"
        one = (await here.ada.get(f"{PATH}/execution-history?limit=1")).data
        assert (one["total"], one["hasMore"]) == (1, True)


REPEATED: Final = REMINDER | {"title": "once only"}


async def test_the_same_request_with_the_same_key_makes_one_schedule() -> None:
    async with stage() as here:
        first = await here.ada.post(PATH, REPEATED, Idempotency_Key="k-1")
        second = await here.ada.post(PATH, REPEATED, Idempotency_Key="k-1")
        assert (second.status, second.body) == (first.status, first.body)
        assert second.headers["Idempotent-Replayed"] == "true"
        assert (await here.ada.get(PATH)).data["total"] == 1
        other = await here.ada.post(PATH, REMINDER, Idempotency_Key="k-1")
        assert (other.status, other.body["code"], other.body["success"]) == (422, "idempotency_key_reused", False)
