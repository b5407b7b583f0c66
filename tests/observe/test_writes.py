"""A store that takes no writes is noticed within seconds, and not by writing each time that somebody asks."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from horae.errors import StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from horae.model.record import RecordWrite
from horae.observe import write_probe as trying
from horae.observe.write_probe import RECORD_KIND, RETRY_SECONDS, STUCK_SECONDS, VALID_SECONDS, WriteProbe
from horae.runtime.stores import make_store
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.connection import translate_error
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.api.served import Api, served
from tests.observe.stage import TEST_SECONDS
from tests.servers.postgres import PostgresServer
from tests.unit.stores.sqlite.faulty_disk import fill_store, limit_growth

PATIENCE = 2.0


class Watched(MemoryStore):
    """Counts the writes, refuses them while it is told to, and holds them up while the gate is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tries = 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        self.tries += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return await super().write_records(writings)


async def test_however_many_ask_it_is_tried_now_and_then() -> None:
    clock, store = VirtualClock(NOON), Watched()
    writes = WriteProbe(clock)
    await asyncio.gather(*(writes.check(store, PATIENCE) for _ in range(20)))
    assert store.tries == 1
    clock.advance(VALID_SECONDS - 0.1)
    assert await writes.check(store, PATIENCE) is None
    assert store.tries == 1
    store.error = StoreFull("no room")
    clock.advance(0.2)
    assert await writes.check(store, PATIENCE) is store.error
    clock.advance(RETRY_SECONDS - 0.1)
    assert await writes.check(store, PATIENCE) is store.error
    assert store.tries == 2
    store.error = None
    clock.advance(0.2)
    assert await writes.check(store, PATIENCE) is None, "and so is its end"
    assert store.tries == 3
    store.error = RuntimeError("whatever a driver thinks of")
    clock.advance(VALID_SECONDS)
    assert isinstance(await writes.check(store, PATIENCE), StoreUnavailable)
    store.error = OSError("the cable")
    clock.advance(VALID_SECONDS)
    assert isinstance(await writes.check(store, PATIENCE), StoreUnavailable)


async def test_what_failed_elsewhere_in_the_process_is_reason_enough_to_try_again() -> None:
    clock, store, failures = VirtualClock(NOON), Watched(), 0
    writes = WriteProbe(clock, lambda: failures)
    assert await writes.check(store, PATIENCE) is None
    clock.advance(RETRY_SECONDS)
    assert await writes.check(store, PATIENCE) is None
    assert store.tries == 1
    failures, store.error = 1, StoreReadOnly("a standby now")
    assert await writes.check(store, PATIENCE) is store.error
    store.error = None
    clock.advance(RETRY_SECONDS)
    assert await writes.check(store, PATIENCE) is None
    clock.advance(RETRY_SECONDS)
    assert await writes.check(store, PATIENCE) is None
    assert store.tries == 3, "it was told of once"


async def test_a_write_that_is_never_confirmed_is_none() -> None:
    clock, store = VirtualClock(NOON), Watched()
    store.gate.clear()
    writes = WriteProbe(clock)
    assert await writes.check(store, 0.01) is None, "slow is not stuck"
    clock.advance(STUCK_SECONDS)
    assert isinstance(await writes.check(store, 0.01), StoreUnavailable)
    assert store.tries == 1, "nobody piles up behind it"
    store.gate.set()
    assert await writes.check(store, PATIENCE) is None


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/h.db"])
async def test_it_leaves_nothing_behind(url: str, tmp_path: Path) -> None:
    store = make_store(url.format(tmp_path))
    await store.open()
    assert await WriteProbe(VirtualClock(NOON)).check(store, PATIENCE) is None
    assert not (await store.records(RECORD_KIND)).items
    await store.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (apsw.ReadOnlyError("attempt to write"), StoreReadOnly),
        (_io := apsw.IOError("disk I/O error"), StoreReadOnly),
        (_large := apsw.IOError("disk I/O error"), StoreFull),
    ],
    ids=["a connection", "a file system", "as large as a file may be"],
)
def test_what_sqlite_says_of_it(error: apsw.Error, told: type[StoreError]) -> None:
    _io.system_errno, _large.system_errno = errno.EROFS, errno.EFBIG  # type: ignore[attr-defined]
    assert type(translate_error(error)) is told


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the seconds in between had passed."""
    monkeypatch.setattr(trying, "VALID_SECONDS", 0.0)
    monkeypatch.setattr(trying, "RETRY_SECONDS", 0.0)


async def readyz(api: Api, spoken: str = "en") -> tuple[int, dict[str, Any]]:
    reply = await api.get("/readyz", who=None, headers={"Accept-Language": spoken})
    return reply.status, reply.json


async def fill(store: SQLiteStore) -> None:
    """The file may not grow any more, and there is no room left in it."""
    await limit_growth(store, 8)
    await fill_store(store)


async def test_a_full_file_is_told_with_the_reason_and_so_is_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)

    async with asyncio.timeout(TEST_SECONDS), served(f"sqlite:///{tmp_path}/h.db") as api:
        store: Any = api.service.store
        assert (await readyz(api))[0] == 200
        await fill(store)
        status, told = await readyz(api)
        assert (status, told["status"], told["parts"]["store"], told["parts"]["writes"]) == (
            503,
            "not ready",
            True,
            False,
        )
        assert told["problem"]["code"] == "no_space_left"
        assert "Free disk space" in told["problem"]["hint"]
        assert "腾出磁盘空间" in (await readyz(api, "zh"))[1]["problem"]["hint"]
        assert str(tmp_path) not in str(told), "anybody may ask"
        await limit_growth(store, 100)
        status, told = await readyz(api)
        assert (status, told["parts"]["writes"], told["problem"]) == (200, True, None)


async def test_whoever_writes_to_a_full_file_is_told_what_helps(tmp_path: Path) -> None:
    async with asyncio.timeout(TEST_SECONDS), served(f"sqlite:///{tmp_path}/h.db") as api:
        await fill(api.service.store)  # type: ignore[arg-type]
        large = {"name": "x", "when": "every 1h", "zone": "UTC", "say": "x", "payload": "x" * 5_000}
        for spoken, hint in (("en", "Free disk space"), ("zh", "腾出磁盘空间")):
            refused = await api.post("/v1/tasks", large, headers={"Accept-Language": spoken})
            assert (refused.status, refused.code, refused.headers["Retry-After"]) == (507, "no_space_left", "2")
            assert hint in refused.json["hint"]
            assert refused.json["detail"]


async def test_a_connection_that_may_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch)

    async with asyncio.timeout(TEST_SECONDS), served(f"sqlite:///{tmp_path}/h.db") as api:
        store: Any = api.service.store
        link = await store._writer.submit(lambda link: link)
        link.query("PRAGMA query_only = ON")
        status, told = await readyz(api)
        assert (status, told["parts"]["store"], told["problem"]["code"]) == (503, True, "store_read_only")
        refused = await api.post("/v1/tasks", {"name": "x", "when": "every 1h", "zone": "UTC", "say": "x"})
        assert (refused.status, refused.code) == (503, "store_read_only")
        link.query("PRAGMA query_only = OFF")
        assert (await readyz(api))[0] == 200


async def test_a_server_that_takes_no_writes_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch)
    with PostgresServer() as server:
        async with asyncio.timeout(TEST_SECONDS), served(server.new_database()) as api:
            assert (await readyz(api))[0] == 200
            for setting, status in (("on", 503), ("off", 200)):
                server.ask(f"ALTER SYSTEM SET default_transaction_read_only = {setting}")
                server.ask("SELECT pg_reload_conf()")
                """The server's processes hear of a new setting one after the other."""
                while (found := await readyz(api))[0] != status:
                    pass
                told = found[1]
                assert told["parts"]["store"]
                assert (told["problem"] or {}).get("code") == ("store_read_only" if status == 503 else None)
