"""A command line that works at a server: the real application, on a free port, in a thread of this process."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import NamedTuple

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
from tests.cli.driving import Cli, Done

SECRET = "0" * 64


class Opened(NamedTuple):
    """A server that answers, and what opens it for whom."""

    url: str
    tokens: dict[str, str]


class Server:
    """Owner `local` is who the command line is on a file: at the server it has the same tasks."""

    def __init__(self, store: str, port: int = 0, members: tuple[str, ...] = ()) -> None:
        self._store = store
        self._owners = {"local": Role.ADMIN, **dict.fromkeys(members, Role.MEMBER)}
        self._port = port
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._opened: Opened | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Opened:
        self._thread.start()
        self._ready.wait()
        if self._opened is None:
            raise AssertionError("the server did not start") from self._failed
        return self._opened

    def stop(self) -> None:
        if self._loop is not None and self._over is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - told to whoever waits for it
            self._failed = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        store, clock, ring = make_store(self._store), SystemClock(), make_wakeup(self._store, precise=True)
        await store.open()
        near = Settings({"outgoing_networks": SettingValue(("127.0.0.0/8",), "tests")})
        service = make_service(self._store, store, clock, "UTC", TargetKinds(near), lambda _due: ring.notify())
        try:
            tokens = {owner: await token(service, owner, role) for owner, role in self._owners.items()}
            app = make_app(service, clock, WebSettings(secret=SECRET))
            with open_listener("127.0.0.1", self._port) as line:
                async with serve_app(app, line) as address:
                    self._opened = Opened(address, tokens)
                    self._ready.set()
                    await self._over.wait()
        finally:
            await service.operations.close()
            await service.webhooks.close()
            await ring.finish()
            await store.close()


async def token(service: Service, owner: str, role: Role) -> str:
    """Two servers in a row may be asked for the same owner: the account is there then, and a second token is made."""
    await service.accounts.put(LOCAL, owner, role=role)
    _, text = await service.tokens.make(LOCAL, owner=owner, name="tests")
    return text


class ServedCli(Cli):
    """`cli("ls")` as before, but at a server that has the store; it is started when it is first needed."""

    def __init__(self, directory: Path, members: tuple[str, ...] = ()) -> None:
        super().__init__(directory)
        self._members = members
        self._server: Server | None = None
        self._opened: Opened | None = None

    @property
    def opened(self) -> Opened:
        if self._opened is None:
            self._server = Server(self.url, members=self._members)
            self._opened = self._server.start()
            for owner, text in self._opened.tokens.items():
                path = self.token_file(owner)
                path.touch(mode=0o600)
                path.write_text(f"{text}\n", encoding="utf-8")
        return self._opened

    def token_file(self, owner: str = "local") -> Path:
        return self.directory / f"{owner}.token"

    def environment(self, **more: str) -> dict[str, str]:
        ours = {"HORAE_SERVER": self.opened.url, "HORAE_TOKEN_FILE": str(self.token_file())}
        return super().environment(**(ours | more))

    def on_file(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        """The same on the store itself."""
        return self(*arguments, "--store", self.url, stdin=stdin, **environment)

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
