"""Base class of the runtime contracts: a subclass opens its runtime, and every test gets a folder and a line to its agents."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from inspect import iscoroutinefunction
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self, TypeAlias

from ....ports.runtime import MIB, Exit, ForwardedSocket, Limits, Mount, Runtime, RuntimeProcess, RuntimeSpec
from ..targets.leak_check import ProcessSnapshot

TestCoroutine: TypeAlias = Callable[["RuntimeCase", "RuntimeHarness"], Awaitable[None]]

SMALL: Final = Limits(memory=128 * MIB, processes=32, cpus=1.0, output=4 * MIB, scratch=MIB)
LINE: Final = "/run/line.sock"
"""Where an agent finds the socket of its test."""
CONNECT: Final = f"""
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(next((word for word in sys.argv[1:] if word.endswith("line.sock")), {LINE!r}))
line.sendall(b"ready\\n")
"""
"""Beginning of an agent that tells the test that it runs; the connection ends with the agent, whatever ends it."""
ENDLESS: Final = CONNECT + "line.recv(1)\n"


class Finished(NamedTuple):
    exit: Exit
    stdout: bytes
    stderr: bytes


class AgentConnection(NamedTuple):
    """A connection from inside of a sandbox: it proves that the agent lives, and its end that the agent does not."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_open(self) -> bool:
        return not self.reader.at_eof()

    async def read_line(self) -> str:
        return (await self.reader.readline()).decode().strip()

    async def wait_for_end(self) -> None:
        await self.reader.read()
        self.writer.close()


class RuntimeHarness:
    """One runtime, a folder that belongs to its agents, and the socket that agents connect to."""

    def __init__(self, case: RuntimeCase, folder: Path) -> None:
        self._case = case
        self._runs = count(1)
        self.folder = folder
        self.install = f"test-{os.getpid()}"
        self.runtime = case.runtime(self.install)
        self.patience = case.patience
        self.socket = folder / "line.sock"
        self._connections: asyncio.Queue[AgentConnection] = asyncio.Queue()
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None

    async def open(self) -> Self:
        self._server = await asyncio.start_unix_server(self._accept, self.socket)
        self.socket.chmod(0o666)
        return self

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()

    def directory(self, name: str) -> Path:
        """Create a directory that agents may write to when it is mounted writable."""
        path = self.folder / name
        path.mkdir()
        os.chown(path, *self.runtime.owner)
        return path

    def spec(self, code: str, *arguments: str, **options: Any) -> RuntimeSpec:
        run = options.pop("run", f"run{next(self._runs)}")
        options.setdefault("limits", SMALL)
        sockets = [ForwardedSocket(str(self.socket), LINE), *options.pop("sockets", ())]
        program = [*self._case.python(), "-c", code, *arguments, LINE]
        return RuntimeSpec(run=run, program=program, sockets=sockets, **options)

    async def start(self, code: str, *arguments: str, **options: Any) -> RuntimeProcess:
        """Start an agent whose program is this Python code."""
        return await self.runtime.start(self.spec(code, *arguments, **options))

    async def run(self, code: str, *arguments: str, stdin: bytes = b"", **options: Any) -> Finished:
        """Start an agent, write its input while its output is read, and wait for its end."""
        async with (
            asyncio.timeout(self.patience.total_seconds()),
            await self.start(code, *arguments, **options) as process,
        ):
            return await self.finish(process, stdin)

    async def finish(self, process: RuntimeProcess, stdin: bytes = b"") -> Finished:
        writing = asyncio.create_task(self._write(process, stdin))
        streams = {"stdout": b"", "stderr": b""}
        async for chunk in process.output():
            streams[chunk.stream] += chunk.data
        await writing
        return Finished(await process.wait(), streams["stdout"], streams["stderr"])

    async def connected(self) -> AgentConnection:
        """Wait for the next agent that is ready."""
        async with asyncio.timeout(self.patience.total_seconds()):
            connection = await self._connections.get()
            assert await connection.read_line() == "ready"
        return connection

    async def assert_ended(self, connection: AgentConnection) -> None:
        async with asyncio.timeout(self.patience.total_seconds()):
            await connection.wait_for_end()

    async def _write(self, process: RuntimeProcess, data: bytes) -> None:
        await process.write(data)
        process.close_input()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self._connections.put_nowait(AgentConnection(reader, writer))


class RuntimeCase(ABC):
    """Wraps each `async def test_…(self, harness)` in a synchronous test; a subclass describes the runtime.

    With pytest, name the subclass `Test…`, and call `pytest.register_assert_rewrite("horae.testing.contracts")` in a
    conftest.py, so that a failure shows what was compared.
    """

    patience = timedelta(seconds=30)
    """Time limit of any step; only a broken runtime reaches it."""

    @abstractmethod
    def runtime(self, install: str) -> Runtime:
        """Open the runtime for an installation."""

    @abstractmethod
    def python(self) -> Sequence[str]:
        """The program inside that executes Python with `-c`, with its first arguments."""

    @abstractmethod
    def host_command(self, install: str, run: str, socket: Path) -> Sequence[str]:
        """A program that starts an agent as host, with `ENDLESS` as its code and the socket at `LINE`, and waits for it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(test):
                setattr(cls, name, _as_sync_test(name, test))


@asynccontextmanager
async def _open_harness(case: RuntimeCase) -> AsyncIterator[RuntimeHarness]:
    with TemporaryDirectory(prefix="horae-") as name:  # short: the path of a socket has at most 108 bytes
        harness = await RuntimeHarness(case, Path(os.path.realpath(name))).open()  # noqa: ASYNC240 - at once
        try:
            yield harness
        finally:
            await harness.close()


async def _run_test(case: RuntimeCase, test_body: TestCoroutine) -> None:
    """Run one test, and assert that no asyncio task, process, socket, pipe or orphan is left."""
    before = ProcessSnapshot.now()
    async with _open_harness(case) as harness:
        try:
            await test_body(case, harness)
        finally:
            left = await harness.runtime.reap()
        assert not left, f"the test left the runs {left}"
    await before.assert_no_leaks(case.patience)


def _as_sync_test(name: str, test_body: TestCoroutine) -> Callable[[RuntimeCase], None]:
    def test(self: RuntimeCase) -> None:
        asyncio.run(_run_test(self, test_body))

    # Not `functools.wraps`: `__wrapped__` would show a test runner the parameters of the coroutine.
    test.__name__, test.__doc__ = name, test_body.__doc__
    test.__qualname__, test.__module__ = test_body.__qualname__, test_body.__module__
    return test


__all__ = ["CONNECT", "ENDLESS", "LINE", "SMALL", "Finished", "Mount", "RuntimeCase", "RuntimeHarness"]
