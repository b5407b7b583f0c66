"""Closing a connection to a server that no longer reads: the socket is closed all the same."""

from __future__ import annotations

import asyncio

import pytest

from horae.stores.mysql import connection as module
from horae.stores.mysql.connection import MySQLConnection


class StuckDriver:
    """A driver whose farewell never reaches the server."""

    is_closed = False

    async def ensure_closed(self) -> None:
        await asyncio.Event().wait()

    def close(self) -> None:
        self.is_closed = True


async def test_socket_is_closed_although_the_server_does_not_take_the_farewell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_CLOSE_SECONDS", 0.01)
    driver = StuckDriver()
    with pytest.raises(TimeoutError):
        await MySQLConnection(driver, {}, 1_000_000).close()
    assert driver.is_closed
