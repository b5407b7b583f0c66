"""The audit trail: a row exactly where there is a change, and a chain in which nothing can be altered unseen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from horae.encryption import Key
from horae.errors import StoreFull
from horae.model.accounts.principal import Principal
from horae.model.change import Change, Facts
from horae.model.outcome import Failed
from horae.model.record import Record, RecordWrite
from horae.ports.full_store import Keeping
from horae.ports.store import TaskFilter
from horae.runtime.stores import make_store
from horae.service.accounts.audit import AuditRow, ChainVerdict
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks.commit import AuditAction
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import HOUR, NOON, a_node
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ROOT, TARGET, House, code_of, house_on

WISH = TaskRequest("water the plants", "every 1h", TARGET, zone="UTC")
DEEDS: dict[str, Callable[[House, Principal, str], Awaitable[object]]] = {
    "task.create": lambda house, who, _: house.tasks.create(who, WISH._replace(owner="ada")),
    "task.edit": lambda house, who, task: house.tasks.edit(who, task, Edits(name="other")),
    "task.pause": lambda house, who, task: house.tasks.pause(who, task, note="private words"),
    "task.cancel": lambda house, who, task: house.tasks.cancel(who, task),
    "task.delete": lambda house, who, task: house.tasks.delete(who, task),
    "task.run": lambda house, who, task: house.tasks.run_now(who, task),
    "task.skip": lambda house, who, task: house.tasks.skip_next(who, task),
    "task.backfill": lambda house, who, task: house.tasks.backfill(who, task, NOON, NOON + HOUR),
    "secret.set": lambda house, who, _: house.service.secrets.set(who, "token", "private words", "ada"),
    "lane.limit": lambda house, who, _: house.service.lanes.limit(who, "press", 3),
    "owner.put": lambda house, who, _: house.service.accounts.put(who, "ada", note=f"private words {who.actor}"),
    "node.drain": lambda house, who, _: house.service.nodes.drain(who, "nod_1"),
    "agent.stop": lambda house, who, _: house.service.approvals.stop_agent(who, f"robot{who.actor}", "ada"),
}


async def rows(house: House, who: Principal = ROOT) -> list[AuditRow]:
    return list((await house.service.audit.page(who)).items)


@pytest.mark.parametrize("action", DEEDS)
async def test_a_row_is_written_for_who_answers_for_it_and_for_nobody_else(action: str) -> None:
    async with house_on() as house:
        task = await house.add()
        other = await house.add()
        await house.store.join(a_node("nod_1"))
        for agent in ("robot", "robottok_2"):
            await house.service.agents.put(ROOT, agent, {"active_tasks": 3}, "ada")
        house.later(HOUR)
        await DEEDS[action](house, ROOT, other.id)
        assert await rows(house) == [], "what a program does by itself"
        await DEEDS[action](house, CHIEF._replace(actor="tok_2"), task.id)
        (row,) = await rows(house)
        assert (row.number, row.action, row.actor, row.by) == (1, action, "tok_2", "chief")
        assert (row.via, row.request, row.at) == ("http", "req_1", house.clock.now())
        assert row.owner == ("ada" if action not in ("lane.limit", "node.drain") else "chief")
        assert "private words" not in repr(row)


async def test_what_is_refused_or_changes_nothing_leaves_no_row() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.resume(CHIEF, task.id)
        await house.tasks.edit(CHIEF, task.id, Edits(name=task.name))
        await house.tasks.edit(CHIEF, task.id, Edits(name="x"), dry_run=True)
        await house.tasks.pause(ROOT, task.id)
        assert await code_of(house.tasks.skip_next(CHIEF, task.id, -1)) == "bad_number"
        assert await code_of(house.tasks.edit(CHIEF, task.id, Edits(name="x"), expected=9)) == "stale_version"
        assert await code_of(house.tasks.create(CHIEF, WISH._replace(name=""))) == "bad_text"
        assert await code_of(house.tasks.cancel(CHIEF, "tsk_absent")) == "no_such_task"
        assert await rows(house) == []


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
async def test_a_row_is_there_exactly_when_the_change_is(url: str, tmp_path: Path) -> None:
    """The decision is made, the row is beside it, and then something breaks."""

    async def scene(store: Keeping, service: Service) -> None:
        task = await service.tasks.create(ROOT, WISH)

        def breaks(facts: Facts) -> Change:
            taken = Record("in the way", "here", "", "{}")
            return Change(status=facts.status._replace(skips_left=7), attached=(RecordWrite(taken, 99),))

        with pytest.raises(Exception, match="in the way"):
            await service.tasks._change(CHIEF, task.id, breaks, AuditAction("task.skip"))
        assert not (await store.records("audit.open")).items
        facts = await service.tasks.get(ROOT, task.id)
        assert facts.status.skips_left == 0
        await service.tasks.skip_next(CHIEF, task.id)
        assert len((await store.records("audit.open")).items) == 1

        def raises(_facts: Facts) -> Change:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await service.tasks._change(CHIEF, task.id, raises, AuditAction("task.skip"))
        assert len((await store.records("audit.open")).items) == 1
        await service.tasks.delete(CHIEF, task.id)
        rows = (await service.audit.page(ROOT)).items
        assert [row.action for row in rows] == ["task.delete", "task.skip"], "a row outlives what it tells of"

    await _on(url.format(tmp_path), scene)


async def _on(url: str, scene: Callable[[Keeping, Service], Awaitable[None]]) -> None:
    store = make_store(url)
    await store.open()
    clock = VirtualClock(NOON)
    await scene(store, Service(store, clock, "UTC", SecretVault(store, Key.random(), clock)))
    await store.close()


async def test_of_many_new_tasks_one_row_tells() -> None:
    async with house_on() as house:
        made = await house.tasks.create_many(CHIEF, [WISH] * 5, lambda task: task.id)
        (row,) = await rows(house)
        assert (row.action, row.subject, dict(row.detail)) == ("task.create", made[0], {"tasks": 5, "last": made[-1]})


async def test_of_many_new_tasks_each_owner_sees_what_became_theirs_and_nothing_else() -> None:
    async with house_on() as house:
        wishes = [WISH._replace(owner=owner) for owner in ("ada", "bob", "ada", "bob", "bob")]
        made = await house.tasks.create_many(CHIEF, wishes, lambda task: task.id)
        for who, first, last, number in ((ADA, 0, 2, 2), (BOB, 1, 4, 3)):
            (row,) = await rows(house, who)
            assert (row.owner, row.subject) == (who.owner, made[first])
            assert dict(row.detail) == {"tasks": number, "last": made[last]}


async def test_the_names_of_edited_fields_are_told_and_not_what_stands_there() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.edit(CHIEF, task.id, Edits(name="private words", payload='"private words"'))
        await house.tasks.declare(CHIEF, WISH._replace(key="k", owner="ada"))
        await house.tasks.declare(CHIEF, WISH._replace(key="k", owner="ada", payload='"private words"'))
        edited, made, first = await rows(house)
        assert (first.detail, made.action) == ({"fields": ["name", "payload"], "version": 2}, "task.create")
        assert (edited.action, edited.detail) == ("task.edit", {"fields": ["payload"], "version": 2})


async def test_runs_that_somebody_ends_or_tries_again_are_told_of() -> None:
    async with house_on() as house:
        await house.add()
        failed = await house.ran(HOUR, Failed("no", permanent=True))
        await house.runs.retry(CHIEF, failed.id)
        house.later(HOUR)
        going, *_ = await house.claim()
        await house.runs.cancel(CHIEF, going.id)
        cancelled, retried = await rows(house)
        assert (retried.action, dict(retried.detail)) == ("run.retry", {"run": failed.id})
        assert (cancelled.action, dict(cancelled.detail)) == ("run.cancel", {"run": going.id})


async def test_an_owner_sees_what_was_done_to_what_is_theirs_newest_first_page_by_page() -> None:
    async with house_on() as house:
        ada = await house.member("ada")
        task = await house.add(who=ada)
        for _ in range(3):
            await house.tasks.pause(CHIEF, task.id)
            await house.tasks.resume(ada, task.id)
        await house.tasks.create(CHIEF, WISH)
        seen = await rows(house, ada)
        assert [row.action for row in seen][:3] == ["task.resume", "task.pause", "task.resume"]
        assert {row.owner for row in seen} == {"ada"}
        assert {row.by for row in seen} == {"ada", "chief"}
        paged: list[AuditRow] = []
        after = None
        while True:
            page = await house.service.audit.page(ada, after, 2)
            paged += page.items
            after = page.after
            if after is None:
                break
        assert paged == seen
        assert len(await rows(house)) == len(seen) + 1


# --- the chain -----------------------------------------------------------------------------------------------------


async def sealed(house: House, number: int = 6) -> None:
    task = await house.add()
    for each in range(number):
        await house.tasks.skip_next(CHIEF, task.id, each + 1)
    assert await house.service.audit.seal() == number


async def rewritten(house: House, which: int, **fields: Any) -> None:
    record = await row_record(house, which)
    body = json.dumps(json.loads(record.body) | fields, sort_keys=True, separators=(",", ":"))
    assert await house.store.put_record(record._replace(body=body), replacing=record.version)


async def row_record(house: House, number: int) -> Record:
    found = await house.store.get_record("audit", f"{number:020d}")
    assert found is not None
    return found


async def removed(house: House, number: int) -> None:
    record = await row_record(house, number)
    assert await house.store.drop_record(record.kind, record.key, record.version)


async def swapped(house: House, one: int, other: int) -> None:
    first, second = await row_record(house, one), await row_record(house, other)
    assert await house.store.put_record(first._replace(body=second.body), replacing=first.version)
    assert await house.store.put_record(second._replace(body=first.body), replacing=second.version)


async def given_away(house: House) -> None:
    record = await row_record(house, 3)
    assert await house.store.put_record(record._replace(owner="bob"), replacing=record.version)


async def head_gone(house: House) -> None:
    head = await house.store.get_record("audit.head", "head")
    assert head is not None
    assert await house.store.drop_record("audit.head", "head", head.version)


async def head_of_another_row(house: House) -> None:
    head = await house.store.get_record("audit.head", "head")
    assert head is not None
    body = json.dumps(json.loads(head.body) | {"hash": "0" * 64})
    assert await house.store.put_record(head._replace(body=body), replacing=head.version)


async def head_says(house: House, body: str) -> None:
    head = await house.store.get_record("audit.head", "head")
    assert head is not None
    assert await house.store.put_record(head._replace(body=body), replacing=head.version)


TAMPERED: dict[str, tuple[Callable[[House], Awaitable[None]], int]] = {
    "another actor": (lambda house: rewritten(house, 3, actor="tok_other"), 3),
    "another time": (lambda house: rewritten(house, 1, at="2020-01-01T00:00:00+00:00"), 1),
    "another number": (lambda house: rewritten(house, 4, number=5), 4),
    "another hash": (lambda house: rewritten(house, 2, hash="0" * 64), 2),
    "no row at all": (lambda house: removed(house, 3), 3),
    "the first one is gone": (lambda house: removed(house, 1), 1),
    "the last one is gone": (lambda house: removed(house, 6), 6),
    "the order": (lambda house: swapped(house, 2, 4), 2),
    "whose it is": (given_away, 3),
    "the head is gone": (head_gone, 1),
    "the head tells of another end": (head_of_another_row, 6),
    "the head says nothing": (lambda house: head_says(house, "{}"), 1),
    "the head is no JSON": (lambda house: head_says(house, "garbage"), 1),
    "the head is a list": (lambda house: head_says(house, "[1]"), 1),
}


async def test_a_chain_that_nobody_touched_is_whole() -> None:
    async with house_on() as house:
        audit = house.service.audit
        assert await audit.verify(ROOT) == ChainVerdict(ok=True, rows=0, open_rows=0)
        await sealed(house)
        whole = await audit.verify(ROOT)
        assert (whole.ok, whole.rows, whole.open_rows, whole.broken) == (True, 6, 0, None)
        await house.tasks.create(CHIEF, WISH)
        assert (await audit.verify(ROOT)).open_rows == 1
        assert await audit.seal() == 1
        again = await audit.verify(ROOT)
        assert (again.ok, again.rows) == (True, 7)
        assert again.head != whole.head


@pytest.mark.parametrize("how", TAMPERED)
async def test_whatever_is_altered_is_found_and_named(how: str) -> None:
    async with house_on() as house:
        await sealed(house)
        tamper, number = TAMPERED[how]
        await tamper(house)
        verdict = await house.service.audit.verify(ROOT)
        assert (verdict.ok, verdict.broken) == (False, number)


async def test_a_row_that_is_no_json_is_found_too() -> None:
    async with house_on() as house:
        await sealed(house)
        record = await row_record(house, 2)
        assert await house.store.put_record(record._replace(body="[]"), replacing=record.version)
        assert (await house.service.audit.verify(ROOT)).broken == 2


async def test_a_row_of_which_nothing_can_be_read_hides_no_other() -> None:
    async with house_on() as house:
        await sealed(house)
        record = await row_record(house, 2)
        assert await house.store.put_record(record._replace(body="garbage"), replacing=record.version)
        seen = await rows(house)
        assert [row.number for row in seen] == [6, 5, 4, 3, 2, 1]
        assert [row.action for row in seen] == ["task.skip"] * 4 + ["unreadable", "task.skip"]


@pytest.mark.parametrize("how", ["the head is gone", "the head says nothing"])
async def test_with_a_head_of_another_chain_nothing_is_sealed_and_nobody_waits_for_ever(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with house_on() as house:
        await sealed(house)
        await TAMPERED[how][0](house)
        await house.tasks.create(CHIEF, WISH)
        async with asyncio.timeout(10):
            assert [await house.service.audit.seal() for _ in range(3)] == [0, 0, 0]
            assert len(await rows(house)) == 6
        verdict = await house.service.audit.verify(ROOT)
        assert (verdict.ok, verdict.open_rows) == (False, 1)
        assert caplog.text.count("cannot be sealed") == 1, "it is said once"


async def test_where_nothing_can_be_written_what_is_there_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(_writings: object) -> bool:
        raise StoreFull("no space")

    async with house_on() as house:
        await sealed(house)
        await house.tasks.create(CHIEF, WISH)
        monkeypatch.setattr(house.store, "write_records", full)
        assert len(await rows(house)) == 6


async def test_more_rows_than_fit_into_one_write_or_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.service.accounts.audit._SEAL_BATCH", 3)
    monkeypatch.setattr("horae.service.accounts.audit.MAX_PAGE_SIZE", 4)

    async with house_on() as house:
        await sealed(house, 11)
        verdict = await house.service.audit.verify(ROOT)
        assert (verdict.ok, verdict.rows) == (True, 11)
        await removed(house, 9)
        assert (await house.service.audit.verify(ROOT)).broken == 9


async def test_many_who_seal_at_once_make_one_chain(tmp_path: Path) -> None:
    async def scene(store: Keeping, service: Service) -> None:
        clock = VirtualClock(NOON)
        others = [Service(store, clock, "UTC", service.secrets) for _ in range(4)]
        task = await service.tasks.create(ROOT, WISH)

        async def work(each: Service) -> int:
            done = 0
            for number in range(10):
                await each.tasks.skip_next(CHIEF, task.id, number + 1)
                done += await each.audit.seal()
            return done

        sealed_by = await asyncio.gather(*(work(each) for each in others))
        assert sum(sealed_by) + await service.audit.seal() == 40
        verdict = await service.audit.verify(ROOT)
        assert (verdict.ok, verdict.rows, verdict.open_rows) == (True, 40, 0)

    await _on(f"sqlite:///{tmp_path}/horae.db", scene)


async def test_what_is_sealed_while_somebody_verifies_is_part_of_the_chain() -> None:
    async with house_on() as house:
        await sealed(house)
        audit = house.service.audit
        real = house.store.records
        asked: list[str] = []

        async def meanwhile(kind: str, *args: Any, **named: Any) -> Any:
            page = await real(kind, *args, **named)
            if kind == "audit" and not asked:
                asked.append(kind)
                await house.tasks.create(CHIEF, WISH)
                await audit.seal()
            return page

        house.store.records = meanwhile  # type: ignore[method-assign]
        verdict = await audit.verify(ROOT)
        assert (verdict.ok, verdict.rows) == (True, 7)


async def test_only_an_admin_verifies() -> None:
    async with house_on() as house:
        assert await code_of(house.service.audit.verify(ADA)) == "not_allowed"
        assert await code_of(house.service.audit.page(ADA, limit=0)) == "bad_page"


async def test_a_bulk_wish_leaves_a_row_for_each_task() -> None:
    async with house_on() as house:
        for _ in range(3):
            await house.add()
        await house.service.bulk.each(CHIEF, TaskFilter(), lambda task: house.tasks.pause(CHIEF, task.id))
        assert [row.action for row in await rows(house)] == ["task.pause"] * 3
