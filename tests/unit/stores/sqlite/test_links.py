"""A store whose path is a link is as private as any other."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

from horae.stores.sqlite import SQLiteStore
from tests.unit.stores.sqlite.opening import opened, with_store


def test_what_a_dangling_link_leads_to_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "real.db"
    real.parent.mkdir()
    (tmp_path / "horae.db").symlink_to(real)

    async def scene(_store: SQLiteStore) -> None:
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in real.parent.iterdir()}
        assert modes == dict.fromkeys(["real.db", "real.db-wal", "real.db-shm"], 0o600)

    before = os.umask(0o022)
    try:
        with_store(tmp_path, scene)
    finally:
        os.umask(before)
    assert (tmp_path / "horae.db").is_symlink()


def test_both_ways_lead_to_the_same_store(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("real.db")

    async def scene() -> None:
        async with opened(tmp_path / "link.db") as one:
            await one.remember("who", "one")
        async with opened(tmp_path / "real.db") as other:
            assert await other.recall("who") == "one"

    asyncio.run(scene())
