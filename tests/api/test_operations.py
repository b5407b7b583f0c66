"""Bulk actions over HTTP: synchronous, or as an operation that can be polled, cancelled and repeated safely."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from horae.service.tasks.operations.actions import MAX_SYNCHRONOUS
from horae.web.request_context import WebSettings
from tests.api.api_server import TASK, Api, Reply, schema_validator, serve_api

ASYNC: Final = {"Prefer": "respond-async"}
PAUSE: Final[dict[str, Any]] = {"action": "pause", "filter": {"text": "report"}, "arguments": {"note": "rain"}}
SETTINGS: Final = WebSettings(expects_engine=False)


async def wait_for_end(api: Api, begun: Reply, who: str = "ada") -> dict[str, Any]:
    async with asyncio.timeout(60):
        while (found := (await api.get(begun.headers["location"], who=who)).json)["state"] == "running":
            assert found["done"] <= (found["total"] or 0)
    return dict(found)


async def create_reports(api: Api, number: int) -> None:
    tasks = [{**TASK, "name": f"report {each}"} for each in range(number)]
    assert (await api.post("/v1/tasks/bulk", {"tasks": tasks})).status == 201


def block_pause(api: Api) -> tuple[asyncio.Event, asyncio.Event]:
    """Block `pause`: the first event is set when a task is being paused, setting the second lets all pauses continue."""
    entered, released = asyncio.Event(), asyncio.Event()
    pause: Callable[..., Any] = api.service.tasks.pause

    async def blocked_pause(*arguments: Any, **more: Any) -> Any:
        entered.set()
        await released.wait()
        return await pause(*arguments, **more)

    api.service.tasks.pause = blocked_pause  # type: ignore[method-assign]
    return entered, released


async def test_respond_async_answers_202_and_the_operation_reports_progress() -> None:
    async with serve_api() as api:
        document = (await api.get("/openapi.json", who=None)).json
        await create_reports(api, 3)
        one = (await api.get("/v1/tasks/named/report%201")).json["id"]
        await api.post(f"/v1/tasks/{one}/cancel")
        entered, released = block_pause(api)
        begun = await api.post("/v1/tasks/actions", PAUSE, headers=ASYNC)
        assert begun.status == 202
        assert begun.headers["preference-applied"] == "respond-async"
        assert begun.headers["location"] == f"/v1/operations/{begun.json['id']}"
        await entered.wait()
        going = await api.get(begun.headers["location"])
        assert (going.json["state"], going.json["filter"]) == ("running", PAUSE["filter"])
        second = await api.post("/v1/tasks/actions", PAUSE, headers=ASYNC)
        assert (second.status, second.code) == (409, "operation_going")
        released.set()
        over = await wait_for_end(api, begun)
        assert (over["state"], over["total"], over["done"], over["refused"]) == ("finished", 3, 2, 1)
        assert over["refusals"][0]["task_id"] == one
        chinese = (await api.get(begun.headers["location"], headers={"Accept-Language": "zh"})).json
        assert chinese["refusals"][0]["detail"] != over["refusals"][0]["detail"]
        listed = (await api.get("/v1/operations")).json
        assert [each["id"] for each in listed["items"]] == [over["id"]]
        paths = document["paths"]
        for path, method, status, body in (
            ("/v1/tasks/actions", "post", "202", begun.json),
            ("/v1/operations", "get", "200", listed),
            ("/v1/operations/{operation_id}", "get", "200", over),
        ):
            content = paths[path][method]["responses"][status]["content"]["application/json"]
            schema_validator(document, content["schema"]).validate(body)
        task = (await api.get("/v1/tasks?q=state:paused")).json["items"][0]
        assert task["pause"]["note"] == "rain"


async def test_bulk_action_is_synchronous_up_to_the_limit_and_an_operation_beyond_it() -> None:
    async with serve_api() as api:
        await create_reports(api, MAX_SYNCHRONOUS)
        done = await api.post("/v1/tasks/actions", PAUSE)
        assert (done.status, done.json["done"]) == (200, MAX_SYNCHRONOUS)
        await create_reports(api, 1)
        tried = await api.post("/v1/tasks/actions?dry_run=true", PAUSE, headers=ASYNC)
        assert (tried.status, tried.json["matched"]) == (200, MAX_SYNCHRONOUS + 1)
        assert [each["id"] for each in (await api.get("/v1/operations")).json["items"]] == [done.json["undo"]]
        begun = await api.post("/v1/tasks/actions", {**PAUSE, "action": "cancel", "arguments": {}})
        assert begun.status == 202
        assert "preference-applied" not in begun.headers
        assert (await wait_for_end(api, begun))["done"] == MAX_SYNCHRONOUS + 1


async def test_bulk_pause_is_undone_once(tmp_path: Path) -> None:
    async with serve_api(f"sqlite:///{tmp_path / 'horae.db'}", SETTINGS) as api:
        document = (await api.get("/openapi.json", who=None)).json
        await create_reports(api, 3)
        first = (await api.get("/v1/tasks/named/report%200")).json["id"]
        held = await api.post(f"/v1/tasks/{first}/pause", {"note": "held", "until": "2099-01-01T00:00:00Z"})
        assert held.status == 200
        before = (await api.get("/v1/tasks")).json["items"]
        for headers in ({"Idempotency-Key": "one"}, {"Idempotency-Key": "two", **ASYNC}):
            paused = await api.post("/v1/tasks/actions", PAUSE, headers=headers)
            name = paused.json["undo"] if paused.status == 200 else (await wait_for_end(api, paused))["id"]
            if paused.status == 200:
                assert (await api.post("/v1/tasks/actions", PAUSE, headers=headers)).json == paused.json
            operation = (await api.get(f"/v1/operations/{name}")).json
            assert (operation["state"], operation["changed"], operation["undone_by"]) == ("finished", 3, None)
            assert operation["undo_until"] > operation["ended"]
            path = f"/v1/operations/{name}/undo"
            assert (await api.post(path, who="bob")).code == "no_such_operation"
            tried = await api.post(f"{path}?dry_run=true")
            assert (tried.status, tried.json["matched"], tried.json["done"]) == (200, 3, 3)
            assert {each["state"] for each in (await api.get("/v1/tasks")).json["items"]} == {"paused"}
            undone = await api.post(path, headers={"Idempotency-Key": f"undo {name}"})
            assert (undone.status, undone.json["action"]) == (202, "undo")
            assert undone.headers["location"] == f"/v1/operations/{undone.json['id']}"
            replayed = await api.post(path, headers={"Idempotency-Key": f"undo {name}"})
            assert (replayed.status, replayed.json["id"]) == (202, undone.json["id"])
            over = await wait_for_end(api, undone)
            assert (over["done"], over["refused"], over["undo_until"]) == (3, 0, None)
            assert (await api.get("/v1/tasks")).json["items"] == before
            again = await api.post(path)
            assert (again.status, again.code) == (409, "already_undone")
            for status, body in (("202", undone.json), ("200", tried.json)):
                content = document["paths"]["/v1/operations/{operation_id}/undo"]["post"]["responses"][status]
                schema_validator(document, content["content"]["application/json"]["schema"]).validate(body)


async def test_invalid_bulk_action_is_refused_and_starts_no_operation() -> None:
    async with serve_api() as api:
        await create_reports(api, 1)
        for wrong, code in (
            ({**PAUSE, "action": "explode"}, "bad_choice"),
            ({**PAUSE, "filter": {}}, "missing_field"),
            ({**PAUSE, "filter": {"q": "colour:red"}}, "unknown_query_key"),
            ({**PAUSE, "arguments": {"until": "soonish"}}, "unclear_moment"),
            ({**PAUSE, "arguments": {"missed": "never"}}, "bad_choice"),
            ({**PAUSE, "arguments": {"colour": "red"}}, "unknown_field"),
        ):
            refused = await api.post("/v1/tasks/actions", wrong, headers=ASYNC)
            assert (refused.status, refused.code) == (422, code)
        assert (await api.post("/v1/tasks/actions", PAUSE, who="vic", headers=ASYNC)).status == 403
        assert (await api.get("/v1/operations", who="admin")).json["items"] == []


async def test_bulk_pause_ends_at_the_given_instant() -> None:
    async with serve_api() as api:
        await create_reports(api, 2)
        body = {**PAUSE, "arguments": {"until": "2099-01-01 09:00", "zone": "Asia/Tokyo"}}
        assert (await api.post("/v1/tasks/actions", body)).json["done"] == 2
        for each in (await api.get("/v1/tasks")).json["items"]:
            assert each["pause"]["until"] == "2099-01-01T09:00:00.000Z", "the zone of its schedule comes first"


async def test_operation_can_be_cancelled() -> None:
    async with serve_api() as api:
        await create_reports(api, 3)
        entered, released = block_pause(api)
        begun = await api.post("/v1/tasks/actions", PAUSE, headers=ASYNC)
        await entered.wait()
        path = f"{begun.headers['location']}/cancel"
        tried = await api.post(f"{path}?dry_run=true")
        assert (tried.status, tried.json["cancelling"]) == (202, True)
        assert not (await api.get(begun.headers["location"])).json["cancelling"]
        cancelled = await api.post(path)
        assert (cancelled.status, cancelled.json["state"], cancelled.json["cancelling"]) == (202, "running", True)
        released.set()
        over = await wait_for_end(api, begun)
        assert (over["state"], over["done"], over["total"], over["cancelling"]) == ("cancelled", 1, 3, False)
        again = await api.post(path)
        assert (again.status, again.code) == (409, "operation_over")


async def test_repeated_bulk_action_with_its_key_is_one_operation() -> None:
    async with serve_api() as api:
        await create_reports(api, 2)
        key = {"Idempotency-Key": "once", **ASYNC}
        first = await api.post("/v1/tasks/actions", PAUSE, headers=key)
        again = await api.post("/v1/tasks/actions", PAUSE, headers=key)
        assert again.headers["idempotent-replayed"] == "true"
        assert (again.status, again.json, again.headers["location"]) == (202, first.json, first.headers["location"])
        await wait_for_end(api, first)
        assert len((await api.get("/v1/operations")).json["items"]) == 1
        other = await api.post("/v1/tasks/actions", {**PAUSE, "action": "resume"}, headers=key)
        assert (other.status, other.code) == (422, "idempotency_key_reused")


async def test_revoked_token_interrupts_its_operation() -> None:
    async with serve_api() as api:
        await create_reports(api, 3)
        made = (await api.post("/v1/tokens", {"name": "second"})).json
        api.tokens["second"] = made["text"]
        entered, released = block_pause(api)
        begun = await api.post("/v1/tasks/actions", PAUSE, who="second", headers=ASYNC)
        await entered.wait()
        assert (await api.delete(f"/v1/tokens/{made['id']}")).status == 200
        async with asyncio.timeout(60):
            while (found := (await api.get(begun.headers["location"])).json)["problem"] is None:
                assert found["state"] == "running"
        released.set()
        over = await wait_for_end(api, begun)
        assert (over["state"], over["problem"], over["done"]) == ("interrupted", "revoked", 1)


async def test_operation_is_interrupted_by_a_server_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'horae.db'}"
    async with serve_api(url, SETTINGS) as api:
        await create_reports(api, 3)
        entered, released = block_pause(api)
        begun = await api.post("/v1/tasks/actions", PAUSE, headers=ASYNC)
        await entered.wait()
        stopping = asyncio.ensure_future(api.service.operations.close())
        released.set()
        await stopping
        token = api.tokens["ada"]
    async with serve_api(url, SETTINGS) as api:
        api.tokens["ada"] = token
        over = (await api.get(begun.headers["location"])).json
        assert (over["state"], over["done"], over["total"]) == ("interrupted", 1, 3)
        again = await api.post("/v1/tasks/actions", PAUSE, headers=ASYNC)
        assert (await wait_for_end(api, again))["done"] == 3


async def test_invalid_filters_and_arguments_are_refused_before_any_task_is_changed() -> None:
    async with serve_api() as api:
        await create_reports(api, 1)
        for more in (
            {"filter": {"q": "\ud800"}},
            {"filter": {"label": ["\ud800=x"]}},
            {"filter": {"text": "x" * 201}},
            {"filter": {"state": ["active"] * 101}},
            {"filter": {"state": "active," * 1_000 + "active"}},
            {"arguments": {"zone": "Nowhere/Land"}},
            {"action": "skip", "arguments": {"number": "two"}},
            {"action": "skip", "arguments": {"number": 10**30}},
        ):
            for headers in ({}, ASYNC):
                reply = await api.post("/v1/tasks/actions", {**PAUSE, **more}, headers=headers)
                assert reply.status == 422, (more, headers, reply.text)
        assert (await api.get("/v1/operations")).json["items"] == []


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/horae.db"])
async def test_note_of_an_operation_is_limited_like_that_of_a_task(url: str, tmp_path: Path) -> None:
    async with serve_api(url.format(tmp_path), SETTINGS) as api:
        await create_reports(api, 1)
        for note in ("\ud800", "x" * 100_000):
            begun = await api.post("/v1/tasks/actions", {**PAUSE, "arguments": {"note": note}}, headers=ASYNC)
            assert begun.status == 202, begun.text
            over = await wait_for_end(api, begun)
            assert (over["state"], over["done"]) == ("finished", 1)
            assert len(over["arguments"]["note"]) <= 500
