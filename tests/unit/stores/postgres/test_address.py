"""Store address of PostgreSQL: parsing, refusals, and no password in any message."""

from __future__ import annotations

from urllib.parse import quote

import asyncpg
import pytest

from horae.errors import UnknownStore
from horae.stores.addresses.masked_url import mask_url
from horae.stores.addresses.server_hosts import MAX_HOSTS, ServerHost
from horae.stores.postgres.address import DEFAULT_CONNECTIONS, DEFAULT_SCHEMA, Address, Servers
from tests.servers.postgres import AWKWARD_PASSWORD, PostgresServer

SECRET = "hunter2"  # noqa: S105 - not a real password
PLAIN = f"postgresql://ada:{SECRET}@db.example:6543/tasks"


def test_plain_addresses_are_parsed() -> None:
    address = Address.parse(PLAIN)
    servers = Servers((PLAIN,), (ServerHost("db.example", 6543),))
    assert address == Address(
        servers, servers, DEFAULT_SCHEMA, DEFAULT_CONNECTIONS, None, "postgresql://db.example:6543/tasks"
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
    assert address.servers.dsns == address.direct.dsns == (f"{PLAIN}?sslmode=require&application_name=a%20b",)


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
    assert address.servers.dsns == (f"postgresql://{user}{host}/tasks",)
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
    assert address.servers.dsns == (PLAIN,)
    assert address.direct.dsns == (direct,)
    plainly = f"postgres://ada:{SECRET}@db.example:5432/tasks"
    assert Address.parse(f"{PLAIN}?direct={plainly}").direct.dsns == (plainly.replace("postgres:", "postgresql:"),)


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
    "an empty member of a list": f"postgresql://ada:{SECRET}@a:5432,,b/d",
    "a list that ends with a comma": f"postgresql://ada:{SECRET}@a,b,/d",
    "one host twice": f"postgresql://ada:{SECRET}@a:5432,a:5432/d",
    "a bad port in a list": f"postgresql://ada:{SECRET}@a:5432,b:x/d",
    "port 0 in a list": f"postgresql://ada:{SECRET}@a:5432,b:0/d",
    "an unclosed bracket in a list": f"postgresql://ada:{SECRET}@a,[::1/d",
    "a word in brackets": f"postgresql://ada:{SECRET}@[abc]/d",
    "an address without brackets": f"postgresql://ada:{SECRET}@a,::1/d",
    "too many hosts": f"postgresql://ada:{SECRET}@{','.join(f'h{n}' for n in range(MAX_HOSTS + 1))}/d",
    "more ports than hosts": f"postgresql:///d?host=a,b&port=1,2,3&password={SECRET}",
    "a bad port in the query": f"postgresql:///d?host=a,b&port=1,x&password={SECRET}",
    "a standby is asked for": f"postgresql://ada:{SECRET}@a,b/d?target_session_attrs=standby",
    "any of several servers": f"postgresql://ada:{SECRET}@a,b/d?target_session_attrs=any",
    "a direct way with an empty host": f"{PLAIN}?direct={quote(f'postgresql://ada:{SECRET}@a,,b/d', safe='')}",
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


LISTS = [
    ("a,b", ["a", "b"], "a:5432,b:5432"),
    ("a:5432,b:5433,c", ["a:5432", "b:5433", "c"], "a:5432,b:5433,c:5432"),
    (
        "[::1]:5432,[fe80::1],B.example",
        ["[::1]:5432", "[fe80::1]", "B.example"],
        "[::1]:5432,[fe80::1]:5432,b.example:5432",
    ),
]


@pytest.mark.parametrize("user", ["", "ada@", f"ada:{SECRET}@", "ada:p%40ss%2Fw%3Frd%23%25@"])
@pytest.mark.parametrize(("hosts", "each", "shown"), LISTS)
def test_several_hosts_have_a_dsn_each(user: str, hosts: str, each: list[str], shown: str) -> None:
    address = Address.parse(f"postgresql://{user}{hosts}/tasks?target_session_attrs=read-write&sslmode=require")
    assert address.servers.dsns == tuple(f"postgresql://{user}{host}/tasks?sslmode=require" for host in each)
    assert address.servers.is_writable_required
    assert address.display_url == f"postgresql://{shown}/tasks"
    assert Address.parse(f"postgresql://{user}{hosts}/tasks").servers.is_writable_required


def test_hosts_and_ports_of_the_query_are_several_hosts() -> None:
    address = Address.parse("postgresql:///tasks?host=a,/run/pg,::1&port=1,2,3&user=ada")
    assert address.servers.dsns == (
        "postgresql://a:1/tasks?user=ada",
        "postgresql://%2Frun%2Fpg:2/tasks?user=ada",
        "postgresql://[::1]:3/tasks?user=ada",
    )
    assert Address.parse("postgresql:///tasks?host=a,b&port=5433").servers.names == ["a:5433", "b:5433"]


def test_one_host_may_be_required_to_take_writes() -> None:
    assert not Address.parse(PLAIN).servers.is_writable_required
    assert not Address.parse(f"{PLAIN}?target_session_attrs=any").servers.is_writable_required
    assert Address.parse(f"{PLAIN}?target_session_attrs=primary").servers.is_writable_required


def test_dump_names_all_hosts() -> None:
    address = Address.parse(f"postgresql://ada:{SECRET}@a:5432,b/tasks")
    assert address.dump_options == ["--host=a,b", "--port=5432,5432", "--username=ada"]


async def test_driver_reads_the_same_password_and_socket() -> None:
    with PostgresServer(auth="scram-sha-256") as server:
        for url in (server.url, f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"):
            connection = await asyncpg.connect(Address.parse(url).servers.dsns[0])
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()
