"""Every route for every role, on resources of the caller, of another owner, and on absent ones; generated from `ROUTES`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from horae.api.app import ROUTES
from horae.model.agents.delivery import Delivery, as_failed, delivery_record
from horae.model.ids import make_id
from horae.model.record import RecordWrite
from tests.api.api_server import TASK, Api, Reply, serve_api, start_run
from tests.api.route_rights import PLAN, RIGHTS, Row, Subject

ABSENT: Final[dict[Subject, str]] = {
    "task": "tsk_" + "0" * 32,
    "run": "run_" + "0" * 32,
    "owner": "zq-absent",
    "token": "tok_" + "0" * 32,
    "session": "ses_" + "0" * 32,
    "secret": "zq-absent",
    "key": "zq-absent",
    "webhook": "whk_" + "0" * 32,
    "destination": "zq-absent",
    "station": "zq-absent",
    "stream": "zq-absent",
    "delivery": "whk_" + "0" * 32 + "/dlv_" + "0" * 26,
    "chat_delivery": "dlv_" + "0" * 32,
    "schedule": "tsk_" + "0" * 32,
    "operation": "opn_" + "0" * 32,
    "calendar_token": "cal_" + "0" * 32,
    "view": "tasks/zq-absent",
    "plan": "0" * 15 + "1",
}
_PART: Final = re.compile(r"\{(\w+)(?::path)?\}")
ALLOWED: Final = frozenset({200, 201, 202, 204, 409, 412, 422, 426, 503})
"""Statuses of a caller who has the right: the operation ran, or the state of the resource did not permit it."""
REFUSED: Final = frozenset({403, 404})
_WRONG_VALUES: Final[tuple[Any, ...]] = (None, True, -1, "", "\ud800", [], [[]], {})


def route_names() -> list[str]:
    return sorted(f"{route.method} {route.path}" for route in ROUTES)


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert set(route_names()) - set(RIGHTS) == set()
    assert set(RIGHTS) - set(route_names()) - {"GET /metrics"} == set()


async def test_guarded_routes_answer_401_without_a_token() -> None:
    async with serve_api() as api:
        for route in route_names():
            reply = await _request(api, route, None, "x")
            assert (reply.status == 401) == (RIGHTS[route].needs != "public"), (route, reply.text)


async def test_callers_reach_their_own_resources_and_none_of_other_owners() -> None:
    async with serve_api() as api:
        for route in route_names():
            row = RIGHTS[route]
            if row.needs in ("public", "callback"):
                continue
            if row.subject is None:
                await _check_route_without_a_resource(api, route, row)
            else:
                await _check_route_of_a_resource(api, route, row, row.subject)


async def test_body_with_a_field_absent_or_of_another_type_never_fails_the_server() -> None:
    failed = []
    async with serve_api() as api:
        for route in route_names():
            row = RIGHTS[route]
            if row.needs in ("public", "callback") or not isinstance(row.body, dict):
                continue
            for body in _wrong_bodies(row.body):
                reply = await _request(api, route, "admin", "zq-absent", body)
                if reply.status >= 500 and reply.status != 503:
                    failed.append((route, body, reply.text))
    assert failed == []


def _wrong_bodies(body: dict[str, Any]) -> Iterator[Any]:
    yield from ({}, [], "text", 1)
    for name in body:
        yield {other: value for other, value in body.items() if other != name}
        yield from ({**body, name: wrong} for wrong in _WRONG_VALUES)


async def _check_route_without_a_resource(api: Api, route: str, row: Row) -> None:
    is_allowed = {
        "admin": True,
        "ada": row.needs != "admin",
        "vic": row.needs == "read",
        "robot": row.agents and row.needs != "admin",
    }
    for who, expected in is_allowed.items():
        reply = await _request(api, route, who, "x")
        allowed = ALLOWED | {404} if "{" in route else ALLOWED
        # The compatible routes read the body before they check the role.
        refused = {403} if " /v1/" in route else {403, 422}
        assert reply.status in (allowed if expected else refused), (route, who, reply.text)


async def _check_route_of_a_resource(api: Api, route: str, row: Row, subject: Subject) -> None:
    own = await _request(api, route, "ada", await _make(api, subject))
    assert own.status in ALLOWED if row.needs != "admin" else own.status == 403, (route, own.text)
    for who in ("bob", "vic", "robot"):
        name = await _make(api, subject)
        foreign, absent = await _request(api, route, who, name), await _request(api, route, who, ABSENT[subject])
        assert foreign.status in REFUSED, (route, who, foreign.text)
        assert _comparable(foreign, name) == _comparable(absent, ABSENT[subject]), (route, who)
    admins = await _request(api, route, "admin", await _make(api, subject))
    if row.admin_sees_all:
        assert admins.status in ALLOWED, (route, admins.text)
    else:
        assert admins.status == 404, (route, admins.text)


def _comparable(reply: Reply, name: str) -> tuple[int, str]:
    """Return the status and the text without the requested name and the request id."""
    text = re.sub(r'"request_id":"[^"]*"', "", reply.text)
    for part in name.split("/"):
        text = text.replace(part, "")
    return reply.status, re.sub(r'"(instance|path|timestamp)":"?[^",}]*"?', "", text)


async def _request(api: Api, route: str, who: str | None, name: str, body: Any = None) -> Reply:
    """Send the body of the row, or this one."""
    row = RIGHTS[route]
    method, _, path = route.partition(" ")
    parts = name.split("/")
    for number, found in enumerate(_PART.findall(path)):
        given = "android" if found == "agent" else parts[min(number, len(parts) - 1)]
        path = re.sub(r"\{" + found + r"(:path)?\}", given, path)
    return await api.request(method, path + row.query, row.body if body is None else body, who=who)


async def _make(api: Api, subject: Subject) -> str:  # noqa: C901, PLR0912 - one case per kind of resource
    """Create a resource of ada and return its name or id."""
    match subject:
        case "task" | "schedule":
            return str((await api.create_task())["id"])
        case "run":
            return await start_run(api)
        case "owner":
            return "ada"
        case "token" | "calendar_token":
            return str((await api.post(f"/v1/{subject.replace('_', '-')}s", {"name": "x"})).json["id"])
        case "session":
            return (await api.service.sessions.open_with_token(api.tokens["ada"])).session.id
        case "secret":
            await api.put("/v1/secrets/zq-own", {"value": "x"})
            await api.put("/v1/secrets/zq-own/agents/android", None)
            return "zq-own"
        case "stream":
            await api.post("/v1/streams/zq-own/messages", {"messages": [{"text": "hello"}]})
            await api.put("/v1/streams/zq-own/cursors/zq-own", {"after": 0})
            return "zq-own"
        case "chat_delivery":
            return await _make_failed_delivery(api)
        case "destination":
            await api.put("/v1/destinations/zq-own", {"url": "json://example.org/hook"})
            return "zq-own"
        case "station":
            await api.put("/v1/stations/zq-own", {"key": "k" * 40})
            return "zq-own"
        case "key" | "view":
            body = TASK if subject == "key" else {"query": "state:failed"}
            name = "zq-own" if subject == "key" else "tasks/zq-own"
            await api.put(f"/v1/{'tasks/by-key' if subject == 'key' else 'views'}/{name}", body)
            return name
        case "webhook" | "delivery":
            return await _make_webhook(api, subject)
        case "operation":
            return await _make_operation(api)
        case "plan":
            await api.put("/v1/stations/api", {"key": "p" * 40})
            made = await api.post("/plans/Add", PLAN)
            return str(made.json["data"]["name"]).rpartition(":")[2]


async def _make_failed_delivery(api: Api) -> str:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    failed = as_failed(Delivery(make_id("dlv", now, os.urandom(10)), "ada", "web:1", "hello", now), now, "no")
    await api.service.store.write_records([RecordWrite(delivery_record(failed))])
    return failed.id


async def _make_operation(api: Api) -> str:
    """Start an operation of ada, after the one before it has ended."""
    body = {"action": "pause", "filter": {"name": "nothing"}}
    while (reply := await api.post("/v1/tasks/actions", body, headers={"Prefer": "respond-async"})).status == 409:
        assert reply.code == "operation_going"
    return str(reply.json["id"])


async def _make_webhook(api: Api, subject: Subject) -> str:
    for each in (await api.get("/v1/webhooks")).json["items"]:
        await api.delete(f"/v1/webhooks/{each['id']}")
    made = await api.post("/v1/webhooks", {"url": "https://example.org/hook"})
    assert made.status == 201, made.text
    if subject == "webhook":
        return str(made.json["id"])
    sent = await api.post(f"/v1/webhooks/{made.json['id']}/test")
    return f"{made.json['id']}/{sent.json['id']}"
