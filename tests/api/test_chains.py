"""Chains over HTTP: `after` and `mode`, root and parents of a run, refusals, and deletion by force."""

from __future__ import annotations

from typing import Any, Final

from tests.api.api_server import serve_api

SAY: Final = {"say": "x", "zone": "UTC"}


async def test_a_task_runs_after_others_by_name() -> None:
    async with serve_api() as api:
        first = (await api.post("/v1/tasks", {**SAY, "name": "a", "when": "every 1h"})).json
        made = await api.post("/v1/tasks", {**SAY, "name": "b", "after": ["a", {"task": first["id"]}][:1]})
        assert made.status == 201, made.json
        assert made.json["when"]["links"] == [{"task": first["id"], "on": "succeeded"}]
        assert made.json["next"] is None
        assert made.json["means"] == "after a"
        one = await api.get(f"/v1/tasks/{made.json['id']}")
        assert one.json["means"] == "after a"
        listed = (await api.get("/v1/tasks?fields=means")).json["items"]
        assert [each["means"] for each in listed] == ["every hour, UTC", "after a"]
        assert (await api.get("/v1/tasks")).json["items"][1]["means"] == "after a"
        both: dict[str, Any] = {"after": [{"task": "a", "on": "ended"}, {"task": "b", "on": "failed"}], "mode": "all"}
        join = (await api.post("/v1/tasks", {**SAY, "name": "c", **both})).json
        assert join["when"]["mode"] == "all"
        assert set((await api.get(f"/v1/tasks/{first['id']}")).json["successors"]) == {made.json["id"], join["id"]}


async def test_bad_links_are_refused_with_codes() -> None:
    async with serve_api() as api:
        first = (await api.post("/v1/tasks", {**SAY, "name": "a", "when": "every 1h"})).json
        second = (await api.post("/v1/tasks", {**SAY, "name": "b", "after": "a"})).json
        for body, code in (
            ({"after": "nothing"}, "unknown_predecessor"),
            ({"after": "a", "when": "every 1h"}, "after_and_schedule"),
            ({"after": ["a", "a"]}, "after_twice"),
            ({"after": []}, "after_count"),
            ({"mode": "all"}, "missing_field"),
        ):
            refused = await api.post("/v1/tasks", {**SAY, "name": "x", **body})
            assert (refused.status, refused.json["code"]) == (422, code), refused.json
            assert [each["pointer"] for each in refused.json["errors"]] == ["/after"]
        cycle = await api.patch(f"/v1/tasks/{first['id']}", {"after": second["id"]})
        assert cycle.json["code"] == "chain_cycle"
        assert cycle.json["errors"][0]["pointer"] == "/after"
        deleted = await api.delete(f"/v1/tasks/{first['id']}")
        assert (deleted.status, deleted.json["code"]) == (409, "has_successors")
        assert (await api.delete(f"/v1/tasks/{first['id']}?force=true")).status == 204
        paused = (await api.get(f"/v1/tasks/{second['id']}")).json
        assert (paused["state"], paused["pause"]["cause"]) == ("paused", "predecessor_deleted")


async def test_a_run_without_its_chain() -> None:
    async with serve_api() as api:
        first = (await api.post("/v1/tasks", {**SAY, "name": "a", "when": "every 1h"})).json
        assert (await api.post(f"/v1/tasks/{first['id']}/run", {"chain": False})).status == 202
        refused = await api.post(f"/v1/tasks/{first['id']}/run", {"chain": "no"})
        assert refused.status == 422


async def test_chain_of_a_task_lists_what_it_descends_from_and_what_descends_from_it() -> None:
    async with serve_api() as api:
        for name, links in (("a", None), ("b", "a"), ("c", "b"), ("d", "b"), ("beside", "a")):
            when = {"when": "every 1h"} if links is None else {"after": links}
            assert (await api.post("/v1/tasks", {**SAY, "name": name, **when})).status == 201
        ids = {each["name"]: each["id"] for each in (await api.get("/v1/tasks")).json["items"]}
        chain = await api.get(f"/v1/tasks/{ids['b']}/chain")
        assert chain.status == 200
        assert [each["name"] for each in chain.json["tasks"]] == ["a", "b", "c", "d"]
        assert chain.json["cut"] is False
        assert chain.json["tasks"][2]["means"] == "after b"
        alone = (await api.get(f"/v1/tasks/{ids['d']}/chain")).json["tasks"]
        assert [each["name"] for each in alone] == ["a", "b", "d"]
        assert (await api.get(f"/v1/tasks/{ids['b']}/chain", who="bob")).status == 404
        reader = [
            each["agenda"] for each in (await api.get(f"/v1/tasks/{ids['b']}/chain?include=agenda")).json["tasks"]
        ]
        assert len(reader) == 4
