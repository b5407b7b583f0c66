"""Event streams across processes: readers resume after the server was killed and get events of other processes."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.api.api_server import Api, create_tokens

from .event_server import SECONDS, add_task, open_service, read_stream, record_event

SCRIPT = Path(__file__).with_name("server_process.py")


@asynccontextmanager
async def run_server(url: str, port: int = 0) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SCRIPT), url, str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SECONDS):
            base = (await process.stdout.readline()).decode().strip()
        assert base, "it did not start"
        yield process, base
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_reader_resumes_after_a_killed_server_without_loss_or_duplicates(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    async with open_service(url) as service, aiohttp.ClientSession() as session:
        tokens = await create_tokens(service)
        task = await add_task(service.store)
        received: list[Any] = []
        last = "0"
        port = 0
        for restart in range(3):
            async with run_server(url, port) as (process, base):
                port = int(base.rpartition(":")[2])
                api = Api(base, None, service, session, tokens)  # type: ignore[arg-type]
                async with read_stream(api, headers={"Last-Event-ID": last}) as reader:
                    for number in range(20):
                        await record_event(service.store, task, detail=f"{restart}/{number}")
                    received += await reader.read_details(11)
                    last = reader.last
                    process.send_signal(signal.SIGKILL)
                    await process.wait()
        async with run_server(url, port) as (_, base):
            api = Api(base, None, service, session, tokens)  # type: ignore[arg-type]
            async with read_stream(api, headers={"Last-Event-ID": last}) as reader:
                received += await reader.read_details(61 - len(received))
        assert received == [None, *(f"{restart}/{number}" for restart in range(3) for number in range(20))]


async def test_stopping_server_ends_its_streams_first(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    async with open_service(url) as service, aiohttp.ClientSession() as session:
        tokens = await create_tokens(service)
        async with run_server(url) as (process, base):
            api = Api(base, None, service, session, tokens)  # type: ignore[arg-type]
            async with read_stream(api) as reader:
                assert process.stdin is not None
                process.stdin.close()
                frame = await reader.frame()
                assert frame is not None
                assert (frame.event, frame.data["reason"]) == ("end", "closing")
                assert await reader.frame() is None
            async with asyncio.timeout(SECONDS):
                assert await process.wait() == 0
