"""Capability probe of MariaDB: all features of a plain server, and what is missing behind a proxy or without rights."""

from __future__ import annotations

import pytest

from horae.clock import SystemClock
from horae.stores.mysql import features
from horae.stores.mysql.features import find_missing_features
from horae.stores.mysql.server_version import fetch_row
from horae.stores.sql.features import CONSEQUENCES, Feature, MissingFeature, required_of
from tests.servers.mariadb import MariaDBServer


async def test_plain_server_lacks_no_feature(mariadb_url: str) -> None:
    assert await find_missing_features(mariadb_url, SystemClock()) == ()


async def test_login_without_temporary_tables_is_not_said_to_lack_features(
    mariadb_server: MariaDBServer, mariadb_url: str
) -> None:
    database = mariadb_url.rpartition("/")[2]
    mariadb_server.ask(f"CREATE USER ada; GRANT SELECT ON `{database}`.* TO ada")
    try:
        assert await find_missing_features(mariadb_url.replace("root", "ada"), SystemClock()) == ()
    finally:
        mariadb_server.ask("DROP USER ada")


async def test_other_connection_ids_mean_a_proxy(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:

    async def other_id(connection: object, text: str) -> tuple[object, ...]:
        return (0,) if "CONNECTION_ID" in text else await fetch_row(connection, text)

    monkeypatch.setattr(features, "fetch_row", other_id)
    assert await find_missing_features(mariadb_url, SystemClock()) == (
        MissingFeature(Feature.NOTIFICATIONS, "a proxy is in front of the server"),
    )


async def test_refused_statement_is_a_missing_feature(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:

    async def without_skip_locked(connection: object, text: str) -> tuple[object, ...]:
        return await fetch_row(connection, text.replace("SKIP LOCKED", "SKIP LOCKED_ROWS"))

    monkeypatch.setattr(features, "fetch_row", without_skip_locked)
    (missing,) = await find_missing_features(mariadb_url, SystemClock())
    assert missing.feature is Feature.SKIP_LOCKED
    assert "syntax" in missing.problem
    assert required_of([missing]) == [missing]


def test_every_feature_has_a_sentence_that_says_what_still_works() -> None:
    assert set(CONSEQUENCES) == set(Feature)
