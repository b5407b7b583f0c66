"""Sandbox of the sending process: addresses, files and programs that it stops."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from horae.notifiers.sandbox import ForbiddenError, Sandbox
from horae.outgoing.addresses import read_networks

PRIVATE = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1%eth0", "192.168.1.1")


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with socket.socket() as made:
        yield made


@pytest.mark.parametrize("address", PRIVATE)
def test_connection_to_special_address_is_stopped(connection: socket.socket, address: str) -> None:
    sandbox = Sandbox(())
    for event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        with pytest.raises(ForbiddenError):
            sandbox.audit(event, (connection, (address, 80)))
    assert len(sandbox.networks) == 1


def test_name_that_was_not_looked_up_is_stopped(connection: socket.socket) -> None:
    with pytest.raises(ForbiddenError):
        Sandbox(()).audit("socket.connect", (connection, ("example.com", 80)))


def test_public_and_allowed_addresses_pass(connection: socket.socket) -> None:
    sandbox = Sandbox(read_networks(["127.0.0.0/8"]))
    sandbox.audit("socket.connect", (connection, ("93.184.216.34", 443)))
    sandbox.audit("socket.connect", (connection, ("127.0.0.1", 80)))
    sandbox.audit("socket.sendmsg", (connection, None))
    assert not sandbox.networks


def test_socket_of_this_machine_is_stopped() -> None:
    with socket.socket(socket.AF_UNIX) as local, pytest.raises(ForbiddenError):
        Sandbox(()).audit("socket.connect", (local, "/run/dbus/system_bus_socket"))


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("open", ("/etc/passwd", "r", os.O_RDONLY)),
        ("open", (b"/etc/shadow", None, os.O_RDONLY)),
        ("open", ("/proc/self/environ", "r", os.O_RDONLY)),
        ("open", (f"{sys.prefix}/../../../../../../../etc/passwd", "r", os.O_RDONLY)),
        ("open", (os.__file__, "w", os.O_WRONLY | os.O_CREAT)),
        ("subprocess.Popen", ("sh", ["sh"], None, None)),
        ("os.system", ("true",)),
        ("os.remove", ("/etc/x", -1)),
        ("ctypes.dlopen", ("libc.so.6",)),
    ],
)
def test_files_and_programs_are_stopped(event: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ForbiddenError):
        Sandbox(()).audit(event, arguments)


def test_libraries_can_be_read() -> None:
    sandbox = Sandbox(())
    sandbox.audit("open", (os.__file__, "r", os.O_RDONLY))
    sandbox.audit("open", (3, "r", os.O_RDONLY))
    sandbox.audit("open", (os.devnull, "w", os.O_WRONLY))
    sandbox.audit("os.listdir", (sys.prefix,))


def test_allowed_host_schema_lifts_all_but_the_addresses(connection: socket.socket) -> None:
    sandbox = Sandbox((), is_host_allowed=True)
    sandbox.audit("open", ("/etc/passwd", "r", os.O_RDONLY))
    with socket.socket(socket.AF_UNIX) as local:
        sandbox.audit("socket.connect", (local, "/run/dbus/system_bus_socket"))
    with pytest.raises(ForbiddenError):
        sandbox.audit("socket.connect", (connection, ("127.0.0.1", 80)))


ATTEMPTS = """
import json, os, socket, sys, urllib.request
from horae.notifiers.sandbox import Sandbox
sandbox = Sandbox(())
sandbox.enter()
def stopped(attempt):
    try:
        attempt()
    except OSError as error:
        return "ForbiddenError" in repr(error)
    return False
print(json.dumps([stopped(each) for each in (
    lambda: open("/etc/passwd"),
    lambda: os.open("/etc/passwd", os.O_RDONLY),
    lambda: os.system("true"),
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: socket.create_connection(("localhost", 9)),
    lambda: socket.socket().connect(("localhost", 9)),
    lambda: socket.socket(socket.AF_UNIX).connect("/run/none"),
    lambda: urllib.request.urlopen("http://127.0.0.1:9/"),
)]))
"""


def test_confined_process_cannot_do_any_of_these() -> None:
    printed = subprocess.run([sys.executable, "-c", ATTEMPTS], capture_output=True, check=True, text=True).stdout
    assert json.loads(printed) == [True] * 8
