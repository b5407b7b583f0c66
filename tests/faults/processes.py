"""Workers as the tests hold them: started, listened to, frozen, thawed, killed."""

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

from tests.faults.orders import Orders
from tests.faults.place import Place

ROOT: Final = Path(__file__).parents[2]
START_SECONDS: Final = 30.0
"""A process may take its time to start on a busy machine; nothing is measured by this."""
_ELSEWHERE: Final = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A namespace of its own: its neighbours cannot see whether it lives, as if it were on another machine."""


class Worker:
    module = "tests.faults.worker"

    def __init__(self, orders: Orders, *, elsewhere: bool = False) -> None:
        self.said: list[str] = []
        self._heard: SimpleQueue[str | None] = SimpleQueue()
        self._log_path = Path(orders.folder) / "worker.log"
        self._log = self._log_path.open("ab")
        self._process = subprocess.Popen(
            (*(_ELSEWHERE if elsewhere else ()), sys.executable, "-m", self.module, orders.written()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=ROOT,
        )
        self._ears = Thread(target=self._listen, daemon=True)
        self._ears.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def log(self) -> str:
        """What it wrote to its log so far."""
        return self._log_path.read_text()

    @property
    def _log_end(self) -> str:
        return f"\n{self._log_path.read_text()[-2_000:]}"

    @property
    def busy_seconds(self) -> float:
        """How much of the processors' time it has used: unlike a clock, that is the same on a busy machine."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def expect(self, words: str, within: float = START_SECONDS) -> str:
        """Wait until it says something that begins like this."""
        while True:
            try:
                line = self._heard.get(timeout=within)
            except Empty:
                raise AssertionError(f"not within {within:g} s: a worker that says {words!r}{self._log_end}") from None
            if line is None:
                raise AssertionError(f"a worker ended and never said {words!r}{self._log_end}")
            self.said.append(line)
            if line.startswith(words):
                return line

    @property
    def is_ready(self) -> bool:
        """Whether it has said so by now."""
        with suppress(Empty):
            while (line := self._heard.get_nowait()) is not None:
                self.said.append(line)
        return "ready" in self.said

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def ask_to_end(self) -> None:
        """As whoever rolls out a new version does; `dies` waits for it."""
        self._process.terminate()

    def dies(self, within: float) -> int:
        """Wait until it is dead, whoever killed it; how it ended."""
        return self._process.wait(within)

    def end(self) -> None:
        """In good order."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(START_SECONDS) == 0

    def bury(self) -> None:
        """Nothing of it is left, however the test went."""
        with suppress(ProcessLookupError):
            self.kill()
        self._ears.join()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._heard.put(line.rstrip("\n"))
        self._heard.put(None)


class Workers:
    """All workers of one test, on one place."""

    def __init__(self, place: Place) -> None:
        self._orders = Orders(str(place.folder), place.url)
        self._all: list[Worker] = []

    def start(self, *, elsewhere: bool = False, **changes: object) -> Worker:
        """Begin one; it says `ready` when its engine runs."""
        worker = Worker(replace(self._orders, **changes), elsewhere=elsewhere)  # type: ignore[arg-type]
        self._all.append(worker)
        return worker

    def ready(self, *, elsewhere: bool = False, **changes: object) -> Worker:
        worker = self.start(elsewhere=elsewhere, **changes)
        worker.expect("ready")
        return worker

    def bury(self) -> None:
        for worker in self._all:
            worker.bury()


def is_alive(pid: int) -> bool:
    """A zombie does nothing any more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
