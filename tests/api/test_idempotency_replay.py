"""Replays of idempotent requests: after the scope check, rendered from ids, and never a second change."""

from __future__ import annotations

import json
from typing import Any, Final

from horae.api.app import ROUTES
from horae.api.openapi import build_operation
from horae.model.accounts.principal import LOCAL, Role, Scope
from horae.web.idempotency import HEADER, idempotent_route_of
from tests.api.api_server import TASK, Api, serve_api

KEY: Final = {"Idempotency-Key": "k-1"}


async def _check_demoted_owner(api: Api) -> None:
    first = await api.post("/v1/tasks", TASK, headers=KEY)
    assert first.status == 201
    await api.service.accounts.put(LOCAL, "ada", role=Role.VIEWER)
    api.service.tokens._cache.clear()
    again = await api.post("/v1/tasks", TASK, headers=KEY)
    assert (again.status, again.code) == (403, "not_allowed")
    assert first.json["id"] not in again.text


async def test_replay_is_refused_after_the_role_lost_the_scope() -> None:
    async with serve_api() as api:
        await _check_demoted_owner(api)


async def _check_token_without_the_scope(api: Api) -> None:
    reading = await api.service.tokens.make(LOCAL, owner="ada", name="reads", scopes=[Scope.READ])
    writing = await api.service.tokens.make(LOCAL, owner="ada", name="writes", scopes=[Scope.WRITE])
    api.tokens |= {"reads": reading[1], "writes": writing[1]}
    task = await api.create_task()
    for path, body in (
        ("/v1/tasks", TASK),
        (f"/v1/tasks/{task['id']}/pause", {"note": "n"}),
        ("/v1/tasks/actions", {"action": "pause", "filter": {"name": "x"}}),
        ("/v1/tokens", {"name": "more"}),
    ):
        key = {"Idempotency-Key": path}
        first = await api.post(path, body, headers=key)
        assert first.status < 300, first.text
        other = await api.post(path, body, headers=key, who="reads")
        assert (other.status, other.code) == (403, "not_allowed"), path
        # A token that may write but not read gets the replay of a write.
        own = await api.post(path, body, headers=key, who="writes")
        assert (own.status, own.headers.get("idempotent-replayed")) == (first.status, "true"), own.text


async def test_replay_is_refused_to_another_token_of_the_owner_that_lacks_the_scope() -> None:
    async with serve_api() as api:
        await _check_token_without_the_scope(api)


async def _check_changed_resource(api: Api) -> None:
    first = await api.post("/v1/tasks", TASK, headers=KEY)
    path = f"/v1/tasks/{first.json['id']}"
    await api.patch(path, {"name": "renamed"})
    again = await api.post("/v1/tasks", TASK, headers=KEY)
    assert (again.status, again.json["id"], again.json["name"]) == (201, first.json["id"], "renamed")
    assert again.headers["location"] == first.headers["location"]
    paused = await api.post(f"{path}/pause", {"note": "a"}, headers={"Idempotency-Key": "pause"})
    assert paused.json["state"] == "paused"
    await api.post(f"{path}/resume")
    replayed = await api.post(f"{path}/pause", {"note": "a"}, headers={"Idempotency-Key": "pause"})
    assert (replayed.json["state"], replayed.headers["idempotent-replayed"]) == ("active", "true")
    assert (await api.get(path)).json["state"] == "active", "a replay changes nothing"


async def test_replay_renders_the_resource_as_it_is_now() -> None:
    async with serve_api() as api:
        await _check_changed_resource(api)


async def _check_deleted_resource(api: Api) -> None:
    first = await api.post("/v1/tasks", TASK, headers=KEY)
    await api.delete(f"/v1/tasks/{first.json['id']}")
    again = await api.post("/v1/tasks", TASK, headers=KEY)
    assert (again.status, again.code) == (410, "replayed_gone")
    assert (await api.get("/v1/tasks")).json["items"] == [], "it is not made a second time"
    many = {"tasks": [TASK, {**TASK, "name": "second"}]}
    key = {"Idempotency-Key": "many"}
    made = (await api.post("/v1/tasks/bulk", many, headers=key)).json["items"]
    await api.delete(f"/v1/tasks/{made[0]['id']}")
    replayed = await api.post("/v1/tasks/bulk", many, headers=key)
    assert replayed.status == 201
    assert (replayed.json["created"], replayed.json["items"]) == (2, made[1:])


async def test_replay_of_a_deleted_resource_is_gone_and_makes_nothing() -> None:
    async with serve_api() as api:
        await _check_deleted_resource(api)


async def _check_stored_records(api: Api) -> None:
    secret = "s3cret-" + "x" * 50_000
    await api.post("/v1/tasks", {**TASK, "payload": {"note": secret}}, headers=KEY)
    await api.post("/v1/tokens", {"name": secret[:100]}, headers={"Idempotency-Key": "token"})
    question = {"when": "every 1h", "zone": "UTC"}
    for _ in range(2):
        preview = await api.post("/v1/schedules/preview", question, headers={"Idempotency-Key": "read"})
        assert preview.status == 200
        assert "idempotent-replayed" not in preview.headers
    records = (await api.service.store.records("answer")).items
    assert len(records) == 2, "reads keep nothing"
    for record in records:
        assert len(record.body) < 300
        assert "s3cret" not in record.body
        assert set(json.loads(record.body)) == {"fingerprint", "status", "ids"}


async def test_stored_answers_hold_ids_and_no_body_and_reads_store_none() -> None:
    async with serve_api() as api:
        await _check_stored_records(api)


async def _check_every_declared_route(api: Api) -> None:
    """Replay each kind of response and compare status and ids."""
    task = await api.create_task(when="every day at 09:00", policies={"overlap": "queue_all"})
    path = f"/v1/tasks/{task['id']}"
    hook = (await api.post("/v1/webhooks", {"url": "https://example.org/hook"})).json["id"]
    admin: dict[str, Any] = {"who": "admin"}
    await api.post("/v1/tokens", {"name": "robot", "agent": "robot"})
    for route, body, more in (
        (f"{path}/run", {}, {}),
        (f"{path}/skip", {"number": 1}, {}),
        (f"{path}/backfill", {"from": "2026-01-01", "to": "2026-01-02"}, {}),
        ("/v1/tasks/actions", {"action": "pause", "filter": {"name": "absent"}}, {}),
        ("/v1/agents/robot/stop", None, {}),
        ("/v1/agents/robot/restart", None, {}),
        (f"/v1/webhooks/{hook}/rotate", None, {}),
        ("/v1/owners/bob/revoke", None, admin),
        ("/v1/owners/bob/restore", None, admin),
        ("/schedules/batch", {"operation": "pause", "taskUuids": [task["id"], "tsk_absent"]}, {}),
        (f"/schedules/{task['id']}/resume", None, {}),
        (f"/schedules/{task['id']}/execute", None, {}),
        (f"/schedules/{task['id']}/snooze", {"snoozeMinutes": 5}, {}),
        ("/schedules/quick-reminder", {"title": "tea", "reminderTime": "2099-01-04T09:05:00Z"}, {}),
        (f"{path}/cancel", None, {}),
    ):
        key = {"Idempotency-Key": route}
        first = await api.post(route, body, headers=key, **more)
        assert first.status < 300, (route, first.text)
        again = await api.post(route, body, headers=key, **more)
        assert (again.status, again.headers.get("idempotent-replayed")) == (first.status, "true"), (route, again.text)
        assert set(again.json) == set(first.json), route


async def test_every_kind_of_change_is_replayed_with_the_same_shape() -> None:
    async with serve_api() as api:
        await _check_every_declared_route(api)


def test_routes_that_document_the_idempotency_key_are_those_that_honour_it() -> None:
    for route in ROUTES:
        parameters = [] if route.operation is None else build_operation(route, route.operation).get("parameters", [])
        documented = any(each["name"].lower() == HEADER for each in parameters)
        assert documented is (idempotent_route_of(route.endpoint) is not None), route
