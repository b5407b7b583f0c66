"""Input of a requested run in the service: rights, approval, secrets, quotas and the pointer of a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae.model.accounts.principal import Principal, Scope
from horae.model.inputs.run_input import RunInput
from horae.model.outcome import Failed, Skipped
from horae.model.reason import Reason
from horae.model.run import Run
from horae.model.task import Target, Task
from horae.service.accounts.approvals import digest_of
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.targets.http.refusals import refuse as refuse_http
from horae.testing.factories import HOUR
from horae.wire.pointers import pointer_to
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ServiceHarness, code_of, open_harness, refusal_of

MERGE = RunInput("merge", '{"a":1}')
OF_ROBOT = RunInput("merge", '{"a":1}', "robot")
SMTP = Target("function", '{"name":"mail.send"}')
"""A function that agents may not schedule without approval."""
EVENT = Target("event", "{}")
REQUEST = TaskRequest("look", "every 1h 20 times", SMTP, zone="UTC")


async def approved_task(harness: ServiceHarness, robot: Principal) -> Task:
    task = await harness.tasks.create(robot, REQUEST)
    return (await harness.service.approvals.approve(ADA, task.id, digest_of(task))).task


async def failed_run(harness: ServiceHarness, task: Task) -> Run:
    run = await harness.run_due(HOUR, Failed("no", permanent=True))
    assert run.task_id == task.id
    return run


async def inputs_of(harness: ServiceHarness, task: Task) -> list[RunInput | None]:
    facts = await harness.tasks.get(ADA, task.id)
    return [entry.input for entry in facts.entries if entry.origin != "scheduled" or entry.attempt > 1]


async def test_input_needs_the_right_to_edit() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        run = await failed_run(harness, task)
        runner = ADA._replace(scopes=frozenset({Scope.READ, Scope.RUN}))
        now = harness.clock.now()
        for call in (
            harness.tasks.run_now(runner, task.id, MERGE),
            harness.runs.retry(runner, run.id, MERGE),
            harness.tasks.backfill(runner, task.id, now - HOUR, now, given=MERGE),
        ):
            assert await code_of(call) == "not_allowed"
        assert await inputs_of(harness, task) == []
        await harness.tasks.run_now(runner, task.id)
        writer = ADA._replace(scopes=frozenset({Scope.READ, Scope.WRITE}))
        assert await code_of(harness.tasks.run_now(writer, task.id, MERGE)) == "not_allowed"


async def test_input_for_a_foreign_task_answers_like_an_absent_one() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        run = await failed_run(harness, task)
        assert await code_of(harness.tasks.run_now(BOB, task.id, MERGE)) == "no_such_task"
        assert await code_of(harness.runs.retry(BOB, run.id, MERGE)) == "no_such_run"


async def test_agent_gives_no_input_to_a_task_that_was_approved() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        task = await approved_task(harness, robot)
        run = await failed_run(harness, task)
        now = harness.clock.now()
        for call in (
            harness.tasks.run_now(robot, task.id, MERGE),
            harness.tasks.run_now(robot, task.id, RunInput("replace", task.payload)),
            harness.runs.retry(robot, run.id, MERGE),
            harness.tasks.backfill(robot, task.id, now - HOUR, now, given=MERGE),
        ):
            assert await code_of(call) == "input_not_approved"
        await harness.tasks.run_now(robot, task.id)
        assert await inputs_of(harness, task) == [None]


async def test_agent_gives_an_input_where_no_approval_is_needed() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        task = await harness.tasks.create(robot, REQUEST._replace(target=EVENT))
        await harness.tasks.run_now(robot, task.id, MERGE)
        assert await inputs_of(harness, task) == [OF_ROBOT]
        (run,) = await harness.claim()
        assert await harness.service.fire_rights.check(task, run.input) is None


async def test_caller_cannot_name_another_agent_as_the_source_of_an_input() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        task = await harness.tasks.create(robot, REQUEST._replace(target=EVENT))
        await harness.tasks.run_now(robot, task.id, RunInput("merge", '{"a":1}', "someone else"))
        assert await inputs_of(harness, task) == [OF_ROBOT]


async def test_input_of_an_agent_does_not_run_under_a_later_approval() -> None:
    """The agent requests a run of an event, and turns the task into something that a person approves."""
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        task = await harness.tasks.create(robot, REQUEST._replace(target=EVENT))
        await harness.tasks.run_now(robot, task.id, MERGE)
        edited = (await harness.tasks.edit(robot, task.id, Edits(target=SMTP))).after
        waiting = await harness.service.fire_rights.check(edited, OF_ROBOT)
        assert isinstance(waiting, Skipped)
        assert waiting.reason is Reason.AWAITING_APPROVAL
        approved = (await harness.service.approvals.approve(ADA, task.id, digest_of(edited))).task
        refused = await harness.service.fire_rights.check(approved, OF_ROBOT)
        assert isinstance(refused, Failed)
        assert (refused.permanent, refused.reason) == (True, Reason.NOT_CALLED)
        assert await harness.service.fire_rights.check(approved, MERGE) is None
        assert await harness.service.fire_rights.check(approved) is None


async def test_person_gives_an_input_to_an_approved_task() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        task = await approved_task(harness, robot)
        await harness.tasks.run_now(ADA, task.id, MERGE)
        assert await inputs_of(harness, task) == [MERGE]
        (run,) = await harness.claim()
        assert await harness.service.fire_rights.check(task, run.input) is None
        assert (await harness.tasks.get(ADA, task.id)).task == task
        await harness.settle(run, Failed("no", permanent=True))
        await harness.runs.retry(robot, run.id)
        assert await inputs_of(harness, task) == [MERGE], "the agent repeats what the person requested"


async def test_task_that_waits_for_approval_runs_with_no_input() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        task = await harness.tasks.create(robot, REQUEST)
        for given in (None, MERGE):
            assert await code_of(harness.tasks.run_now(ADA, task.id, given)) == "awaiting_approval"


async def test_secret_in_an_input_needs_the_grant() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        task = await harness.tasks.create(robot, REQUEST._replace(target=EVENT))
        await harness.service.secrets.set(CHIEF, "tok", "hush", "ada")
        given = RunInput("merge", '{"key":{"secret":"tok"}}')
        assert await code_of(harness.tasks.run_now(robot, task.id, given)) == "secret_not_granted"
        assert await code_of(harness.tasks.run_now(ADA, task.id, given)) == "secret_not_granted"
        await harness.service.secrets.grant(CHIEF, "tok", "robot", "ada")
        await harness.tasks.run_now(robot, task.id, given)
        assert await harness.service.fire_rights.check(task, given) is None
        await harness.service.secrets.revoke_grant(CHIEF, "tok", "robot", "ada")
        refused = await harness.service.fire_rights.check(task, given)
        assert isinstance(refused, Failed)
        assert refused.reason is Reason.NOT_CALLED


async def test_payload_quota_counts_for_the_result() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", payload_bytes=100)
        task = await harness.add(who=ada, payload='{"a":"' + "x" * 60 + '"}')
        given = RunInput("merge", '{"b":"' + "x" * 60 + '"}')
        refusal = await refusal_of(harness.tasks.run_now(ada, task.id, given))
        assert (refusal.code, pointer_to(refusal)) == ("payload_too_large", "/input/merge")
        await harness.tasks.run_now(ada, task.id, RunInput("replace", given.value))


async def test_refusal_points_at_the_input() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        for given, code, pointer in (
            (RunInput("replace", '{"a":"{horae.day}"}'), "unknown_placeholder", "/input/replace/a"),
            (RunInput("merge", f'"{"x" * 300_000}"'), "input_too_large", "/input/merge"),
            (RunInput("merge", "{"), "bad_run_input", "/input/merge"),
        ):
            refusal = await refusal_of(harness.tasks.run_now(ADA, task.id, given))
            assert (refusal.code, pointer_to(refusal)) == (code, pointer)
            assert refusal.hint


async def test_target_refuses_an_input_that_it_does_not_take() -> None:
    def check(target: Target, payload: str) -> Target:
        if payload != '{"text":"x"}':
            raise refuse_http("orchestrator_text")
        return target

    async with open_harness() as harness:
        task = await harness.add(payload='{"text":"x"}')
        harness.tasks.drafts._check = check
        refusal = await refusal_of(harness.tasks.run_now(ADA, task.id, RunInput("merge", '{"text":null}')))
        assert (refusal.code, pointer_to(refusal)) == ("orchestrator_text", "/input/merge")
        broken = await harness.add(payload='{"text":"x"}')
        harness.tasks.drafts._check = lambda target, _payload: check(target, "")
        await harness.tasks.run_now(ADA, broken.id, MERGE)  # the node reports what is wrong with the task itself


async def test_audit_names_the_kind_of_the_input_and_not_its_value() -> None:
    async with open_harness() as harness:
        task = await harness.add(who=CHIEF)
        await harness.tasks.run_now(CHIEF, task.id, RunInput("replace", '"hush"'))
        (row,) = [each for each in (await harness.service.audit.page(CHIEF)).items if each.action == "task.run"]
        assert row.detail["input"] == "replace"
        assert "hush" not in str(row)


async def test_dry_run_checks_the_input_and_writes_nothing() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        dry_run = harness.service.dry_run.tasks
        await dry_run.run_now(ADA, task.id, MERGE)
        assert await code_of(dry_run.run_now(ADA, task.id, RunInput("merge", "{"))) == "bad_run_input"
        assert await inputs_of(harness, task) == []


@pytest.mark.parametrize(
    ("kind", "spec", "code"),
    [
        ("http", {"url": "https://example.org", "method": "POST"}, None),
        ("http", {"url": "https://example.org", "method": "POST", "body": {"a": 2}}, "input_unused"),
        ("http", {"url": "https://example.org", "method": "GET"}, "input_unused"),
        ("command", {"argv": ["true"], "stdin": "payload"}, None),
        ("command", {"argv": ["true"], "stdin": None}, "input_unused"),
    ],
)
async def test_input_that_the_target_would_ignore_is_refused(kind: str, spec: dict[str, Any], code: str | None) -> None:
    async with open_harness() as harness:
        task = await harness.add(target=Target(kind, json.dumps(spec)))
        if code is None:
            await harness.tasks.run_now(ADA, task.id, MERGE)
        else:
            assert await code_of(harness.tasks.run_now(ADA, task.id, MERGE)) == code
            await harness.tasks.run_now(ADA, task.id)
