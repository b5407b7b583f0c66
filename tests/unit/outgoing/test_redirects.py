"""Redirects: off by default, checked at each hop, without credentials for another origin."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from horae.outgoing.addresses import read_networks
from horae.outgoing.client import Client, next_hop
from horae.outgoing.exchange import FailureKind, Reply, Request, Response, Unreachable
from horae.outgoing.guard import check_url
from tests.unit.outgoing.servers import Wire, a_client, a_request, answering, reply_to, wire

PRIVATE = (
    ("Authorization", "Bearer hunter2"),
    ("X-Api-Key", "hunter2"),
    ("Cookie", "hunter2"),
    ("webhook-signature", "v1,hunter2"),
    ("Horae-Callback-Token", "hunter2"),
    ("Idempotency-Key", "occ_1"),
    ("Content-Type", "application/json"),
)


def hop(url: str, location: str, status: int = 302, **changes: object) -> Request | Unreachable:
    request = a_request(check_url(url), redirects=1, **changes)  # type: ignore[arg-type]
    return next_hop(request, Response(status, {"location": location}, b"", truncated=False, url=request.url), ())


def followed(location: str, status: int = 302, **changes: object) -> Request:
    found = hop("https://a.example/x/y", location, status, **changes)
    assert isinstance(found, Request), found
    return found


async def test_a_redirect_is_an_answer_where_none_is_followed() -> None:
    reply = await reply_to(answering(302, headers=(("Location", "/elsewhere"),)))
    assert isinstance(reply, Response)
    assert reply.status == 302


async def both(location_of: str, redirects: int = 1, **changes: object) -> tuple[Reply, Wire, Wire]:
    """Two servers; the first redirects to the second, which is found under `location_of`."""
    async with AsyncExitStack() as stack:
        second = await stack.enter_async_context(wire(answering(200, b"there"), "127.0.0.2"))
        location = location_of.format(port=second.port)
        status = int(str(changes.pop("status", 302)))
        first = await stack.enter_async_context(wire(answering(status, headers=(("Location", location),))))
        allowed = read_networks(str(changes.pop("allowed", "127.0.0.0/8")).split())
        client = await stack.enter_async_context(a_client(Client(allowed)))
        request = a_request(first.url(), redirects=redirects, **changes)  # type: ignore[arg-type]
        return await client.send(request), first, second


async def test_redirect_drops_credentials() -> None:
    reply, first, second = await both("http://127.0.0.2:{port}/", method="POST", body=b"{}", headers=PRIVATE)
    assert isinstance(reply, Response)
    assert reply.body == b"there"
    assert reply.url.host_and_port.startswith("127.0.0.2")
    assert "hunter2" in first.heard[0]
    assert second.heard[0].startswith("GET / ")
    assert "hunter2" not in second.heard[0]
    assert "occ_1" in second.heard[0]
    assert second.bodies == [b""]


@pytest.mark.parametrize("location", ["http://127.0.0.2:{port}/", "http://2130706434:{port}/", "//127.0.0.2:{port}/x"])
async def test_a_redirect_inward_fails_without_a_connection(location: str) -> None:
    reply, first, second = await both(location, allowed="127.0.0.1/32")
    assert isinstance(reply, Unreachable)
    assert reply.kind is FailureKind.REDIRECTED
    assert reply.is_permanent
    assert (first.connections, second.connections) == (1, 0)


async def test_redirect_loop_ends() -> None:
    async with wire(answering(302, headers=(("Location", "/again"),))) as server, a_client() as client:
        reply, connections = await client.send(a_request(server.url(), redirects=3)), server.connections
    assert isinstance(reply, Unreachable)
    assert reply.kind is FailureKind.REDIRECTED
    assert connections == 4


async def test_body_is_not_sent_to_another_origin() -> None:
    reply, _, second = await both("http://127.0.0.2:{port}/", method="POST", body=b"{}", status=307)
    assert isinstance(reply, Unreachable)
    assert reply.kind is FailureKind.REDIRECTED
    assert second.connections == 0


@pytest.mark.parametrize(
    "location",
    [
        "http://a.example/",
        "http://169.254.169.254/",
        "https://127.0.0.1/",
        "file:///etc/passwd",
        "https://user:pw@b.example/",
        "https://b.example/\r\nX: y",
        "https://b.example:99999/",
        "https://[::1",
        "\\\\127.0.0.1\\x",
        "https:" + "a" * 5_000,
    ],
)
def test_redirect_to_a_forbidden_url_is_refused(location: str) -> None:
    found = hop("https://a.example/", location)
    assert isinstance(found, Unreachable)
    assert found.kind is FailureKind.REDIRECTED
    assert "pw" not in found.message


@pytest.mark.parametrize(
    ("status", "method", "after"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (302, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "DELETE", "DELETE"),
    ],
)
def test_the_method_after_a_redirect(status: int, method: str, after: str) -> None:
    found = followed("/z", status, method=method, body=b"{}", headers=PRIVATE)
    assert (found.method, found.url.text, found.redirects) == (after, "https://a.example/z", 0)
    assert (found.body is None) == (after == "GET" and method != "GET")
    assert ("Authorization", "Bearer hunter2") in found.headers  # the same origin knows it already


@pytest.mark.parametrize("location", ["https://a.example:8443/", "https://b.example/", "https://a.example.b.example/"])
def test_another_port_or_host_is_another_origin(location: str) -> None:
    assert [name for name, _ in followed(location, headers=PRIVATE).headers] == ["Idempotency-Key", "Content-Type"]
