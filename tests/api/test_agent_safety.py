"""Budgets, the switch for all agents and the usage of a run over HTTP."""

from __future__ import annotations

from horae.model.agents.usage import RunUsage, usage_write
from horae.testing.factories import NOON
from horae.wire.runs import read_usage
from tests.api.api_server import serve_api, start_run

FAMILY = {"folder": "family", "chat": "web:1", "zone": "Asia/Shanghai"}


async def test_budget_is_set_and_shown() -> None:
    async with serve_api() as api:
        await api.post("/v1/groups", FAMILY, who="admin")
        path = "/v1/groups/family/budget"
        assert (await api.get(path, who="admin")).json["limits"] == {"tokens": None, "cost": None, "runs": None}
        put = await api.put(path, {"tokens": 200_000, "cost": 2.5}, who="admin")
        assert put.status == 200, put.text
        assert put.json["limits"] == {"tokens": 200_000, "cost": 2.5, "runs": None}
        assert put.json["left"] == {"tokens": 200_000, "cost": 2.5, "runs": None}
        assert put.json["used"] == {"tokens": 0, "cost": 0, "runs": 0}
        assert (await api.put(path, {"cost": None}, who="admin")).json["limits"]["cost"] is None
        assert (await api.get(path, who="admin")).json["zone"] == "Asia/Shanghai"


async def test_bad_budget_is_refused() -> None:
    async with serve_api() as api:
        await api.post("/v1/groups", FAMILY, who="admin")
        for body in ({"tokens": -1}, {"tokens": 1.5}, {"cost": 1e300}, {"minutes": 1}, {"runs": "5"}):
            refused = await api.put("/v1/groups/family/budget", body, who="admin")
            assert refused.status == 422, refused.text
        assert (await api.put("/v1/groups/none/budget", {"runs": 1}, who="admin")).status == 404
        assert (await api.put("/v1/groups/family/budget", {"runs": 1}, who="ada")).status == 403


async def test_switch_stops_all_agents() -> None:
    async with serve_api() as api:
        path = "/v1/agent-switch"
        assert (await api.get(path, who="ada")).json == {"stopped": False, "since": None, "by": None, "tasks": None}
        assert (await api.put(path, {"stopped": True}, who="ada")).status == 403
        assert (await api.put(path, {"stopped": "yes"}, who="admin")).status == 422
        stopped = (await api.put(path, {"stopped": True}, who="admin")).json
        assert (stopped["stopped"], stopped["tasks"]) == (True, 0)
        assert (await api.get(path, who="ada")).json["stopped"]
        assert (await api.put(path, {"stopped": False}, who="admin")).json["stopped"] is False


async def test_dry_run_changes_nothing() -> None:
    async with serve_api() as api:
        await api.post("/v1/groups", FAMILY, who="admin")
        put = await api.put("/v1/groups/family/budget?dry_run=true", {"runs": 5}, who="admin")
        assert put.json["limits"]["runs"] == 5, put.text
        assert (await api.get("/v1/groups/family/budget", who="admin")).json["limits"]["runs"] is None
        stopped = await api.put("/v1/agent-switch?dry_run=true", {"stopped": True}, who="admin")
        assert stopped.status == 200, stopped.text
        assert not (await api.get("/v1/agent-switch", who="admin")).json["stopped"]


async def test_run_shows_its_usage() -> None:
    async with serve_api() as api:
        run_id = await start_run(api)
        assert (await api.get(f"/v1/runs/{run_id}")).json["usage"] is None
        usage = RunUsage(1, 2, 500_000, "small", 1)
        await api.service.store.write_records([usage_write(run_id, "ada", usage, NOON)])
        shown = (await api.get(f"/v1/runs/{run_id}")).json["usage"]
        assert shown == {
            "input_tokens": 1,
            "output_tokens": 2,
            "cost": 0.5,
            "model": "small",
            "turns": 1,
            "unpriced": None,
        }
        assert read_usage({"usage": shown}) == usage
        assert (await api.get(f"/v1/runs/{run_id}", who="bob")).status == 404
