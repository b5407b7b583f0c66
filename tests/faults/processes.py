"""Worker processes of the tests: start, read output, freeze, thaw, kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from tests.faults.testbed import Testbed
from tests.faults.worker_config import WorkerConfig

ROOT: Final = Path(__file__).parents[2]
START_SECONDS: Final = 30.0
"""Longest wait for the start of a process on a busy machine; tests measure nothing with it."""
_OWN_NAMESPACE: Final = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Run in a PID namespace: other nodes cannot see whether the process lives, as if it were on another machine."""


class Worker:
    module = "tests.faults.worker"

    def __init__(self, config: WorkerConfig, *, isolated: bool = False) -> None:
        self.output: list[str] = []
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._log_path = Path(config.folder) / "worker.log"
        self._log = self._log_path.open("ab")
        self._process = subprocess.Popen(
            (*(_OWN_NAMESPACE if isolated else ()), sys.executable, "-m", self.module, config.to_json()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=ROOT,
        )
        self._reader = Thread(target=self._read_lines, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def log(self) -> str:
        """The worker's log so far."""
        return self._log_path.read_text()

    @property
    def _log_end(self) -> str:
        return f"\n{self._log_path.read_text()[-2_000:]}"

    @property
    def busy_seconds(self) -> float:
        """Processor time used so far; unlike wall time it does not depend on the load of the machine."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def expect(self, words: str, within: float = START_SECONDS) -> str:
        """Wait for a line of output that starts with `words`; return it."""
        while True:
            try:
                line = self._lines.get(timeout=within)
            except Empty:
                raise AssertionError(f"not within {within:g} s: a worker that says {words!r}{self._log_end}") from None
            if line is None:
                raise AssertionError(f"the worker ended without a line with {words!r}{self._log_end}")
            self.output.append(line)
            if line.startswith(words):
                return line

    @property
    def is_ready(self) -> bool:
        """Whether the worker has printed `ready`."""
        with suppress(Empty):
            while (line := self._lines.get_nowait()) is not None:
                self.output.append(line)
        return "ready" in self.output

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """Send SIGTERM, as a rolling restart does; `wait_for_exit` waits for the end."""
        self._process.terminate()

    def wait_for_exit(self, within: float) -> int:
        """Wait for the end of the process, however it came; return its exit code."""
        return self._process.wait(within)

    def stop(self) -> None:
        """Close the worker's input, and wait for exit code 0."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(START_SECONDS) == 0

    def clean_up(self) -> None:
        """Kill the process if it runs, and close its streams."""
        with suppress(ProcessLookupError):
            self.kill()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)


class Workers:
    """All workers of one test, on one testbed."""

    def __init__(self, testbed: Testbed) -> None:
        self._orders = WorkerConfig(str(testbed.folder), testbed.url)
        self._all: list[Worker] = []

    def start(self, *, isolated: bool = False, **changes: object) -> Worker:
        """Start a worker; it prints `ready` when its engine runs."""
        worker = Worker(replace(self._orders, **changes), isolated=isolated)  # type: ignore[arg-type]
        self._all.append(worker)
        return worker

    def ready(self, *, isolated: bool = False, **changes: object) -> Worker:
        worker = self.start(isolated=isolated, **changes)
        worker.expect("ready")
        return worker

    def clean_up(self) -> None:
        for worker in self._all:
            worker.clean_up()


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
