"""A deployment of its own for one test: a folder, a store in it, and the real command on both."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

from horae import Horae
from horae.clock import SystemClock
from horae.model.run import Run
from horae.ports.store import RunFilter
from horae.wire.tasks import read_task
from tests.cli import fork_server

T = TypeVar("T")
_CLOCK: Final = SystemClock()
PATIENCE_SECONDS: Final = 60.0
"""A process may take its time on a busy machine; nothing is measured by this."""


class Deployment:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "horae.db"
        self.url = f"sqlite:///{self.path}"
        self._started: list[Up] = []

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the machine's own settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "LC_", "TIMEZONE"))}
        homes = {name: str(self.folder / name) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME")}
        return {**kept, **homes, "LANG": "C.UTF-8", "TZ": "UTC", "HORAE_STORE": self.url, "HORAE_API": "off"}

    def horae(
        self, *arguments: str, said: str | bytes = "", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One command, to its end."""
        given = said.encode() if isinstance(said, str) else said
        env = {**self.environment, **(environment or {})}
        done = fork_server.run(arguments, cwd=self.folder, env=env, stdin=given, timeout=PATIENCE_SECONDS)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def ok(self, *arguments: str, said: str | bytes = "") -> str:
        done = self.horae(*arguments, said=said)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def answer(self, *arguments: str, said: str | bytes = "") -> Any:
        return json.loads(self.ok(*arguments, "--json", said=said))

    def up(self, *arguments: str, environment: Mapping[str, str] | None = None, command: str = "up") -> Up:
        """`command`: `worker` does the same."""
        started = Up(self, (command, *arguments), environment or {})
        self._started.append(started)
        return started

    def inside(self, work: Callable[[Horae], Awaitable[T]]) -> T:
        """Something done by the library, in this process, on the same store."""

        async def do() -> T:
            async with Horae(self.url, engine=False, zone="UTC") as app:
                return await work(app)

        return asyncio.run(do())

    def add(self, **task: Any) -> str:
        """A task as the wire says it; its id."""
        return self.inside(lambda app: app.service.tasks.create(app.who, read_task(task))).id

    def runs(self, task_id: str) -> tuple[Run, ...]:
        """Newest first."""
        return self.inside(lambda app: app.service.runs.page(app.who, RunFilter(task_id=task_id))).items

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def end(self) -> None:
        for each in self._started:
            each.bury()


class Up:
    """`horae up` as a test holds it: what it says is read line by line."""

    def __init__(self, deployment: Deployment, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.said: list[str] = []
        self._heard: SimpleQueue[str | None] = SimpleQueue()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "horae", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            cwd=deployment.folder,
            env={**deployment.environment, **environment},
            start_new_session=True,
        )
        self._ears = Thread(target=self._listen, daemon=True)
        self._ears.start()

    def expect(self, words: str) -> str:
        """Wait until it says something with these words in it."""
        while True:
            try:
                line = self._heard.get(timeout=PATIENCE_SECONDS)
            except Empty:
                raise AssertionError(f"it did not say {words!r}, but: {self.said}") from None
            if line is None:
                raise AssertionError(f"it ended and never said {words!r}, but: {self.said}")
            self.said.append(line)
            if words in line:
                return line

    def hears(self, words: str, seconds: float) -> bool:
        """Wait for a line with these words, but no longer than this; False also when the process has ended."""
        deadline = _CLOCK.steady() + seconds
        while not any(words in line for line in self.said):
            try:
                line = self._heard.get(timeout=max(0.0, deadline - _CLOCK.steady()))
            except Empty:
                return False
            if line is None:
                self._heard.put(None)
                return False
            self.said.append(line)
        return True

    def expect_all(self, *wanted: str) -> Up:
        """Wait for lines with these words, in any order."""
        for words in wanted:
            if not any(words in line for line in self.said):
                self.expect(words)
        return self

    def ready(self) -> Up:
        """Wait until the worker runs."""
        self.expect("Ends ")
        return self

    def serving(self) -> Up:
        """Wait until the API runs too: for a store on a server it is a process of its own, which may start last."""
        return self.expect_all("Ends ", "Token ")

    @property
    def worker(self) -> int:
        """The process that carries the runs."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        (pid,) = children.split()
        return int(pid)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill_all(self) -> None:
        """As when the power fails for both of them."""
        worker = self.worker
        # Frozen, the one can neither begin another, nor be missed by it.
        self.signal(signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def ends(self) -> int:
        code = self.process.wait(PATIENCE_SECONDS)
        self._ears.join()
        while (line := self._heard.get()) is not None:
            self.said.append(line)
        return code

    def bury(self) -> None:
        """Nothing of it is left, however the test went."""
        with suppress(ProcessLookupError):
            if self.process.poll() is None:
                with suppress(ValueError, OSError):
                    os.kill(self.worker, signal.SIGKILL)
                self.process.kill()
        self.process.wait()
        self._ears.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._heard.put(line.rstrip("\n"))
        self._heard.put(None)
