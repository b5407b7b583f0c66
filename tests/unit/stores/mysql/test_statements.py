"""Named statements of MySQL: each has one name, is used, and is valid on the server."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Final

from asyncmy.errors import MySQLError

from horae.clock import SystemClock
from horae.stores import named_sql
from horae.stores.mysql.connection_factory import MySQLConnectionFactory, qualify_tables
from horae.stores.mysql.literals import render_literal
from horae.stores.mysql.templates import TemplateArguments, parse_templates
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.called_statements import find_called_statements
from tests.unit.stores.mysql.store_setup import new_prefix, open_store

ROOM = "horae.stores.mysql"
KNOWN = named_sql.read_blocks(ROOM)
SHARED = {name for name in KNOWN if name.endswith(("_columns", "_filter"))}
STATEMENTS = sorted(set(KNOWN) - SHARED)
MOST_VALUES: Final = 15
TRANSACTION_CONTROL: Final = re.compile(r"START TRANSACTION|COMMIT")


def code() -> str:
    rooms = [Path(str(resources.files(room))) for room in (ROOM, "horae.stores.sql")]
    return "\n".join(file.read_text(encoding="utf-8") for room in rooms for file in room.rglob("*.py"))


def test_named_statements_and_their_uses_match() -> None:
    text = code()
    shared = "\n".join(KNOWN.values())
    assert {
        name for name in KNOWN if f'"{name}"' not in text and f"{{{name}}}" not in shared and f"{{{name} " not in shared
    } == set()
    called = find_called_statements(text)
    assert {"lock_node", "get_record", "events", "import_lines", "metadata_page"} <= called
    assert called <= set(KNOWN)


def sample_arguments(text: str) -> TemplateArguments:
    """Return an argument for every placeholder: a list of one for lists, rows as wide as the statement needs.

    The server reads text as a number where a column is numeric, and not the reverse.
    """
    lists = {int(one) for found in re.findall(r"\$(\d+(?:\+\d+)+|\d+(?=\(\)))", text) for one in found.split("+")}
    lists.update(int(place) for place in re.findall(r"IN \(\$(\d+)\)", text))
    if "[[" in text:
        lists.add(1)
    numbers = {int(place) for place in re.findall(r"(?:LIMIT|OFFSET) \$(\d+)", text)} | (
        {1} if "$nulls" in text else set()
    )
    values = [["1", "2"] if place in lists else 1 if place in numbers else "1" for place in range(1, MOST_VALUES + 1)]
    if "{rows}" in text or "{selects}" in text:
        columns = re.search(r"(?:INSERT INTO @\w+|AND) \((.*?)\)", text)
        assert columns
        width = 10 if "{selects}" in text else columns[1].count(",") + 1
        return TemplateArguments(["1"] * width, [("1", "1")], width)
    return TemplateArguments(values, [("1", "1"), ("2", "2")])


async def test_every_statement_is_valid_on_the_server(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        refused: dict[str, str] = {}
        factory = MySQLConnectionFactory(store.address, SystemClock())
        connection = await factory.open_raw()
        server = await factory.read_server_version(connection)
        for name in STATEMENTS:
            text = named_sql.expand_columns(name, KNOWN)
            for template in parse_templates(qualify_tables(text, store.address, server)):
                for each in template.render(sample_arguments(text)).split("; "):
                    if not TRANSACTION_CONTROL.fullmatch(each):
                        try:
                            await connection.query(f"PREPARE this FROM {render_literal(each)}")
                        except MySQLError as error:
                            refused[name] = str(error)
        connection.close()
        assert refused == {}


def test_no_statement_is_specific_to_one_server() -> None:
    whole = "\n".join(KNOWN.values()).upper()
    for word in ("RETURNING", "LATERAL", "FOR UPDATE OF", "VALUES ROW", " EXCEPT ", "FULL JOIN", "NULLS FIRST"):
        assert word not in whole
