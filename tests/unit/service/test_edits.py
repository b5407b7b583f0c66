"""Edits: only given fields change, defaults follow the schedule, and the effect is shown before."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from horae.model.policy import DEFAULT_POLICIES, ONE_SHOT_POLICIES, Missed, RetryPolicy, policies_for
from horae.model.task import NEW_TASK_STATUS, Target, Task, TaskState
from horae.schedule import Cron, Every, Once
from horae.service.tasks.edits import KEEP, Edits, FireChanges, apply_edits, fire_changes
from horae.service.tasks.task_request import NEVER, Options
from horae.testing.factories import HOUR, MINUTE, NOON, a_task
from tests.unit.service.service_harness import ADA, code_of, open_harness, refusal_of

NINE = Cron(expression="0 9 * * *", zone="Asia/Tokyo")


def edited(task: Task, **said: Any) -> Task:
    return apply_edits(task, Edits(**said), "UTC", NOON)


def whole(**fields: Any) -> Task:
    return a_task(key="key", lane="press", labels=(("room", "a"),), **fields)


@pytest.mark.parametrize(
    ("field", "said", "after"),
    [
        ("name", "another", "another"),
        ("target", Target("http", "{}"), Target("http", "{}")),
        ("payload", "[1]", "[1]"),
        ("lane", None, None),
        ("lane", "other", "other"),
        ("labels", {"b": "2", "a": "1"}, (("a", "1"), ("b", "2"))),
        ("labels", None, ()),
    ],
)
def test_edit_changes_only_the_given_field(field: str, said: Any, after: Any) -> None:
    task = whole()
    assert edited(task, **{field: said}) == task._replace(**{field: after})


def test_empty_edit_changes_nothing() -> None:
    task = whole(policies=policies_for(Every(interval=HOUR), {"priority": 7}), version=9)
    assert edited(task) == task
    assert all(
        value is KEEP
        for name, value in Edits()._asdict().items()
        if name not in ("zone", "options", "granted_lanes", "redeclared")
    )


@pytest.mark.parametrize(
    ("said", "schedule"),
    [
        ({"when": "every 2h"}, Every(interval=2 * HOUR, zone="Asia/Tokyo")),
        ({"when": "every 2h", "zone": "UTC"}, Every(interval=2 * HOUR, zone="UTC")),
        ({"when": {"kind": "every", "interval": "PT2H"}}, Every(interval=2 * HOUR, zone="Asia/Tokyo")),
        ({"zone": "Europe/Berlin"}, Cron(expression="0 9 * * *", zone="Europe/Berlin")),
        ({}, NINE),
    ],
)
def test_new_schedule_is_read_in_the_given_zone_or_that_of_the_task(said: Any, schedule: Any) -> None:
    assert edited(a_task(schedule=NINE), **said).schedule == schedule


def test_new_schedule_falls_back_to_the_zone_of_the_deployment() -> None:
    assert edited(a_task(schedule=Every(interval=HOUR)), when="0 9 * * *").schedule == Cron("0 9 * * *", zone="UTC")


def test_default_policies_follow_the_kind_of_the_schedule() -> None:
    once = Once(at=NOON + HOUR)
    assert edited(a_task(policies=DEFAULT_POLICIES), when=once).policies == ONE_SHOT_POLICIES
    assert edited(a_task(schedule=once, policies=ONE_SHOT_POLICIES), when="every 1h").policies == DEFAULT_POLICIES


def test_chosen_policies_stay() -> None:
    chosen = policies_for(Every(interval=HOUR), {"give_up_after": 3})
    after = edited(a_task(policies=chosen), options=Options(timeout="2m", give_up_after=NEVER)).policies
    assert (after.give_up_after, after.timeout, after.missed) == (None, 2 * MINUTE, chosen.missed)


@pytest.mark.parametrize(
    ("chosen", "followed"),
    [
        ({"give_up_after": 3}, {"give_up_after": 3, "missed": Missed(within=None)}),
        ({"timeout": MINUTE}, {"timeout": MINUTE, "missed": Missed(within=None), "give_up_after": 1}),
        ({"missed": Missed("skip")}, {"missed": Missed("skip", within=None), "give_up_after": 1}),
        ({"missed": Missed(within=HOUR)}, {"missed": Missed(within=HOUR), "give_up_after": 1}),
    ],
)
def test_each_default_policy_follows_the_kind_and_chosen_ones_stay(chosen: Any, followed: Any) -> None:
    before = policies_for(Every(interval=HOUR), chosen)
    once = edited(a_task(policies=before), when=Once(at=NOON + HOUR))
    assert once.policies == policies_for(Every(interval=HOUR), followed)
    assert edited(once, when="every 1h").policies == before, "and back"


def test_edit_of_one_policy_keeps_the_others() -> None:
    chosen = policies_for(Every(interval=HOUR), {"retry": RetryPolicy(2, backoff=timedelta(seconds=5))})
    after = edited(a_task(policies=chosen), options=Options(retries=7, missed="skip within 1h")).policies
    assert after.retry == RetryPolicy(8, backoff=timedelta(seconds=5))
    assert after.missed == Missed("skip", HOUR)


# --- what an edit does to the fires ahead ----------------------------------------------------------------------------


def test_unchanged_fires_are_neither_removed_nor_added() -> None:
    before = a_task(schedule=Every(interval=HOUR))
    after = before._replace(schedule=Every(interval=HOUR / 2))
    changes = fire_changes(before, after, NEW_TASK_STATUS, NOON, most=4)
    assert changes.removed == ()
    assert changes.added == (NOON + HOUR / 2, NOON + 1.5 * HOUR)


def test_the_same_schedule_moves_nothing() -> None:
    task = a_task()
    assert fire_changes(task, task._replace(name="another"), NEW_TASK_STATUS, NOON) == FireChanges()


def test_new_schedule_resets_the_repeat_count() -> None:
    before = a_task(schedule=Every(interval=HOUR, repeat=3))
    after = before._replace(schedule=Every(interval=HOUR, repeat=2))
    changes = fire_changes(before, after, NEW_TASK_STATUS._replace(counted=2), NOON)
    assert (changes.removed, changes.added) == ((), (NOON + 2 * HOUR,))


# --- by the desk -----------------------------------------------------------------------------------------------------


async def test_edit_is_written_and_its_effect_returned() -> None:
    async with open_harness() as harness:
        task = await harness.add("every 1h")
        harness.writes.clear()
        done = await harness.tasks.edit(ADA, task.id, Edits(name="another", when="every 3h"))
        assert (done.before, done.after.name, done.after.version) == (task, "another", 2)
        assert done.fires.removed[:2] == (NOON + HOUR, NOON + 2 * HOUR)
        assert (await harness.tasks.get(ADA, task.id)).task == done.after
        assert harness.writes == [None]


async def test_dry_run_returns_the_same_effect_and_writes_nothing() -> None:
    async with open_harness() as harness:
        task = await harness.add("every 1h")
        before, events = await harness.tasks.get(ADA, task.id), await harness.store.last_event()
        harness.writes.clear()
        edits = Edits(name="another", when="every 3h")
        shown = await harness.tasks.edit(ADA, task.id, edits, dry_run=True)
        assert (await harness.tasks.get(ADA, task.id), await harness.store.last_event(), harness.writes) == (
            before,
            events,
            [],
        )
        assert await harness.tasks.edit(ADA, task.id, edits) == shown


async def test_empty_edit_keeps_the_version() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        events = await harness.store.last_event()
        done = await harness.tasks.edit(ADA, task.id, Edits(name=task.name, labels={}))
        assert (done.before, done.after, done.fires) == (task, task, FireChanges())
        assert await harness.store.last_event() == events


@pytest.mark.parametrize("dry_run", [False, True])
async def test_edit_at_an_older_version_is_refused_with_the_current_one(dry_run: bool) -> None:  # noqa: FBT001
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.edit(ADA, task.id, Edits(name="first"), expected=1)
        refusal = await refusal_of(harness.tasks.edit(ADA, task.id, Edits(name="second"), expected=1, dry_run=dry_run))
        assert (refusal.code, refusal.facts) == ("stale_version", {"version": 2, "expected": 1})
        assert (await harness.tasks.get(ADA, task.id)).task.name == "first"
        await harness.tasks.edit(ADA, task.id, Edits(name="second"), expected=2)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"name": ""}, "bad_text"),
        ({"name": None}, "bad_text"),
        ({"when": None}, "bad_when"),
        ({"when": True}, "bad_when"),
        ({"lane": "x" * 201}, "bad_text"),
        ({"labels": {"": "x"}}, "bad_labels"),
        ({"payload": '"' + "x" * 300_000 + '"'}, "payload_too_large"),
        ({"when": Once(at=NOON - HOUR)}, "never_fires"),
        ({"options": Options(priority=101)}, "bad_number"),
    ],
)
async def test_an_edit_is_checked_like_a_new_task(said: Any, code: str) -> None:
    async with open_harness() as harness:
        task = await harness.add()
        assert await code_of(harness.tasks.edit(ADA, task.id, Edits(**said))) == code
        assert (await harness.tasks.get(ADA, task.id)).task == task


async def test_edited_target_is_checked_with_its_payload_and_stored_in_canonical_form() -> None:
    async with open_harness() as harness:
        asked: list[tuple[Target, str]] = []

        def check(target: Target, payload: str) -> Target:
            asked.append((target, payload))
            return target._replace(spec='{"complete":true}')

        harness.tasks.drafts._check = check
        task = await harness.add()
        done = await harness.tasks.edit(ADA, task.id, Edits(target=Target("http", "{}"), payload="[]"))
        assert asked[-1] == (Target("http", "{}"), "[]")
        assert done.after.target == Target("http", '{"complete":true}')


async def test_cancelled_task_is_not_edited_and_completed_one_restarts() -> None:
    async with open_harness() as harness:
        gone, over = await harness.add(), await harness.add("in 1m")
        await harness.tasks.cancel(ADA, gone.id)
        assert await code_of(harness.tasks.edit(ADA, gone.id, Edits(name="x"))) == "task_cancelled"
        await harness.run_due(MINUTE)
        assert (await harness.tasks.get(ADA, over.id)).status.state is TaskState.COMPLETED
        await harness.tasks.edit(ADA, over.id, Edits(when="every 1h"))
        assert (await harness.tasks.get(ADA, over.id)).status.state is TaskState.ACTIVE


def test_an_instant_of_another_zone_is_the_same_instant() -> None:
    at = datetime(2026, 3, 2, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert edited(a_task(), when=at).schedule == Once(at=at, zone="UTC")
