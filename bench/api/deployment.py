"""A real deployment: `horae up` on its own file, with worker and API in separate processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.api.line import connected, request
from horae.clock import SystemClock

_FUNCTIONS: Final = Path(__file__).with_name("functions.py")
_READY: Final = {"node.ready", "api.ready"}
_PATIENCE: Final = 30
_SERVER: Final = b"horae.cli.api_process"


class Deployment(NamedTuple):
    folder: Path
    base: str
    token: str
    process: int
    """The supervisor's; the worker and the API are its children."""

    @property
    def api_process(self) -> int:
        """The number of the process that serves the API now."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text(encoding="ascii").split()
        (found,) = (int(each) for each in children if _SERVER in Path(f"/proc/{each}/cmdline").read_bytes())
        return found

    @property
    def api_memory(self) -> float:
        """Megabytes that the process of the API has in memory."""
        pages = int(Path(f"/proc/{self.api_process}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    @property
    def api_seconds(self) -> float:
        """Processor time that the process of the API has taken, in all its threads."""
        fields = Path(f"/proc/{self.api_process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def head(self, token: str | None = None, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self.token}", **more}

    def ask(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        """One setup request, which must succeed."""
        return asyncio.run(self._ask(method, path, body, token))

    async def _ask(self, method: str, path: str, body: Any, token: str | None) -> Any:
        line = await connected(self.base)
        sent = b"" if body is None else json.dumps(body).encode()
        reply = await line.ask(request(method, path, self.head(token), sent))
        line.close()
        assert 200 <= reply.status < 300, (reply.status, reply.body[:500])
        return json.loads(reply.body) if reply.body else None

    def member(self, name: str, **quotas: int | None) -> str:
        """An owner with a token of its own, and quotas that are not in the way; the token."""
        wide = {
            "active_tasks": None,
            "stored_tasks": 10_000_000,
            "runs_per_day": None,
            "concurrent_runs": 1_000,
            "idempotency_keys": 10_000_000,
            **quotas,
        }
        self.ask("PUT", f"/v1/owners/{name}", {"role": "member", "quotas": wide})
        made = self.ask("POST", "/v1/tokens", {"owner": name, "name": "bench"})
        return str(made["text"])

    def lateness(self, since: datetime, until: datetime) -> list[float]:
        """Seconds, of all ticks that were due within a stretch of time and have begun."""
        first, last = since.timestamp(), until.timestamp()
        lines = (self.folder / "starts").read_text(encoding="ascii").splitlines()
        pairs = (tuple(map(float, line.split())) for line in lines)
        return [started - due for due, started in pairs if first <= due <= last]


@contextmanager
def deployed(
    folder: Path, *options: str, settings: Mapping[str, str] | None = None, python: str = sys.executable
) -> Iterator[Deployment]:
    """Run the deployment during the block, then stop it gracefully. `python`: the interpreter of another checkout."""
    url = f"sqlite:///{folder.absolute()}/horae.db"
    command = [python, "-P", "-m", "horae", "up", str(_FUNCTIONS), "--store", url, "--port", "0", "--json", *options]
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
            env=_environment(folder, settings or {}),
        ) as process,
    ):
        try:
            yield _ready(process, folder)
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def tick(deployment: Deployment, tasks: int) -> None:
    """Add tasks of another owner that fire every second, spread over it, and wait for the first runs."""
    first = SystemClock().now() + timedelta(seconds=1)
    whens = [(first + timedelta(seconds=number / tasks)).isoformat() for number in range(tasks)]
    made = [
        {
            "name": f"tick {number}",
            "owner": "clock",
            "function": "tick",
            "when": {"kind": "every", "interval": "PT1S", "start": when},
        }
        for number, when in enumerate(whens)
    ]
    deployment.ask("POST", "/v1/tasks/bulk", {"tasks": made})
    while not (deployment.folder / "starts").stat().st_size:
        asyncio.run(SystemClock().pause(0.1))


def _environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    ours = {"HORAE_ZONE": "UTC", "HORAE_RATE_LIMIT": "off", "BENCH_STARTS": str(folder / "starts")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HORAE_")}
    return {**kept, **ours, **settings}


def _ready(process: subprocess.Popen[str], folder: Path) -> Deployment:
    assert process.stdout is not None
    waiting, base, file = set(_READY), "", ""
    while waiting:
        line = process.stdout.readline()
        assert line, (folder / "log").read_text(encoding="utf-8", errors="replace")[-2_000:]
        said = json.loads(line)
        waiting.discard(said["type"])
        if said["type"] == "api.ready":
            base, file = said["url"], said["token_file"]
    # Further output is discarded, because a full pipe would block the process.
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return Deployment(folder, base, Path(file).read_text(encoding="ascii").strip(), process.pid)
