"""Lists over HTTP: the query language of `q`, field selection with `fields`, and estimated counts."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from horae.api.field_selection import RUN_FIELDS, TASK_FIELDS
from tests.api.api_server import Api, serve_api, start_run


async def _names(api: Api, query: str, **more: Any) -> list[str]:
    reply = await api.get(f"/v1/tasks?{query}", **more)
    assert reply.status == 200, reply.text
    return [each["name"] for each in reply.json["items"]]


async def _create_tasks(api: Api) -> dict[str, str]:
    """Create three tasks of ada and one of bob; return ada's ids by name."""
    made = {}
    for name, more in (
        ("water the roses", {"labels": {"team": "garden"}}),
        ("water the lawn", {"labels": {"team": "garden"}, "lane": "hose"}),
        ("feed the cat", {"labels": {"team": "home"}}),
    ):
        made[name] = str((await api.create_task(name=name, **more))["id"])
    await api.post(f"/v1/tasks/{made['water the lawn']}/pause")
    await api.create_task("bob", name="water the weeds")
    return made


async def test_query_filters_tasks_like_the_parameters() -> None:
    async with serve_api() as api:
        await _create_tasks(api)
        for query, expected in (
            ("water", ["water the roses", "water the lawn"]),
            ("state:paused", ["water the lawn"]),
            ("-state:paused label:team=garden", ["water the roses"]),
            ("state:paused,active tag:team=home", ["feed the cat"]),
            ("queue:hose", ["water the lawn"]),
            ('name:"feed the cat"', ["feed the cat"]),
            ("owner:bob", []),
            ("target:http", []),
        ):
            assert await _names(api, f"q={quote(query)}") == expected, query
        assert await _names(api, "state=active&q=water") == ["water the roses"]
        assert await _names(api, "q=water&sort=next") == ["water the roses", "water the lawn"]
        assert await _names(api, f"q={quote('owner:bob')}", who="admin") == ["water the weeds"]
        assert len(await _names(api, "q=water", who="admin")) == 3


async def test_pages_of_a_query_continue_with_its_cursor() -> None:
    async with serve_api() as api:
        await _create_tasks(api)
        first = await api.get("/v1/tasks?q=water&limit=1")
        following = first.headers["link"].partition(">")[0].strip("<")
        assert [each["name"] for each in (await api.get(following)).json["items"]] == ["water the lawn"]
        cursor = first.json["next_cursor"]
        assert (await api.get(f"/v1/tasks?q=feed&cursor={cursor}")).code == "bad_cursor"


async def test_invalid_query_is_refused_with_its_position() -> None:
    async with serve_api() as api:
        for path, query, code, position in (
            ("/v1/tasks", "water stat:paused", "unknown_query_key", 6),
            ("/v1/tasks", "late:>5s", "query_key_unanswered", 0),
            ("/v1/tasks", "state:happy", "bad_query", 6),
            ("/v1/runs", "reason:missed", "query_key_unanswered", 0),
            ("/v1/runs", "due:whenever", "bad_query", 4),
        ):
            reply = await api.get(f"{path}?q={quote(query)}")
            assert (reply.status, reply.code) == (422, code)
            (error,) = reply.json["errors"]
            assert (error["pointer"], error["position"]) == ("/q", position)
        twice = await api.get("/v1/tasks?state=active&q=state:paused")
        assert (twice.status, twice.code) == (422, "query_key_twice")
        assert (await api.get("/v1/tasks?q=a&q=b")).code == "parameter_twice"
        chinese = await api.get("/v1/tasks?q=stat:x", headers={"Accept-Language": "zh"})
        assert "没有名为“stat”的查询键" in chinese.json["detail"]


async def test_runs_are_found_by_query() -> None:
    async with serve_api() as api:
        run = await start_run(api)
        shown = (await api.get(f"/v1/runs/{run}")).json
        task = shown["task_id"]

        async def found(path: str, query: str, who: str = "ada") -> list[str]:
            reply = await api.get(f"{path}?q={quote(query)}", who=who)
            assert reply.status == 200, reply.text
            return [each["id"] for each in reply.json["items"]]

        day = shown["planned"][:10]
        for query in (
            "state:running",
            "-state:failed",
            f"task:{task}",
            "task:report",
            f"due:{day}..{day}",
            "owner:ada",
        ):
            assert await found("/v1/runs", query) == [run], query
        for query in ("outcome:failed", "due:<2026-01-01", "task:tsk_none"):
            assert await found("/v1/runs", query) == [], query
        assert await found("/v1/runs", "state:running", "bob") == []
        assert await found(f"/v1/tasks/{task}/runs", "state:running") == [run]
        assert (await api.get(f"/v1/tasks/{task}/runs?q=task:{task}")).code == "query_key_twice"
        assert (await api.get("/v1/runs?q=task:absent")).status == 404
        assert (await api.get("/v1/runs?q=task:report", who="bob")).status == 404


async def test_bulk_action_accepts_a_query_and_refuses_an_empty_filter() -> None:
    async with serve_api() as api:
        made = await _create_tasks(api)
        done = await api.post("/v1/tasks/actions", {"action": "cancel", "filter": {"q": "water -state:paused"}})
        assert (done.json["matched"], done.json["done"]) == (1, 1)
        assert (await api.get(f"/v1/tasks/{made['water the roses']}")).json["state"] == "cancelled"
        for nothing in ({"q": "  "}, {"state": [","]}, {"q": ""}, {}):
            refused = await api.post("/v1/tasks/actions", {"action": "cancel", "filter": nothing})
            assert (refused.status, refused.code) == (422, "missing_field"), nothing
        bad = await api.post("/v1/tasks/actions", {"action": "cancel", "filter": {"q": "x colour:red"}})
        assert bad.json["errors"][0]["pointer"] == "/filter/q"
        assert bad.json["errors"][0]["position"] == 2
        assert len(await _names(api, "state=cancelled")) == 1


async def test_fields_parameter_selects_fields() -> None:
    async with serve_api() as api:
        run = await start_run(api)
        task = (await api.get(f"/v1/runs/{run}")).json["task_id"]
        await api.put("/v1/tasks/by-key/k", {"name": "keyed", "when": "every 1h", "say": "x"})
        whole = (await api.get("/v1/tasks?include=last")).json["items"]
        some = (await api.get("/v1/tasks?fields=name,%20id,last")).json["items"]
        assert some == [{name: each[name] for name in ("name", "id", "last")} for each in whole]
        assert list(some[0]) == ["name", "id", "last"]
        assert some[0]["last"]["id"] == run
        for path in (f"/v1/tasks/{task}", "/v1/tasks/named/report", "/v1/tasks/by-key/k"):
            assert list((await api.get(f"{path}?fields=state,name")).json) == ["state", "name"]
        assert (await api.get(f"/v1/tasks/{task}?fields=agenda")).json["agenda"]["digest"]
        for path in ("/v1/runs", f"/v1/tasks/{task}/runs", f"/v1/runs/{run}/attempts"):
            assert (await api.get(f"{path}?fields=id,state")).json["items"] == [{"id": run, "state": "running"}]
        assert (await api.get(f"/v1/runs/{run}?fields=id")).json == {"id": run}
        assert set(TASK_FIELDS) == set(whole[0])
        assert set(RUN_FIELDS) == set((await api.get(f"/v1/runs/{run}")).json)


async def test_unknown_field_is_refused_with_the_nearest_name() -> None:
    async with serve_api() as api:
        run = await start_run(api)
        for path in ("/v1/tasks", "/v1/tasks/named/report", "/v1/runs", f"/v1/runs/{run}"):
            refused = await api.get(f"{path}?fields=id,sate")
            assert (refused.status, refused.code) == (422, "unknown_field")
            assert ": state, " in refused.json["hint"]
        for nothing in ("", ",", "id,"):
            assert (await api.get(f"/v1/tasks?fields={nothing}")).code == "unknown_field", nothing
        assert (await api.get("/v1/tasks?fields=agenda")).code == "unknown_field"


async def test_field_selection_has_its_own_etag() -> None:
    async with serve_api() as api:
        path = f"/v1/tasks/{(await api.create_task())['id']}"
        whole, some = await api.get(path), await api.get(f"{path}?fields=name")
        assert whole.headers["etag"] != some.headers["etag"]
        tag = {"If-None-Match": some.headers["etag"]}
        assert (await api.get(f"{path}?fields=name", headers=tag)).status == 304
        assert (await api.get(path, headers=tag)).status == 200
        assert (await api.patch(path, {"name": "y"}, headers={"If-Match": some.headers["etag"]})).status == 200


async def test_estimated_count_is_returned_on_request() -> None:
    async with serve_api() as api:
        await _create_tasks(api)
        assert "count" not in (await api.get("/v1/tasks")).json

        async def counted(query: str, who: str = "ada") -> tuple[int, bool, int]:
            page = (await api.get(f"/v1/tasks?count=estimated&limit=1&{query}", who=who)).json
            return page["count"], page["more"], len(page["items"])

        assert await counted("") == (3, False, 1)
        assert await counted("state=paused") == (1, False, 1)
        assert await counted("q=-state:paused") == (2, False, 1)
        assert await counted("q=water&fields=id") == (2, False, 1)
        assert await counted("owner=bob") == (0, False, 0)
        assert await counted("", "bob") == (1, False, 1)
        assert await counted("", "robot") == (0, False, 0)
        assert await counted("", "admin") == (4, False, 1)
        assert await counted("owner=bob", "admin") == (1, False, 1)
        assert await counted("owner=", "admin") == (0, False, 0)
        assert (await api.get("/v1/tasks?count=exact")).status == 422
