"""Seeded store: every state, reason and kind of need is there, so that checks over all pages meet each of them."""

from __future__ import annotations

from horae.model.accounts.principal import LOCAL
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.ports.store import RunFilter
from horae.service.runs.overview import NeedKind
from horae.wire.tasks.task import waiting_for
from tests.api.api_server import serve_api
from tests.console.seeded import SCRIPT, seed_store


async def test_seeded_store_has_every_state_reason_and_need() -> None:
    async with serve_api() as api:
        seed = await seed_store(api)
        service = api.service
        overview = await service.overview.now(LOCAL)
        assert {need.kind for need in overview.needs} == set(NeedKind)
        assert all(overview.tasks[state] for state in TaskState)
        runs = (await service.store.runs(RunFilter(), limit=1_000)).items
        assert {run.state for run in runs} == set(RunState)
        assert {run.reason for run in runs} >= set(Reason)
        assert overview.waiting.parked
        chained = {(await service.tasks.get(LOCAL, each)).task.name for each in seed.ids["chain"]}
        assert chained == {"publish figures", f"load {SCRIPT}", "tell that extraction failed"}
        real = {run.reason for run in runs if run.task_id in (*seed.ids["chain"], *seed.ids["skips"])}
        assert real >= {Reason.PREDECESSOR_SKIPPED, Reason.GATE_CLOSED, Reason.START_DEADLINE}
        facts = [await service.tasks.get(LOCAL, each) for each in seed.ids["skips"]]
        waits = [waiting_for(each, service.overview._clock.now()) for each in facts]
        assert waits[2:] == ["node:where:gpu=a100,zone=eu;function:reports.daily", "lane:press"]
        assert len(await service.outages.all()) == 1
        assert len((await service.audit.page(LOCAL)).items) > 20
        deliveries = await service.webhooks.deliveries(LOCAL, seed.ids["webhooks"][0])
        assert len(deliveries.items) == 3
        assert seed.paths("/tasks/{id}/why")[0].startswith("/tasks/tsk_")
