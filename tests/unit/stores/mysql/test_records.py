"""Records on MySQL and MariaDB: all records of a change are sent together, with any text in them."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Conflict
from horae.model.record import Record, RecordWrite
from horae.stores.mysql.connection import MySQLConnection
from horae.testing.contracts.stores.setup import add_tasks, claim_all, settle
from horae.testing.factories import a_new_task, a_node, a_task
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.mysql.store_setup import new_prefix, open_connection, open_store
from tests.unit.stores.mysql.test_connection import HOSTILE


def note(key: str, body: str = "{}") -> RecordWrite:
    return RecordWrite(Record("note", key, "ada", body))


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the text of each packet sent to the server."""
    texts: list[str] = []
    results = MySQLConnection._results

    async def record(link: MySQLConnection, text: str) -> list[Any]:
        texts.append(text)
        return await results(link, text)

    monkeypatch.setattr(MySQLConnection, "_results", record)
    return texts


async def test_change_without_records_runs_no_record_statement(
    mariadb_server: MariaDBServer, statements: list[str]
) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        await store.join(a_node())
        await add_tasks(store, a_task(), a_task(lane="press"))
        await settle(store, *(each.run for each in await claim_all(store)))
        await store.set_lane("press", 3)
        assert any("_tasks`" in text for text in statements)
        # Whether a lane has idle runs is part of the statement that counts its slots.
        assert not any("_records`" in text for text in statements if "_lane_slots`" not in text)


async def test_thousand_records_are_sent_in_one_packet(mariadb_server: MariaDBServer, statements: list[str]) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        await store.add([a_new_task(a_task())._replace(attached=(note(f"{place:04}"),)) for place in range(1_000)])
        assert sum("_records`" in text for text in statements) == 1
        assert len((await store.records("note", limit=1_000)).items) == 1_000


async def test_records_above_the_packet_size_are_sent_in_several(
    mariadb_server: MariaDBServer, statements: list[str]
) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        writings = [note(f"{place}", '"' + "x" * 1_000 + '"') for place in range(10)]
        async with open_connection(store, packet=32_000) as link:
            await link.begin()
            assert await link.write_records(writings) is None
            await link.commit()
            assert 3 < sum("_records`" in text for text in statements) <= 10
            assert await link.write_records([note("new"), *writings[8:]]) == writings[8]
        assert len((await store.records("note")).items) == 11


@pytest.mark.parametrize("text", HOSTILE)
async def test_record_with_hostile_text_round_trips(mariadb_server: MariaDBServer, text: str) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        record = Record(text, text, text, text)
        assert await store.put_record(record, replacing=None)
        first = a_new_task(a_task())._replace(attached=(note("first"), RecordWrite(record, 1), note("last")))
        await store.add([first])
        assert await store.get_record(text, text, text) == record._replace(version=2)
        with pytest.raises(Conflict):
            await store.add([a_new_task(a_task())._replace(attached=(RecordWrite(record, 1),))])
        assert await store.drop_record(text, text, 2)
        assert [each.key for each in (await store.records("note")).items] == ["first", "last"]
