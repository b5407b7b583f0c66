"""Actions of `/schedules`: execute, enable, disable, pause, resume, snooze, batch operations, history."""

from __future__ import annotations

from typing import Any, Final

from horae.model.outcome import Failed, Succeeded
from tests.compat.compat_server import CompatServer, serve_compat
from tests.compat.example_requests import REMINDER, SCHEDULES, STANDUP, create_schedule, get_schedule


async def run_action(server: CompatServer, task: Any, action: str, body: object = None) -> Any:
    answer = await server.ada.post(f"{SCHEDULES}/{task['uuid']}/{action}", body)
    assert answer.status == 200, answer.body
    return answer.data


async def test_execute_runs_now_and_does_not_move_the_schedule() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, STANDUP)
        data = await run_action(server, task, "execute", {"force": True})
        result = data["executionResult"]
        assert (result["success"], result["taskUuid"]) == (True, task["uuid"])
        (run,) = await server.claim()
        assert run.id == result["executionUuid"]
        assert (await get_schedule(server, task))["status"] == "RUNNING"
        again = await server.ada.post(f"{SCHEDULES}/{task['uuid']}/execute")
        assert (again.status, again.body["code"]) == (409, "already_running")
        await server.settle(run, Succeeded('{"delivered": ["process"]}'))
        after = await get_schedule(server, task)
        assert (after["status"], after["nextScheduledAt"]) == ("PENDING", task["nextScheduledAt"])
        (line,) = (await server.ada.get(f"{SCHEDULES}/{task['uuid']}/history")).data["history"]
        assert (line["status"], line["success"], line["result"]) == ("COMPLETED", True, {"delivered": ["process"]})
        assert (line["taskUuid"], line["accountUuid"], line["retryCount"]) == (task["uuid"], "ada", 0)


async def test_disabled_and_paused_schedules_differ_in_status_and_do_not_run() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server)
        seen = {}
        for action in ("disable", "pause", "resume", "disable", "enable"):
            shown = (await run_action(server, task, action))["task"]
            seen[action] = (shown["enabled"], shown["status"])
        assert seen == {
            "disable": (False, "PENDING"),
            "pause": (True, "PAUSED"),
            "resume": (True, "PENDING"),
            "enable": (True, "PENDING"),
        }
        await run_action(server, task, "disable")
        server.advance(minutes=10)
        assert await server.claim() == []


async def test_resume_skips_occurrences_missed_during_the_pause() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, STANDUP)
        await run_action(server, task, "pause")
        server.advance(days=3)
        resumed = (await run_action(server, task, "resume"))["task"]
        assert resumed["nextScheduledAt"] == "2026-03-05T01:00:00.000Z"
        assert await server.claim() == []
        (line,) = (await server.ada.get(f"{SCHEDULES}/{task['uuid']}/history")).data["history"]
        assert (line["status"], line["reason"]) == ("CANCELLED", "paused")


async def test_completed_reminder_is_snoozed() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server)
        server.advance(minutes=5)
        await server.run_due()
        snoozed = (await run_action(server, task, "snooze", {"snoozeMinutes": 10, "reason": "busy"}))["task"]
        assert (snoozed["uuid"], snoozed["status"]) == (task["uuid"], "PENDING")
        assert snoozed["nextScheduledAt"] == "2026-03-01T12:15:00.000Z"
        server.advance(minutes=10)
        assert len(await server.claim()) == 1


async def test_snoozed_recurring_schedule_keeps_its_times() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, STANDUP, sourceType="goal", sourceId="g-1")
        data = await run_action(server, task, "snooze", {"snoozeMinutes": 15})
        assert data["task"]["nextScheduledAt"] == task["nextScheduledAt"]
        extra = data["snoozed"]
        assert extra["uuid"] != task["uuid"]
        assert (extra["title"], extra["nextScheduledAt"]) == (task["title"], "2026-03-01T12:15:00.000Z")
        # The extra schedule has the same source, and is removed with it.
        assert (await server.ada.delete(f"{SCHEDULES}?sourceId=g-1")).data["removed"] == 2


async def test_snoozed_paused_reminder_is_pending_again() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server)
        await run_action(server, task, "pause")
        snoozed = (await run_action(server, task, "snooze", {"snoozeMinutes": 30}))["task"]
        assert (snoozed["status"], snoozed["nextScheduledAt"]) == ("PENDING", "2026-03-01T12:30:00.000Z")


async def test_snoozed_failed_reminder_runs_again() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, maxRetries=0)
        server.advance(minutes=5)
        await server.run_due(Failed("no listener"))
        assert (await get_schedule(server, task))["status"] == "FAILED"
        snoozed = (await run_action(server, task, "snooze", {"snoozeMinutes": 1}))["task"]
        assert (snoozed["status"], snoozed["nextScheduledAt"]) == ("PENDING", "2026-03-01T12:06:00.000Z")
        server.advance(minutes=1)
        await server.run_due()
        assert (await get_schedule(server, task))["status"] == "COMPLETED"


async def test_snooze_is_refused_where_disallowed_or_out_of_range() -> None:
    async with serve_compat() as server:
        quiet = await create_schedule(server, alertConfig={"methods": ["POPUP"], "allowSnooze": False})
        answer = await server.ada.post(f"{SCHEDULES}/{quiet['uuid']}/snooze", {"snoozeMinutes": 5})
        assert (answer.status, answer.body["code"]) == (409, "compat_no_snooze")
        task = await create_schedule(server)
        for minutes in (0, -5, "soon", None, 10**9):
            answer = await server.ada.post(f"{SCHEDULES}/{task['uuid']}/snooze", {"snoozeMinutes": minutes})
            assert answer.status == 422, minutes
        assert (await get_schedule(server, task))["nextScheduledAt"] == task["nextScheduledAt"]


async def test_batch_reports_success_and_failure_per_schedule() -> None:
    async with serve_compat() as server:
        tasks = [await create_schedule(server, title=f"number {number}") for number in range(3)]
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
            data = (await server.ada.post(f"{SCHEDULES}/batch", body)).data
            assert data["success"] == uuids[:2]
            assert [each["taskUuid"] for each in data["failed"]] == [absent]
            assert data["summary"] == {"total": 3, "success": 2, "failed": 1}
            for task in tasks[:2]:
                now = await get_schedule(server, task)
                assert (now["enabled"], now["status"]) == shown
            assert (await get_schedule(server, tasks[2]))["status"] == "PENDING"
        gone = await server.ada.post(f"{SCHEDULES}/batch", {"taskUuids": uuids, "operation": "delete"})
        assert gone.data["success"] == uuids
        assert (await server.ada.get(SCHEDULES)).data["total"] == 0


async def test_invalid_batch_is_refused() -> None:
    async with serve_compat() as server:
        for body in (
            {"taskUuids": [], "operation": "explode"},
            {"taskUuids": "all", "operation": "delete"},
            {"taskUuids": ["x"] * 1_001, "operation": "delete"},
            {"operation": "delete"},
        ):
            answer = await server.ada.post(f"{SCHEDULES}/batch", body)
            assert (answer.status, answer.body["code"]) == (422, "compat_bad_field")
        odd = await server.ada.post(f"{SCHEDULES}/batch", {"taskUuids": [1, None, {}, "\ud800"], "operation": "delete"})
        assert odd.data["summary"] == {"total": 4, "success": 0, "failed": 4}


async def test_execution_history_lists_all_schedules_newest_first() -> None:
    async with serve_compat() as server:
        await create_schedule(server, maxRetries=0)
        await create_schedule(server, STANDUP)
        server.advance(minutes=5)
        await server.run_due(Failed("no listener"))
        server.advance(days=1)
        await server.run_due()
        data = (await server.ada.get(f"{SCHEDULES}/execution-history")).data
        assert [each["status"] for each in data["history"]] == ["COMPLETED", "FAILED"]
        assert data["history"][1]["error"] == "no listener"
        one = (await server.ada.get(f"{SCHEDULES}/execution-history?limit=1")).data
        assert (one["total"], one["hasMore"]) == (1, True)


REPEATED: Final = REMINDER | {"title": "once only"}


async def test_repeated_request_with_one_idempotency_key_creates_one_schedule() -> None:
    async with serve_compat() as server:
        first = await server.ada.post(SCHEDULES, REPEATED, Idempotency_Key="k-1")
        second = await server.ada.post(SCHEDULES, REPEATED, Idempotency_Key="k-1")
        assert (second.status, second.body) == (first.status, first.body)
        assert second.headers["Idempotent-Replayed"] == "true"
        assert (await server.ada.get(SCHEDULES)).data["total"] == 1
        other = await server.ada.post(SCHEDULES, REMINDER, Idempotency_Key="k-1")
        assert (other.status, other.body["code"], other.body["success"]) == (422, "idempotency_key_reused", False)
