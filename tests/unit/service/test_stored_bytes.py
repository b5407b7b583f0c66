"""Stored bytes of an owner: definitions, results, errors and logs count towards one quota."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from horae.errors import StoreUnavailable
from horae.model.accounts.account import owner_from, owner_record
from horae.model.accounts.principal import MEMBER_QUOTAS, Principal
from horae.model.outcome import Failed, Outcome, Succeeded
from horae.model.record import Record
from horae.model.run import Run
from horae.model.task import Task
from horae.ports.journal import Line
from horae.ports.store import RunFilter
from horae.runtime.api_service import QuotaEnforcer
from horae.service.accounts.stored_output import AMPLE_BYTES, FREQUENT_SECONDS, RARE_SECONDS, StoredOutput
from horae.service.tasks.edits import Edits
from horae.testing.factories import DAY, HOUR, MINUTE, NOON
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, CHIEF, ROOT, ServiceHarness, code_of, open_harness, refusal_of

STORES = pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
LIMIT = 20_000
GIB = 1024**3
LARGE = Succeeded('"' + "x" * 12_000 + '"')


async def _run_all_due(harness: ServiceHarness, by: timedelta, outcome: Outcome = LARGE, lines: int = 0) -> list[Run]:
    """Claim all that is due then, and settle each of them so, with so many log lines of 100 bytes."""
    harness.advance(by)
    runs = await harness.claim()
    for run in runs:
        await harness.store.write_lines([Line(run.id, harness.clock.now(), "output", "x" * 100) for _ in range(lines)])
        await harness.settle(run, outcome)
    return runs


async def _enforce(harness: ServiceHarness) -> int:
    harness.advance(MINUTE)
    return await harness.service.daily_quota.enforce(harness.clock.now())


async def _why(harness: ServiceHarness, task: Task) -> str:
    return str((await harness.explanations.explain(ROOT, task.id, None)).explanation)


async def _last(harness: ServiceHarness, task: Task) -> tuple[str, str | None]:
    (run,) = (await harness.store.runs(RunFilter(task_id=task.id), limit=1)).items
    return run.state, run.reason


def test_default_has_room_for_thirty_days_of_short_runs() -> None:
    assert MEMBER_QUOTAS.runs_per_day is not None
    assert MEMBER_QUOTAS.stored_bytes == GIB
    assert MEMBER_QUOTAS.stored_bytes / (30 * MEMBER_QUOTAS.runs_per_day) > 3_000, "bytes of each run"


@STORES
async def test_owner_beyond_its_stored_bytes_is_skipped_until_the_quota_is_raised(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        ada, bob = (
            await harness.make_member("ada", stored_bytes=LIMIT),
            await harness.make_member("bob", stored_bytes=LIMIT),
        )
        mine, theirs = await harness.add(who=ada), await harness.add(who=bob)
        assert len(await _run_all_due(harness, HOUR)) == 2
        assert await _enforce(harness) == 0
        harness.advance(HOUR)
        for run in await harness.claim():
            await harness.settle(run, LARGE if run.owner == "ada" else Succeeded())
        assert await _enforce(harness) == 1
        assert await _enforce(harness) == 0, "once"
        assert "Quota: stored_bytes" in await _why_pending(harness, mine)
        assert [run.task_id for run in await _run_all_due(harness, HOUR, Succeeded())] == [theirs.id]
        assert await _last(harness, mine) == ("skipped", "quota")
        assert "Quota: stored_bytes" in await _why(harness, mine)
        assert "horae owner show ada" in await _why(harness, mine)
        assert await code_of(harness.add(who=ada)) == "too_many_bytes"
        assert await harness.add(who=bob)
        ada = await harness.make_member("ada", stored_bytes=3 * LIMIT)
        assert await harness.add(who=ada), "a raised quota counts at once"
        assert mine.id in [run.task_id for run in await _run_all_due(harness, HOUR)]


async def _why_pending(harness: ServiceHarness, task: Task) -> str:
    later = harness.clock.now() + HOUR - timedelta(minutes=harness.clock.now().minute)
    return (await harness.explanations.why(ROOT, task.id, later)).english


@STORES
async def test_log_lines_and_errors_are_stored_bytes_too(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        ada, eve = (
            await harness.make_member("ada", stored_bytes=LIMIT),
            await harness.make_member("eve", stored_bytes=3_000),
        )
        logging, failing = await harness.add(who=ada), await harness.add(who=eve)
        await _run_all_due(harness, HOUR, Failed("e" * 3_000), lines=200)
        assert await _enforce(harness) == 2
        assert await _run_all_due(harness, HOUR) == []
        assert "Quota: stored_bytes" in await _why(harness, logging)
        assert "Quota: stored_bytes" in await _why(harness, failing)


@STORES
async def test_retention_makes_room_at_the_next_enforcement(url: str, tmp_path: Path) -> None:
    async with open_harness(url.format(tmp_path)) as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        task = await harness.add(who=ada)
        await _run_all_due(harness, HOUR)
        await _run_all_due(harness, HOUR)
        assert await _enforce(harness) == 1
        await _run_all_due(harness, HOUR)
        harness.advance(2 * DAY)
        await harness.store.trim(NOON + DAY, 1_000, 1_000)
        assert await _enforce(harness) == 1
        assert (await harness.service.accounts.get(ROOT, "ada")).storage_full is None
        skipped = NOON + 3 * HOUR
        assert "Quota" not in str(await harness.explanations.why(ROOT, task.id, skipped)), "its row is gone"
        assert [run.task_id for run in await _run_all_due(harness, HOUR)] == [task.id]


async def test_deleted_task_makes_room_for_another_at_once() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        task = await harness.add(who=ada)
        for _ in range(2):
            await _run_all_due(harness, HOUR)
        refused = await refusal_of(harness.add(who=ada))
        assert refused.code == "too_many_bytes"
        assert "results and logs" in str(refused)
        assert f"horae owner set ada --quota stored_bytes={1024**2}" in str(refused.hint)
        await harness.tasks.delete(ada, task.id)
        assert await harness.add(who=ada)
        assert await harness.service.dry_run.daily_quota.enforce(harness.clock.now()) == 0


async def test_recommended_limit_has_room_for_what_is_stored() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        await harness.add(who=ada)
        await _run_all_due(harness, HOUR, Succeeded('"' + "x" * 1_500_000 + '"'))
        hint = (await refusal_of(harness.add(who=ada))).hint or ""
        ada = await harness.make_member("ada", stored_bytes=int(hint.rpartition("stored_bytes=")[2]))
        assert await harness.add(who=ada)
        assert await _enforce(harness) == 0


async def test_edit_that_grows_is_refused_and_one_that_shrinks_is_not() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        task = await harness.add(who=ada, payload="x" * 4_000)
        for _ in range(2):
            await _run_all_due(harness, HOUR)
        assert await code_of(harness.tasks.edit(ada, task.id, Edits(payload="x" * 4_100))) == "too_many_bytes"
        assert (await harness.tasks.edit(ada, task.id, Edits(payload="x"))).after.payload == "x"
        await harness.tasks.pause(ada, task.id)


async def test_skipped_run_still_names_the_quota_after_it_was_raised() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        task = await harness.add(who=ada)
        for _ in range(2):
            await _run_all_due(harness, HOUR)
        await _enforce(harness)
        await _run_all_due(harness, HOUR)
        await harness.service.accounts.put(CHIEF, "ada", quotas={"stored_bytes": None})
        why = await _why(harness, task)
        assert "Quota: stored_bytes" in why
        assert "still used up" not in why
        explained = (await harness.explanations.explain(ROOT, task.id, None)).explanation
        assert "配额：stored_bytes" in explained.chinese


async def test_runs_per_day_and_stored_bytes_are_lifted_apart_and_each_is_named() -> None:
    async with open_harness() as harness:
        daily, accounts = harness.service.daily_quota, harness.service.accounts
        ada = await harness.make_member("ada", stored_bytes=LIMIT, runs_per_day=2)
        task = await harness.add(who=ada)
        for _ in range(2):
            await _run_all_due(harness, HOUR)
        assert await _enforce(harness) == 2
        assert await _run_all_due(harness, HOUR) == []
        why = await _why(harness, task)
        assert "Quota: stored_bytes" in why
        assert "Quota: runs_per_day" in why
        harness.advance(12 * HOUR)
        assert await daily.enforce(harness.clock.now()) == 1
        owner = await accounts.get(ROOT, "ada")
        assert (owner.exhausted_on, owner.storage_full is None) == (None, False), "another day makes no room"
        assert await _run_all_due(harness, HOUR) == []
        assert "Quota: runs_per_day" not in await _why(harness, task)
        await accounts.put(CHIEF, "ada", quotas={"stored_bytes": "usual"})
        assert await _run_all_due(harness, HOUR) != []


async def test_skip_by_runs_per_day_names_that_quota_alone() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", runs_per_day=1)
        task = await harness.add(who=ada)
        await _run_all_due(harness, HOUR)
        await _enforce(harness)
        await _run_all_due(harness, HOUR)
        why = await _why(harness, task)
        assert "Quota: runs_per_day" in why
        assert "stored_bytes" not in why


async def test_room_in_the_storage_never_lifts_a_revocation() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        task = await harness.add(who=ada)
        for _ in range(2):
            await _run_all_due(harness, HOUR)
        await _enforce(harness)
        await harness.service.accounts.revoke(CHIEF, "ada")
        await harness.service.accounts.put(CHIEF, "ada", quotas={"stored_bytes": None})
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason == "owner_revoked"
        await harness.service.accounts.restore(CHIEF, "ada")
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason is None


async def test_lowered_quota_counts_at_once_whatever_was_measured_before() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        await harness.add(who=ada)
        await _enforce(harness)
        await _run_all_due(harness, HOUR)
        await harness.service.accounts.put(CHIEF, "ada", quotas={"stored_bytes": 5_000})
        full = (await harness.service.accounts.get(ROOT, "ada")).storage_full
        assert full is not None
        assert full.since == harness.clock.now()
        assert 12_000 < full.bytes < 13_000


async def test_owner_record_of_an_earlier_version_has_room() -> None:
    async with open_harness() as harness:
        await harness.make_member("ada")
        owner = await harness.service.accounts.get(ROOT, "ada")
        body = owner_record(owner).body.replace(', "storage_full": null, "last_storage_full": []', "")
        assert "storage" not in body
        read = owner_from(Record("owner", "ada", "ada", body))
        assert (read.storage_full, read.last_storage_full) == (None, None)


async def test_definitions_that_an_admin_deleted_are_counted_again_before_the_owner_is_stopped() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        kept, gone = [await harness.add(who=ada, payload="x" * 9_000) for _ in range(2)]
        await harness.tasks.delete(ROOT, gone.id)
        await _run_all_due(harness, HOUR, Succeeded('"' + "x" * 5_000 + '"'))
        assert await _enforce(harness) == 0
        assert [run.task_id for run in await _run_all_due(harness, HOUR)] == [kept.id]


async def _served_minutes(harness: ServiceHarness, minutes: int) -> None:
    """The loop of a serving process, for so long on the virtual clock."""
    loop = asyncio.ensure_future(QuotaEnforcer(harness.service, harness.clock).run())
    await harness.clock.pause(60 * minutes + 1)
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)


async def test_serving_process_stops_and_releases_the_owner_within_a_minute(clock: VirtualClock) -> None:
    harness = ServiceHarness(clock=clock)
    ada = await harness.make_member("ada", stored_bytes=LIMIT)
    large, small = await harness.add(who=ada), await harness.add(who=ada)
    await _run_all_due(harness, HOUR)
    await _served_minutes(harness, 1)
    assert (await harness.service.accounts.get(ROOT, "ada")).storage_full is not None
    await harness.tasks.delete(ROOT, large.id)
    await _served_minutes(harness, 1)
    assert (await harness.service.accounts.get(ROOT, "ada")).storage_full is None
    assert [run.task_id for run in await _run_all_due(harness, HOUR)] == [small.id]


# --- the cache of measurements --------------------------------------------------------------------------------------


class CountedSource:
    """A store whose measurements are counted, and may be held up."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: list[str] = []
        self.asked = asyncio.Event()
        self.released = asyncio.Event()
        self.released.set()

    async def output_bytes(self, owner: str) -> int:
        self.calls.append(owner)
        self.asked.set()
        await self.released.wait()
        return self.size


@pytest.mark.parametrize(
    ("used", "limit", "seconds"),
    [
        (GIB * 4 // 10, GIB, RARE_SECONDS),
        (GIB * 6 // 10, GIB, FREQUENT_SECONDS),
        (0, AMPLE_BYTES, RARE_SECONDS),
        (0, AMPLE_BYTES - 1, FREQUENT_SECONDS),
    ],
    ids=["less than half", "more than half", "ample room", "small limit"],
)
async def test_measurement_is_repeated_more_often_where_the_limit_is_near(
    used: int, limit: int, seconds: float
) -> None:
    clock = VirtualClock(NOON)
    cache = StoredOutput(CountedSource(used), clock)
    assert cache.recall("ada", 0, limit) is None
    assert await cache.measure("ada") == used
    clock.advance(seconds - 1)
    assert cache.recall("ada", 0, limit) is not None
    clock.advance(1)
    assert cache.recall("ada", 0, limit) is None


async def test_definitions_count_for_how_often_is_measured() -> None:
    clock = VirtualClock(NOON)
    cache = StoredOutput(CountedSource(GIB * 4 // 10), clock)
    await cache.measure("ada")
    clock.advance(FREQUENT_SECONDS)
    assert cache.recall("ada", GIB // 100, GIB) is not None
    assert cache.recall("ada", GIB * 2 // 10, GIB) is None


async def test_one_measurement_of_an_owner_runs_at_a_time() -> None:
    source = CountedSource(10)
    source.released.clear()
    cache = StoredOutput(source, VirtualClock(NOON))
    waiting = [asyncio.ensure_future(cache.measure("ada", FREQUENT_SECONDS)) for _ in range(5)]
    await source.asked.wait()
    source.asked.clear()
    waiting.append(asyncio.ensure_future(cache.measure("bob", FREQUENT_SECONDS)))
    await source.asked.wait()
    source.released.set()
    assert await asyncio.gather(*waiting) == [10] * 6
    assert source.calls == ["ada", "bob"]


async def test_number_of_owners_in_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.service.accounts.stored_output._MAX_OWNERS", 3)
    cache = StoredOutput(CountedSource(10), VirtualClock(NOON))
    for name in ("a", "b", "c", "a", "d"):
        await cache.measure(name)
    assert [name for name in "abcd" if cache.recall(name, 0, 1_000) is not None] == ["a", "c", "d"]


async def test_enforcement_measures_an_owner_with_much_room_every_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        measured: list[str] = []
        measure = harness.store.output_bytes

        async def counted(owner: str) -> int:
            measured.append(owner)
            return await measure(owner)

        monkeypatch.setattr(harness.store, "output_bytes", counted)
        idle, busy = await harness.make_member("idle"), await harness.make_member("busy", stored_bytes=LIMIT)
        await harness.add(who=idle)
        await harness.add(who=busy)
        await _run_all_due(harness, HOUR)
        measured.clear()
        for _ in range(10):
            await _enforce(harness)
        assert (measured.count("idle"), measured.count("busy")) == (1, 10)


async def test_owner_that_writes_much_after_the_first_measurement_is_stopped_within_a_minute() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", stored_bytes=LIMIT)
        await harness.add("every 10s", who=ada)
        assert await _enforce(harness) == 0
        for _ in range(3):
            await _run_all_due(harness, timedelta(seconds=10))
        assert await _enforce(harness) == 1


async def test_owner_that_cannot_be_measured_keeps_no_other_from_being_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        measure = harness.store.output_bytes

        async def failing(owner: str) -> int:
            if owner == "ada":
                raise StoreUnavailable("The store did not answer in time.")
            return await measure(owner)

        members = [await harness.make_member(name, stored_bytes=LIMIT, runs_per_day=2) for name in ("ada", "bob")]
        for who in members:
            await harness.add(who=who)
        for _ in range(2):
            await _run_all_due(harness, HOUR)
        monkeypatch.setattr(harness.store, "output_bytes", failing)
        with pytest.raises(StoreUnavailable):
            await _enforce(harness)
        ada, bob = [await harness.service.accounts.get(ROOT, name) for name in ("ada", "bob")]
        assert ada.exhausted_on == bob.exhausted_on == harness.clock.now().date()
        assert (ada.storage_full is None, bob.storage_full is None) == (True, False)


async def test_owner_without_an_account_or_a_limit_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        monkeypatch.setattr(harness.store, "output_bytes", _not_asked)
        boss = await harness.make_member("boss", stored_bytes=None)
        for who in (boss, ADA, Principal("eve")):
            await harness.add(who=who)
        await _run_all_due(harness, HOUR)
        assert await _enforce(harness) == 0


async def _not_asked(_owner: str) -> int:
    raise AssertionError
