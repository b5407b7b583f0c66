"""Temporary Redis server: every write is synced before its answer, on the loopback."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from tests.servers.ports import HOST
from tests.servers.server import PATIENCE, Server

_DATABASES: Final = 500
_SETTINGS: Final = {
    "bind": HOST,
    "databases": str(_DATABASES),
    "appendonly": "yes",
    "appendfsync": "always",
    "save": "",
    "maxmemory-policy": "noeviction",
}


class RedisServer(Server):
    """Every client is accepted, unless there is a password."""

    name = "redis"
    daemon = "redis-server"
    package = "redis-server"
    user = "redis"
    ready = "Ready to accept connections"

    def __init__(
        self, *, settings: Mapping[str, str] | None = None, password: str | None = None, in_memory: bool = False
    ) -> None:
        super().__init__(in_memory=in_memory)
        self._settings = {**_SETTINGS, **(settings or {})}
        self._password = password
        self._numbers: Iterator[int] = itertools.cycle(range(1, _DATABASES))

    @property
    def url(self) -> str:
        return self.url_of(0)

    def url_of(self, database: int) -> str:
        secret = "" if self._password is None else f":{quote(self._password, safe='')}@"
        return f"redis://{secret}{HOST}:{self.port}/{database}"

    def new_database(self) -> str:
        """Return the URL of an empty database, one that was used longest ago."""
        number = next(self._numbers)
        self.ask("FLUSHDB", database=number)
        return self.url_of(number)

    def drop_database(self, url: str) -> None:
        self.ask("FLUSHDB", "ASYNC", database=int(urlsplit(url).path[1:]))

    def ask(self, *words: str, database: int = 0) -> str:
        """Run one command; the parts of an answer are separated by line breaks."""
        command = [self._program("redis-cli"), "-h", HOST, "-p", str(self.port), "-n", str(database), "--raw", *words]
        environment = {"LC_ALL": "C", **({} if self._password is None else {"REDISCLI_AUTH": self._password})}
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False)
        assert answer.returncode == 0, f"{words}: {answer.stderr}"
        return answer.stdout.removesuffix("\n")

    def _lay_out(self) -> None:
        """Do nothing: the server creates its files in its folder."""

    def _command(self) -> Sequence[str]:
        secret = {} if self._password is None else {"requirepass": self._password}
        given = {**self._settings, **secret, "port": str(self.port), "dir": str(self.folder)}
        return [self._program(self.daemon), *(word for name, value in given.items() for word in (f"--{name}", value))]


class SentinelServer(RedisServer):
    """Sentinel that watches one server as the service `primary`; `quorum` of them must agree that it is down."""

    name = "sentinel"
    ready = "+monitor master primary"

    def __init__(self, watched: RedisServer, *, quorum: int = 1, down_after: float = 30.0) -> None:
        super().__init__()
        self._watched = watched
        self._quorum = quorum
        self._down_after = down_after

    @property
    def url(self) -> str:
        return f"redis+sentinel://{HOST}:{self.port}/primary/0"

    def _lay_out(self) -> None:
        lines = [f"port {self.port}", f"bind {HOST}", f"dir {self.folder}"]
        lines.append(f"sentinel monitor primary {HOST} {self._watched.port} {self._quorum}")
        lines.append(f"sentinel down-after-milliseconds primary {self._down_after * 1_000:.0f}")
        lines.append(f"sentinel failover-timeout primary {self._down_after * 10_000:.0f}")
        self._configuration.write_text("\n".join([*lines, ""]))
        # The server writes what it learns into this file.
        self._configuration.chmod(0o666)

    @property
    def _configuration(self) -> Path:
        return self.folder / "sentinel.conf"

    def _command(self) -> Sequence[str]:
        return [self._program(self.daemon), str(self._configuration), "--sentinel"]
