"""Requests through the router reach the deployment of their owner: bodies, streams, WebSockets, the console and attacks."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import WSMsgType, WSServerHandshakeError

from horae.web.websocket import CREDENTIAL_PREFIX
from tests.router.deployments import OWNERS, TASK, Cluster

PATIENCE: Final = 30.0
FORGED: Final = {
    "Host": "south.example.org",
    "X-Forwarded-Host": "south",
    "X-Forwarded-For": "10.0.0.1",
    "Horae-Owner": "user:bob",
    "X-Horae-Deployment": "south",
    "Cookie": "horae_deployment=south",
}


async def names_of(cluster: Cluster, who: str, to: str | None = None) -> list[str]:
    reply = await cluster.send("GET", "/v1/tasks?limit=100", who, to=to)
    assert reply.status == 200, reply.body
    return [task["name"] for task in reply.json["items"]]


async def exchange(cluster: Cluster, request: bytes) -> tuple[int, bytes]:
    """Send bytes to the router; return the first status, and all that it answers until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(cluster.router.url.rsplit(":", 1)[1]))
    with closing(writer):
        writer.write(request)
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
    return int(answer.split()[1]), answer


def bearer(cluster: Cluster, who: str) -> bytes:
    return f"Authorization: Bearer {cluster.tokens[who]}\r\n".encode()


async def test_each_owner_reaches_its_deployment(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    for owner, name in OWNERS.items():
        reply = await cluster.send("POST", "/v1/tasks", owner, json={**TASK, "name": f"of {owner}"})
        assert reply.status == 201
        path = f"/v1/tasks/{reply.json['id']}"
        assert (await cluster.send("GET", path, owner)).json == (
            await cluster.send("GET", path, owner, to=cluster.urls[name])
        ).json
        for other in OWNERS:
            assert (await cluster.send("GET", path, other)).status == (200 if other == owner else 404)
        assert f"of {owner}" in await names_of(cluster, name)  # the admin of the same deployment
    assert "of user:bob" not in await names_of(cluster, "north")


async def test_request_ids_conditions_and_heads_pass(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    made = await cluster.send("POST", "/v1/tasks", "user:bob", json=TASK, headers={"X-Request-Id": "mine-1"})
    assert made.headers["X-Request-Id"] == "mine-1"
    path = f"/v1/tasks/{made.json['id']}"
    found = await cluster.send("GET", path, "user:bob")
    head = await cluster.send("HEAD", path, "user:bob")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == found.headers["Content-Length"]
    unchanged = await cluster.send("GET", path, "user:bob", headers={"If-None-Match": found.headers["ETag"]})
    assert unchanged.status == 304
    again = [
        await cluster.send("POST", "/v1/tasks", "user:bob", json=TASK, headers={"Idempotency-Key": "once"})
        for _ in range(2)
    ]
    assert again[0].json["id"] == again[1].json["id"]


async def test_bodies_are_streamed_within_limits(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    body = json.dumps({**TASK, "payload": {"text": "x" * 40_000}}).encode()

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 1_000):
            yield body[start : start + 1_000]

    headers = {"Content-Type": "application/json"}
    made = await cluster.send("POST", "/v1/tasks", "user:bob", data=chunks(), headers=headers)
    assert made.status in (201, 422), made.body
    direct = await cluster.send("POST", "/v1/tasks", "user:bob", data=body, headers=headers, to=cluster.urls["south"])
    assert made.status == direct.status
    large = io.BytesIO(b'"' + b"x" * 2_000_000 + b'"')
    refused = await cluster.send("POST", "/v1/tasks", "user:bob", data=large, headers=headers)
    assert (refused.status, refused.code) == (413, "body_too_large")
    head = (
        b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9000000\r\n"
        + bearer(cluster, "user:bob")
        + b"\r\n"
    )
    status, answer = await exchange(cluster, head)
    assert (status, b"body_too_large" in answer) == (413, True)


async def test_event_streams_pass_at_once(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    headers = {"Authorization": f"Bearer {cluster.tokens['user:bob']}", "Accept": "text/event-stream"}
    async with (
        asyncio.timeout(PATIENCE),
        aiohttp.ClientSession() as session,
        session.get(f"{cluster.router.url}/v1/events", headers=headers) as response,
    ):
        assert response.headers["Content-Type"].startswith("text/event-stream")
        made = await cluster.send("POST", "/v1/tasks", "user:bob", json=TASK)
        await cluster.send("POST", "/v1/tasks", "user:ada", json={**TASK, "name": "not for bob"})
        seen = b""
        while made.json["id"].encode() not in seen:
            seen += await response.content.readany()
        assert b"not for bob" not in seen


async def test_websockets_pass_with_their_refusals(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    url = f"{cluster.router.url}/plans/notify"
    async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE):
        protocols = ("horae.plans", CREDENTIAL_PREFIX + cluster.tokens["user:bob"])
        async with session.ws_connect(url, protocols=protocols) as socket:
            assert socket.protocol == "horae.plans"
            assert (await socket.receive_json())["event"] == "ready"
            await socket.send_str("unexpected")
            message = await socket.receive()
            assert (message.type, message.data) == (WSMsgType.CLOSE, 1003)
        for headers, status in (
            ({}, 401),
            ({"Authorization": f"Bearer {wrong_token(cluster)}"}, 401),
            ({"Authorization": f"Bearer {cluster.tokens['user:bob']}", "Origin": "https://evil.example"}, 403),
        ):
            with pytest.raises(WSServerHandshakeError) as denied:
                await session.ws_connect(url, headers=headers)
            assert denied.value.status in (status, 422)


def wrong_token(cluster: Cluster) -> str:
    """The id of a real token, with another secret."""
    text = cluster.tokens["user:bob"]
    return text[:-1] + ("0" if text[-1] != "0" else "1")


async def test_router_reports_its_own_health(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    assert (await cluster.send("GET", "/healthz", None)).json["status"] == "ok"
    ready = (await cluster.send("GET", "/readyz", None)).json
    assert ready["status"] == "ready"
    assert ready["deployments"] == [
        {"name": name, "reachable": True, "trusts_router": True} for name in ("north", "south")
    ]


# --- attacks --------------------------------------------------------------------------------------------------------------


async def test_wrong_tokens_learn_nothing(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    unknown = f"horae_{'0' * 32}_{'0' * 64}"
    answers = []
    for text in (wrong_token(cluster), unknown):
        cluster.tokens["attacker"] = text
        reply = await cluster.send("GET", "/v1/whoami", "attacker")
        problem = {**reply.json, "request_id": ""}
        answers.append((reply.status, problem))
    assert answers[0] == answers[1]
    assert (answers[0][0], answers[0][1]["code"]) == (401, "bad_token")


@pytest.mark.parametrize("header", sorted(FORGED))
async def test_forged_headers_choose_no_deployment_for_a_token(shared_cluster: Cluster, header: str) -> None:
    reply = await shared_cluster.send("GET", "/v1/whoami", "user:ada", headers={header: FORGED[header]})
    assert (reply.status, reply.json["owner"]) == (200, "user:ada")


async def test_lookup_is_for_trusted_routers_only(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    path = "/internal/credential-lookup"
    fields = {"kind": "token", "key": "tok_" + "0" * 32, "proof": "0" * 64}
    for spelling in (path, "/internal/", "//internal/credential-lookup", "/x/../internal/credential-lookup"):
        reply = await cluster.send("POST", spelling, None, json=fields)
        assert reply.status in (400, 401, 404, 405), spelling
        assert b"state" not in reply.body
    status, answer = await exchange(
        cluster,
        b"POST /v1/%2e%2e/internal/credential-lookup HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
    )
    assert (status, b"bad_target" in answer) == (400, True)
    known = await cluster.send("POST", path, None, json=fields, to=cluster.urls["north"])
    assert known.json["state"] == "unknown"


async def test_metrics_are_not_local_through_the_router(shared_cluster: Cluster) -> None:
    assert (await shared_cluster.send("GET", "/metrics", None)).status == 401
    direct = await shared_cluster.send("GET", "/metrics", None, to=shared_cluster.urls["north"])
    assert direct.status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 4\r\nContent-Length: 40\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Content-Length: +4\r\n",
        b"Content-Length : 4\r\n",
    ],
)
async def test_ambiguous_lengths_are_refused(shared_cluster: Cluster, head: bytes) -> None:
    """No second request, which would come with the rights of the next client on the connection, may be seen."""
    cluster = shared_cluster
    smuggled = b"GET /v1/whoami HTTP/1.1\r\nHost: x\r\n" + bearer(cluster, "user:bob") + b"\r\n"
    request = (
        b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\n" + bearer(cluster, "user:ada") + head + b"\r\n0\r\n\r\n" + smuggled
    )
    status, answer = await exchange(cluster, request)
    assert status == 400
    assert b"user:bob" not in answer


@pytest.mark.parametrize(
    "head",
    [
        b"Host: x\r\nHost: y\r\n",
        b"Host: x\r\nAuthorization: Bearer horae_x\r\n",
    ],
)
async def test_doubled_headers_are_refused(shared_cluster: Cluster, head: bytes) -> None:
    request = b"GET /v1/whoami HTTP/1.1\r\nConnection: close\r\n" + head + bearer(shared_cluster, "user:ada") + b"\r\n"
    status, answer = await exchange(shared_cluster, request)
    assert status in (400, 401)
    assert b"user:ada" not in answer


@pytest.mark.parametrize(
    "target", [b"/v1/tasks/../whoami", b"/v1/./whoami", b"/v1\\whoami", b"/v1/%2e%2e/v1/whoami", b"*", b"/v1/%0d%0aX"]
)
async def test_ambiguous_paths_are_refused(shared_cluster: Cluster, target: bytes) -> None:
    request = (
        b"GET "
        + target
        + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        + bearer(shared_cluster, "user:ada")
        + b"\r\n"
    )
    status, answer = await exchange(shared_cluster, request)
    assert status == 400
    assert b"user:ada" not in answer


async def test_absolute_targets_name_no_deployment(shared_cluster: Cluster) -> None:
    south = shared_cluster.urls["south"].encode()
    request = (
        b"GET "
        + south
        + b"/v1/whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        + bearer(shared_cluster, "user:ada")
        + b"\r\n"
    )
    status, answer = await exchange(shared_cluster, request)
    assert (status, b'"user:ada"' in answer) == (200, True)


# --- console --------------------------------------------------------------------------------------------------------------


async def test_console_has_a_session_in_each_deployment(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    origin = {"Origin": cluster.router.url}
    jar: dict[str, str] = {}

    async def send(method: str, path: str, **options: Any) -> Any:
        cookies = "; ".join(f"{name}={value}" for name, value in jar.items())
        reply = await cluster.send(method, path, None, headers={**origin, "Cookie": cookies}, **options)
        for value in reply.headers.getall("Set-Cookie", ()):  # type: ignore[attr-defined]
            name, _, rest = value.partition("=")
            jar[name] = rest.partition(";")[0]
        return reply

    for who in OWNERS:
        reply = await send("POST", "/console/sign-in", data={"token": cluster.tokens[who]})
        assert reply.status == 303, reply.body
        page = await send("GET", "/console/")
        assert (page.status, who.encode() in page.body) == (200, True)
    assert {"horae_session.north", "horae_session.south", "horae_deployment"} <= set(jar)
    switch = await send("GET", "/deployments")
    assert all(f'value="{name}"'.encode() in switch.body for name in ("north", "south"))
    switched = await send("POST", "/deployments", data={"deployment": "north"})
    assert (switched.status, jar["horae_deployment"]) == (303, "north")
    page = (await send("GET", "/console/")).body
    assert b"user:ada" in page
    assert b'<a href="/deployments">Deployment: north</a>' in page
    nobody = await cluster.send("GET", "/deployments", None)
    assert b"north" not in nobody.body
    # A session of one deployment is worth nothing in the other.
    jar["horae_session.south"], jar["horae_deployment"] = jar["horae_session.north"], "south"
    assert (await send("GET", "/console/")).status == 303
