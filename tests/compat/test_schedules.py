"""`/schedules` as its clients call it: made, listed, looked at, changed, removed, with the scenarios of its document."""

from __future__ import annotations

from typing import Any, Final

from horae.model.accounts.principal import Principal
from horae.model.outcome import Failed
from horae.model.task import Target
from horae.service.tasks.task_request import TaskRequest
from tests.compat.compat_server import stage

from .compat_server import Answer, Stage

PATH: Final = "/schedules"
REMINDER: Final[dict[str, Any]] = {
    "accountUuid": "ada",
    "title": "5分钟后的提醒",
    "taskType": "GENERAL_REMINDER",
    "priority": "HIGH",
    "scheduledTime": "2026-03-01T12:05:00.000Z",
    "payload": {"type": "GENERAL_REMINDER", "data": {"message": "stand up"}},
    "alertConfig": {"methods": ["POPUP", "SOUND"], "soundVolume": 70, "allowSnooze": True, "snoozeOptions": [5, 10]},
    "status": "pending",
    "enabled": True,
}
STANDUP: Final[dict[str, Any]] = {
    "title": "每日站会",
    "taskType": "TASK_REMINDER",
    "scheduledTime": "2026-03-02T01:00:00.000Z",
    "recurrence": {"type": "DAILY", "interval": 1},
    "status": "pending",
    "enabled": True,
}
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
"""What the document's own `ScheduledTaskInfo` has."""


async def made(here: Stage, body: dict[str, Any] = REMINDER, **fields: Any) -> Any:
    answer = await here.ada.post(PATH, {**body, **fields})
    assert answer.status == 201, answer.body
    return {name: value for name, value in answer.task.items() if name != "warnings"}


async def looked_at(here: Stage, task: Any) -> Any:
    return (await here.ada.get(f"{PATH}/{task['uuid']}")).task


def warned(answer: Answer) -> list[str]:
    return [each["code"] for each in answer.task.get("warnings", [])]


# --- the scenarios of the document -----------------------------------------------------------------------------------


async def test_scenario_1_a_reminder_in_five_minutes() -> None:
    async with stage() as here:
        answer = await here.ada.post(PATH, REMINDER)
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
        assert await here.claim() == []
        here.later(minutes=5)
        await here.ran()
        done = await looked_at(here, task)
        assert (done["status"], done["executionCount"], done["nextScheduledAt"]) == ("COMPLETED", 1, None)
        assert done["lastExecutedAt"] == "2026-03-01T12:05:00.000Z"


async def test_scenario_2_every_day_at_nine_and_the_next_time_is_worked_out() -> None:
    async with stage() as here:
        task = await made(here, STANDUP)
        # The owner's zone, which is told.
        assert task["timezone"] == "Asia/Shanghai"
        assert task["recurrence"] == {"type": "DAILY", "interval": 1}
        for day in (2, 3, 4):
            now = await looked_at(here, task)
            assert now["nextScheduledAt"] == f"2026-03-0{day}T01:00:00.000Z"
            assert now["executionCount"] == day - 2
            here.later(hours=13 if day == 2 else 24)
            await here.ran()
        assert (await looked_at(here, task))["scheduledTime"] == "2026-03-02T01:00:00.000Z"


async def test_scenario_3_a_cancelled_one_never_runs() -> None:
    async with stage() as here:
        task = await made(here)
        answer = await here.ada.put(f"{PATH}/{task['uuid']}", {"enabled": False, "status": "cancelled"})
        assert (answer.task["status"], answer.task["enabled"]) == ("CANCELLED", False)
        here.later(hours=1)
        assert await here.claim() == []


async def test_a_time_that_has_passed_runs_at_once() -> None:
    async with stage() as here:
        await made(here, scheduledTime="2026-03-01T11:00:00.000Z")
        assert len(await here.claim()) == 1


async def test_a_time_beyond_what_a_timer_can_hold_is_no_trouble() -> None:
    async with stage() as here:
        task = await made(here, scheduledTime="2026-05-01T12:00:00.000Z")
        here.later(days=30)
        assert await here.claim() == []
        assert (await looked_at(here, task))["nextScheduledAt"] == "2026-05-01T12:00:00.000Z"


async def test_everything_of_a_source_entity_is_removed_at_once() -> None:
    async with stage() as here:
        kept = await made(here, metadata={"sourceEntityId": "tpl-2"})
        first = await made(here, sourceModule="reminder", sourceEntityId="tpl-1")
        second = await made(here, STANDUP, payload={"sourceType": "reminder", "sourceId": "tpl-1"})
        other = await made(here, STANDUP, metadata={"sourceEntityId": "tpl-1"}, sourceType="goal")
        assert (first["sourceType"], first["sourceId"]) == ("reminder", "tpl-1")
        # Whoever hears the event reads it in the payload.
        assert first["payload"] == REMINDER["payload"] | {"sourceType": "reminder", "sourceId": "tpl-1"}
        foreign = await here.bob.delete(f"{PATH}?sourceEntityId=tpl-1")
        assert foreign.data["removed"] == 0
        answer = await here.ada.delete(f"{PATH}?sourceModule=reminder&sourceEntityId=tpl-1")
        assert answer.data == {"removed": 2, "taskUuids": [first["uuid"], second["uuid"]], "failed": []}
        assert (await here.ada.delete(f"{PATH}?sourceId=tpl-1")).data["taskUuids"] == [other["uuid"]]
        assert [each["uuid"] for each in (await here.ada.get(PATH)).data["tasks"]] == [kept["uuid"]]
        nothing = await here.ada.delete(PATH)
        assert (nothing.status, nothing.body["code"]) == (422, "compat_no_source")


# --- failures --------------------------------------------------------------------------------------------------------


async def test_what_happens_once_is_failed_at_the_third_failure() -> None:
    async with stage() as here:
        task = await made(here)
        here.later(minutes=5)
        for failures in (1, 2):
            await here.ran(Failed("nobody listens"))
            now = await looked_at(here, task)
            assert (now["status"], now["failureCount"], now["currentRetries"]) == ("PENDING", failures, failures)
            here.later(minutes=1)
        await here.ran(Failed("nobody listens"))
        failed = await looked_at(here, task)
        assert (failed["status"], failed["failureCount"], failed["nextScheduledAt"]) == ("FAILED", 3, None)
        assert await here.claim() == []


async def test_what_recurs_is_failed_at_the_third_failed_time_and_a_success_forgets_them() -> None:
    async with stage() as here:
        task = await made(here, STANDUP, maxRetries=0)
        here.later(hours=13)
        for failures in (1, 2):
            await here.ran(Failed("nobody listens"))
            now = await looked_at(here, task)
            assert (now["status"], now["failureCount"]) == ("PENDING", failures)
            here.later(days=1)
        await here.ran()
        assert (await looked_at(here, task))["failureCount"] == 0
        for _ in range(3):
            here.later(days=1)
            await here.ran(Failed("nobody listens"))
        failed = await looked_at(here, task)
        assert (failed["status"], failed["failureCount"]) == ("FAILED", 3)
        # Somebody has looked.
        again = await here.ada.post(f"{PATH}/{task['uuid']}/resume")
        assert (again.task["status"], again.task["failureCount"]) == ("PENDING", 0)


# --- made ------------------------------------------------------------------------------------------------------------


async def test_the_least_that_makes_a_schedule() -> None:
    async with stage() as here:
        answer = await here.bob.post(PATH, {"name": "tea", "scheduledTime": "2026-03-01T16:00:00"})
        task = answer.task
        # Bob has no zone of his own: the deployment's, which is told.
        assert (task["timezone"], task["nextScheduledAt"]) == ("Europe/Berlin", "2026-03-01T15:00:00.000Z")
        assert warned(answer) == ["compat_once_local"]
        assert (task["title"], task["taskType"], task["priority"]) == ("tea", "GENERAL_REMINDER", "NORMAL")
        assert (task["payload"], task["alertConfig"], task["tags"], task["description"]) == ({}, None, [], None)


async def test_priorities_go_by_name() -> None:
    async with stage() as here:
        for said, number, told in (
            ("LOW", -50, "LOW"),
            ("medium", 0, "NORMAL"),
            ("normal", 0, "NORMAL"),
            ("High", 50, "HIGH"),
            ("URGENT", 100, "URGENT"),
        ):
            task = await made(here, priority=said)
            facts = await here.service.tasks.get(Principal("ada"), task["uuid"])
            assert (facts.task.policies.priority, task["priority"]) == (number, told)


RECURRENCES: Final[tuple[tuple[dict[str, Any], str], ...]] = (
    ({"type": "WEEKLY", "interval": 1, "daysOfWeek": [1, 3]}, "2026-03-02T01:00:00.000Z"),
    ({"type": "MONTHLY", "interval": 1, "dayOfMonth": 31}, "2026-03-31T01:00:00.000Z"),
    ({"type": "YEARLY", "interval": 1}, "2026-03-02T01:00:00.000Z"),
    ({"type": "CUSTOM", "interval": 1, "cronExpression": "30 8 * * 1-5"}, "2026-03-03T00:30:00.000Z"),
    ({"type": "DAILY", "interval": 2, "maxOccurrences": 3, "endDate": "2026-04-01"}, "2026-03-02T01:00:00.000Z"),
)


async def test_every_recurrence_is_kept_as_it_was_said() -> None:
    async with stage() as here:
        for recurrence, following in RECURRENCES:
            task = await made(here, STANDUP, recurrence=recurrence)
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
    ({"accountUuid": "nobody"}, 404, "compat_foreign_account"),
)


async def test_what_cannot_be_is_refused_and_nothing_is_kept() -> None:
    async with stage() as here:
        for fields, status, code in REFUSED:
            answer = await here.ada.post(PATH, REMINDER | fields)
            assert (answer.status, answer.body["code"]) == (status, code), answer.body
            assert answer.body["success"] is False
            assert answer.body["message"]
        assert (await here.ada.get(PATH)).data["total"] == 0


async def test_limits_are_the_owners_here_too() -> None:
    async with stage() as here:
        often = {"type": "CUSTOM", "interval": 1, "cronExpression": "*/5 * * * * *"}
        refused = await here.ada.post(PATH, STANDUP | {"recurrence": often})
        assert refused.body["code"] == "interval_too_short"
        for _ in range(20):
            await made(here)
        assert (await here.ada.post(PATH, REMINDER)).body["code"] == "too_many_tasks"


async def test_a_quick_reminder_is_short_for_a_schedule() -> None:
    async with stage() as here:
        body = {"title": "tea", "message": "it is ready", "reminderTime": "2026-03-01T12:03:00Z", "tags": ["kitchen"]}
        answer = await here.ada.post(f"{PATH}/quick-reminder", body)
        assert answer.status == 201
        task = answer.task
        assert (task["taskType"], task["description"], task["tags"]) == ("GENERAL_REMINDER", "it is ready", ["kitchen"])
        assert task["payload"]["data"] == {"title": "tea", "message": "it is ready"}
        assert task["alertConfig"]["methods"] == ["POPUP", "SYSTEM_NOTIFICATION"]
        assert task["nextScheduledAt"] == "2026-03-01T12:03:00.000Z"


# --- listed ----------------------------------------------------------------------------------------------------------


async def test_the_list_is_by_time_in_numbered_pages_with_filters() -> None:
    async with stage() as here:
        late = await made(here, STANDUP, tags=["work", "red"])
        soon = await made(here, tags=["red"])
        off = await made(here, title="off", enabled=False)
        first = (await here.ada.get(f"{PATH}?limit=2")).data
        assert first["tasks"] == first["schedules"]
        assert [each["uuid"] for each in first["tasks"]] == [soon["uuid"], late["uuid"]]
        assert {name: first[name] for name in ("total", "page", "limit", "hasMore")} == {
            "total": 3,
            "page": 1,
            "limit": 2,
            "hasMore": True,
        }
        second = (await here.ada.get(f"{PATH}?limit=2&page=2")).data
        assert ([each["uuid"] for each in second["tasks"]], second["hasMore"]) == ([off["uuid"]], False)
        for query, expected in (
            ("enabled=false", [off]),
            ("taskType=TASK_REMINDER", [late]),
            ("tags=work&tags=blue", [late]),
            ("tags=red&enabled=true", [soon, late]),
            ("status=PENDING&status=paused", [soon, late, off]),
            ("status=FAILED", []),
        ):
            found = (await here.ada.get(f"{PATH}?{query}")).data["tasks"]
            assert [each["uuid"] for each in found] == [each["uuid"] for each in expected], query
        assert (await here.ada.get(f"{PATH}?status=asleep")).status == 422
        assert (await here.ada.get(f"{PATH}?limit=1000000000")).status == 422
        assert (await here.ada.get(f"{PATH}?colour=red")).status == 400


async def test_what_comes_next_is_told_with_its_minutes() -> None:
    async with stage() as here:
        await made(here, STANDUP)
        soon = await made(here)
        data = (await here.ada.get(f"{PATH}/upcoming")).data
        assert (data["withinHours"], data["queryTime"]) == (1, "2026-03-01T12:00:00+00:00")
        (told,) = data["tasks"]
        assert (told["uuid"], told["minutesUntil"]) == (soon["uuid"], 5)
        assert told["alertConfig"] == REMINDER["alertConfig"]
        assert len((await here.ada.get(f"{PATH}/upcoming?withinMinutes=1440")).data["tasks"]) == 2
        assert len((await here.ada.get(f"{PATH}/upcoming?withinMinutes=1440&limit=1")).data["tasks"]) == 1
        assert (await here.bob.get(f"{PATH}/upcoming?withinMinutes=1440")).data["tasks"] == []
        assert (await here.root.get(f"{PATH}/upcoming?withinMinutes=1440")).data["tasks"] == []


async def test_statistics_count_what_there_is() -> None:
    async with stage() as here:
        await made(here)
        await made(here, STANDUP, priority="LOW")
        here.later(minutes=5)
        await here.ran()
        data = (await here.ada.get(f"{PATH}/statistics")).data
        assert (data["totalTasks"], data["activeTasks"], data["completedTasks"], data["failedTasks"]) == (2, 1, 1, 0)
        assert data["byType"] == {"GENERAL_REMINDER": 1, "TASK_REMINDER": 1}
        assert data["byPriority"] == {"LOW": 1, "NORMAL": 0, "HIGH": 1, "URGENT": 0}
        assert data["successRate"] == 1
        assert (await here.bob.get(f"{PATH}/statistics")).data["totalTasks"] == 0


async def test_tasks_made_elsewhere_are_told_as_far_as_they_can_be() -> None:
    async with stage() as here:
        ada = Principal("ada", actor="test")
        target = Target("event", '{"topic":"task.triggered"}')
        task = await here.service.tasks.create(ada, TaskRequest("often", "every 90s", target, zone="UTC"))
        told = (await here.ada.get(f"{PATH}/{task.id}")).task
        assert (told["recurrence"]["type"], told["recurrence"]["description"]) == ("CUSTOM", "every 90 seconds, UTC")
        assert told["scheduledTime"] == told["nextScheduledAt"] == "2026-03-01T12:01:30.000Z"
        back = await here.ada.put(f"{PATH}/{task.id}", told | {"title": "renamed"})
        assert back.task["nextScheduledAt"] == told["nextScheduledAt"]
        # And the other way round: what is made here is an ordinary task.
        made_here = await made(here, description="a note", tags=["red"])
        facts = await here.service.tasks.get(ada, made_here["uuid"])
        assert dict(facts.task.labels)["compat.surface"] == "schedules"
        assert facts.task.target == Target("event", '{"topic":"task.triggered","say":null}')


# --- changed ---------------------------------------------------------------------------------------------------------


async def test_only_what_is_given_changes() -> None:
    async with stage() as here:
        task = await made(here, STANDUP, description="old", tags=["red"], alertConfig={"methods": ["POPUP"]})
        here.later(seconds=1)
        path = f"{PATH}/{task['uuid']}"
        answer = await here.ada.put(path, {"description": "new", "priority": "URGENT", "timeoutSeconds": 30})
        assert answer.task == task | {
            "description": "new",
            "priority": "URGENT",
            "timeoutSeconds": 30,
            "updatedAt": "2026-03-01T12:00:01.000Z",
        }


async def test_a_status_can_be_said_where_it_is_the_clients_to_say() -> None:
    async with stage() as here:
        path = f"{PATH}/{(await made(here))['uuid']}"
        assert (await here.ada.put(path, {"status": "paused"})).task["status"] == "PAUSED"
        assert (await here.ada.put(path, {"status": "PENDING"})).task["status"] == "PENDING"
        for status in ("FAILED", "COMPLETED"):
            refused = await here.ada.put(path, {"status": status, "title": "renamed"})
            assert (refused.status, refused.body["code"]) == (422, "compat_bad_field")
        # That it was running when somebody looked says nothing.
        assert (await here.ada.put(path, {"status": "RUNNING"})).task["status"] == "PENDING"
        assert (await here.ada.put(path, {"enabled": False})).task["enabled"] is False
        assert (await here.ada.get(path)).task["title"] == REMINDER["title"]


async def test_a_new_time_counts_from_now() -> None:
    async with stage() as here:
        task = await made(here, STANDUP)
        path = f"{PATH}/{task['uuid']}"
        moved = await here.ada.put(path, {"scheduledTime": "2026-03-02T02:30:00.000Z"})
        assert moved.task["nextScheduledAt"] == "2026-03-02T02:30:00.000Z"
        assert moved.task["recurrence"] == task["recurrence"]
        weekly = await here.ada.put(path, {"recurrence": {"type": "WEEKLY", "interval": 1, "daysOfWeek": [5]}})
        assert weekly.task["nextScheduledAt"] == "2026-03-06T02:30:00.000Z"
        once = await here.ada.put(path, {"recurrence": {"type": "NONE", "interval": 1}})
        assert once.task["nextScheduledAt"] == "2026-03-02T02:30:00.000Z"
        assert once.task["maxRetries"] == 2


async def test_what_is_sent_back_whole_changes_nothing() -> None:
    async with stage() as here:
        for body in (REMINDER, STANDUP, STANDUP | {"scheduledTime": "2026-03-02T09:00:00"}):
            task = await made(here, body)
            for action in ("pause", "disable", "enable"):
                before = (await here.ada.post(f"{PATH}/{task['uuid']}/{action}")).task
                assert (await here.ada.put(f"{PATH}/{task['uuid']}", before)).task == before


# --- removed, and whose it is ----------------------------------------------------------------------------------------


async def test_a_removed_schedule_is_gone() -> None:
    async with stage() as here:
        task = await made(here)
        answer = await here.ada.delete(f"{PATH}/{task['uuid']}")
        assert (answer.status, answer.data) == (200, None)
        assert (await here.ada.get(f"{PATH}/{task['uuid']}")).status == 404
        assert (await here.ada.delete(f"{PATH}/{task['uuid']}")).status == 404
        here.later(hours=1)
        assert await here.claim() == []


async def test_accounts_see_and_touch_only_what_is_theirs() -> None:
    async with stage() as here:
        task = await made(here)
        path = f"{PATH}/{task['uuid']}"
        actions = ("execute", "enable", "disable", "pause", "resume", "snooze")
        for who in (here.bob, here.root):
            assert (await who.get(PATH)).data["total"] == 0
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
            batch = await who.post(f"{PATH}/batch", {"taskUuids": [task["uuid"]], "operation": "delete"})
            assert batch.data["summary"] == {"total": 1, "success": 0, "failed": 1}
            assert (await who.get(f"{PATH}/execution-history")).data["history"] == []
        assert await looked_at(here, task) == task
        for method, at in (("GET", PATH), ("POST", PATH), ("GET", path), ("POST", f"{path}/execute")):
            assert (await here.nobody.call(method, at)).status == 401
