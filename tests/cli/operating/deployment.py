"""Deployment for one test: a folder, a store in it, and the real `horae` command as processes."""

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
from horae.wire.tasks.task import read_task
from tests.cli import fork_server

T = TypeVar("T")
_CLOCK: Final = SystemClock()
TIMEOUT_SECONDS: Final = 60.0
"""Longest wait for a process on a busy machine; tests measure nothing with it."""


class Deployment:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "horae.db"
        self.url = f"sqlite:///{self.path}"
        self._started: list[Up] = []

    @property
    def environment(self) -> dict[str, str]:
        """Environment without Horae settings of the machine."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "LC_", "TIMEZONE"))
        }
        homes = {name: str(self.folder / name) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME")}
        return {**inherited, **homes, "LANG": "C.UTF-8", "TZ": "UTC", "HORAE_STORE": self.url, "HORAE_API": "off"}

    def horae(
        self, *arguments: str, stdin: str | bytes = "", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        env = {**self.environment, **(environment or {})}
        done = fork_server.run(arguments, cwd=self.folder, env=env, stdin=data, timeout=TIMEOUT_SECONDS)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def ok(self, *arguments: str, stdin: str | bytes = "") -> str:
        done = self.horae(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def answer(self, *arguments: str, stdin: str | bytes = "") -> Any:
        return json.loads(self.ok(*arguments, "--json", stdin=stdin))

    def up(self, *arguments: str, environment: Mapping[str, str] | None = None, command: str = "up") -> Up:
        """Start `horae up`, or `horae worker` with `command="worker"`."""
        started = Up(self, (command, *arguments), environment or {})
        self._started.append(started)
        return started

    def call_library(self, work: Callable[[Horae], Awaitable[T]]) -> T:
        """Call `work` with a `Horae` on the same store, in this process and without an engine."""

        async def call() -> T:
            async with self.library() as app:
                return await work(app)

        return asyncio.run(call())

    def library(self) -> Horae:
        """Return a `Horae` on the same store, not yet open and without an engine."""
        return Horae(self.url, engine=False, zone="UTC")

    def add(self, **task: Any) -> str:
        """Create a task from its wire fields; return its id."""
        return self.call_library(lambda app: app.service.tasks.create(app.who, read_task(task))).id

    def runs(self, task_id: str) -> tuple[Run, ...]:
        """Return the runs of a task, newest first."""
        return self.call_library(lambda app: app.service.runs.page(app.who, RunFilter(task_id=task_id))).items

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def end(self) -> None:
        for each in self._started:
            each.clean_up()


class Up:
    """Process of `horae up`: a thread reads its output line by line."""

    def __init__(self, deployment: Deployment, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.output: list[str] = []
        self._lines: SimpleQueue[str | None] = SimpleQueue()
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
        self._reader = Thread(target=self._read_lines, daemon=True)
        self._reader.start()

    def expect(self, words: str) -> str:
        """Wait for a line that contains `words`; return it."""
        while True:
            try:
                line = self._lines.get(timeout=TIMEOUT_SECONDS)
            except Empty:
                raise AssertionError(f"no line with {words!r} in time, but: {self.output}") from None
            if line is None:
                raise AssertionError(f"the process ended without a line with {words!r}: {self.output}")
            self.output.append(line)
            if words in line:
                return line

    def wait_for_line(self, words: str, seconds: float) -> bool:
        """Wait up to `seconds` for a line that contains `words`; return False without one, also when the process has ended."""
        deadline = _CLOCK.steady() + seconds
        while not any(words in line for line in self.output):
            try:
                line = self._lines.get(timeout=max(0.0, deadline - _CLOCK.steady()))
            except Empty:
                return False
            if line is None:
                self._lines.put(None)
                return False
            self.output.append(line)
        return True

    def expect_all(self, *texts: str) -> Up:
        """Wait for a line with each of `texts`, in any order."""
        for words in texts:
            if not any(words in line for line in self.output):
                self.expect(words)
        return self

    def ready(self) -> Up:
        """Wait until the worker runs."""
        self.expect("Ends ")
        return self

    def serving(self) -> Up:
        """Wait until the API runs too: with a store on a server the API is a separate process, which may start last."""
        return self.expect_all("Ends ", "Token ")

    @property
    def worker(self) -> int:
        """Process id of the worker, which executes the runs."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        (pid,) = children.split()
        return int(pid)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill_all(self) -> None:
        """Kill supervisor and worker together, as a power failure does."""
        worker = self.worker
        # The stopped supervisor cannot start another worker.
        self.signal(signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def ends(self) -> int:
        """Wait for the end of the process; return its exit code."""
        code = self.process.wait(TIMEOUT_SECONDS)
        self._reader.join()
        while (line := self._lines.get()) is not None:
            self.output.append(line)
        return code

    def clean_up(self) -> None:
        """Kill the processes that still run and close the pipe."""
        with suppress(ProcessLookupError):
            if self.process.poll() is None:
                with suppress(ValueError, OSError):
                    os.kill(self.worker, signal.SIGKILL)
                self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)
