"""TCP proxy modes against an echo server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from horae.clock import SystemClock
from tests.servers.echo import ECHO_THREAD, EchoServer
from tests.servers.ports import HOST
from tests.servers.proxy import Proxy

PATIENCE = 30
MORE_THAN_BUFFERS = 32 * 1024 * 1024
"""More than the kernel and the proxy buffer together: a sender that got rid of it was read."""


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


@pytest.fixture
def proxy(server: EchoServer) -> Iterator[Proxy]:
    with Proxy(server.port) as proxy:
        yield proxy


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=PATIENCE)


def send(client: socket.socket, words: bytes) -> bytes:
    client.sendall(words)
    return receive(client, len(words))


def receive(client: socket.socket, number: int) -> bytes:
    received = b""
    while len(received) < number and (piece := client.recv(number - len(received))):
        received += piece
    return received


def is_silent(client: socket.socket) -> bool:
    """Return whether neither data nor an end of the connection arrives."""
    client.settimeout(0)
    try:
        client.recv(1)
    except BlockingIOError:
        return True
    finally:
        client.settimeout(PATIENCE)
    return False


def fill_buffers(client: socket.socket) -> int:
    """Send until the buffers are full."""
    client.settimeout(0)
    sent = 0
    with suppress(BlockingIOError):
        while sent < MORE_THAN_BUFFERS:
            sent += client.send(bytes(64 * 1024))
    client.settimeout(PATIENCE)
    return sent


def test_data_and_end_pass_in_both_directions(proxy: Proxy) -> None:
    with connect(proxy) as first, connect(proxy) as second:
        assert send(first, b"one") == b"one"
        assert send(second, b"two") == b"two"
        first.shutdown(socket.SHUT_WR)
        assert first.recv(1) == b""
        assert send(second, b"still here") == b"still here"


def test_large_data_pass_unchanged(proxy: Proxy) -> None:
    much = bytes(range(256)) * 16_384
    with connect(proxy) as client:
        sending = threading.Thread(target=client.sendall, args=(much,))
        sending.start()
        assert receive(client, len(much)) == much
        sending.join()


def test_delayed_chunk_is_never_early(proxy: Proxy) -> None:
    clock = SystemClock()
    with connect(proxy) as client:
        send(client, b"warm")
        proxy.delay(0.1)
        begun = clock.steady()
        assert send(client, b"slow") == b"slow"
        assert clock.steady() - begun >= 0.2


def test_heal_releases_delayed_data(proxy: Proxy) -> None:
    with connect(proxy) as client:
        send(client, b"warm")
        proxy.delay(86_400)
        client.sendall(b"held")
        proxy.heal()
        assert receive(client, 4) == b"held"


def test_cut_resets_connections_and_refuses_new_ones(proxy: Proxy) -> None:
    with connect(proxy) as client:
        send(client, b"before")
        proxy.cut()
        assert proxy.connections == 0
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        with pytest.raises(ConnectionRefusedError):
            connect(proxy)
    proxy.heal()
    with connect(proxy) as client:
        assert send(client, b"after") == b"after"


def test_half_open_drops_data_silently(proxy: Proxy, server: EchoServer) -> None:
    with connect(proxy) as old:
        send(old, b"before")
        server.received.get(timeout=PATIENCE)
        proxy.half_open()
        with connect(proxy) as new:
            for client in (old, new):
                client.sendall(bytes(MORE_THAN_BUFFERS))
                assert is_silent(client)
            assert server.received.empty()
            proxy.heal()
            for client in (old, new):
                with pytest.raises(ConnectionResetError):
                    client.recv(1)


def test_link_without_losses_continues_after_half_open(proxy: Proxy) -> None:
    with connect(proxy) as client:
        send(client, b"before")
        proxy.half_open()
        proxy.heal()
        assert send(client, b"after") == b"after"


def test_half_open_can_drop_answers_only(proxy: Proxy, server: EchoServer) -> None:
    with connect(proxy) as client:
        send(client, b"before")
        server.received.get(timeout=PATIENCE)
        proxy.half_open(answers_only=True)
        for words in (b"do it", b"and this"):
            client.sendall(words)
            assert server.received.get(timeout=PATIENCE) == words
        # The echo exceeds all buffers: the proxy read it from the server and dropped it.
        client.sendall(bytes(MORE_THAN_BUFFERS))
        assert is_silent(client)
        proxy.heal()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_stall_buffers_little_and_loses_nothing(proxy: Proxy) -> None:
    with connect(proxy) as client:
        send(client, b"before")
        proxy.stall()
        sent = fill_buffers(client)
        assert sent < MORE_THAN_BUFFERS
        proxy.heal()
        assert receive(client, sent) == bytes(sent)


def test_unreachable_server_resets_the_client() -> None:
    with socket.create_server((HOST, 0)) as closed_soon:
        port = closed_soon.getsockname()[1]
    # The reset may come so soon that connect() fails.
    with Proxy(port) as proxy, pytest.raises(ConnectionResetError), connect(proxy) as client:
        client.recv(1)


def test_stop_closes_every_connection(server: EchoServer) -> None:
    before = set(threading.enumerate())
    with Proxy(server.port) as proxy:
        client = connect(proxy)
        proxy.delay(86_400)
        client.sendall(b"never")
    with client, pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    # The echo server may still accept the connection that the proxy has closed.
    for thread in {each for each in threading.enumerate() if each.name != ECHO_THREAD} - before:
        thread.join(30)
        assert not thread.is_alive()
