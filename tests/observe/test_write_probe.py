"""`WriteProbe`: a store that takes no writes is noticed within seconds, without a write for each health check."""

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
from horae.observe import health as trying
from horae.observe.health import RECORD_KIND, RETRY_SECONDS, STUCK_SECONDS, VALID_SECONDS, WriteProbe
from horae.runtime.stores import make_store
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.connection import translate_error
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.api.api_server import Api, serve_api
from tests.observe.observed_app import TEST_SECONDS
from tests.servers.postgres import PostgresServer
from tests.unit.stores.sqlite.faulty_disk import fill_store, limit_growth

TIMEOUT_SECONDS = 2.0


class CountingStore(MemoryStore):
    """Memory store that counts writes, raises `error` if set, and blocks writes until `unblocked` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.tries = 0
        self.error: Exception | None = None
        self.unblocked = asyncio.Event()
        self.unblocked.set()

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        self.tries += 1
        await self.unblocked.wait()
        if self.error is not None:
            raise self.error
        return await super().write_records(writings)


async def test_result_of_a_probe_is_reused_for_some_seconds() -> None:
    clock, store = VirtualClock(NOON), CountingStore()
    probe = WriteProbe(clock)
    await asyncio.gather(*(probe.check(store, TIMEOUT_SECONDS) for _ in range(20)))
    assert store.tries == 1
    clock.advance(VALID_SECONDS - 0.1)
    assert await probe.check(store, TIMEOUT_SECONDS) is None
    assert store.tries == 1
    store.error = StoreFull("disk full")
    clock.advance(0.2)
    assert await probe.check(store, TIMEOUT_SECONDS) is store.error
    clock.advance(RETRY_SECONDS - 0.1)
    assert await probe.check(store, TIMEOUT_SECONDS) is store.error
    assert store.tries == 2
    store.error = None
    clock.advance(0.2)
    assert await probe.check(store, TIMEOUT_SECONDS) is None, "recovery is noticed as well"
    assert store.tries == 3
    store.error = RuntimeError("whatever a driver thinks of")
    clock.advance(VALID_SECONDS)
    assert isinstance(await probe.check(store, TIMEOUT_SECONDS), StoreUnavailable)
    store.error = OSError("the cable")
    clock.advance(VALID_SECONDS)
    assert isinstance(await probe.check(store, TIMEOUT_SECONDS), StoreUnavailable)


async def test_failed_write_elsewhere_in_the_process_triggers_a_probe() -> None:
    clock, store, failures = VirtualClock(NOON), CountingStore(), 0
    probe = WriteProbe(clock, lambda: failures)
    assert await probe.check(store, TIMEOUT_SECONDS) is None
    clock.advance(RETRY_SECONDS)
    assert await probe.check(store, TIMEOUT_SECONDS) is None
    assert store.tries == 1
    failures, store.error = 1, StoreReadOnly("a standby now")
    assert await probe.check(store, TIMEOUT_SECONDS) is store.error
    store.error = None
    clock.advance(RETRY_SECONDS)
    assert await probe.check(store, TIMEOUT_SECONDS) is None
    clock.advance(RETRY_SECONDS)
    assert await probe.check(store, TIMEOUT_SECONDS) is None
    assert store.tries == 3, "one failure triggers one probe"


async def test_unconfirmed_write_counts_as_unavailable_after_a_while() -> None:
    clock, store = VirtualClock(NOON), CountingStore()
    store.unblocked.clear()
    probe = WriteProbe(clock)
    assert await probe.check(store, 0.01) is None, "slow is not stuck"
    clock.advance(STUCK_SECONDS)
    assert isinstance(await probe.check(store, 0.01), StoreUnavailable)
    assert store.tries == 1, "no second probe while one is pending"
    store.unblocked.set()
    assert await probe.check(store, TIMEOUT_SECONDS) is None


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/h.db"])
async def test_probe_leaves_no_record(url: str, tmp_path: Path) -> None:
    store = make_store(url.format(tmp_path))
    await store.open()
    assert await WriteProbe(VirtualClock(NOON)).check(store, TIMEOUT_SECONDS) is None
    assert not (await store.records(RECORD_KIND)).items
    await store.close()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (apsw.ReadOnlyError("attempt to write"), StoreReadOnly),
        (_io := apsw.IOError("disk I/O error"), StoreReadOnly),
        (_large := apsw.IOError("disk I/O error"), StoreFull),
    ],
    ids=["read-only connection", "read-only file system", "file size limit"],
)
def test_sqlite_write_errors_are_translated(error: apsw.Error, expected: type[StoreError]) -> None:
    _io.system_errno, _large.system_errno = errno.EROFS, errno.EFBIG  # type: ignore[attr-defined]
    assert type(translate_error(error)) is expected


def probe_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let probe results expire at once."""
    monkeypatch.setattr(trying, "VALID_SECONDS", 0.0)
    monkeypatch.setattr(trying, "RETRY_SECONDS", 0.0)


async def readyz(api: Api, language: str = "en") -> tuple[int, dict[str, Any]]:
    reply = await api.get("/readyz", who=None, headers={"Accept-Language": language})
    return reply.status, reply.json


async def fill_file(store: SQLiteStore) -> None:
    """Limit the file to its size and fill its free pages."""
    await limit_growth(store, 8)
    await fill_store(store)


async def test_readyz_reports_a_full_file_and_its_recovery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe_every_time(monkeypatch)

    async with asyncio.timeout(TEST_SECONDS), serve_api(f"sqlite:///{tmp_path}/h.db") as api:
        store: Any = api.service.store
        assert (await readyz(api))[0] == 200
        await fill_file(store)
        status, body = await readyz(api)
        assert (status, body["status"], body["parts"]["store"], body["parts"]["writes"]) == (
            503,
            "not ready",
            True,
            False,
        )
        assert body["problem"]["code"] == "no_space_left"
        assert "Free disk space" in body["problem"]["hint"]
        assert "腾出磁盘空间" in (await readyz(api, "zh"))[1]["problem"]["hint"]
        assert str(tmp_path) not in str(body), "the route is public"
        await limit_growth(store, 100)
        status, body = await readyz(api)
        assert (status, body["parts"]["writes"], body["problem"]) == (200, True, None)


async def test_write_to_a_full_file_answers_507_with_a_hint(tmp_path: Path) -> None:
    async with asyncio.timeout(TEST_SECONDS), serve_api(f"sqlite:///{tmp_path}/h.db") as api:
        await fill_file(api.service.store)  # type: ignore[arg-type]
        large = {"name": "x", "when": "every 1h", "zone": "UTC", "say": "x", "payload": "x" * 5_000}
        for language, hint in (("en", "Free disk space"), ("zh", "腾出磁盘空间")):
            refused = await api.post("/v1/tasks", large, headers={"Accept-Language": language})
            assert (refused.status, refused.code, refused.headers["Retry-After"]) == (507, "no_space_left", "2")
            assert hint in refused.json["hint"]
            assert refused.json["detail"]


async def test_read_only_connection_is_reported_and_refuses_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe_every_time(monkeypatch)

    async with asyncio.timeout(TEST_SECONDS), serve_api(f"sqlite:///{tmp_path}/h.db") as api:
        store: Any = api.service.store
        link = await store._writer.submit(lambda link: link)
        link.query("PRAGMA query_only = ON")
        status, body = await readyz(api)
        assert (status, body["parts"]["store"], body["problem"]["code"]) == (503, True, "store_read_only")
        refused = await api.post("/v1/tasks", {"name": "x", "when": "every 1h", "zone": "UTC", "say": "x"})
        assert (refused.status, refused.code) == (503, "store_read_only")
        link.query("PRAGMA query_only = OFF")
        assert (await readyz(api))[0] == 200


async def test_readyz_reports_a_read_only_server_and_its_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    probe_every_time(monkeypatch)
    with PostgresServer() as server:
        async with asyncio.timeout(TEST_SECONDS), serve_api(server.new_database()) as api:
            assert (await readyz(api))[0] == 200
            for setting, status in (("on", 503), ("off", 200)):
                server.ask(f"ALTER SYSTEM SET default_transaction_read_only = {setting}")
                server.ask("SELECT pg_reload_conf()")
                # The server's processes reload the setting one after the other.
                while (found := await readyz(api))[0] != status:
                    pass
                body = found[1]
                assert body["parts"]["store"]
                assert (body["problem"] or {}).get("code") == ("store_read_only" if status == 503 else None)
