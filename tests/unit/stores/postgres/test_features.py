"""Capability probe of PostgreSQL: features revoked from a login, a transaction pooler, and what a node does without them."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator

import pytest

from horae import Horae
from horae.clock import SystemClock
from horae.errors import UnusableStore
from horae.runtime.store_status import check_server_features
from horae.stores.postgres.features import find_missing_features
from horae.stores.sql.features import Feature
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.store_setup import new_schema

REVOCATIONS = [
    ("pg_notify(text, text)", Feature.NOTIFICATIONS),
    ("clock_timestamp()", Feature.CLOCK),
    ("pg_current_xact_id()", Feature.TRANSACTION_IDS),
]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of its own: what is revoked is revoked for all logins but the administrator's."""
    with PostgresServer(in_memory=True) as running:
        yield running


@pytest.fixture
def login(server: PostgresServer) -> Iterator[str]:
    """Address of a new database with a login that owns it, and is no administrator."""
    name = f"user_{secrets.token_hex(4)}"
    server.ask(f"CREATE ROLE {name} LOGIN")
    url = server.new_database()
    database = url.rpartition("/")[2]
    server.ask(f'ALTER DATABASE "{database}" OWNER TO {name}')
    yield url.replace("postgres@", f"{name}@")
    server.drop_database(url)


async def test_server_with_all_features_lacks_none(login: str) -> None:
    assert await find_missing_features(login, SystemClock()) == ()


@pytest.mark.parametrize(("function", "feature"), REVOCATIONS)
async def test_revoked_function_is_found(server: PostgresServer, login: str, function: str, feature: Feature) -> None:
    database = login.rpartition("/")[2]
    server.ask(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC", database=database)
    (missing,) = await find_missing_features(login, SystemClock())
    assert missing.feature is feature
    assert "permission denied" in missing.problem


async def test_node_without_the_clock_is_refused_with_the_reason(server: PostgresServer, login: str) -> None:
    server.ask("REVOKE EXECUTE ON FUNCTION clock_timestamp() FROM PUBLIC", database=login.rpartition("/")[2])
    with pytest.raises(UnusableStore, match="Its clock cannot be read") as refused:
        await check_server_features(login, SystemClock())
    assert refused.value.code == "store_feature_missing"


async def test_node_without_notifications_polls_and_says_so(
    server: PostgresServer, login: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.ask("REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC", database=login.rpartition("/")[2])
    app, other = Horae(login), Horae(login, engine=False)
    ran: list[int] = []

    @app.task(name="work")
    async def work() -> None:
        ran.append(1)

    with caplog.at_level(logging.WARNING, "horae"):
        async with app, other:
            handle = await app.schedule("work", "now")
            await handle.wait()
    assert ran == [1]
    assert "found by polling" in caplog.text


async def test_transaction_pooler_without_a_direct_address_lacks_notifications(postgres_server: PostgresServer) -> None:
    with PgBouncer(postgres_server) as pooler:
        alone = pooler.through(new_schema(postgres_server, statement_cache=0))
        (missing,) = await find_missing_features(alone, SystemClock())
        assert missing.feature is Feature.NOTIFICATIONS
        assert "&direct=" in missing.problem
        direct = pooler.through(new_schema(postgres_server, statement_cache=0, direct=postgres_server.url))
        assert await find_missing_features(direct, SystemClock()) == ()


async def test_server_that_only_serializes_is_reported_with_what_still_works(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server does that raises every transaction to SERIALIZABLE."""
    from horae.stores.postgres import features  # noqa: PLC0415 - its statements are replaced

    raised = ("SELECT 'serializable'::text", "read committed")
    monkeypatch.setitem(features._PROBES, Feature.ISOLATION, raised)
    (missing,) = await find_missing_features(postgres_server.url, SystemClock())
    assert (missing.feature, missing.is_required) == (Feature.ISOLATION, False)
    assert missing.problem == "serializable instead of read committed"


async def test_login_without_temporary_tables_is_not_said_to_lack_features(server: PostgresServer, login: str) -> None:
    database = login.rpartition("/")[2]
    server.ask(f'ALTER DATABASE "{database}" OWNER TO postgres; REVOKE TEMPORARY ON DATABASE "{database}" FROM PUBLIC')
    assert await find_missing_features(login, SystemClock()) == ()
