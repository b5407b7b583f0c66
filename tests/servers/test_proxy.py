"""The proxy, mode by mode, against a server that echoes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from horae.clock import SystemClock
from tests.servers.echo import EchoServer
from tests.servers.ports import HOST
from tests.servers.proxy import Proxy

PATIENCE = 30
MORE_THAN_BUFFERS = 32 * 1024 * 1024
"""The kernel and the proxy together hold less: whoever got rid of so much was read."""


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


def say(client: socket.socket, words: bytes) -> bytes:
    client.sendall(words)
    return hear(client, len(words))


def hear(client: socket.socket, number: int) -> bytes:
    heard = b""
    while len(heard) < number and (piece := client.recv(number - len(heard))):
        heard += piece
    return heard


def says_nothing(client: socket.socket) -> bool:
    """Neither words nor an end of the connection."""
    client.settimeout(0)
    try:
        client.recv(1)
    except BlockingIOError:
        return True
    finally:
        client.settimeout(PATIENCE)
    return False


def drown(client: socket.socket) -> int:
    """Send until nobody takes any more."""
    client.settimeout(0)
    sent = 0
    with suppress(BlockingIOError):
        while sent < MORE_THAN_BUFFERS:
            sent += client.send(bytes(64 * 1024))
    client.settimeout(PATIENCE)
    return sent


def test_words_and_the_end_of_them_pass_both_ways(proxy: Proxy) -> None:
    with connect(proxy) as first, connect(proxy) as second:
        assert say(first, b"one") == b"one"
        assert say(second, b"two") == b"two"
        first.shutdown(socket.SHUT_WR)
        assert first.recv(1) == b""
        assert say(second, b"still here") == b"still here"


def test_much_passes_unharmed(proxy: Proxy) -> None:
    much = bytes(range(256)) * 16_384
    with connect(proxy) as client:
        sending = threading.Thread(target=client.sendall, args=(much,))
        sending.start()
        assert hear(client, len(much)) == much
        sending.join()


def test_a_delayed_piece_is_never_early(proxy: Proxy) -> None:
    clock = SystemClock()
    with connect(proxy) as client:
        say(client, b"warm")
        proxy.delay(0.1)
        begun = clock.steady()
        assert say(client, b"slow") == b"slow"
        assert clock.steady() - begun >= 0.2


def test_healing_lets_go_what_a_delay_holds_back(proxy: Proxy) -> None:
    with connect(proxy) as client:
        say(client, b"warm")
        proxy.delay(86_400)
        client.sendall(b"held")
        proxy.heal()
        assert hear(client, 4) == b"held"


def test_a_cut_resets_the_connected_and_refuses_the_new(proxy: Proxy) -> None:
    with connect(proxy) as client:
        say(client, b"before")
        proxy.cut()
        assert proxy.connections == 0
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        with pytest.raises(ConnectionRefusedError):
            connect(proxy)
    proxy.heal()
    with connect(proxy) as client:
        assert say(client, b"after") == b"after"


def test_half_open_takes_everything_and_tells_nobody(proxy: Proxy, server: EchoServer) -> None:
    with connect(proxy) as old:
        say(old, b"before")
        server.heard.get(timeout=PATIENCE)
        proxy.half_open()
        with connect(proxy) as new:
            for client in (old, new):
                client.sendall(bytes(MORE_THAN_BUFFERS))
                assert says_nothing(client)
            assert server.heard.empty()
            proxy.heal()
            for client in (old, new):
                with pytest.raises(ConnectionResetError):
                    client.recv(1)


def test_what_lost_nothing_while_half_open_goes_on_after_it(proxy: Proxy) -> None:
    with connect(proxy) as client:
        say(client, b"before")
        proxy.half_open()
        proxy.heal()
        assert say(client, b"after") == b"after"


def test_answers_alone_can_be_lost(proxy: Proxy, server: EchoServer) -> None:
    with connect(proxy) as client:
        say(client, b"before")
        server.heard.get(timeout=PATIENCE)
        proxy.half_open(answers_only=True)
        for words in (b"do it", b"and this"):
            client.sendall(words)
            assert server.heard.get(timeout=PATIENCE) == words
        # The echo of this is more than can wait on the way: it was taken from the server, and thrown away.
        client.sendall(bytes(MORE_THAN_BUFFERS))
        assert says_nothing(client)
        proxy.heal()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_a_stall_holds_little_loses_nothing_and_ends(proxy: Proxy) -> None:
    with connect(proxy) as client:
        say(client, b"before")
        proxy.stall()
        sent = drown(client)
        assert sent < MORE_THAN_BUFFERS
        proxy.heal()
        assert hear(client, sent) == bytes(sent)


def test_a_server_that_is_down_is_a_reset() -> None:
    with socket.create_server((HOST, 0)) as closed_soon:
        port = closed_soon.getsockname()[1]
    # So soon, perhaps, that connecting already fails.
    with Proxy(port) as proxy, pytest.raises(ConnectionResetError), connect(proxy) as client:
        client.recv(1)


def test_nothing_is_left_when_it_stops(server: EchoServer) -> None:
    threads = threading.active_count()
    with Proxy(server.port) as proxy:
        client = connect(proxy)
        proxy.delay(86_400)
        client.sendall(b"never")
    with client, pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    assert threading.active_count() == threads
