"""Stations in the console: who may join, who has joined, load and last answers; other owners see nothing of it."""

from __future__ import annotations

import json
from datetime import timedelta

from playwright.async_api import expect

from horae.clock import SystemClock
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.ids import occurrence_key
from horae.model.outcome import Settlement, Succeeded
from horae.model.stations.ballot import Vote, ballot_record, open_ballot
from horae.model.stations.presence import StationPresence, WorkerPresence, presence_record
from horae.testing.factories import NODE, a_node
from tests.console.accessibility import violations_of
from tests.console.console_server import Console


async def test_stations_show_workers_load_and_last_answers(console: Console) -> None:
    service = console.service
    await service.stations.allow(LOCAL, "orders", "o" * 40, owner="ada")
    await service.stations.allow(LOCAL, "spies", "s" * 40, owner="bob")
    now = SystemClock().now()
    worker = WorkerPresence("packer", 4, 3, 17, now, now, "OK", now)
    presence = StationPresence("ada", "orders", "desk", (worker,), 2, now)
    await service.store.put_record(presence_record(presence, now + timedelta(hours=1)), replacing=None)
    page = await console.open("/stations", "ada")
    await expect(page.get_by_role("row", name="packer")).to_contain_text("3 / 4")
    await expect(page.get_by_role("row", name="packer")).to_contain_text("desk")
    await expect(page.get_by_role("row", name="packer")).to_contain_text("17")
    await expect(page.get_by_text("spies")).to_have_count(0)
    assert await violations_of(page) == []


async def test_plans_show_state_counters_results_and_participants(console: Console) -> None:
    service = console.service
    ada = Principal("ada")
    await service.stations.allow(LOCAL, "board", "v" * 40, kind="vote", worker="ann", owner="ada")
    fields = {"station": "board", "command": "decide", "plan_type": "day", "plan_value": 1, "plan_repet": -1}
    view = await service.plans.add(ada, {**fields, "description": "budget", "argument": "2027"})
    await service.plans.skip(ada, view.plan.hex_id, 2)
    voted = await service.plans.add(ada, {**fields, "plan_type": "none", "description": "vote now", "plan_id": 255})
    await execute(console, "agreed")
    page = await console.open("/stations/plans", "ada")
    row = page.get_by_role("row", name="budget")
    await expect(row).to_contain_text("skipping Skip(0/2)")
    await expect(row).to_contain_text("board")
    assert await violations_of(page) == []
    await page.get_by_role("link", name="budget").click()
    await expect(page.get_by_text(view.plan.name)).to_be_visible()
    await expect(page.get_by_text("2027")).to_be_visible()
    assert await violations_of(page) == []
    page = await console.open(f"/stations/plans/{voted.task_id}", "ada", language="zh")
    await expect(page.get_by_role("row", name="ann OK")).to_contain_text("OK")
    await expect(page.get_by_role("row", name="ann OK")).to_contain_text("agreed")
    await expect(page.get_by_role("row", name="bob")).to_contain_text("尚未应答")
    assert await violations_of(page) == []


async def execute(console: Console, answer: str) -> None:
    """Claim and settle what is due, with a vote of ann and none of bob."""
    store, now = console.service.store, SystemClock().now() + timedelta(seconds=1)
    await store.join(a_node(renewed=now))
    claim = ClaimContext(NODE, now, timedelta(seconds=10))
    claimed = await store.claim_due(now, NODE, 10, lambda facts, entry, token: fire(facts, entry, token, claim))
    (run,) = [each.run for each in claimed.runs if each.task.name == "vote now"]
    key = occurrence_key(run.task_id, run.origin, run.planned)
    ballot = open_ballot("ada", key, "tsk_1", ("ann", "bob")).cast("ann", Vote(1, answer))
    assert ballot is not None
    await store.put_record(ballot_record(ballot, now + timedelta(days=1)), replacing=None)
    result = json.dumps({"ann": {"status": 1, "content": answer}})
    await store.settle([Settlement(run.id, run.token, Succeeded(result), run.started, now)], settle)
