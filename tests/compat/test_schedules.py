"""`/schedules` as its clients call it: create, list, read, change, delete, and the scenarios of its document."""

from __future__ import annotations

from typing import Any, Final

from horae.model.accounts.principal import Principal
from horae.model.outcome import Failed
from horae.model.task import Target
from horae.service.tasks.task_request import TaskRequest
from tests.compat.compat_server import Answer, serve_compat
from tests.compat.example_requests import REMINDER, SCHEDULES, STANDUP, create_schedule, get_schedule

FIELDS: Final = {
    "uuid",
    "accountUuid",
    "title",
    "taskType",
    "priority",
    "scheduledTime",
    "nextScheduledAt",
    "payload",
    "alertConfig",
    "recurrence",
    "executionCount",
    "failureCount",
}
"""The fields of `ScheduledTaskInfo` in the API document."""


def warning_codes(answer: Answer) -> list[str]:
    return [each["code"] for each in answer.task.get("warnings", [])]


# --- the scenarios of the document -----------------------------------------------------------------------------------


async def test_scenario_1_reminder_in_five_minutes() -> None:
    async with serve_compat() as server:
        answer = await server.ada.post(SCHEDULES, REMINDER)
        assert answer.status == 201
        assert answer.body["code"] == 200
        assert answer.data["task"] == answer.data["schedule"]
        task = answer.task
        assert set(task) >= FIELDS
        assert (task["title"], task["name"], task["accountUuid"]) == ("5分钟后的提醒", "5分钟后的提醒", "ada")
        assert (task["taskType"], task["priority"]) == ("GENERAL_REMINDER", "HIGH")
        assert (task["status"], task["enabled"]) == ("PENDING", True)
        assert task["scheduledTime"] == task["nextScheduledAt"] == "2026-03-01T12:05:00.000Z"
        assert task["payload"] == REMINDER["payload"]
        assert task["alertConfig"] == REMINDER["alertConfig"]
        assert task["recurrence"] == {"type": "NONE", "interval": 1}
        assert (task["executionCount"], task["failureCount"]) == (0, 0)
        assert await server.claim() == []
        server.advance(minutes=5)
        await server.run_due()
        done = await get_schedule(server, task)
        assert (done["status"], done["executionCount"], done["nextScheduledAt"]) == ("COMPLETED", 1, None)
        assert done["lastExecutedAt"] == "2026-03-01T12:05:00.000Z"


async def test_scenario_2_daily_schedule_has_its_next_time() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, STANDUP)
        # The response names the owner's zone.
        assert task["timezone"] == "Asia/Shanghai"
        assert task["recurrence"] == {"type": "DAILY", "interval": 1}
        for day in (2, 3, 4):
            now = await get_schedule(server, task)
            assert now["nextScheduledAt"] == f"2026-03-0{day}T01:00:00.000Z"
            assert now["executionCount"] == day - 2
            server.advance(hours=13 if day == 2 else 24)
            await server.run_due()
        assert (await get_schedule(server, task))["scheduledTime"] == "2026-03-02T01:00:00.000Z"


async def test_scenario_3_cancelled_schedule_never_runs() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server)
        answer = await server.ada.put(f"{SCHEDULES}/{task['uuid']}", {"enabled": False, "status": "cancelled"})
        assert (answer.task["status"], answer.task["enabled"]) == ("CANCELLED", False)
        server.advance(hours=1)
        assert await server.claim() == []


async def test_past_time_runs_at_once() -> None:
    async with serve_compat() as server:
        await create_schedule(server, scheduledTime="2026-03-01T11:00:00.000Z")
        assert len(await server.claim()) == 1


async def test_time_beyond_32_bit_milliseconds_is_accepted() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, scheduledTime="2026-05-01T12:00:00.000Z")
        server.advance(days=30)
        assert await server.claim() == []
        assert (await get_schedule(server, task))["nextScheduledAt"] == "2026-05-01T12:00:00.000Z"


async def test_all_schedules_of_a_source_entity_are_deleted() -> None:
    async with serve_compat() as server:
        other_source = await create_schedule(server, metadata={"sourceEntityId": "tpl-2"})
        first = await create_schedule(server, sourceModule="reminder", sourceEntityId="tpl-1")
        second = await create_schedule(server, STANDUP, payload={"sourceType": "reminder", "sourceId": "tpl-1"})
        other = await create_schedule(server, STANDUP, metadata={"sourceEntityId": "tpl-1"}, sourceType="goal")
        assert (first["sourceType"], first["sourceId"]) == ("reminder", "tpl-1")
        # The source is copied into the payload for event handlers.
        assert first["payload"] == REMINDER["payload"] | {"sourceType": "reminder", "sourceId": "tpl-1"}
        foreign = await server.bob.delete(f"{SCHEDULES}?sourceEntityId=tpl-1")
        assert foreign.data["removed"] == 0
        answer = await server.ada.delete(f"{SCHEDULES}?sourceModule=reminder&sourceEntityId=tpl-1")
        assert answer.data == {"removed": 2, "taskUuids": [first["uuid"], second["uuid"]], "failed": []}
        assert (await server.ada.delete(f"{SCHEDULES}?sourceId=tpl-1")).data["taskUuids"] == [other["uuid"]]
        assert [each["uuid"] for each in (await server.ada.get(SCHEDULES)).data["tasks"]] == [other_source["uuid"]]
        nothing = await server.ada.delete(SCHEDULES)
        assert (nothing.status, nothing.body["code"]) == (422, "compat_no_source")


# --- failures --------------------------------------------------------------------------------------------------------


async def test_one_time_schedule_is_failed_after_the_third_failure() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server)
        server.advance(minutes=5)
        for failures in (1, 2):
            await server.run_due(Failed("no listener"))
            now = await get_schedule(server, task)
            assert (now["status"], now["failureCount"], now["currentRetries"]) == ("PENDING", failures, failures)
            server.advance(minutes=1)
        await server.run_due(Failed("no listener"))
        failed = await get_schedule(server, task)
        assert (failed["status"], failed["failureCount"], failed["nextScheduledAt"]) == ("FAILED", 3, None)
        assert await server.claim() == []


async def test_recurring_schedule_is_failed_after_three_consecutive_failures() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, STANDUP, maxRetries=0)
        server.advance(hours=13)
        for failures in (1, 2):
            await server.run_due(Failed("no listener"))
            now = await get_schedule(server, task)
            assert (now["status"], now["failureCount"]) == ("PENDING", failures)
            server.advance(days=1)
        await server.run_due()
        assert (await get_schedule(server, task))["failureCount"] == 0
        for _ in range(3):
            server.advance(days=1)
            await server.run_due(Failed("no listener"))
        failed = await get_schedule(server, task)
        assert (failed["status"], failed["failureCount"]) == ("FAILED", 3)
        # Resuming resets the failure count.
        again = await server.ada.post(f"{SCHEDULES}/{task['uuid']}/resume")
        assert (again.task["status"], again.task["failureCount"]) == ("PENDING", 0)


# --- create ----------------------------------------------------------------------------------------------------------


async def test_schedule_with_only_the_required_fields() -> None:
    async with serve_compat() as server:
        answer = await server.bob.post(SCHEDULES, {"name": "tea", "scheduledTime": "2026-03-01T16:00:00"})
        task = answer.task
        # Bob has no default zone: the deployment's zone is used and named.
        assert (task["timezone"], task["nextScheduledAt"]) == ("Europe/Berlin", "2026-03-01T15:00:00.000Z")
        assert warning_codes(answer) == ["compat_once_local"]
        assert (task["title"], task["taskType"], task["priority"]) == ("tea", "GENERAL_REMINDER", "NORMAL")
        assert (task["payload"], task["alertConfig"], task["tags"], task["description"]) == ({}, None, [], None)


async def test_priorities_are_mapped_by_name() -> None:
    async with serve_compat() as server:
        for given, number, shown in (
            ("LOW", -50, "LOW"),
            ("medium", 0, "NORMAL"),
            ("normal", 0, "NORMAL"),
            ("High", 50, "HIGH"),
            ("URGENT", 100, "URGENT"),
        ):
            task = await create_schedule(server, priority=given)
            facts = await server.service.tasks.get(Principal("ada"), task["uuid"])
            assert (facts.task.policies.priority, task["priority"]) == (number, shown)


RECURRENCES: Final[tuple[tuple[dict[str, Any], str], ...]] = (
    ({"type": "WEEKLY", "interval": 1, "daysOfWeek": [1, 3]}, "2026-03-02T01:00:00.000Z"),
    ({"type": "MONTHLY", "interval": 1, "dayOfMonth": 31}, "2026-03-31T01:00:00.000Z"),
    ({"type": "YEARLY", "interval": 1}, "2026-03-02T01:00:00.000Z"),
    ({"type": "CUSTOM", "interval": 1, "cronExpression": "30 8 * * 1-5"}, "2026-03-03T00:30:00.000Z"),
    ({"type": "DAILY", "interval": 2, "maxOccurrences": 3, "endDate": "2026-04-01"}, "2026-03-02T01:00:00.000Z"),
)


async def test_recurrence_is_returned_as_given() -> None:
    async with serve_compat() as server:
        for recurrence, following in RECURRENCES:
            task = await create_schedule(server, STANDUP, recurrence=recurrence)
            assert task["recurrence"] == recurrence
            assert task["nextScheduledAt"] == following


REFUSED: Final[tuple[tuple[dict[str, Any], int, str], ...]] = (
    ({"title": " "}, 422, "missing_field"),
    ({"title": 5}, 422, "compat_bad_field"),
    ({"scheduledTime": None}, 422, "compat_missing"),
    ({"scheduledTime": "soon"}, 422, "compat_not_a_time"),
    ({"timezone": "Mars/Olympus"}, 422, "unknown_zone"),
    ({"priority": "HIGHEST"}, 422, "compat_unknown_choice"),
    ({"status": "asleep"}, 422, "compat_unknown_choice"),
    ({"status": "COMPLETED"}, 422, "compat_bad_field"),
    ({"status": "CANCELLED"}, 422, "compat_bad_field"),
    ({"enabled": "perhaps"}, 422, "compat_not_flag"),
    ({"recurrence": {"type": "HOURLY"}}, 422, "compat_unknown_choice"),
    ({"recurrence": {"type": "DAILY", "interval": 0}}, 422, "compat_out_of_range"),
    ({"recurrence": {"type": "WEEKLY", "daysOfWeek": [7]}}, 422, "compat_out_of_range"),
    ({"recurrence": {"type": "MONTHLY", "dayOfMonth": 32}}, 422, "compat_out_of_range"),
    ({"recurrence": {"type": "CUSTOM", "cronExpression": "every day"}}, 422, "field_count"),
    ({"alertConfig": {"methods": []}}, 422, "compat_bad_field"),
    ({"alertConfig": {"methods": ["PIGEON"]}}, 422, "compat_bad_field"),
    ({"alertConfig": {"methods": ["POPUP"], "soundVolume": 101}}, 422, "compat_bad_field"),
    ({"alertConfig": {"methods": ["POPUP"], "popupDuration": -1}}, 422, "compat_bad_field"),
    ({"alertConfig": {"methods": ["POPUP"], "snoozeOptions": [0]}}, 422, "compat_bad_field"),
    ({"alertConfig": "loud"}, 422, "compat_bad_field"),
    ({"tags": "red"}, 422, "compat_bad_field"),
    ({"payload": "text"}, 422, "compat_bad_field"),
    ({"payload": {"compat": {}}}, 422, "compat_bad_field"),
    ({"maxRetries": -1}, 422, "compat_out_of_range"),
    ({"timeoutSeconds": 0}, 422, "compat_out_of_range"),
    ({"surprise": 1}, 422, "unknown_field"),
    ({"accountUuid": "bob"}, 404, "compat_foreign_account"),
    ({"accountUuid": "absent"}, 404, "compat_foreign_account"),
)


async def test_invalid_schedules_are_refused_and_not_stored() -> None:
    async with serve_compat() as server:
        for fields, status, code in REFUSED:
            answer = await server.ada.post(SCHEDULES, REMINDER | fields)
            assert (answer.status, answer.body["code"]) == (status, code), answer.body
            assert answer.body["success"] is False
            assert answer.body["message"]
        assert (await server.ada.get(SCHEDULES)).data["total"] == 0


async def test_limits_are_the_quotas_of_the_owner() -> None:
    async with serve_compat() as server:
        often = {"type": "CUSTOM", "interval": 1, "cronExpression": "*/5 * * * * *"}
        refused = await server.ada.post(SCHEDULES, STANDUP | {"recurrence": often})
        assert refused.body["code"] == "interval_too_short"
        for _ in range(20):
            await create_schedule(server)
        assert (await server.ada.post(SCHEDULES, REMINDER)).body["code"] == "too_many_tasks"


async def test_quick_reminder_creates_a_schedule() -> None:
    async with serve_compat() as server:
        body = {"title": "tea", "message": "it is ready", "reminderTime": "2026-03-01T12:03:00Z", "tags": ["kitchen"]}
        answer = await server.ada.post(f"{SCHEDULES}/quick-reminder", body)
        assert answer.status == 201
        task = answer.task
        assert (task["taskType"], task["description"], task["tags"]) == ("GENERAL_REMINDER", "it is ready", ["kitchen"])
        assert task["payload"]["data"] == {"title": "tea", "message": "it is ready"}
        assert task["alertConfig"]["methods"] == ["POPUP", "SYSTEM_NOTIFICATION"]
        assert task["nextScheduledAt"] == "2026-03-01T12:03:00.000Z"


# --- list ------------------------------------------------------------------------------------------------------------


async def test_list_is_sorted_by_time_paged_and_filtered() -> None:
    async with serve_compat() as server:
        late = await create_schedule(server, STANDUP, tags=["work", "red"])
        soon = await create_schedule(server, tags=["red"])
        off = await create_schedule(server, title="off", enabled=False)
        first = (await server.ada.get(f"{SCHEDULES}?limit=2")).data
        assert first["tasks"] == first["schedules"]
        assert [each["uuid"] for each in first["tasks"]] == [soon["uuid"], late["uuid"]]
        assert {name: first[name] for name in ("total", "page", "limit", "hasMore")} == {
            "total": 3,
            "page": 1,
            "limit": 2,
            "hasMore": True,
        }
        second = (await server.ada.get(f"{SCHEDULES}?limit=2&page=2")).data
        assert ([each["uuid"] for each in second["tasks"]], second["hasMore"]) == ([off["uuid"]], False)
        for query, expected in (
            ("enabled=false", [off]),
            ("taskType=TASK_REMINDER", [late]),
            ("tags=work&tags=blue", [late]),
            ("tags=red&enabled=true", [soon, late]),
            ("status=PENDING&status=paused", [soon, late, off]),
            ("status=FAILED", []),
        ):
            found = (await server.ada.get(f"{SCHEDULES}?{query}")).data["tasks"]
            assert [each["uuid"] for each in found] == [each["uuid"] for each in expected], query
        assert (await server.ada.get(f"{SCHEDULES}?status=asleep")).status == 422
        assert (await server.ada.get(f"{SCHEDULES}?limit=1000000000")).status == 422
        assert (await server.ada.get(f"{SCHEDULES}?colour=red")).status == 400


async def test_upcoming_schedules_have_minutes_until() -> None:
    async with serve_compat() as server:
        await create_schedule(server, STANDUP)
        soon = await create_schedule(server)
        data = (await server.ada.get(f"{SCHEDULES}/upcoming")).data
        assert (data["withinHours"], data["queryTime"]) == (1, "2026-03-01T12:00:00+00:00")
        (shown,) = data["tasks"]
        assert (shown["uuid"], shown["minutesUntil"]) == (soon["uuid"], 5)
        assert shown["alertConfig"] == REMINDER["alertConfig"]
        assert len((await server.ada.get(f"{SCHEDULES}/upcoming?withinMinutes=1440")).data["tasks"]) == 2
        assert len((await server.ada.get(f"{SCHEDULES}/upcoming?withinMinutes=1440&limit=1")).data["tasks"]) == 1
        assert (await server.bob.get(f"{SCHEDULES}/upcoming?withinMinutes=1440")).data["tasks"] == []
        assert (await server.root.get(f"{SCHEDULES}/upcoming?withinMinutes=1440")).data["tasks"] == []


async def test_statistics_count_schedules_by_state_type_and_priority() -> None:
    async with serve_compat() as server:
        await create_schedule(server)
        await create_schedule(server, STANDUP, priority="LOW")
        server.advance(minutes=5)
        await server.run_due()
        data = (await server.ada.get(f"{SCHEDULES}/statistics")).data
        assert (data["totalTasks"], data["activeTasks"], data["completedTasks"], data["failedTasks"]) == (2, 1, 1, 0)
        assert data["byType"] == {"GENERAL_REMINDER": 1, "TASK_REMINDER": 1}
        assert data["byPriority"] == {"LOW": 1, "NORMAL": 0, "HIGH": 1, "URGENT": 0}
        assert data["successRate"] == 1
        assert (await server.bob.get(f"{SCHEDULES}/statistics")).data["totalTasks"] == 0


async def test_tasks_of_other_front_ends_are_shown_as_far_as_the_format_allows() -> None:
    async with serve_compat() as server:
        ada = Principal("ada", actor="test")
        target = Target("event", '{"topic":"task.triggered"}')
        task = await server.service.tasks.create(ada, TaskRequest("often", "every 90s", target, zone="UTC"))
        shown = (await server.ada.get(f"{SCHEDULES}/{task.id}")).task
        assert (shown["recurrence"]["type"], shown["recurrence"]["description"]) == ("CUSTOM", "every 90 seconds, UTC")
        assert shown["scheduledTime"] == shown["nextScheduledAt"] == "2026-03-01T12:01:30.000Z"
        back = await server.ada.put(f"{SCHEDULES}/{task.id}", shown | {"title": "renamed"})
        assert back.task["nextScheduledAt"] == shown["nextScheduledAt"]
        # A schedule that is created here is an ordinary task.
        created = await create_schedule(server, description="a note", tags=["red"])
        facts = await server.service.tasks.get(ada, created["uuid"])
        assert dict(facts.task.labels)["compat.surface"] == "schedules"
        assert facts.task.target == Target("event", '{"topic":"task.triggered","say":null}')


# --- change ----------------------------------------------------------------------------------------------------------


async def test_put_changes_only_the_given_fields() -> None:
    async with serve_compat() as server:
        task = await create_schedule(
            server, STANDUP, description="old", tags=["red"], alertConfig={"methods": ["POPUP"]}
        )
        server.advance(seconds=1)
        path = f"{SCHEDULES}/{task['uuid']}"
        answer = await server.ada.put(path, {"description": "new", "priority": "URGENT", "timeoutSeconds": 30})
        assert answer.task == task | {
            "description": "new",
            "priority": "URGENT",
            "timeoutSeconds": 30,
            "updatedAt": "2026-03-01T12:00:01.000Z",
        }


async def test_client_sets_only_the_statuses_it_controls() -> None:
    async with serve_compat() as server:
        path = f"{SCHEDULES}/{(await create_schedule(server))['uuid']}"
        assert (await server.ada.put(path, {"status": "paused"})).task["status"] == "PAUSED"
        assert (await server.ada.put(path, {"status": "PENDING"})).task["status"] == "PENDING"
        for status in ("FAILED", "COMPLETED"):
            refused = await server.ada.put(path, {"status": status, "title": "renamed"})
            assert (refused.status, refused.body["code"]) == (422, "compat_bad_field")
        # RUNNING is accepted from a client that sends a shown schedule back, and ignored.
        assert (await server.ada.put(path, {"status": "RUNNING"})).task["status"] == "PENDING"
        assert (await server.ada.put(path, {"enabled": False})).task["enabled"] is False
        assert (await server.ada.get(path)).task["title"] == REMINDER["title"]


async def test_changed_time_counts_from_now() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server, STANDUP)
        path = f"{SCHEDULES}/{task['uuid']}"
        moved = await server.ada.put(path, {"scheduledTime": "2026-03-02T02:30:00.000Z"})
        assert moved.task["nextScheduledAt"] == "2026-03-02T02:30:00.000Z"
        assert moved.task["recurrence"] == task["recurrence"]
        weekly = await server.ada.put(path, {"recurrence": {"type": "WEEKLY", "interval": 1, "daysOfWeek": [5]}})
        assert weekly.task["nextScheduledAt"] == "2026-03-06T02:30:00.000Z"
        once = await server.ada.put(path, {"recurrence": {"type": "NONE", "interval": 1}})
        assert once.task["nextScheduledAt"] == "2026-03-02T02:30:00.000Z"
        assert once.task["maxRetries"] == 2


async def test_put_of_an_unchanged_schedule_changes_nothing() -> None:
    async with serve_compat() as server:
        for body in (REMINDER, STANDUP, STANDUP | {"scheduledTime": "2026-03-02T09:00:00"}):
            task = await create_schedule(server, body)
            for action in ("pause", "disable", "enable"):
                before = (await server.ada.post(f"{SCHEDULES}/{task['uuid']}/{action}")).task
                assert (await server.ada.put(f"{SCHEDULES}/{task['uuid']}", before)).task == before


# --- delete, and other owners -----------------------------------------------------------------------------------------


async def test_deleted_schedule_is_gone_and_never_runs() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server)
        answer = await server.ada.delete(f"{SCHEDULES}/{task['uuid']}")
        assert (answer.status, answer.data) == (200, None)
        assert (await server.ada.get(f"{SCHEDULES}/{task['uuid']}")).status == 404
        assert (await server.ada.delete(f"{SCHEDULES}/{task['uuid']}")).status == 404
        server.advance(hours=1)
        assert await server.claim() == []


async def test_schedules_of_other_accounts_answer_404() -> None:
    async with serve_compat() as server:
        task = await create_schedule(server)
        path = f"{SCHEDULES}/{task['uuid']}"
        actions = ("execute", "enable", "disable", "pause", "resume", "snooze")
        for who in (server.bob, server.root):
            assert (await who.get(SCHEDULES)).data["total"] == 0
            for answer in (
                await who.get(path),
                await who.put(path, {"title": "x"}),
                await who.delete(path),
                await who.get(f"{path}/history"),
                *[
                    await who.post(f"{path}/{action}", {"snoozeMinutes": 5} if action == "snooze" else None)
                    for action in actions
                ],
            ):
                assert (answer.status, answer.body["code"]) == (404, "no_such_task")
            batch = await who.post(f"{SCHEDULES}/batch", {"taskUuids": [task["uuid"]], "operation": "delete"})
            assert batch.data["summary"] == {"total": 1, "success": 0, "failed": 1}
            assert (await who.get(f"{SCHEDULES}/execution-history")).data["history"] == []
        assert await get_schedule(server, task) == task
        for method, at in (("GET", SCHEDULES), ("POST", SCHEDULES), ("GET", path), ("POST", f"{path}/execute")):
            assert (await server.anonymous.call(method, at)).status == 401
