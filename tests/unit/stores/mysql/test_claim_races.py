"""Races between the statements of a claim: entries are checked again after they are locked."""

from __future__ import annotations

from typing import Any

import pytest

from horae.ports.store import Claim
from horae.stores.mysql.connection import MySQLConnection
from horae.testing.contracts.stores.setup import add_tasks, claim
from horae.testing.decisions import decide_start
from horae.testing.factories import HOUR, NOON, a_node, a_task
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.mysql.store_setup import new_prefix, open_store


async def test_entry_rescheduled_after_the_read_is_not_claimed_early(
    mariadb_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the read and the lock of one node, another node runs the entry and writes the next occurrence."""
    really_query = MySQLConnection.query
    claims: list[Claim] = []

    url = new_prefix(mariadb_server)
    async with open_store(url) as slow, open_store(url) as quick:
        await slow.join(a_node("slow"))
        await quick.join(a_node("quick"))
        await add_tasks(slow, a_task())

        async def query(link: MySQLConnection, name: str, *values: Any) -> list[Any]:
            if name == "lock_entries":
                monkeypatch.setattr(MySQLConnection, "query", really_query)
                claims.append(await claim(quick, decide=decide_start(node="quick", again=HOUR), node="quick"))
            return await really_query(link, name, *values)

        monkeypatch.setattr(MySQLConnection, "query", query)
        claims.append(await claim(slow, decide=decide_start(node="slow", again=HOUR), node="slow", room=1))
    assert [[each.run.planned for each in claimed.runs] for claimed in claims] == [[NOON], []]
