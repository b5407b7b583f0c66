"""The audit trail: a row exactly where there is a change, in a tamper-evident chain."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from horae.encryption import Key
from horae.errors import StoreFull
from horae.model.accounts.principal import Principal, Role
from horae.model.change import Change, Facts
from horae.model.outcome import Failed
from horae.model.record import Record, RecordWrite
from horae.ports.full_store import FullStore
from horae.ports.store import TaskFilter
from horae.runtime.stores import make_store
from horae.service.accounts import audit as audit_module
from horae.service.accounts.audit import AuditFilter, AuditRow, ChainVerdict
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks.commit import AuditAction
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import HOUR, NOON, a_node
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ROOT, TARGET, ServiceHarness, code_of, open_harness

WISH = TaskRequest("water the plants", "every 1h", TARGET, zone="UTC")
DEEDS: dict[str, Callable[[ServiceHarness, Principal, str], Awaitable[object]]] = {
    "task.create": lambda harness, who, _: harness.tasks.create(who, WISH._replace(owner="ada")),
    "task.edit": lambda harness, who, task: harness.tasks.edit(who, task, Edits(name="other")),
    "task.pause": lambda harness, who, task: harness.tasks.pause(who, task, note="private words"),
    "task.cancel": lambda harness, who, task: harness.tasks.cancel(who, task),
    "task.delete": lambda harness, who, task: harness.tasks.delete(who, task),
    "task.run": lambda harness, who, task: harness.tasks.run_now(who, task),
    "task.skip": lambda harness, who, task: harness.tasks.skip_next(who, task),
    "task.backfill": lambda harness, who, task: harness.tasks.backfill(who, task, NOON, NOON + HOUR),
    "secret.set": lambda harness, who, _: harness.service.secrets.set(who, "token", "private words", "ada"),
    "lane.limit": lambda harness, who, _: harness.service.lanes.limit(who, "press", 3),
    "owner.put": lambda harness, who, _: harness.service.accounts.put(who, "ada", note=f"private words {who.actor}"),
    "node.drain": lambda harness, who, _: harness.service.nodes.drain(who, "nod_1"),
    "agent.stop": lambda harness, who, _: harness.service.approvals.stop_agent(who, f"robot{who.actor}", "ada"),
}


async def rows(harness: ServiceHarness, who: Principal = ROOT) -> list[AuditRow]:
    return list((await harness.service.audit.page(who)).items)


@pytest.mark.parametrize("action", DEEDS)
async def test_audit_row_is_written_for_identified_actors_only(action: str) -> None:
    async with open_harness() as harness:
        task = await harness.add()
        other = await harness.add()
        await harness.store.join(a_node("nod_1"))
        for agent in ("robot", "robottok_2"):
            await harness.service.agents.put(ROOT, agent, {"active_tasks": 3}, "ada")
        harness.advance(HOUR)
        await DEEDS[action](harness, ROOT, other.id)
        assert await rows(harness) == [], "what a program does by itself"
        await DEEDS[action](harness, CHIEF._replace(actor="tok_2"), task.id)
        (row,) = await rows(harness)
        assert (row.number, row.action, row.actor, row.by) == (1, action, "tok_2", "chief")
        assert (row.via, row.request, row.at) == ("http", "req_1", harness.clock.now())
        assert row.owner == ("ada" if action not in ("lane.limit", "node.drain") else "chief")
        assert "private words" not in repr(row)


async def test_refused_or_empty_change_writes_no_audit_row() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.resume(CHIEF, task.id)
        await harness.tasks.edit(CHIEF, task.id, Edits(name=task.name))
        await harness.tasks.edit(CHIEF, task.id, Edits(name="x"), dry_run=True)
        await harness.tasks.pause(ROOT, task.id)
        assert await code_of(harness.tasks.skip_next(CHIEF, task.id, -1)) == "bad_number"
        assert await code_of(harness.tasks.edit(CHIEF, task.id, Edits(name="x"), expected=9)) == "stale_version"
        assert await code_of(harness.tasks.create(CHIEF, WISH._replace(name=""))) == "bad_text"
        assert await code_of(harness.tasks.cancel(CHIEF, "tsk_absent")) == "no_such_task"
        assert await rows(harness) == []


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
async def test_audit_row_commits_with_its_change(url: str, tmp_path: Path) -> None:
    """The decision is made, the row is beside it, and then something breaks."""

    async def scene(store: FullStore, service: Service) -> None:
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


async def _on(url: str, scene: Callable[[FullStore, Service], Awaitable[None]]) -> None:
    store = make_store(url)
    await store.open()
    clock = VirtualClock(NOON)
    await scene(store, Service(store, clock, "UTC", SecretVault(store, Key.random(), clock)))
    await store.close()


async def test_bulk_add_writes_one_audit_row() -> None:
    async with open_harness() as harness:
        made = await harness.tasks.create_many(CHIEF, [WISH] * 5, lambda task: task.id)
        (row,) = await rows(harness)
        assert (row.action, row.subject, dict(row.detail)) == ("task.create", made[0], {"tasks": 5, "last": made[-1]})


async def test_bulk_add_audit_shows_each_owner_its_tasks_only() -> None:
    async with open_harness() as harness:
        wishes = [WISH._replace(owner=owner) for owner in ("ada", "bob", "ada", "bob", "bob")]
        made = await harness.tasks.create_many(CHIEF, wishes, lambda task: task.id)
        for who, first, last, number in ((ADA, 0, 2, 2), (BOB, 1, 4, 3)):
            (row,) = await rows(harness, who)
            assert (row.owner, row.subject) == (who.owner, made[first])
            assert dict(row.detail) == {"tasks": number, "last": made[last]}


async def test_audit_row_names_edited_fields_without_values() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.edit(CHIEF, task.id, Edits(name="private words", payload='"private words"'))
        await harness.tasks.declare(CHIEF, WISH._replace(key="k", owner="ada"))
        await harness.tasks.declare(CHIEF, WISH._replace(key="k", owner="ada", payload='"private words"'))
        edited, made, first = await rows(harness)
        assert (first.detail, made.action) == ({"fields": ["name", "payload"], "version": 2}, "task.create")
        assert (edited.action, edited.detail) == ("task.edit", {"fields": ["payload"], "version": 2})


async def test_cancelled_and_retried_runs_are_audited() -> None:
    async with open_harness() as harness:
        await harness.add()
        failed = await harness.run_due(HOUR, Failed("no", permanent=True))
        await harness.runs.retry(CHIEF, failed.id)
        harness.advance(HOUR)
        going, *_ = await harness.claim()
        await harness.runs.cancel(CHIEF, going.id)
        cancelled, retried = await rows(harness)
        assert (retried.action, dict(retried.detail)) == ("run.retry", {"run": failed.id})
        assert (cancelled.action, dict(cancelled.detail)) == ("run.cancel", {"run": going.id})


async def test_owner_lists_its_audit_rows_newest_first_in_pages() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        task = await harness.add(who=ada)
        for _ in range(3):
            await harness.tasks.pause(CHIEF, task.id)
            await harness.tasks.resume(ada, task.id)
        await harness.tasks.create(CHIEF, WISH)
        seen = await rows(harness, ada)
        assert [row.action for row in seen][:3] == ["task.resume", "task.pause", "task.resume"]
        assert {row.owner for row in seen} == {"ada"}
        assert {row.by for row in seen} == {"ada", "chief"}
        paged: list[AuditRow] = []
        after = None
        while True:
            page = await harness.service.audit.page(ada, after, 2)
            paged += page.items
            after = page.after
            if after is None:
                break
        assert paged == seen
        assert len(await rows(harness)) == len(seen) + 1


async def test_filtered_pages_have_matching_rows_only_and_go_on_where_the_search_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_module, "MAX_PAGE_SIZE", 4)
    monkeypatch.setattr(audit_module, "MAX_SCANNED", 8)
    async with open_harness() as harness:
        await harness.service.lanes.limit(CHIEF, "oven", 1)
        for number in range(12):
            await harness.service.lanes.limit(CHIEF, "press", number)
        found: list[str] = []
        after, pages = None, 0
        while True:
            page = await harness.service.audit.page(ROOT, after, 5, AuditFilter("lane", "chief", "ov"))
            found += [row.subject for row in page.items]
            after, pages = page.after, pages + 1
            if after is None:
                break
        assert (found, pages) == (["oven"], 2), "eight rows are searched per page"
        page = await harness.service.audit.page(ROOT, None, 5, AuditFilter(subject="press"))
        rest = await harness.service.audit.page(ROOT, page.after, 5, AuditFilter(subject="press"))
        assert [row.detail["limit"] for row in (*page.items, *rest.items)] == list(range(11, 1, -1))
        ada = await harness.make_member("ada")
        assert (await harness.service.audit.page(ada, None, 5, AuditFilter(subject="press"))).items == ()


async def test_audit_rows_hold_values_of_when_and_how_tasks_run_and_of_rights() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.edit(CHIEF, task.id, Edits(when="every 2h", payload='"private words"'))
        await harness.service.lanes.limit(CHIEF, "press", 2)
        await harness.service.lanes.limit(CHIEF, "press", 5)
        await harness.service.accounts.put(CHIEF, "eve", role=Role.MEMBER, note="private words")
        await harness.service.accounts.put(CHIEF, "eve", quotas={"active_tasks": 3})
        await harness.service.agents.put(CHIEF, "robot", {"active_tasks": 2}, "eve")
        webhook, _ = await harness.service.webhooks.create(CHIEF, "https://93.184.216.34/private")
        await harness.service.webhooks.edit(CHIEF, webhook.id, url="https://93.184.216.34/private2", types=["run.*"])
        seen = await rows(harness)
        hourly = {"kind": "every", "interval": "PT1H", "from": "grid", "zone": "UTC"}
        wanted = [
            ("task.edit", {"when": [hourly, {**hourly, "interval": "PT2H"}]}),
            ("lane.limit", {"limit": [None, 2]}),
            ("lane.limit", {"limit": [2, 5]}),
            ("owner.put", {"role": [None, "member"]}),
            ("owner.put", {"chosen": [{}, {"active_tasks": 3}]}),
            ("agent.put", {"chosen": [{}, {"active_tasks": 2}]}),
            ("webhook.edit", {"types": [[], ["run.*"]]}),
        ]
        found = [(row.action, row.detail["changes"]) for row in seen if "changes" in row.detail]
        assert sorted(found, key=str) == sorted(wanted, key=str)
        assert "private" not in str([row.detail for row in seen])


# --- the chain -----------------------------------------------------------------------------------------------------


async def append_rows(harness: ServiceHarness, number: int = 6) -> None:
    task = await harness.add()
    for each in range(number):
        await harness.tasks.skip_next(CHIEF, task.id, each + 1)
    assert await harness.service.audit.seal() == number


async def rewrite_row(harness: ServiceHarness, which: int, **fields: Any) -> None:
    record = await row_record(harness, which)
    body = json.dumps(json.loads(record.body) | fields, sort_keys=True, separators=(",", ":"))
    assert await harness.store.put_record(record._replace(body=body), replacing=record.version)


async def row_record(harness: ServiceHarness, number: int) -> Record:
    found = await harness.store.get_record("audit", f"{number:020d}")
    assert found is not None
    return found


async def remove_row(harness: ServiceHarness, number: int) -> None:
    record = await row_record(harness, number)
    assert await harness.store.drop_record(record.kind, record.key, record.version)


async def swap_rows(harness: ServiceHarness, one: int, other: int) -> None:
    first, second = await row_record(harness, one), await row_record(harness, other)
    assert await harness.store.put_record(first._replace(body=second.body), replacing=first.version)
    assert await harness.store.put_record(second._replace(body=first.body), replacing=second.version)


async def change_owner(harness: ServiceHarness) -> None:
    record = await row_record(harness, 3)
    assert await harness.store.put_record(record._replace(owner="bob"), replacing=record.version)


async def delete_head(harness: ServiceHarness) -> None:
    head = await harness.store.get_record("audit.head", "head")
    assert head is not None
    assert await harness.store.drop_record("audit.head", "head", head.version)


async def head_of_another_row(harness: ServiceHarness) -> None:
    head = await harness.store.get_record("audit.head", "head")
    assert head is not None
    body = json.dumps(json.loads(head.body) | {"hash": "0" * 64})
    assert await harness.store.put_record(head._replace(body=body), replacing=head.version)


async def rewrite_head(harness: ServiceHarness, body: str) -> None:
    head = await harness.store.get_record("audit.head", "head")
    assert head is not None
    assert await harness.store.put_record(head._replace(body=body), replacing=head.version)


TAMPERED: dict[str, tuple[Callable[[ServiceHarness], Awaitable[None]], int]] = {
    "another actor": (lambda harness: rewrite_row(harness, 3, actor="tok_other"), 3),
    "another time": (lambda harness: rewrite_row(harness, 1, at="2020-01-01T00:00:00+00:00"), 1),
    "another number": (lambda harness: rewrite_row(harness, 4, number=5), 4),
    "another hash": (lambda harness: rewrite_row(harness, 2, hash="0" * 64), 2),
    "no row at all": (lambda harness: remove_row(harness, 3), 3),
    "the first one is gone": (lambda harness: remove_row(harness, 1), 1),
    "the last one is gone": (lambda harness: remove_row(harness, 6), 6),
    "the order": (lambda harness: swap_rows(harness, 2, 4), 2),
    "whose it is": (change_owner, 3),
    "the head is gone": (delete_head, 1),
    "the head tells of another end": (head_of_another_row, 6),
    "the head says nothing": (lambda harness: rewrite_head(harness, "{}"), 1),
    "the head is no JSON": (lambda harness: rewrite_head(harness, "garbage"), 1),
    "the head is a list": (lambda harness: rewrite_head(harness, "[1]"), 1),
}


async def test_unmodified_audit_chain_verifies() -> None:
    async with open_harness() as harness:
        audit = harness.service.audit
        assert await audit.verify(ROOT) == ChainVerdict(ok=True, rows=0, open_rows=0)
        await append_rows(harness)
        whole = await audit.verify(ROOT)
        assert (whole.ok, whole.rows, whole.open_rows, whole.broken) == (True, 6, 0, None)
        await harness.tasks.create(CHIEF, WISH)
        assert (await audit.verify(ROOT)).open_rows == 1
        assert await audit.seal() == 1
        again = await audit.verify(ROOT)
        assert (again.ok, again.rows) == (True, 7)
        assert again.head != whole.head


@pytest.mark.parametrize("how", TAMPERED)
async def test_modified_audit_row_is_found(how: str) -> None:
    async with open_harness() as harness:
        await append_rows(harness)
        tamper, number = TAMPERED[how]
        await tamper(harness)
        verdict = await harness.service.audit.verify(ROOT)
        assert (verdict.ok, verdict.broken) == (False, number)


async def test_audit_row_that_is_no_json_is_found() -> None:
    async with open_harness() as harness:
        await append_rows(harness)
        record = await row_record(harness, 2)
        assert await harness.store.put_record(record._replace(body="[]"), replacing=record.version)
        assert (await harness.service.audit.verify(ROOT)).broken == 2


async def test_unreadable_audit_row_does_not_hide_others() -> None:
    async with open_harness() as harness:
        await append_rows(harness)
        record = await row_record(harness, 2)
        assert await harness.store.put_record(record._replace(body="garbage"), replacing=record.version)
        seen = await rows(harness)
        assert [row.number for row in seen] == [6, 5, 4, 3, 2, 1]
        assert [row.action for row in seen] == ["task.skip"] * 4 + ["unreadable", "task.skip"]


@pytest.mark.parametrize("how", ["the head is gone", "the head says nothing"])
async def test_head_of_another_chain_refuses_writes_without_blocking(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_harness() as harness:
        await append_rows(harness)
        await TAMPERED[how][0](harness)
        await harness.tasks.create(CHIEF, WISH)
        async with asyncio.timeout(10):
            assert [await harness.service.audit.seal() for _ in range(3)] == [0, 0, 0]
            assert len(await rows(harness)) == 6
        verdict = await harness.service.audit.verify(ROOT)
        assert (verdict.ok, verdict.open_rows) == (False, 1)
        assert caplog.text.count("cannot be sealed") == 1, "it is said once"


async def test_audit_rows_are_readable_when_the_store_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(_writings: object) -> bool:
        raise StoreFull("no space")

    async with open_harness() as harness:
        await append_rows(harness)
        await harness.tasks.create(CHIEF, WISH)
        monkeypatch.setattr(harness.store, "write_records", full)
        assert len(await rows(harness)) == 6


async def test_audit_chain_longer_than_a_write_or_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.service.accounts.audit._SEAL_BATCH", 3)
    monkeypatch.setattr("horae.service.accounts.audit.MAX_PAGE_SIZE", 4)

    async with open_harness() as harness:
        await append_rows(harness, 11)
        verdict = await harness.service.audit.verify(ROOT)
        assert (verdict.ok, verdict.rows) == (True, 11)
        await remove_row(harness, 9)
        assert (await harness.service.audit.verify(ROOT)).broken == 9


async def test_concurrent_appends_make_one_audit_chain(tmp_path: Path) -> None:
    async def scene(store: FullStore, service: Service) -> None:
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


async def test_rows_appended_during_verification_are_verified() -> None:
    async with open_harness() as harness:
        await append_rows(harness)
        audit = harness.service.audit
        real = harness.store.records
        asked: list[str] = []

        async def meanwhile(kind: str, *args: Any, **named: Any) -> Any:
            page = await real(kind, *args, **named)
            if kind == "audit" and not asked:
                asked.append(kind)
                await harness.tasks.create(CHIEF, WISH)
                await audit.seal()
            return page

        harness.store.records = meanwhile  # type: ignore[method-assign]
        verdict = await audit.verify(ROOT)
        assert (verdict.ok, verdict.rows) == (True, 7)


async def test_only_an_admin_verifies() -> None:
    async with open_harness() as harness:
        assert await code_of(harness.service.audit.verify(ADA)) == "not_allowed"
        assert await code_of(harness.service.audit.page(ADA, limit=0)) == "bad_page"


async def test_bulk_operation_writes_an_audit_row_per_task() -> None:
    async with open_harness() as harness:
        for _ in range(3):
            await harness.add()
        await harness.service.bulk.each(CHIEF, TaskFilter(), lambda task: harness.tasks.pause(CHIEF, task.id))
        assert [row.action for row in await rows(harness)] == ["task.pause"] * 3
