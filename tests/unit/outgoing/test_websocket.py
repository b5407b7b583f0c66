"""WebSocket client: guarded addresses, failures as values, and the end of a connection."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import WSMsgType, web

from horae.outgoing.addresses import read_networks
from horae.outgoing.websocket import WebSocketFailed, check_websocket_url, open_websocket

LOOPBACK = read_networks(["127.0.0.0/8"])


async def echo(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT and message.data != "end":
            await socket.send_str(message.data)
        else:
            await socket.close()
    return socket


async def refuse(request: web.Request) -> web.StreamResponse:
    return web.Response(status=403, text=request.query_string)


@pytest.fixture
async def url() -> AsyncIterator[str]:
    application = web.Application()
    application.add_routes([web.get("/echo", echo), web.get("/refuse", refuse)])
    runner = web.AppRunner(application, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"ws://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_texts_go_both_ways_until_the_end(url: str) -> None:
    socket = await open_websocket(f"{url}/echo", LOOPBACK)
    assert await socket.send("你好")
    assert await socket.receive() == "你好"
    assert await socket.send("end")
    assert await socket.receive() is None
    assert not await socket.send("too late")
    await socket.close()


async def test_private_address_needs_the_operator(url: str) -> None:
    with pytest.raises(WebSocketFailed) as failed:
        await open_websocket(f"{url}/echo?ticket=secret")
    assert failed.value.reason.is_permanent
    assert "secret" not in str(failed.value)


async def test_name_that_leads_to_a_private_address_is_refused(url: str) -> None:
    with pytest.raises(WebSocketFailed) as failed:
        await open_websocket(url.replace("127.0.0.1", "localhost") + "/echo")
    assert failed.value.reason.is_permanent


async def test_refused_handshake_shows_the_status_and_no_query(url: str) -> None:
    with pytest.raises(WebSocketFailed, match="status 403") as failed:
        await open_websocket(f"{url}/refuse?ticket=secret", LOOPBACK)
    assert "secret" not in str(failed.value)
    assert not failed.value.reason.is_permanent


async def test_closed_port_is_reported() -> None:
    with pytest.raises(WebSocketFailed, match="could not be connected to"):
        await open_websocket("ws://127.0.0.1:9/", LOOPBACK)


@pytest.mark.parametrize("url", ["ftp://a.example/", "wss:a.example", "wss://user@a.example/", "", "wss://10.0.0.1/"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(WebSocketFailed):
        check_websocket_url(url, ())


def test_secure_url_reads_as_https() -> None:
    assert check_websocket_url("WSS://a.example/link?x=1", ()).text == "https://a.example/link?x=1"
