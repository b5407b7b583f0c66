"""Temporary PostgreSQL server and PgBouncer with a real client."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import asyncpg
import pytest

from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import AWKWARD_PASSWORD, PostgresServer


async def ask(url: str, sql: str) -> object:
    connection = await asyncpg.connect(url, statement_cache_size=0)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def test_address_connects_to_the_server(postgres_url: str) -> None:
    assert (await ask(postgres_url, "SELECT current_database()")) == urlsplit(postgres_url).path[1:]


@pytest.mark.parametrize("auth", ["scram-sha-256", "md5"])
async def test_password_is_required(auth: str) -> None:
    with PostgresServer(auth=auth) as server:
        password = urlsplit(server.url).password
        assert password is not None
        assert unquote(password) == AWKWARD_PASSWORD
        assert (await ask(server.new_database(), "SELECT 1")) == 1
        with pytest.raises(asyncpg.InvalidPasswordError):
            await ask(server.url.replace(password, "guess"), "SELECT 1")


async def test_settings_apply_to_clients_but_not_to_the_administrator() -> None:
    with PostgresServer(settings={"default_transaction_read_only": "on"}) as server:
        url = server.new_database()
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await ask(url, "CREATE TABLE never (n int)")


async def test_database_can_use_an_icu_collation(postgres_server: PostgresServer) -> None:
    sorting = "SELECT string_agg(word, '' ORDER BY word) FROM unnest(ARRAY['b', 'A', 'a', 'B']) AS word"
    plain, human = postgres_server.new_database(), postgres_server.new_database(icu_locale="en-US")
    assert (await ask(plain, sorting)) == "ABab"
    assert (await ask(human, sorting)) == "aAbB"
    for url in (plain, human):
        postgres_server.drop_database(url)


async def test_pooler_shares_one_connection_between_clients(postgres_server: PostgresServer, postgres_url: str) -> None:
    with PgBouncer(postgres_server, pool_size=1) as pooler:
        url = pooler.through(postgres_url)
        # Both clients are connected at once: in session mode the second would wait for ever.
        clients = [await asyncpg.connect(url, statement_cache_size=0) for _ in range(2)]
        servers = {await client.fetchval("SELECT pg_backend_pid()") for client in clients}
        for client in clients:
            await client.close()
        assert len(servers) == 1
        pooler.kill()
        with pytest.raises(ConnectionRefusedError):
            await ask(pooler.through(postgres_url), "SELECT 1")
        pooler.restart()
        assert await ask(pooler.through(postgres_url), "SELECT 1") == 1


async def test_pooler_works_with_a_password() -> None:
    with PostgresServer(auth="scram-sha-256") as server, PgBouncer(server) as pooler:
        assert (await ask(pooler.through(server.url), "SELECT 1")) == 1
