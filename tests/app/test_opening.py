"""Opening that comes to nothing leaves nothing behind."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from horae import Horae
from horae.errors import StoreDamaged


def writers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "sqlite-writer" in thread.name]


async def test_who_gives_up_while_it_opens_leaves_no_thread(tmp_path: Path) -> None:
    for _ in range(5):
        opening = asyncio.ensure_future(Horae(f"sqlite:///{tmp_path}/horae.db").__aenter__())
        while not writers():
            await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))])
        opening.cancel()
        await asyncio.wait([opening])
        if not opening.cancelled():
            await opening.result().__aexit__(None, None, None)
        assert writers() == []


async def test_what_is_no_database_is_let_go_of(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no database, but long enough to be taken for one by its size alone" * 100)

    for _ in range(3):
        with pytest.raises(StoreDamaged):
            async with Horae(f"sqlite:///{file}"):
                raise AssertionError
    assert [each for each in open_files() if each == str(file)] == []


def open_files() -> list[str]:
    """Where they can be seen."""
    folder = Path("/proc/self/fd")
    return [str(each.resolve()) for each in folder.iterdir()] if folder.exists() else []
