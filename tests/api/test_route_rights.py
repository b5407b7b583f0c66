"""Every route, for every role, with what is theirs, somebody else's, and nobody's: generated from the app's own table."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from horae.api.app import ROUTES
from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.ports.store import Node
from tests.api.api_server import TASK, Api, Reply, served
from tests.api.route_rights import RIGHTS, Row, Subject

ABSENT: Final[dict[Subject, str]] = {
    "task": "tsk_" + "0" * 32,
    "run": "run_" + "0" * 32,
    "owner": "zq-absent",
    "token": "tok_" + "0" * 32,
    "secret": "zq-absent",
    "key": "zq-absent",
    "webhook": "whk_" + "0" * 32,
    "delivery": "whk_" + "0" * 32 + "/dlv_" + "0" * 26,
    "schedule": "tsk_" + "0" * 32,
    "operation": "opn_" + "0" * 32,
}
_PART: Final = re.compile(r"\{(\w+)(?::path)?\}")
WORKED: Final = frozenset({200, 201, 202, 204, 409, 412, 422, 503})
"""Nobody was turned away: it was done, or the state of things did not allow it."""
TURNED_AWAY: Final = frozenset({403, 404})


def routes() -> list[str]:
    return sorted(f"{route.method} {route.path}" for route in ROUTES)


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert set(routes()) - set(RIGHTS) == set()
    assert set(RIGHTS) - set(routes()) - {"GET /metrics"} == set()


async def test_nobody_enters_a_guarded_route_without_a_token() -> None:
    async with served() as api:
        for route in routes():
            reply = await _ask(api, route, None, "x")
            assert (reply.status == 401) == (RIGHTS[route].needs != "public"), (route, reply.text)


async def test_everybody_has_what_is_theirs_and_nobody_else() -> None:
    async with served() as api:
        for route in routes():
            row = RIGHTS[route]
            if row.needs in ("public", "callback"):
                continue
            if row.subject is None:
                await _check_plain(api, route, row)
            else:
                await _check_subject(api, route, row, row.subject)


async def _check_plain(api: Api, route: str, row: Row) -> None:
    """What names nothing of anybody's."""
    welcome = {
        "admin": True,
        "ada": row.needs != "admin",
        "vic": row.needs == "read",
        "robot": row.agents and row.needs != "admin",
    }
    for who, expected in welcome.items():
        reply = await _ask(api, route, who, "x")
        allowed = WORKED | {404} if "{" in route else WORKED
        # The older surfaces read what was sent before they look at who sent it.
        refused = {403} if " /v1/" in route else {403, 422}
        assert reply.status in (allowed if expected else refused), (route, who, reply.text)


async def _check_subject(api: Api, route: str, row: Row, subject: Subject) -> None:
    own = await _ask(api, route, "ada", await _make(api, subject))
    assert own.status in WORKED if row.needs != "admin" else own.status == 403, (route, own.text)
    for who in ("bob", "vic", "robot"):
        name = await _make(api, subject)
        foreign, absent = await _ask(api, route, who, name), await _ask(api, route, who, ABSENT[subject])
        assert foreign.status in TURNED_AWAY, (route, who, foreign.text)
        assert _told(foreign, name) == _told(absent, ABSENT[subject]), (route, who)
    admins = await _ask(api, route, "admin", await _make(api, subject))
    if row.everybodys:
        assert admins.status in WORKED, (route, admins.text)
    else:
        assert admins.status == 404, (route, admins.text)


def _told(reply: Reply, name: str) -> tuple[int, str]:
    """What was answered, but for the name that was asked for and the number of the request."""
    text = re.sub(r'"request_id":"[^"]*"', "", reply.text)
    for part in name.split("/"):
        text = text.replace(part, "")
    return reply.status, re.sub(r'"(instance|path|timestamp)":"?[^",}]*"?', "", text)


async def _ask(api: Api, route: str, who: str | None, name: str) -> Reply:
    row = RIGHTS[route]
    method, _, path = route.partition(" ")
    parts = name.split("/")
    for number, found in enumerate(_PART.findall(path)):
        given = "android" if found == "agent" else parts[min(number, len(parts) - 1)]
        path = re.sub(r"\{" + found + r"(:path)?\}", given, path)
    return await api.ask(method, path + row.query, row.body, who=who)


async def _make(api: Api, subject: Subject) -> str:
    """Something of ada's."""
    match subject:
        case "task" | "schedule":
            return str((await api.made())["id"])
        case "run":
            return await a_run(api)
        case "owner":
            return "ada"
        case "token":
            return str((await api.post("/v1/tokens", {"name": "x"})).json["id"])
        case "secret":
            await api.put("/v1/secrets/zq-own", {"value": "x"})
            await api.put("/v1/secrets/zq-own/agents/android", None)
            return "zq-own"
        case "key":
            await api.put("/v1/tasks/by-key/zq-own", TASK)
            return "zq-own"
        case "webhook" | "delivery":
            return await _webhook(api, subject)
        case "operation":
            return await _operation(api)


async def _operation(api: Api) -> str:
    """One that is over, once nothing of ada's goes on any more."""
    wish = {"action": "pause", "filter": {"name": "nothing"}}
    while (reply := await api.post("/v1/tasks/actions", wish, headers={"Prefer": "respond-async"})).status == 409:
        assert reply.code == "operation_going"
    return str(reply.json["id"])


async def _webhook(api: Api, subject: Subject) -> str:
    for each in (await api.get("/v1/webhooks")).json["items"]:
        await api.delete(f"/v1/webhooks/{each['id']}")
    made = await api.post("/v1/webhooks", {"url": "https://example.org/hook"})
    assert made.status == 201, made.text
    if subject == "webhook":
        return str(made.json["id"])
    sent = await api.post(f"/v1/webhooks/{made.json['id']}/test")
    return f"{made.json['id']}/{sent.json['id']}"


async def a_run(api: Api) -> str:
    """A run of ada's that goes on."""
    await api.made(when="now", zone="UTC")
    now = api.app.state.context.clock.now()
    store = api.service.store
    if not await store.nodes():
        await store.join(Node("nod_1", "here/1", "1", now, now))
    claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
    claim = await store.claim_due(now, "nod_1", 100, lambda facts, entry, token: fire(facts, entry, token, claimant))
    return max((each.run for each in claim.runs), key=lambda run: run.planned).id
