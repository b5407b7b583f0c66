"""Named statements of PostgreSQL: each has one name, is used, and is valid on the server with its types."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import asyncpg

from horae.stores import named_sql
from horae.stores.postgres.connection_factory import qualify_tables
from tests.servers.postgres import PostgresServer
from tests.unit.stores.called_statements import find_called_statements
from tests.unit.stores.postgres.store_setup import new_schema, open_connection, open_store

ROOM = "horae.stores.postgres"
KNOWN = named_sql.read_blocks(ROOM)
SHARED = {name for name in KNOWN if name.endswith(("_columns", "_filter"))}
STATEMENTS = sorted(set(KNOWN) - SHARED)
ARRAY_AS_TEXT = re.compile(r"\$\d+::(?!text::)\w+\[\]")


def code() -> str:
    rooms = [Path(str(resources.files(room))) for room in (ROOM, "horae.stores.sql")]
    return "\n".join(file.read_text(encoding="utf-8") for room in rooms for file in room.rglob("*.py"))


def test_every_statement_has_one_name() -> None:
    files = (Path(str(resources.files(ROOM))) / "sql").glob("*.sql")
    names = [name for file in files for name, _ in named_sql.parse_blocks(file.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(KNOWN)


def test_named_statements_and_their_uses_match() -> None:
    text = code()
    shared = "\n".join(KNOWN.values())
    unused = {
        name for name in KNOWN if f'"{name}"' not in text and f"{{{name}}}" not in shared and f"{{{name} " not in shared
    }
    assert unused == set()
    called = find_called_statements(text)
    assert {"lock_node", "get_record", "events", "import_lines", "metadata_page"} <= called
    assert called <= set(KNOWN)


def test_array_parameters_are_cast_from_text() -> None:
    """The connection sends every list as text; the driver would refuse a list for an array type."""
    assert {name for name in STATEMENTS if ARRAY_AS_TEXT.search(named_sql.expand_columns(name, KNOWN))} == set()


async def test_every_statement_is_valid_on_the_server(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        refused: dict[str, str] = {}
        async with open_connection(store) as connection:
            for name in STATEMENTS:
                try:
                    await connection.prepare(
                        qualify_tables(named_sql.expand_columns(name, KNOWN), store.address.schema)
                    )
                except asyncpg.PostgresError as error:
                    refused[name] = str(error)
        assert refused == {}


async def test_statements_do_not_depend_on_the_search_path(postgres_server: PostgresServer) -> None:
    """The search path of a connection may belong to another program."""

    async with open_store(new_schema(postgres_server)) as store, open_connection(store) as connection:
        await connection.execute("SET search_path TO pg_temp")
        for name in STATEMENTS:
            await connection.prepare(qualify_tables(named_sql.expand_columns(name, KNOWN), store.address.schema))
