"""Two deployments and a router in front of them, as real processes, with clients of their owners."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import aiohttp

from tests.api.up_process import TIMEOUT_SECONDS, WITH_API, Up, run_up

NAMES: Final = ("north", "south")
OWNERS: Final = {"user:ada": "north", "user:bob": "south"}
TASK: Final[dict[str, Any]] = {"name": "report", "when": "every 10m", "zone": "UTC", "say": "hello"}
_TRUST: Final = 'trusted_proxies = ["127.0.0.0/8", "unix"]\n'


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])


class RouterProcess:
    """A running `horae route --json`."""

    def __init__(self, folder: Path, *options: str) -> None:
        environment = {**WITH_API, "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "horae", "route", "--json", "--port", "0", *options],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        ready = json.loads(self._stdout.readline())
        assert ready["type"] == "router.ready"
        self.url: str = ready["url"]

    @property
    def _stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_SECONDS)

    def clean_up(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_SECONDS)
        self._stdout.close()


class Cluster:
    """North serves on TCP, south on a unix socket. `tokens` are those of owners, and of the admin of each deployment."""

    def __init__(self, folder: Path, ups: dict[str, Up], readies: dict[str, dict[str, Any]]) -> None:
        self.folder = folder
        self.ups = ups
        self.urls = {name: str(ready["url"]) for name, ready in readies.items()}
        self.stores = {name: f"sqlite:///{folder}/{name}/horae.db" for name in NAMES}
        paths = {name: Path(ready["token_file"]) for name, ready in readies.items()}
        self.tokens = {name: path.read_text(encoding="ascii").strip() for name, path in paths.items()}
        self.router: RouterProcess

    @property
    def socket(self) -> Path:
        return self.folder / "south" / "api.sock"

    def start_router(self) -> None:
        write_map(self.folder / "router", self)
        self.router = RouterProcess(self.folder / "router")

    async def send(self, method: str, path: str, who: str | None, *, to: str | None = None, **options: Any) -> Reply:
        """Send a request through the router, or directly to an address."""
        headers = dict(options.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        async with (
            self._session() as session,
            session.request(
                method, (to or self.router.url) + path, headers=headers, allow_redirects=False, **options
            ) as response,
        ):
            return Reply(response.status, response.headers.copy(), await response.read())

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session:
            yield session

    async def make_owners(self) -> None:
        """Make each owner in its deployment, with a token."""
        for owner, name in OWNERS.items():
            await self.make_owner(owner, name)

    async def make_owner(self, owner: str, name: str) -> None:
        quotas = {"active_tasks": 10_000, "requests_per_minute": None}
        body = {"role": "member", "quotas": quotas}
        made = await self.send("PUT", f"/v1/owners/{owner}", name, to=self.urls[name], json=body)
        assert made.status in (200, 201), made.body
        body = {"owner": owner, "name": "tests"}
        token = await self.send("POST", "/v1/tokens", name, to=self.urls[name], json=body)
        assert token.status == 201, token.body
        self.tokens[owner] = token.json["text"]


def write_map(folder: Path, cluster: Cluster, owners: Mapping[str, str] = OWNERS) -> None:
    folder.mkdir(exist_ok=True)
    lines = [f'"{owner}" = "{name}"' for owner, name in owners.items()]
    text = (
        f'[deployments.north]\nurl = "{cluster.urls["north"]}"\nstore = "{cluster.stores["north"]}"\n'
        f'[deployments.south]\nurl = "unix:{cluster.socket}"\nstore = "{cluster.stores["south"]}"\n'
        f'[owners]\n{chr(10).join(lines)}\n"*" = "north"\n'
    )
    (folder / "horae.toml").write_text(text, encoding="utf-8")


@contextmanager
def run_cluster(folder: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        ups: dict[str, Up] = {}
        for name in NAMES:
            (folder / name).mkdir()
            (folder / name / "horae.toml").write_text(_TRUST, encoding="utf-8")
            options = ("--socket", str(folder / name / "api.sock"))
            ups[name] = stack.enter_context(run_up(folder / name, "--port", "0", *options))
        cluster = Cluster(folder, ups, {name: up.expect("api.ready") for name, up in ups.items()})
        cluster.start_router()
        stack.callback(cluster.router.clean_up)
        for up in ups.values():
            _drain(stack, up)
        yield cluster


def _drain(stack: ExitStack, up: Up) -> None:
    """Read what the process prints, so that it never waits for a full pipe."""
    thread = threading.Thread(target=lambda: [None for _ in up.stdout], daemon=True)
    thread.start()
    stack.callback(_stop, up, thread)


def _stop(up: Up, thread: threading.Thread) -> None:
    up.process.kill()
    thread.join(TIMEOUT_SECONDS)


def move_owner(cluster: Cluster, owner: str, source: str, target: str) -> subprocess.CompletedProcess[str]:
    """Run `horae move --owner` with the names of the map."""
    folder = cluster.folder / "router"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "LC_"))}
    return subprocess.run(
        [sys.executable, "-m", "horae", "move", source, target, "--owner", owner],
        cwd=folder,
        env={**inherited, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * TIMEOUT_SECONDS,
    )
