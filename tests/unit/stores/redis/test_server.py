"""First connection to Redis: what the server can lose, settings that are refused, and connection errors."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from horae.clock import SystemClock
from horae.errors import Refusal, UnusableStore
from horae.runtime.durability import reads_require_durable, require_durable_store, warn_about_possible_loss
from horae.runtime.process_settings import load_settings
from horae.stores.redis import RedisStore
from horae.stores.redis.connections.server import ServerFacts
from horae.stores.redis.connections.status import read_status
from horae.stores.sql.reads.status import PossibleLoss
from tests.cli.command_line import Cli
from tests.servers.ports import HOST, ReservedPort
from tests.servers.redis import RedisServer
from tests.unit.stores.connection_errors import QUOTED, SECRET, TIMEOUT_SECONDS, assert_refused


async def open_and_close(url: str) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        store = RedisStore(url)
        try:
            await store.open()
        finally:
            await store.close()


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        ({"appendonly": "yes", "appendfsync": "always"}, PossibleLoss.NOTHING),
        ({"appendonly": "yes", "appendfsync": "everysec"}, PossibleLoss.LAST_SECOND),
        ({"appendonly": "yes", "appendfsync": "no"}, PossibleLoss.SINCE_SNAPSHOT),
        ({"appendonly": "no", "appendfsync": "always"}, PossibleLoss.SINCE_SNAPSHOT),
        ({"appendonly": "yes"}, PossibleLoss.UNKNOWN),
    ],
)
def test_possible_loss_follows_from_the_settings(settings: dict[str, str], loss: PossibleLoss) -> None:
    assert ServerFacts("Redis", "7.0.0", settings, "noeviction", 0).possible_loss is loss


async def test_status_and_warning_follow_the_settings_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "horae")
    with RedisServer(in_memory=True) as server:
        await open_and_close(server.url)
        await warn_about_possible_loss(server.url, SystemClock())
        assert not caplog.records
        status = await read_status(server.url, SystemClock())
        assert (status.kind, status.schema, status.possible_loss) == ("Redis", 1, PossibleLoss.NOTHING)
        assert dict(status.settings) == {"appendonly": "yes", "appendfsync": "always"}
        server.ask("CONFIG", "SET", "appendfsync", "everysec")
        await warn_about_possible_loss(server.url, SystemClock())
        assert "about the last second" in caplog.text
        assert (await read_status(server.url, SystemClock())).possible_loss is PossibleLoss.LAST_SECOND
        server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        with pytest.raises(UnusableStore) as refusal:
            await open_and_close(server.url)
        assert refusal.value.code == "store_evicts"


async def test_user_without_config_can_open_the_store_and_one_without_info_is_refused() -> None:
    with RedisServer(in_memory=True) as server:
        server.ask("ACL", "SETUSER", "ada", "on", ">word", "~*", "&*", "+@all", "-config")
        server.ask("ACL", "SETUSER", "bob", "on", ">word", "~*", "&*", "+@all", "-info")
        url = server.url.replace("redis://", "redis://ada:word@")
        await open_and_close(url)
        assert (await read_status(url, SystemClock())).possible_loss is PossibleLoss.UNKNOWN
        with pytest.raises(UnusableStore) as refusal:
            await open_and_close(server.url.replace("redis://", "redis://bob:word@"))
        assert refusal.value.code == "store_commands_denied"


async def test_newer_layout_is_refused(redis_server: RedisServer, redis_url: str) -> None:
    await open_and_close(redis_url)
    redis_server.ask("SET", "{horae}:schema", "99", database=int(redis_url.rpartition("/")[2]))
    with pytest.raises(UnusableStore) as refusal:
        await open_and_close(redis_url)
    assert refusal.value.code == "store_newer"


def test_server_that_is_not_there_is_refused_on_the_command_line(tmp_path: Path) -> None:
    with ReservedPort() as port:
        assert_refused(Cli(tmp_path), f"redis://ada:{QUOTED}@{HOST}:{port.number}/0", "store_unreachable")


async def test_wrong_password_and_missing_database_are_refused() -> None:
    with RedisServer(password=SECRET, in_memory=True) as server:
        for url, code in (
            (server.url.replace(QUOTED, f"{QUOTED}x"), "store_login_refused"),
            (server.url_of(9_999), "store_database_missing"),
        ):
            with pytest.raises(UnusableStore) as refusal:
                await open_and_close(url)
            assert refusal.value.code == code
            assert SECRET not in str(refusal.value)


async def test_durability_can_be_required_of_a_node(tmp_path: Path) -> None:
    with RedisServer(settings={"appendfsync": "everysec"}, in_memory=True) as server:
        cli = Cli(tmp_path)
        refused = await asyncio.to_thread(
            cli.process, "up", "--require-durable", "--lang", "en", HORAE_STORE=server.url
        )
        assert (refused.code, "appendfsync everysec" in refused.err) == (7, True)
        server.ask("CONFIG", "SET", "appendfsync", "always")
        await require_durable_store(server.url, SystemClock())
    with pytest.raises(UnusableStore, match="in memory"):
        await require_durable_store("memory://", SystemClock())


def test_required_durability_is_a_setting() -> None:
    answers = [
        reads_require_durable(load_settings({"HORAE_REQUIRE_DURABLE": value} if value else {}))
        for value in ("yes", "no", "")
    ]
    assert answers == [True, False, False]
    with pytest.raises(Refusal):
        reads_require_durable(load_settings({"HORAE_REQUIRE_DURABLE": "perhaps"}))
