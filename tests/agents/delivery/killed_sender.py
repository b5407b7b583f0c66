"""Process that sends from a SQLite store into a file, and kills itself at a step: python -m … STORE FILE STEP NUMBER."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import datetime
from pathlib import Path

from horae.agents.delivery.sender import DeliverySender
from horae.clock import SystemClock
from horae.model.agents.delivery import PENDING_KIND, Delivery
from horae.ports.channel import ChannelListener, Sent
from horae.ports.text_parts import TextLimit
from horae.runtime.stores import make_store

PART = 10


class FileChannel:
    """A service that has a text once it is a line of the file."""

    limit = TextLimit(PART)

    def __init__(self, file: Path, kill_after: int | None) -> None:
        self._file = file
        self._left = kill_after

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        raise NotImplementedError

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        with self._file.open("a") as file:
            file.write(f"{chat} {key} {text}\n")
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return Sent(key, chat)

    async def typing(self, chat: str) -> None: ...

    async def confirm_read(self, chat: str, message_id: str) -> None: ...

    async def aclose(self) -> None: ...


async def main(url: str, file: str, step: str, number: int) -> None:
    store = make_store(url)
    await store.open()
    channel = FileChannel(Path(file), number if step == "sent" else None)
    sender = DeliverySender(store, {"test": channel}, SystemClock(), tuple)
    recorded = 0

    async def on_part(_delivery: Delivery, _sent: Sent) -> None:
        nonlocal recorded
        recorded += 1
        if step == "recorded" and recorded == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sender.tools.on_part = on_part
    while (await store.records(PENDING_KIND, limit=1)).items:
        await sender.step()
        await sender.wait_idle()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
