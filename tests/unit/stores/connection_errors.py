"""Connection errors on the command line: checks shared by the stores on database servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Final
from urllib.parse import quote

from tests.cli.command_line import Cli, CommandResult
from tests.servers.ports import HOST

SECRET: Final = "hunter2 p@ss/w%rd"  # noqa: S105 - test password


QUOTED: Final = quote(SECRET, safe="")


TIMEOUT_SECONDS: Final = 60


UNREACHABLE: Final = 7


MAX_LINES: Final = 4
"""A sentence and a hint, each wrapped at most once."""


def assert_refused(cli: Cli, url: str, code: str, **environment: str) -> str:
    """Check the refusal of `up` in English and of `ls --json` in Chinese; return the English text."""
    commands = (("up", "--seconds", "1", "--lang", "en"), ("ls", "--json", "--lang", "zh"))
    # Both at once: some wait for a server that never answers.
    with ThreadPoolExecutor() as threads:
        ended = threads.map(lambda command: cli.process(*command, **{"HORAE_STORE": url, **environment}), commands)
        plain, document = (check_refusal(each) for each in ended)
    report = json.loads(document.splitlines()[-1])
    assert report["code"] == code
    assert any("\u4e00" <= letter <= "\u9fff" for letter in report["detail"])
    return plain


def check_refusal(done: CommandResult) -> str:
    """Check exit code, length and secrecy of a refusal; return standard error."""
    code, out, err = done
    assert code == UNREACHABLE, err
    assert SECRET not in out + err
    assert QUOTED not in out + err
    assert "Traceback" not in err
    assert 0 < len(err.splitlines()) <= MAX_LINES
    return err


@contextmanager
def serve_reply(answer: bytes) -> Iterator[int]:
    """Server that sends one reply to each client and closes the connection."""
    loop = asyncio.new_event_loop()

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def stop(server: asyncio.Server) -> None:
        server.close()
        # A client may have left while its reply was being written.
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(reply, HOST, 0), loop).result()
    yield server.sockets[0].getsockname()[1]
    asyncio.run_coroutine_threadsafe(stop(server), loop).result(TIMEOUT_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
