"""Store path that is a symlink: the target is private, and both paths are the same store."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.unit.stores.sqlite.store_setup import new_store, open_store


async def test_target_of_a_dangling_symlink_is_private_to_its_owner(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "real.db"
    real.parent.mkdir()
    (tmp_path / "horae.db").symlink_to(real)

    before = os.umask(0o022)
    try:
        async with new_store(tmp_path) as _store:
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in real.parent.iterdir()}
            assert modes == dict.fromkeys(["real.db", "real.db-wal", "real.db-shm"], 0o600)
    finally:
        os.umask(before)
    assert (tmp_path / "horae.db").is_symlink()


async def test_symlink_and_target_are_the_same_store(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("real.db")

    async with open_store(tmp_path / "link.db") as one:
        await one.write_metadata("who", "one")
    async with open_store(tmp_path / "real.db") as other:
        assert await other.read_metadata("who") == "one"
