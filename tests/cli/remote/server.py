"""API server in a thread of this process, and a command line that talks to it."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from horae.api.app import make_app
from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL, Role
from horae.runtime.http_server import open_listener, serve_app
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store, make_wakeup
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.settings import Settings, SettingValue
from horae.web.request_context import WebSettings
from tests.cli.command_line import Cli, CommandResult

SECRET = "0" * 64


class RunningServer(NamedTuple):
    """Address of a server, and the token of each owner."""

    url: str
    tokens: dict[str, str]


class Server:
    """API server on a store; owner `local` is the identity of the command line on a file, so both see the same tasks."""

    def __init__(self, store: str, port: int = 0, members: tuple[str, ...] = ()) -> None:
        self._store = store
        self._owners = {"local": Role.ADMIN, **dict.fromkeys(members, Role.MEMBER)}
        self._port = port
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._running: RunningServer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> RunningServer:
        self._thread.start()
        self._ready.wait()
        if self._running is None:
            raise AssertionError("the server did not start") from self._error
        return self._running

    def stop(self) -> None:
        if self._loop is not None and self._stopped is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - raised again by start()
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        store, clock, ring = make_store(self._store), SystemClock(), make_wakeup(self._store, precise=True)
        await store.open()
        loopback = Settings({"outgoing_networks": SettingValue(("127.0.0.0/8",), "tests")})
        service = make_service(self._store, store, clock, "UTC", TargetKinds(loopback), lambda _due: ring.notify())
        try:
            tokens = {owner: await make_token(service, owner, role) for owner, role in self._owners.items()}
            app = make_app(service, clock, WebSettings(secret=SECRET))
            with open_listener("127.0.0.1", self._port) as line:
                async with serve_app(app, line) as address:
                    self._running = RunningServer(address, tokens)
                    self._ready.set()
                    await self._stopped.wait()
        finally:
            await service.operations.close()
            await service.webhooks.close()
            await ring.finish()
            await store.close()


async def make_token(service: Service, owner: str, role: Role) -> str:
    """Make a token for an owner; a second server on the same store makes a second token."""
    await service.accounts.put(LOCAL, owner, role=role)
    _, text = await service.tokens.make(LOCAL, owner=owner, name="tests")
    return text


class RemoteCli(Cli):
    """Command line that talks to a server on its store; the server starts at first use."""

    def __init__(self, directory: Path, members: tuple[str, ...] = ()) -> None:
        super().__init__(directory)
        self._members = members
        self._server: Server | None = None
        self._running: RunningServer | None = None

    @property
    def server(self) -> RunningServer:
        if self._running is None:
            self._server = Server(self.url, members=self._members)
            self._running = self._server.start()
            for owner, text in self._running.tokens.items():
                path = self.token_file(owner)
                path.touch(mode=0o600)
                path.write_text(f"{text}\n", encoding="utf-8")
        return self._running

    def token_file(self, owner: str = "local") -> Path:
        return self.directory / f"{owner}.token"

    def environment(self, **more: str) -> dict[str, str]:
        own = {"HORAE_SERVER": self.server.url, "HORAE_TOKEN_FILE": str(self.token_file())}
        return super().environment(**(own | more))

    def on_store(self, *arguments: str, stdin: str = "", **environment: str) -> CommandResult:
        """Run the command on the store itself, without the server."""
        return self(*arguments, "--store", self.url, stdin=stdin, **environment)

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()


SESSIONS: Final = ("file", "server")
"""Where a command works: on a store file, or through a server."""


class Command(Protocol):
    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> CommandResult: ...


def command_for(session: str, cli: RemoteCli) -> Command:
    return cli if session == "server" else cli.on_store


def without_store(text: str) -> str:
    """Remove the `--store` option from printed commands."""
    return re.sub(r"horae --store \S+ ", "horae ", text)
