"""Lanes over HTTP: what waits, idle runs, one lane in order of turns, and the idle state of a run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.model.run import Run
from horae.ports.store import Node
from tests.api.api_server import Api, serve_api

TASK: Final = {"say": "x", "zone": "UTC", "when": "now", "lane": "press"}


async def fill_press(api: Api) -> tuple[Run, dict[str, str]]:
    """Two tasks of bob and one of ada in a lane of one; returns the run in it, and the ids by name."""
    ids = {}
    for name, owner in (("b0", "bob"), ("b1", "bob"), ("a0", "ada")):
        made = await api.post("/v1/tasks", {**TASK, "name": name, "owner": owner}, who="admin")
        assert made.status == 201, made.json
        ids[name] = made.json["id"]
    store, now = api.app.context.service.store, api.app.context.clock.now()
    await store.join(Node("nod_1", "here/1", "1", now, now))
    claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
    claim = await store.claim_due(now, "nod_1", 9, lambda facts, entry, token: fire(facts, entry, token, claimant))
    ((_, run),) = claim.runs
    return run, ids


async def test_lane_lists_runs_and_queue_and_a_run_says_that_it_is_idle() -> None:
    async with serve_api() as api:
        run, ids = await fill_press(api)
        alone: dict[str, Any] = (await api.get(f"/v1/runs/{run.id}", who="admin")).json
        assert alone["idle"] is None
        store, now = api.app.context.service.store, api.app.context.clock.now()
        await store.declare_idle(run.id, run.token, now)
        lanes = (await api.get("/v1/lanes", who="admin")).json["items"]
        (lane,) = [each for each in lanes if each["name"] == "press"]
        assert {name: lane[name] for name in ("name", "limit", "taken", "waiting", "idle")} == {
            "name": "press",
            "limit": 1,
            "taken": 1,
            "waiting": 2,
            "idle": 1,
        }
        idle = (await api.get(f"/v1/runs/{run.id}", who="admin")).json["idle"]
        assert idle["yield_requested"] == {
            "kind": "other_owner",
            "lane": "press",
            "because": "asked to yield: an entry of another owner waits in the lane 'press'",
        }
        detail = (await api.get("/v1/lanes/press", who="admin")).json
        assert [(each["id"], each["task"], each["idle"]) for each in detail["runs"]] == [(run.id, "b0", idle)]
        assert [(each["place"], each["task_id"]) for each in detail["queue"]] == [(1, ids["a0"]), (2, ids["b1"])]
        assert (await api.get("/v1/lanes/press?limit=1", who="admin")).json["more"]
        own = (await api.get("/v1/lanes/press", who="ada")).json
        assert (own["name"], own["runs"], own["queue"]) == ("ada/press", [], [])
        why = (await api.get(f"/v1/tasks/{ids['a0']}/why", who="ada")).json
        assert why["lane"] == {
            "name": "press",
            "limit": 1,
            "taken": 1,
            "runs": [],
            "others": 1,
            "ahead": 0,
            "more_ahead": False,
            "free_by": None,
            "not_before": None,
        }
        assert run.id not in why["sentence"]
