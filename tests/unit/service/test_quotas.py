"""Quotas of interval, size, lifetime and number, for every way to create, edit or resume a task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.encryption import Key
from horae.errors import Refusal
from horae.model.accounts.principal import MEMBER_QUOTAS, Principal, Quotas
from horae.model.change import Facts
from horae.model.policy import RetryPolicy
from horae.model.record import Record, RecordWrite
from horae.model.task import Target, TaskState
from horae.ports.store import TaskFilter
from horae.runtime.stores import make_store
from horae.schedule.text import parse_text
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks import quotas
from horae.service.tasks.edits import Edits
from horae.service.tasks.quotas import definition_bytes, ends_within, find_gap_below, format_duration
from horae.service.tasks.task_request import Options, TaskRequest
from horae.testing.factories import DAY, HOUR, MINUTE, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import CHIEF, ROOT, TARGET, code_of, open_harness, refusal_of

WISH = TaskRequest("water the plants", "every 1h", TARGET, zone="UTC")
TEN = timedelta(seconds=10)


# --- how often -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "found"),
    [
        ("every 9s", 9 * SECOND),
        ("every 10s", None),
        ("every 9s 1 times", None),
        ("*/5 * * * * *", 5 * SECOND),
        ("0,55 * * * * *", 5 * SECOND),
        ("0 0 0 1 1 *", None),
        ("0,3 0 0 1 1 *", 3 * SECOND),
        ("* * * * *", None),
        ("every day at 9:00", None),
        ("RRULE:FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0;BYSECOND=0,5", 5 * SECOND),
        ("in 1s", None),
        ("now", None),
    ],
)
def test_shortest_interval_of_a_schedule_is_found(when: str, found: timedelta | None) -> None:
    assert find_gap_below(parse_text(when, zone="Europe/Berlin", now=NOON).schedule, TEN, NOON) == found


@pytest.mark.parametrize(
    ("length", "text"),
    [(10 * SECOND, "10s"), (90 * SECOND, "1m30s"), (30 * DAY, "30d"), (5 * MINUTE, "5m"), (SECOND / 1000, "1ms")],
)
def test_limit_is_formatted_in_the_schedule_grammar(length: timedelta, text: str) -> None:
    assert format_duration(length) == text
    assert getattr(parse_text(f"every {text}", zone="UTC", now=NOON).schedule, "interval", None) == length


RETRIES: list[tuple[Options, str | None]] = [
    (Options(retry=RetryPolicy(backoff=timedelta(0))), "backoff"),
    (Options(retry=RetryPolicy(attempts=None, backoff=9 * SECOND)), "backoff"),
    (Options(retry=RetryPolicy(backoff=10 * SECOND, max=SECOND)), "max"),
    (Options(retry=RetryPolicy(backoff=10 * SECOND, max=10 * SECOND)), None),
    (Options(retry=RetryPolicy(attempts=1, backoff=timedelta(0))), None),
    (Options(retry=RetryPolicy(backoff=timedelta(0)), guarantee="at_most_once"), None),
    (Options(), None),
]


@pytest.mark.parametrize(("options", "named"), RETRIES)
async def test_retry_backoff_must_respect_the_minimum_interval(options: Options, named: str | None) -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        wish = WISH._replace(options=options)
        await harness.tasks.create(CHIEF, wish)
        if named is None:
            await harness.tasks.create(ada, wish)
            return
        refusal = await refusal_of(harness.tasks.create(ada, wish))
        assert (refusal.code, refusal.facts["name"], refusal.facts["least"]) == ("retry_too_soon", named, "10s")
        task = await harness.tasks.create(ada, WISH)
        assert await code_of(harness.tasks.edit(ada, task.id, Edits(options=options))) == "retry_too_soon"
        old = await harness.tasks.create(ROOT, wish._replace(owner="ada"))
        await harness.tasks.edit(ada, old.id, Edits(name="of an edit only what it changes is looked at"))


async def test_agent_retry_backoff_is_at_least_the_default() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        wish = WISH._replace(when="every 1h 3 times")
        await harness.tasks.create(robot, wish)
        sooner = wish._replace(options=Options(retry=RetryPolicy(backoff=59 * SECOND)))
        refusal = await refusal_of(harness.tasks.create(robot, sooner))
        assert (refusal.code, refusal.facts["least"]) == ("retry_too_soon", "1m")


async def test_quota_refusal_names_the_limit_and_the_nearest_allowed_value() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        refusal = await refusal_of(harness.tasks.create(ada, WISH._replace(when="every 5s")))
        assert refusal.code == "interval_too_short"
        assert "5s apart" in refusal.message
        assert "every 10s" in refusal.hint
        assert "每10秒" in refusal.in_language("zh").hint
        await harness.tasks.create(ada, WISH._replace(when="every 10s"))


async def test_every_way_to_create_or_edit_a_task_checks_the_interval() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        hasty, tasks = WISH._replace(when="every 5s"), harness.tasks
        task = await tasks.declare(ada, WISH._replace(key="k"))
        for call in (
            tasks.create(ada, hasty),
            tasks.create(ada, hasty, paused="later"),
            tasks.create_many(ada, [WISH, hasty], lambda task: task),
            tasks.declare(ada, hasty._replace(key="new")),
            tasks.declare(ada, hasty._replace(key="k")),
            tasks.preview_declaration(ada, hasty._replace(key="k")),
            tasks.edit(ada, task.id, Edits(when="every 5s")),
            tasks.edit(ada, task.id, Edits(when="every 5s"), dry_run=True),
        ):
            assert await code_of(call) == "interval_too_short"
        assert [each.task for each in (await tasks.page(ada)).items] == [task]


async def test_later_limit_blocks_resume_but_not_other_edits() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        task = await harness.add("every 10s", who=ada)
        strict = ada._replace(quotas=ada.quotas._replace(shortest_interval=HOUR, payload_bytes=1))
        await harness.tasks.edit(strict, task.id, Edits(name="new name"))
        await harness.tasks.pause(strict, task.id)
        assert await code_of(harness.tasks.resume(strict, task.id)) == "interval_too_short"
        assert await code_of(harness.tasks.edit(strict, task.id, Edits(payload="[1]"))) == "payload_too_large"
        await harness.tasks.resume(ROOT, task.id)


# --- how large, how long -------------------------------------------------------------------------------------------


async def test_number_of_lanes_is_limited() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        for number in range(MEMBER_QUOTAS.lanes or 0):
            await harness.service.lanes.limit(ada, f"lane{number}", 1)
        assert await code_of(harness.service.lanes.limit(ada, "one more", 1)) == "too_many_lanes"
        await harness.service.lanes.limit(ada._replace(quotas=ada.quotas._replace(lanes=None)), "without a quota", 1)
        assert (await harness.service.lanes.limit(ada, "lane7", 3)).limit == 3
        bob = await harness.make_member("bob")
        await harness.service.lanes.limit(bob, "his first", 1)


async def test_payloads_are_bounded_in_bytes() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", payload_bytes=10)
        assert await code_of(harness.tasks.create(ada, WISH._replace(payload='"四个汉字"'))) == "payload_too_large"
        await harness.tasks.create(ada, WISH._replace(payload='"12345678"'))
        large = Target("event", f'{{"say": "{"x" * 5_000}"}}')
        assert await code_of(harness.tasks.create(ada, WISH._replace(target=large))) == "payload_too_large"


@pytest.mark.parametrize(
    ("when", "ends"),
    [
        ("every 1h", False),
        ("every 1h until 2026-03-20", True),
        ("every 1h until 2026-09-01", False),
        ("every 1h 10 times", True),
        ("every 1d 29 times", True),
        ("every 1d 40 times", False),
        ("every 1d 1000000 times", False),
        ("0 9 * * *", False),
        ("in 2h", True),
        ("2026-12-24 18:00", False),
        ("now", True),
    ],
)
def test_schedule_ends_within_a_month(when: str, ends: bool) -> None:  # noqa: FBT001 - one half of a table
    schedule = parse_text(when, zone="UTC", now=NOON).schedule
    assert ends_within(schedule, 30 * DAY, NOON) is ends


async def test_task_must_end_where_an_admin_limits_its_life_and_the_refusal_names_an_end() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot", longest_life="30d")
        refusal = await refusal_of(harness.tasks.create(robot, WISH))
        assert refusal.code == "life_too_long"
        assert "until 2026-03-29" in refusal.hint
        await harness.tasks.create(robot, WISH._replace(when="every 1h until 2026-03-29"))


# --- how many ------------------------------------------------------------------------------------------------------


async def test_number_of_active_tasks_is_limited() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", active_tasks=3)
        tasks = [await harness.add(who=ada) for _ in range(3)]
        refusal = await refusal_of(harness.add(who=ada))
        assert (refusal.code, refusal.facts) == (
            "too_many_tasks",
            {"used": 3, "most": 3, "wanted": 4, "command": "horae owner set ada --quota active_tasks=4"},
        )
        assert await code_of(harness.tasks.create(ada, WISH._replace(key="k"))) == "too_many_tasks"
        assert await code_of(harness.tasks.create_many(ada, [WISH] * 2, lambda task: task)) == "too_many_tasks"
        await harness.tasks.pause(ada, tasks[0].id)
        fourth = await harness.add(who=ada)
        assert await code_of(harness.tasks.resume(ada, tasks[0].id)) == "too_many_tasks"
        await harness.tasks.cancel(ada, fourth.id)
        await harness.tasks.resume(ada, tasks[0].id)
        await harness.tasks.edit(ada, tasks[0].id, Edits(name="full is no reason not to edit"))
        paused = await harness.tasks.create(ada, WISH, paused="later")
        assert await code_of(harness.tasks.resume(ada, paused.id)) == "too_many_tasks"
        await harness.add(who=ROOT, owner="ada")


async def test_batch_over_the_task_quota_is_refused_before_parsing() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", active_tasks=3)
        await harness.tasks.create(ada, WISH)
        unreadable = [WISH._replace(when="whenever it rains")] * 3
        found = await refusal_of(harness.tasks.create_many(ada, unreadable, str))
        assert (found.code, found.facts["used"], found.facts["wanted"]) == ("too_many_tasks", 1, 4)
        assert await code_of(harness.tasks.create_many(ada, unreadable[:2], str)) != "too_many_tasks"
        guest = await harness.make_member("ada", agent="bot")
        assert await code_of(harness.tasks.create_many(guest, unreadable * 4, str)) == "too_many_tasks"
        assert await code_of(harness.tasks.create_many(ROOT, unreadable, str)) != "too_many_tasks"


async def test_slow_interval_checks_yield_to_other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check takes a whole time slice; another request runs after each."""

    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await harness.clock.pause(0)

        look = quotas.check_schedule

        def slowly(*given: Any) -> None:
            harness.clock.sleep(0.006)
            look(*given)

        monkeypatch.setattr(quotas, "check_schedule", slowly)
        beside = asyncio.ensure_future(others())
        await harness.tasks.create_many(ada, [WISH] * 20, str)
        beside.cancel()
        assert turns >= 19


async def test_restarting_a_completed_task_counts_towards_the_task_quota() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", active_tasks=1)
        over = await harness.add("now", who=ada)
        await harness.run_due(timedelta(0))
        await harness.add(who=ada)
        assert await code_of(harness.tasks.edit(ada, over.id, Edits(when="every 1h"))) == "too_many_tasks"


async def test_paused_task_with_until_counts_towards_the_task_quota() -> None:
    """Otherwise a pause with `until` would bypass the limit."""

    async with open_harness() as harness:
        ada = await harness.make_member("ada", active_tasks=2)
        first, second = [await harness.add(who=ada) for _ in range(2)]
        await harness.tasks.pause(ada, first.id, until=harness.clock.now() + HOUR)
        await harness.tasks.pause(ada, second.id, until=harness.clock.now() + HOUR)
        assert await code_of(harness.add(who=ada)) == "too_many_tasks"
        await harness.tasks.resume(ada, first.id)
        await harness.tasks.pause(ada, second.id)
        third = await harness.add(who=ada)
        assert await code_of(harness.tasks.pause(ada, second.id, until=harness.clock.now() + HOUR)) == "too_many_tasks"
        await harness.tasks.cancel(ada, third.id)
        await harness.tasks.pause(ada, second.id, until=harness.clock.now() + HOUR)
        await harness.tasks.delete(ada, second.id)
        await harness.add(who=ada)
        assert await code_of(harness.add(who=ada)) == "too_many_tasks"


@pytest.mark.parametrize("how", ["create", "declare", "many", "resume"])
async def test_task_quota_holds_under_concurrent_adds(how: str, tmp_path: Path) -> None:
    """Five processes with one file, forty requests at once, room for seven."""

    store = make_store(f"sqlite:///{tmp_path}/horae.db")
    await store.open()
    clock = VirtualClock(NOON)
    services = [Service(store, clock, "UTC", SecretVault(store, Key.random(), clock)) for _ in range(5)]
    ada = Principal("ada", actor="tok_1", quotas=Quotas(active_tasks=7))
    paused = [await services[0].tasks.create(ROOT, WISH._replace(owner="ada"), paused="x") for _ in range(40)]

    async def ask(number: int) -> str:
        tasks = services[number % 5].tasks
        try:
            if how == "create":
                await tasks.create(ada, WISH)
            elif how == "declare":
                await tasks.declare(ada, WISH._replace(key=f"k{number}"))
            elif how == "many":
                await tasks.create_many(ada, [WISH], lambda task: task)
            else:
                await tasks.resume(ada, paused[number].id)
        except Refusal as refusal:
            return refusal.code
        return "made"

    answers = await asyncio.gather(*(ask(number) for number in range(40)))
    assert sorted(answers) == ["made"] * 7 + ["too_many_tasks"] * 33
    active = TaskFilter("ada", frozenset({TaskState.ACTIVE}))
    assert len((await store.tasks(active)).items) == 7
    assert len((await store.records("audit.open")).items) == 7, "and each has its row"
    await store.close()


async def test_agent_has_its_own_task_quota_within_that_of_its_owner() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", active_tasks=12)
        robot = await harness.make_member("ada", agent="robot", active_tasks=12)
        ending: dict[str, Any] = {"when": "every 1h 10 times"}
        own = [await harness.tasks.create(robot, WISH._replace(**ending)) for _ in range(10)]
        assert await code_of(harness.tasks.create(robot, WISH._replace(**ending))) == "too_many_tasks"
        await harness.tasks.pause(robot, own[0].id)
        assert await code_of(harness.tasks.create(robot, WISH._replace(**ending))) == "too_many_tasks", "nor by pausing"
        await harness.tasks.cancel(robot, own[0].id)
        await harness.tasks.create(robot, WISH._replace(**ending))
        for _ in range(2):
            await harness.add(who=ada)
        assert await code_of(harness.add(who=ada)) == "too_many_tasks"
        await harness.tasks.cancel(robot, own[1].id)
        await harness.add(who=ada)
        assert await code_of(harness.tasks.create(robot, WISH._replace(**ending))) == "too_many_tasks", "the owner's"


async def test_without_a_limit_nothing_is_counted_or_written() -> None:
    async with open_harness() as harness:
        boss = await harness.make_member("boss", active_tasks=None, stored_tasks=None, stored_bytes=None)
        await harness.add(who=boss._replace(actor=""))
        assert not (await harness.store.records("seats")).items
        assert MEMBER_QUOTAS.active_tasks == 20


async def test_conflict_of_an_attached_record_is_not_retried() -> None:
    """The attached record exists, so the request was answered already."""

    async with open_harness() as harness:
        ada = await harness.make_member("ada", active_tasks=3)

        def beside(made: Sequence[Facts]) -> tuple[RecordWrite, ...]:
            return (RecordWrite(Record("answer", "once", "ada", made[0].task.id)),)

        task = await harness.tasks.create(ada, WISH, attach_records=beside)
        kept = await harness.store.get_record("answer", "once")
        assert kept is not None
        assert kept.body == task.id
        refusal = await refusal_of(harness.tasks.create(ada, WISH, attach_records=beside))
        assert (refusal.code, refusal.facts["kind"]) == ("record_changed", "answer")
        assert (
            await code_of(harness.tasks.declare(ada, WISH._replace(key="k"), attach_records=beside)) == "record_changed"
        )
        assert await code_of(harness.tasks.create_many(ada, [WISH], str, beside)) == "record_changed"
        assert len((await harness.tasks.page(ada)).items) == 1


# --- labels and lanes ----------------------------------------------------------------------------------------------


async def test_reserved_labels_are_refused() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        for name in ("horae/agent", "horae/approved", "horae/", "horae/anything"):
            for who in (ada, CHIEF):
                assert await code_of(harness.tasks.create(who, WISH._replace(labels={name: "x"}))) == "reserved_label"
            task = await harness.add(who=ada, labels={"room": "a"})
            assert await code_of(harness.tasks.edit(ada, task.id, Edits(labels={name: "x"}))) == "reserved_label"
            await harness.tasks.delete(ada, task.id)
        restored = await harness.tasks.create(ROOT, WISH._replace(labels={"horae/agent": "robot"}))
        assert restored.labels == (("horae/agent", "robot"),), "who holds the store itself restores what was exported"


async def test_tasks_of_an_agent_are_labelled_and_labels_are_kept_by_edits() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        wish = WISH._replace(when="every 1h 3 times", labels={"room": "a"}, key="k")
        task = await harness.tasks.create(robot, wish)
        stamps = (("horae/agent", "robot"), ("horae/token", robot.actor), ("horae/via", "http"))
        assert task.labels == (*stamps, ("room", "a"))
        assert (await harness.tasks.edit(robot, task.id, Edits(labels=None))).after.labels == stamps
        same = dict(task.labels)
        assert (await harness.tasks.edit(CHIEF, task.id, Edits(labels=same))).after.labels == task.labels
        other = robot._replace(actor="tok_2", via="mcp")
        assert await harness.tasks.declare(other, wish) == await harness.tasks.declare(robot, wish), (
            "it is the same task"
        )
        assert await code_of(harness.tasks.create(robot, wish._replace(labels={"horae/via": "me"}))) == "reserved_label"


async def test_lane_is_prefixed_by_owner_and_only_an_admin_assigns_others() -> None:
    async with open_harness() as harness:
        ada, lanes = await harness.make_member("ada"), harness.service.lanes
        task = await harness.add(who=ada, lane="press")
        assert task.lane == "ada/press"
        assert (await harness.tasks.edit(ada, task.id, Edits(lane="ada/press"))).after == task
        assert [each.task for each in (await harness.tasks.page(ada, TaskFilter(lane="press"))).items] == [task]
        assert (await lanes.limit(ada, "press", 5)).name == "ada/press"
        assert [lane.name for lane in await lanes.all(ada)] == ["ada/press"]
        moved = await harness.tasks.edit(CHIEF, task.id, Edits(lane="press"))
        assert moved.after.lane == "press", "shared by all"
        kept = await harness.tasks.edit(ada, task.id, Edits(lane="press", name="new name"))
        assert kept.after.lane == "press"
        assert await code_of(lanes.limit(ada, "owner:ada", 5)) == "not_allowed"
        assert await code_of(harness.add(who=ada, lane="owner:ada")) == "bad_choice"
        assert "ada/press" in [lane.name for lane in await lanes.all(CHIEF)]


async def test_all_tasks_of_an_agent_share_one_lane() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", agent="robot")
        wish = WISH._replace(when="in 1m")
        tasks = [await harness.tasks.create(robot, wish) for _ in range(3)]
        assert {task.lane for task in tasks} == {"ada/agent:robot"}
        named = await harness.tasks.create(robot, wish._replace(when="in 1h", lane="fast"))
        assert named.lanes == ("ada/agent:robot", "ada/fast"), "the lane of the agent counts besides the others"
        harness.advance(MINUTE)
        assert len(await harness.claim()) == 2, "no more at once than an agent may"


async def test_zone_of_the_owner_is_the_default() -> None:
    async with open_harness() as harness:
        await harness.service.accounts.put(CHIEF, "ada", zone="Asia/Tokyo")
        ada = (await harness.make_member("ada"))._replace()
        task = await harness.tasks.create(ada, TaskRequest("x", "every day at 9:00", Target("event", "{}")))
        assert task.schedule.zone == "Asia/Tokyo"
        edited = await harness.tasks.edit(ada, task.id, Edits(when="every day at 10:00", zone="UTC"))
        assert edited.after.schedule.zone == "UTC"


async def _limits_hold_across_processes(folder: Path) -> None:
    store, clock = make_store(f"sqlite:///{folder}/horae.db"), VirtualClock(NOON)
    await store.open()
    services = [Service(store, clock, "UTC", SecretVault(store, Key.random(), clock)) for _ in range(5)]
    await services[0].accounts.put(ROOT, "ada", quotas={"tokens": 4})
    size = definition_bytes(await services[0].tasks.create(ROOT, WISH._replace(owner="eve")))
    limits = {
        "too_many_stored_tasks": Quotas(stored_tasks=6),
        "too_many_bytes": Quotas(stored_bytes=6 * size),
    }

    async def refusals(calls: Iterable[Awaitable[object]]) -> list[str]:
        answers = await asyncio.gather(*calls, return_exceptions=True)
        return [each.code for each in answers if isinstance(each, Refusal)]

    for code, limit in limits.items():
        who = Principal(code, actor="tok_1", quotas=limit)
        paused = (services[number % 5].tasks.create(who, WISH, paused="x") for number in range(30))
        assert await refusals(paused) == [code] * 24
        assert len((await store.tasks(TaskFilter(code))).items) == 6
    ada = Principal("ada", actor="tok_1", quotas=Quotas(tokens=4))
    made = (services[number % 5].tokens.make(ada, name=f"t{number}") for number in range(20))
    assert await refusals(made) == ["too_many_valid_tokens"] * 16
    await store.close()


async def test_limits_of_stored_tasks_bytes_and_tokens_hold_across_processes(tmp_path: Path) -> None:
    await _limits_hold_across_processes(tmp_path)
