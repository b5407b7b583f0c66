"""Galera cluster of three under load: one member is killed, one is cut off, and transactions of an old writer fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from horae.clock import SystemClock
from horae.errors import StoreUnavailable
from horae.stores.mysql import connection_factory
from horae.stores.mysql.address import Address
from horae.stores.mysql.connection_factory import MySQLConnectionFactory
from horae.stores.mysql.errors import code_of, is_retryable, translate_error
from horae.stores.mysql.store import MySQLStore
from tests.cluster.scenario import LOCAL_NODE, effects, last_instant, once_per_instant, steady_series
from tests.cluster.steady_client import SteadyClient
from tests.faults.client import add
from tests.faults.functions import FOLDER
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.galera import GaleraCluster, GaleraMember
from tests.servers.ports import HOST
from tests.servers.server import PATIENCE
from tests.sizes import sized

BACK_SECONDS: Final = 2.0
"""From the first moment in which the remaining members have a new view to the next effect."""
FAULTS: Final[tuple[Literal["killed", "cut off"], ...]] = ("killed", "cut off")
ROUNDS: Final = sized(1, soak=5)


@pytest.fixture(scope="module")
def cluster() -> Iterator[GaleraCluster]:
    with GaleraCluster() as made:
        yield made


@pytest.fixture
def testbed(cluster: GaleraCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Testbed:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Testbed(tmp_path, cluster.new_database())


def writer_of(cluster: GaleraCluster, testbed: Testbed) -> GaleraMember:
    """Return the member that the store names."""
    database = testbed.url.rpartition("/")[2]
    for member in cluster.members:
        found = member.ask("SELECT member FROM horae_galera_writer", database=database)
        if found == member.status("gcomm_uuid"):
            return member
    raise AssertionError("the store names a member that does not exist")


@pytest.mark.long
def test_loss_of_the_writer_loses_and_repeats_nothing(
    testbed: Testbed, cluster: GaleraCluster, workers: Workers, measured: Measure
) -> None:
    nodes = [workers.ready(**LOCAL_NODE) for _ in range(2)]
    due: list[Any] = []
    with SteadyClient(testbed) as client:
        for fault in FAULTS * ROUNDS:
            due += add(testbed, steady_series(6.0))
            before = len(marks(testbed, "effect"))
            wait_until(has_marks(testbed, "effect", before + 5), TIMEOUT, "effects before the fault")
            _lose_writer(testbed, cluster, measured, fault)
        client.end()
    due += client.acknowledged
    member = Testbed(testbed.folder, writer_of(cluster, testbed).url_of(testbed.url.rpartition("/")[2]))
    wait_until_quiet(member, last_instant(*due), PATIENCE)
    assert violations(member, *due) == []
    known = once_per_instant(*due)
    assert {key: times for key, times in effects(testbed).items() if key in known} == known
    assert all(node.alive for node in nodes)
    measured("Galera, tasks acknowledged under the faults", len(client.acknowledged))
    measured("Galera, requests without an answer", client.errors)


def _lose_writer(testbed: Testbed, cluster: GaleraCluster, measured: Measure, fault: str) -> None:
    """Lose the writer, measure how long the next effect takes after the new view, and repair the cluster."""
    writer = writer_of(cluster, testbed)
    rest = [member for member in cluster.members if member is not writer]
    (writer.kill if fault == "killed" else writer.cut_off)()
    wait_until(lambda: all(has_new_view(member) for member in rest), PATIENCE, "a view without the old writer")
    before = len(marks(testbed, "effect"))
    back = wait_until(has_marks(testbed, "effect", before + 1), BACK_SECONDS, "the first effect after the new view")
    measured(f"Galera member {fault}, from the new view to the next effect", back)
    if fault == "killed":
        writer.start()
    else:
        writer.heal()
    cluster.wait_synced(writer)
    assert writer_of(cluster, testbed) in rest


def has_new_view(member: GaleraMember) -> bool:
    return member.status("cluster_size") == "2" and member.status("cluster_status") == "Primary"


async def test_transaction_of_the_old_writer_fails_and_its_next_one_is_refused(
    cluster: GaleraCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A takeover while the old writer is a member, as when only the clients cannot reach it."""
    monkeypatch.setattr(connection_factory, "HOST_CONNECT_SECONDS", PATIENCE)
    cluster.wait_complete()
    url = cluster.new_database()
    store = MySQLStore(url)
    await store.open()
    await store.close()
    factory = MySQLConnectionFactory(Address.parse(url), SystemClock())
    old = await factory.connect()
    await old.begin()
    assert await old.query("take_event_numbers", 1)
    other = next(number for number in range(3) if number != old.server)
    with pytest.raises(ConnectionError, match="another member"):
        await factory._open_server(other)
    with closing((await factory._open_server(other, takes_over=True)).connection):
        with pytest.raises(Exception, match=r"(?i)deadlock|wsrep|conflict|lock wait") as failed:
            await old.commit()
        assert code_of(failed.value) in (1213, 1205, 1180, 1047)
        assert is_retryable(failed.value)
        await old.rollback()
        # A certification conflict is reported as soon as the takeover is ordered; the refusal needs it to be applied too.
        cluster.members[old.server].wait_applied()
        await old.begin()
        with pytest.raises(Exception, match="another member") as refused:
            await old.query("take_event_numbers", 1)
        assert isinstance(translate_error(refused.value), StoreUnavailable)
        old.abandon()
    newest = await factory.connect()
    assert newest.server == other
    await newest.close()


async def test_conflict_between_two_members_is_tried_again(cluster: GaleraCluster) -> None:
    """Two transactions at two members change one row: the second commit fails with an error that is tried again."""
    import asyncmy  # noqa: PLC0415 - an optional dependency

    database = cluster.new_database().rpartition("/")[2]
    first, second, _ = cluster.members
    first.ask("CREATE TABLE counted (only INT PRIMARY KEY, number INT)", database=database)
    first.ask("INSERT INTO counted VALUES (1, 0)", database=database)
    login = {"host": HOST, "user": "root", "database": database}
    one: Any = await asyncmy.connect(port=first.port, **login)
    two: Any = await asyncmy.connect(port=second.port, **login)
    with closing(one), closing(two):
        for connection, number in ((one, 1), (two, 2)):
            await connection.query("SET SESSION wsrep_sync_wait = 1")
            await connection.query("START TRANSACTION")
            await connection.query(f"UPDATE counted SET number = {number} WHERE only = 1")  # noqa: S608 - a number
        await one.query("COMMIT")
        with pytest.raises(Exception, match=r"(?i)deadlock|wsrep|conflict|lock wait") as failed:
            await two.query("COMMIT")
        assert is_retryable(failed.value)
    assert first.ask("SELECT number FROM counted", database=database) == "1"
