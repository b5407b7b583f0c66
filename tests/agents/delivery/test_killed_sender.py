"""A sender that is killed with SIGKILL between parts: nothing is lost, the order holds, one part at most is repeated."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from horae.runtime.stores import make_store
from horae.testing.factories import NOON
from tests.agents.delivery.scripted_channel import Outbox

TEXTS = ("aaaaaaaaa bbbbbbbbb ccccccccc", "ddddddddd eeeeeeeee")
PARTS = ["aaaaaaaaa", "bbbbbbbbb", "ccccccccc", "ddddddddd", "eeeeeeeee"]


async def run_sender(url: str, file: Path, step: str, number: int) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.agents.delivery.killed_sender", url, str(file), step, str(number)
    )
    return await process.wait()


@pytest.mark.parametrize(("step", "number"), [("sent", 2), ("recorded", 2), ("sent", 3), ("recorded", 4)])
async def test_kill_between_parts_repeats_one_part_at_most(tmp_path: Path, step: str, number: int) -> None:
    url, file = f"sqlite:///{tmp_path}/horae.db", tmp_path / "chat"
    store = make_store(url)
    await store.open()
    outbox = Outbox(store)
    added = [await outbox.add("test:1", text, NOON) for text in TEXTS]
    await store.close()
    assert await run_sender(url, file, step, number) == -signal.SIGKILL
    assert await run_sender(url, file, "none", 0) == 0
    arrived = [line.split(" ", 2)[1:] for line in file.read_text().splitlines()]
    texts = [text.strip() for _, text in arrived]
    assert list(dict.fromkeys(texts)) == PARTS
    assert len(texts) == len(PARTS) + (step == "sent")
    assert len({key for key, _ in arrived}) == len(PARTS)
    store = make_store(url)
    await store.open()
    assert [len((await Outbox(store).get(each)).parts) for each in added] == [3, 2]
    await store.close()
