"""Name resolution for each connection: one forbidden address refuses the name."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import pytest

from horae.outgoing.addresses import read_networks
from horae.outgoing.client import Client
from horae.outgoing.exchange import FailureKind, Response, Unreachable
from horae.outgoing.guard import check_url
from horae.outgoing.session import open_session, send_request, system_lookup
from tests.unit.outgoing.servers import a_client, a_request, answering, wire

ONE = read_networks(["127.0.0.1/32"])


class Rebinding:
    """A resolver whose answers change: each lookup gets the next."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return self._answers.pop(0)


async def test_dns_rebinding_is_refused() -> None:
    lookup = Rebinding(["127.0.0.1"], ["127.0.0.2"])
    async with wire(answering(204)) as outer, a_client(Client(ONE, lookup=lookup)) as client:
        inner = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.2", outer.port)
        async with inner:
            first = await client.send(a_request(outer.url(host="rebinding.example")))
            second = await client.send(a_request(outer.url(host="rebinding.example")))
        connections, asked = outer.connections, lookup.asked
    assert isinstance(first, Response)
    assert isinstance(second, Unreachable)
    assert second.kind is FailureKind.FORBIDDEN
    assert second.is_permanent
    assert connections == 1
    assert asked == ["rebinding.example"] * 2


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1", "10.0.0.1"],
        ["127.0.0.1", "::1"],
        ["127.0.0.1", "fe80::1%2"],
        ["169.254.169.254"],
        ["127.0.0.1", "?"],
    ],
)
async def test_one_forbidden_address_refuses_the_name(addresses: list[str]) -> None:
    async with wire(answering()) as server, a_client(Client(ONE, lookup=Rebinding(addresses))) as client:
        reply, connections = await client.send(a_request(server.url(host="mixed.example"))), server.connections
    assert isinstance(reply, Unreachable)
    assert reply.kind is FailureKind.FORBIDDEN
    assert connections == 0


async def test_host_header_and_sni_are_the_name() -> None:
    async with wire(answering()) as server, a_client(Client(ONE, lookup=Rebinding(["127.0.0.1"]))) as client:
        await client.send(a_request(server.url(host="named.example")))
    assert "host: named.example:" in server.heads[0].lower()


async def test_unresolvable_name_is_a_transient_error() -> None:
    async def unknown(_host: str) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    for lookup in (unknown, Rebinding([])):
        async with a_client(Client(lookup=lookup)) as client:
            reply = await client.send(a_request(check_url("http://nowhere.example/")))
        assert isinstance(reply, Unreachable)
        assert reply.kind is FailureKind.DNS
        assert not reply.is_permanent


async def test_localhost_from_the_system_resolver_is_refused() -> None:
    async with wire(answering()) as server, a_client(Client(read_networks(["::1"]))) as client:
        found = await system_lookup("localhost")
        reply, connections = await client.send(a_request(server.url(host="localhost"))), server.connections
    assert "127.0.0.1" in found
    assert isinstance(reply, Unreachable)
    assert connections == 0


async def test_forbidden_address_opens_no_socket() -> None:
    async with wire(answering()) as server, open_session((), system_lookup, 5) as session:
        reply, connections = await send_request(session, a_request(server.url())), server.connections
    assert isinstance(reply, Unreachable)
    assert reply.kind is FailureKind.FORBIDDEN
    assert connections == 0
