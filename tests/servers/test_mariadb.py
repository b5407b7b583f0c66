"""Temporary MariaDB server with a real client: passwords and collations."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

import asyncmy
import pytest
from asyncmy.errors import OperationalError

from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import AWKWARD_PASSWORD


async def ask(url: str, sql: str, *, password: str | None = None) -> object:
    parts = urlsplit(url)
    # As bytes: the client would encode text as Latin-1.
    secret = (unquote(parts.password or "") if password is None else password).encode()
    where = {"host": parts.hostname, "port": parts.port, "user": parts.username, "db": parts.path[1:]}
    connection: Any = await asyncmy.connect(**where, password=secret)
    try:
        async with connection.cursor() as cursor:
            await cursor.execute(sql)
            return (await cursor.fetchone())[0]
    finally:
        await connection.ensure_closed()


async def test_address_connects_to_the_server(mariadb_url: str) -> None:
    assert (await ask(mariadb_url, "SELECT database()")) == urlsplit(mariadb_url).path[1:]


async def test_password_is_required_also_after_a_restart() -> None:
    with MariaDBServer(password=AWKWARD_PASSWORD + "\\'") as server:
        url = server.new_database()
        assert (await ask(url, "SELECT 1")) == 1
        with pytest.raises(OperationalError, match="Access denied"):
            (await ask(url, "SELECT 1", password="guess"))  # noqa: S106 - a wrong password
        server.restart()
        assert (await ask(url, "SELECT 1")) == 1


async def test_database_has_the_given_collation(mariadb_server: MariaDBServer) -> None:
    url = mariadb_server.new_database(collation="utf8mb4_bin")
    assert (await ask(url, "SELECT @@collation_database")) == "utf8mb4_bin"
    mariadb_server.drop_database(url)
