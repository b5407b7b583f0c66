"""Requests about tasks: every type, its rights, and the answers."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from horae.agents.runner.agent_tools import render_answer, tools_for
from horae.errors import NotAllowed
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.task import Target, TaskState
from horae.service.accounts.audit import AuditFilter
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest

from .request_harness import CHATS, FAMILY, MAIN, WORK, ZONE, RequestHarness


async def test_schedule_task_answers_with_its_meaning_and_the_next_three_fires(requests: RequestHarness) -> None:
    answer = await requests.accepted(
        FAMILY, type="schedule_task", prompt="天气", schedule_type="cron", schedule_value="0 9 * * *"
    )
    task = answer["task"]
    assert answer["message"] == "Task scheduled"
    assert task["description"] == "every day at 09:00, Asia/Shanghai (cron 0 9 * * *)"
    assert task["zone"] == ZONE
    assert task["state"] == "active"
    assert [each["at_local"] for each in task["next_runs"]] == [
        "2026-03-02T09:00:00.000+08:00",
        "2026-03-03T09:00:00.000+08:00",
        "2026-03-04T09:00:00.000+08:00",
    ]
    stored = (await requests.facts(task["id"])).task
    assert stored.owner == "group:family"
    assert json.loads(stored.target.spec) == {"group": FAMILY, "context_mode": "isolated"}
    assert (stored.target.kind, stored.payload) == ("agent", '{"prompt":"天气"}')
    labels = dict(stored.labels)
    assert (labels["horae/agent"], labels["horae/via"]) == (FAMILY, "agent")


async def test_interval_counts_milliseconds(requests: RequestHarness) -> None:
    task = await requests.schedule(schedule_type="interval", schedule_value="3600000")
    assert task["description"].startswith("every hour")


async def test_once_is_local_time_of_the_group(requests: RequestHarness) -> None:
    task = await requests.schedule(schedule_type="once", schedule_value="2026-06-01T15:30:00")
    assert task["next_runs"] == [{"at": "2026-06-01T07:30:00.000Z", "at_local": "2026-06-01T15:30:00.000+08:00"}]


async def test_once_with_a_zone_suffix_is_refused(requests: RequestHarness) -> None:
    for suffix in ("Z", "z", "+08:00", "-0500"):
        fields = {"schedule_type": "once", "schedule_value": f"2026-06-01T15:30:00{suffix}"}
        assert await requests.code(FAMILY, type="schedule_task", prompt="x", **fields) == "request_once_zone"


async def test_schedule_in_words_is_understood(requests: RequestHarness) -> None:
    answer = await requests.accepted(FAMILY, type="schedule_task", prompt="x", when="每天早上9点")
    assert answer["task"]["next_runs"][0]["at_local"] == "2026-03-02T09:00:00.000+08:00"


BAD_SCHEDULES: list[tuple[dict[str, Any], str]] = [
    ({"schedule_type": "cron", "schedule_value": "61 9 * * *"}, "out_of_range"),
    ({"schedule_type": "interval", "schedule_value": "0"}, "compat_bad_milliseconds"),
    ({"schedule_type": "interval", "schedule_value": "NaN"}, "compat_bad_milliseconds"),
    ({"schedule_type": "interval", "schedule_value": "1000"}, "interval_too_short"),
    ({"schedule_type": "weekly", "schedule_value": "x"}, "bad_choice"),
    ({"schedule_type": "cron"}, "missing_field"),
    ({}, "missing_field"),
    ({"when": "every 1h", "schedule_type": "cron", "schedule_value": "0 9 * * *"}, "request_two_schedules"),
    ({"when": "every 1h", "context_mode": "shared"}, "bad_choice"),
    ({"when": "every 1h", "prompt": "  "}, "bad_policy"),
    ({"when": "every 1h", "prompt": 5}, "bad_policy"),
    ({"when": "every 1h", "taskid": "x"}, "unknown_field"),
    ({"when": "every 1h", "taskId": "../../etc/passwd"}, "request_task_id"),
    ({"when": "every 1h", "taskId": "a/b"}, "request_task_id"),
    ({"when": "every 1h", "taskId": "x" * 101}, "request_task_id"),
    ({"when": "every 1h", "targetJid": CHATS[WORK]}, "request_foreign_chat"),
    ({"when": "every 1h", "targetJid": "telegram:unknown"}, "request_foreign_chat"),
]


async def test_bad_schedule_requests_are_refused(requests: RequestHarness) -> None:
    for fields, code in BAD_SCHEDULES:
        assert await requests.code(FAMILY, **{"type": "schedule_task", "prompt": "x", **fields}) == code
    assert (await requests.service.tasks.count(LOCAL)).number == 0


async def test_identity_fields_of_the_content_have_no_effect(requests: RequestHarness) -> None:
    task = await requests.schedule(
        groupFolder=MAIN, isMain=True, createdBy=MAIN, timestamp="2026-01-01T00:00:00Z", targetJid=CHATS[FAMILY]
    )
    assert (await requests.facts(task["id"])).task.owner == "group:family"
    foreign = await requests.schedule(WORK)
    code = await requests.code(FAMILY, type="pause_task", taskId=foreign["id"], groupFolder=WORK, isMain=True)
    assert code == "no_such_task"


async def test_script_and_context_mode_are_part_of_the_target(requests: RequestHarness) -> None:
    task = await requests.schedule(context_mode="group", script="echo '{\"wakeAgent\": true}'")
    spec = json.loads((await requests.facts(task["id"])).task.target.spec)
    assert spec == {"group": FAMILY, "context_mode": "group", "script": "echo '{\"wakeAgent\": true}'"}


async def test_task_id_of_the_request_names_the_task(requests: RequestHarness) -> None:
    first = await requests.schedule(taskId="task-1-abc")
    again = await requests.schedule(taskId="task-1-abc", prompt="other")
    assert first["id"] == again["id"]
    await requests.accepted(FAMILY, type="pause_task", taskId="task-1-abc")
    assert (await requests.facts(first["id"])).status.state is TaskState.PAUSED
    other = await requests.schedule(WORK, taskId="task-1-abc")
    assert other["id"] != first["id"]


async def test_main_group_schedules_for_any_group(requests: RequestHarness) -> None:
    task = await requests.schedule(MAIN, targetJid=CHATS[WORK])
    stored = (await requests.facts(task["id"])).task
    assert stored.owner == "group:work"
    assert json.loads(stored.target.spec)["group"] == WORK
    assert dict(stored.labels)["horae/agent"] == MAIN
    assert task["zone"] == "America/New_York"
    assert await requests.code(MAIN, type="schedule_task", prompt="x", when="every 1h", targetJid="telegram:9") == (
        "request_unknown_chat"
    )


async def test_task_of_the_main_group_can_be_paused_by_the_group_that_it_prompts(requests: RequestHarness) -> None:
    task = await requests.schedule(MAIN, targetJid=CHATS[WORK])
    await requests.accepted(WORK, type="pause_task", taskId=task["id"])
    assert (await requests.facts(task["id"])).status.state is TaskState.PAUSED


async def test_pause_resume_and_cancel(requests: RequestHarness) -> None:
    task = await requests.schedule()
    paused = await requests.accepted(FAMILY, type="pause_task", taskId=task["id"])
    assert (paused["message"], paused["task"]["state"], paused["task"]["next_runs"]) == ("Task paused", "paused", [])
    assert len(paused["task"]["next_if_resumed"]) == 3
    resumed = await requests.accepted(FAMILY, type="resume_task", taskId=task["id"])
    assert (resumed["message"], resumed["task"]["state"]) == ("Task resumed", "active")
    cancelled = await requests.accepted(FAMILY, type="cancel_task", taskId=task["id"])
    assert (cancelled["message"], cancelled["task"]["state"]) == ("Task cancelled", "cancelled")


async def test_pause_of_a_paused_task_is_accepted(requests: RequestHarness) -> None:
    task = await requests.schedule()
    await requests.accepted(FAMILY, type="pause_task", taskId=task["id"])
    assert (await requests.accepted(FAMILY, type="pause_task", taskId=task["id"]))["task"]["state"] == "paused"


async def test_task_of_another_group_answers_like_an_absent_one(requests: RequestHarness) -> None:
    task = await requests.schedule(WORK, taskId="theirs")
    request = TaskRequest("private", "every 1h", Target("event", "{}"), zone=ZONE)
    private = await requests.service.tasks.create(Principal("local"), request)
    for kind in ("pause_task", "resume_task", "cancel_task", "run_task", "why", "update_task"):
        for name in (task["id"], task["name"], "theirs", "group:work", private.id, "private", "tsk_0"):
            assert await requests.code(FAMILY, type=kind, taskId=name) == "no_such_task"
        # Tasks of people are not those of a group, not even for the agent of the main group.
        for name in (private.id, "private"):
            assert await requests.code(MAIN, type=kind, taskId=name) == "no_such_task"
    assert (await requests.facts(task["id"])).status.state is TaskState.ACTIVE


async def test_hostile_task_ids_are_refused(requests: RequestHarness) -> None:
    for name in ("", " ", "\0", "x" * 5_000, "../../main", "\ud800"):
        for folder in (FAMILY, MAIN):
            assert await requests.code(folder, type="cancel_task", taskId=name) in ("no_such_task", "bad_policy")


async def test_part_of_a_name_cancels_nothing(requests: RequestHarness) -> None:
    await requests.schedule(prompt="weather report")
    assert await requests.code(FAMILY, type="cancel_task", taskId="weather") == "no_such_task"
    await requests.accepted(FAMILY, type="cancel_task", taskId="weather report")


async def test_main_group_controls_the_tasks_of_all_groups(requests: RequestHarness) -> None:
    task = await requests.schedule(WORK, taskId="theirs")
    for name in (task["id"], "theirs", task["name"]):
        await requests.accepted(MAIN, type="pause_task", taskId=name)
        await requests.accepted(MAIN, type="resume_task", taskId=name)
    await requests.accepted(MAIN, type="update_task", taskId="theirs", prompt="other")
    assert json.loads((await requests.facts(task["id"])).task.payload) == {"prompt": "other"}
    await requests.accepted(MAIN, type="cancel_task", taskId="theirs")


async def test_name_in_several_groups_is_ambiguous_for_the_main_group(requests: RequestHarness) -> None:
    tasks = [await requests.schedule(folder) for folder in (FAMILY, WORK)]
    answer = await requests.ask(MAIN, type="cancel_task", taskId="weather")
    assert answer["code"] == "ambiguous_name"
    assert all(task["id"][:12] in answer["hint"] + answer["message"] for task in tasks)
    await requests.accepted(MAIN, type="cancel_task", taskId=tasks[0]["id"])
    own = await requests.schedule(MAIN)
    assert (await requests.accepted(MAIN, type="cancel_task", taskId="weather"))["task"]["id"] == own["id"]


async def test_once_in_the_past_is_answered_with_a_warning(requests: RequestHarness) -> None:
    fields = {"schedule_type": "once", "schedule_value": "2020-01-01T09:00:00"}
    answer = await requests.accepted(FAMILY, type="schedule_task", prompt="x", **fields)
    assert [each["code"] for each in answer["task"]["warnings"]] == ["in_the_past"]
    assert "Note: " in render_answer(tools_for(is_main=False)["schedule_task"], answer)


async def test_task_of_a_person_is_controlled_by_the_agent_of_its_group(requests: RequestHarness) -> None:
    task_id = await requests.add_persons_task()
    await requests.accepted(FAMILY, type="pause_task", taskId=task_id)
    await requests.accepted(FAMILY, type="resume_task", taskId=task_id)
    await requests.accepted(FAMILY, type="update_task", taskId=task_id, prompt="other")
    assert (await requests.facts(task_id)).task.payload == '{"prompt":"other"}'
    await requests.accepted(FAMILY, type="cancel_task", taskId=task_id)


async def test_update_is_for_tasks_that_prompt_the_own_group(requests: RequestHarness) -> None:
    function = await requests.add_persons_task(prompts=False)
    other = await requests.add_persons_task()
    elsewhere = Edits(target=Target("agent", '{"group":"work","context_mode":"group"}'))
    with pytest.raises(NotAllowed) as refused:
        await requests.service.tasks.edit(Principal("group:family"), other, elsewhere)
    assert refused.value.code == "agent_owner"
    code = await requests.code(FAMILY, type="update_task", taskId=function, prompt="x")
    assert code == "request_not_own_prompt"
    await requests.accepted(FAMILY, type="pause_task", taskId=function)


async def test_script_of_an_agent_needs_approval_and_none_gets_into_the_task_of_a_person(
    requests: RequestHarness,
) -> None:
    task = await requests.schedule(script="true")
    assert task["awaiting_approval"]
    assert task["next_runs"] == []
    assert await requests.code(FAMILY, type="resume_task", taskId=task["id"]) == "awaiting_approval"
    plain = await requests.schedule(prompt="plain")
    updated = await requests.accepted(FAMILY, type="update_task", taskId=plain["id"], script="true")
    assert updated["task"]["awaiting_approval"]
    person = await requests.add_persons_task()
    assert await requests.code(FAMILY, type="update_task", taskId=person, script="true") == "request_script"


async def test_limits_of_agents_apply_to_updates_of_the_tasks_of_people(requests: RequestHarness) -> None:
    task_id = await requests.add_persons_task()
    code = await requests.code(
        FAMILY, type="update_task", taskId=task_id, schedule_type="interval", schedule_value="20000"
    )
    assert code == "interval_too_short"


async def test_update_changes_prompt_script_and_schedule(requests: RequestHarness) -> None:
    task = await requests.schedule(script="true")
    assert task["awaiting_approval"]
    answer = await requests.accepted(
        FAMILY,
        type="update_task",
        taskId=task["id"],
        prompt="other",
        script="",
        schedule_value="30 8 * * *",
        context_mode="group",
    )
    assert answer["message"] == "Task updated"
    assert answer["task"]["next_if_resumed"][0]["at_local"] == "2026-03-02T08:30:00.000+08:00"
    # Without the script it needs no approval any more.
    await requests.accepted(FAMILY, type="resume_task", taskId=task["id"])
    stored = (await requests.facts(task["id"])).task
    assert json.loads(stored.target.spec) == {"group": FAMILY, "context_mode": "group"}
    assert stored.payload == '{"prompt":"other"}'


async def test_update_of_a_once_task_moves_its_fire(requests: RequestHarness) -> None:
    task = await requests.schedule(schedule_type="once", schedule_value="2026-06-01T15:30:00")
    answer = await requests.accepted(
        FAMILY, type="update_task", taskId=task["id"], schedule_value="2026-06-02T15:30:00"
    )
    assert answer["task"]["next_runs"][0]["at"] == "2026-06-02T07:30:00.000Z"


async def test_update_without_a_change_is_refused(requests: RequestHarness) -> None:
    task = await requests.schedule()
    assert await requests.code(FAMILY, type="update_task", taskId=task["id"]) == "missing_field"
    bad = {"schedule_type": "cron", "schedule_value": "0 9 31 2 *", "prompt": "new"}
    assert await requests.code(FAMILY, type="update_task", taskId=task["id"], **bad) == "never"
    assert (await requests.facts(task["id"])).task.payload == '{"prompt":"weather"}'


async def test_run_task_starts_one_extra_run(requests: RequestHarness) -> None:
    task = await requests.schedule()
    answer = await requests.accepted(FAMILY, type="run_task", taskId=task["id"])
    assert answer["run"].startswith("run_")
    assert answer["task"]["next_runs"] == task["next_runs"]
    entries = (await requests.facts(task["id"])).entries
    assert sorted(each.kind for each in entries) == ["manual", "next"]


async def test_why_explains_the_newest_time(requests: RequestHarness) -> None:
    task = await requests.schedule()
    answer = await requests.accepted(FAMILY, type="why", taskId=task["id"])
    assert answer["verdict"] == "pending"
    assert "09:00" in answer["message"]
    requests.clock.advance(timedelta(days=2).total_seconds())
    answer = await requests.accepted(FAMILY, type="why", taskId=task["id"], at="2026-03-02 09:00")
    assert answer["verdict"] in ("overdue", "waiting")


async def test_refusal_is_in_the_language_of_the_owner_too(requests: RequestHarness) -> None:
    await requests.service.accounts.put(LOCAL, "group:family", language="zh")
    answer = await requests.ask(FAMILY, type="pause_task", taskId="none")
    assert answer["message"].startswith("There is no")
    assert answer["message_zh"].startswith("没有")
    assert answer["hint_zh"]
    task = await requests.schedule()
    assert task["description_zh"] == "每天 09:00，Asia/Shanghai (cron 0 9 * * *)"
    assert "message_zh" not in await requests.ask(WORK, type="pause_task", taskId="none")


async def test_unknown_type_lists_the_known_ones(requests: RequestHarness) -> None:
    answer = await requests.ask(FAMILY, type="delete_everything")
    assert (answer["code"], answer["type"]) == ("request_unknown_type", "delete_everything")
    assert "schedule_task" in answer["hint"]
    for kind in (None, 5, ["message"], {"a": 1}):
        assert await requests.code(FAMILY, type=kind) == "request_unknown_type"


async def test_refusal_points_to_the_field(requests: RequestHarness) -> None:
    answer = await requests.ask(FAMILY, type="schedule_task", prompt="x", when="every 1h", context_mode="x")
    assert answer["pointer"] == "/context_mode"


async def test_stopped_group_and_unknown_group_are_refused(requests: RequestHarness) -> None:
    await requests.service.groups.change(LOCAL, FAMILY, is_stopped=True)
    assert await requests.code(FAMILY, type="message", text="hi") == "request_group_stopped"
    assert await requests.code("nobody", type="message", text="hi") == "no_such_group"
    # The main group does not act for a stopped one either.
    assert await requests.code(MAIN, type="message", chatJid=CHATS[FAMILY], text="hi") == "request_group_stopped"
    await requests.service.groups.change(LOCAL, FAMILY, is_stopped=False)
    await requests.accepted(FAMILY, type="message", text="hi")
    await requests.service.agent_stop.stop_all(LOCAL)
    assert await requests.code(FAMILY, type="message", text="hi") == "request_group_stopped"


async def test_task_that_a_run_asks_for_has_its_depth(requests: RequestHarness) -> None:
    task = await requests.schedule()
    labels = dict((await requests.facts(task["id"])).task.labels)
    assert labels["horae/depth"] == "1"


async def test_repeated_file_does_nothing_twice_and_gets_the_same_answer(requests: RequestHarness) -> None:
    document = {"type": "schedule_task", "prompt": "x", "when": "every 1h"}
    first = await requests.ask(FAMILY, "1-a.json", **document)
    requests.clock.advance(5_000)
    again = await requests.ask(FAMILY, "1-a.json", **document)
    assert again == {**first, "repeated": True}
    assert (await requests.service.tasks.count(LOCAL)).number == 1
    run = {"type": "run_task", "taskId": first["task"]["id"]}
    answers = [await requests.ask(FAMILY, "2-a.json", **run) for _ in range(2)]
    assert answers[1] == {**answers[0], "repeated": True}
    assert len((await requests.facts(first["task"]["id"])).entries) == 2
    # The same name from another group, and another content under the name, are other requests.
    await requests.ask(WORK, "1-a.json", **document)
    await requests.ask(FAMILY, "1-a.json", **{**document, "prompt": "y"})
    assert (await requests.service.tasks.count(LOCAL)).number == 3


async def test_every_change_has_an_audit_row_with_the_agent(requests: RequestHarness) -> None:
    task = await requests.schedule()
    await requests.accepted(FAMILY, type="pause_task", taskId=task["id"])
    rows = await requests.service.audit.page(LOCAL, wanted=AuditFilter(subject=task["id"]))
    seen = [(each.action, each.actor, each.via, each.agent) for each in rows.items]
    assert sorted(seen) == [
        ("task.create", "agent:family", "agent", FAMILY),
        ("task.pause", "agent:family", "agent", FAMILY),
    ]
