"""Store address of PostgreSQL: parsing, refusals, and no password in any message."""

from __future__ import annotations

from urllib.parse import quote

import asyncpg
import pytest

from horae.errors import UnknownStore
from horae.stores.masked_url import mask_url
from horae.stores.postgres.address import DEFAULT_CONNECTIONS, DEFAULT_SCHEMA, Address
from tests.servers.postgres import AWKWARD_PASSWORD, PostgresServer

SECRET = "hunter2"  # noqa: S105 - not a real password
PLAIN = f"postgresql://ada:{SECRET}@db.example:6543/tasks"


def test_plain_addresses_are_parsed() -> None:
    address = Address.parse(PLAIN)
    assert address == Address(
        PLAIN, PLAIN, DEFAULT_SCHEMA, DEFAULT_CONNECTIONS, None, "postgresql://db.example:6543/tasks"
    )
    assert Address.parse(PLAIN.replace("postgresql:", "postgres:")) == address
    assert address.driver_options == {}
    assert not address.is_pooled


def test_own_options_are_removed_from_the_dsn() -> None:
    mine = "schema=tenant_7&connections=12&statement_cache=0"
    address = Address.parse(f"{PLAIN}?sslmode=require&{mine}&application_name=a%20b")
    assert (address.schema, address.connections, address.statement_cache) == ("tenant_7", 12, 0)
    assert address.is_pooled
    assert address.driver_options == {"statement_cache_size": 0}
    assert address.dsn == address.direct_dsn == f"{PLAIN}?sslmode=require&application_name=a%20b"


@pytest.mark.parametrize("user", ["", "ada@", f"ada:{SECRET}@", "ada:p%40ss%2Fw%3Frd%23%25@"])
@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("db.example", "db.example:5432"),
        ("DB.example:1", "db.example:1"),
        ("[::1]", "[::1]:5432"),
        ("[fe80::1]:65535", "[fe80::1]:65535"),
        ("127.0.0.1:5433", "127.0.0.1:5433"),
    ],
)
def test_all_kinds_of_hosts_are_parsed(user: str, host: str, shown: str) -> None:
    address = Address.parse(f"postgresql://{user}{host}/tasks")
    assert address.dsn == f"postgresql://{user}{host}/tasks"
    assert address.display_url == f"postgresql://{shown}/tasks"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql:///tasks?host=/run/pg&port=5433", "postgresql:///run/pg:5433/tasks"),
        ("postgresql:///?host=/run/pg&dbname=tasks", "postgresql:///run/pg:5432/tasks"),
        ("postgresql:///tasks", "postgresql://localhost:5432/tasks"),
        ("postgresql://", "postgresql://localhost:5432/"),
        (f"postgresql://h/tasks?user=ada&password={SECRET}", "postgresql://h:5432/tasks"),
    ],
)
def test_query_options_are_parsed(url: str, shown: str) -> None:
    assert Address.parse(url).display_url == shown


def test_direct_address_may_have_any_password() -> None:
    direct = f"postgresql://ada:{quote(AWKWARD_PASSWORD, safe='')}@db.example:5432/tasks"
    address = Address.parse(f"{PLAIN}?statement_cache=0&direct={quote(direct, safe='')}")
    assert address.dsn == PLAIN
    assert address.direct_dsn == direct
    plainly = f"postgres://ada:{SECRET}@db.example:5432/tasks"
    assert Address.parse(f"{PLAIN}?direct={plainly}").direct_dsn == plainly.replace("postgres:", "postgresql:")


BAD = {
    "another scheme": f"mysql://ada:{SECRET}@h/d",
    "no slashes": f"postgresql:ada:{SECRET}@h/d",
    "a port that is a word": f"postgresql://ada:{SECRET}@h:port/d",
    "a port that is too high": f"postgresql://ada:{SECRET}@h:65536/d",
    "no port": f"postgresql://ada:{SECRET}@h:0/d",
    "half a bracket": f"postgresql://ada:{SECRET}@[::1/d",
    "a bracket in the password": f"postgresql://ada:[{SECRET}@h/d",
    "a slash in the password": f"postgresql://ada:{SECRET}/more@h/d",
    "a slash after digits": "postgresql://ada:4711/2@h/d",
    "a sharp in the password": f"postgresql://ada:{SECRET}#more@h/d",
    "a question mark in the password": f"postgresql://ada:{SECRET}?more@h/d",
    "an at in the password": f"postgresql://ada:{SECRET}@more@h/d",
    "a schema that is no name": f"{PLAIN}?schema=a;drop",
    "a schema with capitals": f"{PLAIN}?schema=Mine",
    "a schema without a name": f"{PLAIN}?schema=",
    "a schema that is too long": f"{PLAIN}?schema={'a' * 58}",
    "one connection": f"{PLAIN}?connections=1",
    "connections without end": f"{PLAIN}?connections=99999",
    "connections in words": f"{PLAIN}?connections=many",
    "a cache below nothing": f"{PLAIN}?statement_cache=-1",
    "a direct way that is none": f"{PLAIN}?direct=h:5432",
    "a direct way with a bad port": f"{PLAIN}?direct={quote(f'postgresql://ada:{SECRET}@h:x/d', safe='')}",
    "a password behind the question mark": f"postgresql://h/d?password={SECRET}&schema=A",
    "a direct way that is masked": f"postgresql://h/d?schema=A&direct={quote(f'postgresql://a:{SECRET}@h/d', safe='')}",
}


@pytest.mark.parametrize("url", BAD.values(), ids=BAD.keys())
def test_bad_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UnknownStore) as refused:
        Address.parse(url)
    assert refused.value.code == "bad_store_address"
    for language in ("en", "zh"):
        sentence = refused.value.in_language(language)
        assert sentence.message
        assert sentence.hint
        assert SECRET not in repr(sentence)
        assert "4711" not in repr(sentence)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("url", [*BAD.values(), PLAIN, f"{PLAIN}?direct={quote(PLAIN, safe='')}"])
def test_masked_address_has_no_password(url: str) -> None:
    assert SECRET not in mask_url(url)


async def test_driver_reads_the_same_password_and_socket() -> None:
    with PostgresServer(auth="scram-sha-256") as server:
        for url in (server.url, f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"):
            connection = await asyncpg.connect(Address.parse(url).dsn)
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()
