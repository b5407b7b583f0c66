"""Temporary Redis server with a real client: databases, a password, and data that survive a kill."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError

from tests.servers.postgres import AWKWARD_PASSWORD
from tests.servers.redis import RedisServer


async def ask(url: str, *words: str) -> Any:
    client: Any = Redis.from_url(url, decode_responses=True)
    try:
        return await client.execute_command(*words)
    finally:
        await client.aclose()


async def test_databases_are_apart(redis_server: RedisServer) -> None:
    first, second = redis_server.new_database(), redis_server.new_database()
    await ask(first, "SET", "name", "value")
    assert await ask(first, "GET", "name") == "value"
    assert await ask(second, "GET", "name") is None
    redis_server.drop_database(first)
    assert await ask(first, "GET", "name") is None


async def test_password_is_required_and_data_survive_a_kill() -> None:
    with RedisServer(password=AWKWARD_PASSWORD) as server:
        url = server.new_database()
        await ask(url, "SET", "name", "value")
        with pytest.raises(AuthenticationError):
            await ask(url.replace(":p%40", ":guess"), "GET", "name")
        server.kill()
        server.start()
        assert await ask(url, "GET", "name") == "value"
