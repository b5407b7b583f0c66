"""Request files from inside of the sandbox: written whole, answered by the host in a file of the same name."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple

from ...clock import Clock

ANSWER_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05
_MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
_MILLISECONDS: Final = 1_000


class NoHost(Exception):  # noqa: N818 - a state of the surroundings
    """There is no directory for requests: the program does not run in the sandbox of a group."""


class NoAnswer(Exception):  # noqa: N818 - likewise
    """The host has not answered in time; the request may be carried out later."""


class Cancelled(Exception):  # noqa: N818 - likewise
    """The caller does not wait any longer."""


class WrittenRequest(NamedTuple):
    path: Path
    """The file; it disappears when the host claims it."""
    answer: Path


class RequestFiles:
    """Directory of a group as its agent sees it. Names ascend, so that the host carries out requests in their order."""

    def __init__(self, directory: Path, clock: Clock, seconds: float = ANSWER_SECONDS) -> None:
        self._directory = directory
        self._clock = clock
        self._seconds = seconds
        self._last = 0

    def write(self, box: str, document: Mapping[str, Any]) -> WrittenRequest:
        """Write a request under a temporary name, then rename it: the host never sees a part of it."""
        folder = self._directory / box
        if not folder.is_dir():
            raise NoHost(f"{folder} does not exist: this program runs inside of the sandbox of a group")
        # Requests of one millisecond have ascending numbers, too.
        self._last = max(int(self._clock.now().timestamp() * _MILLISECONDS), self._last + 1)
        name = f"{self._last}-{token_hex(4)}.json"
        temporary = folder / f".{name}.tmp"
        temporary.write_text(json.dumps(document), encoding="utf-8")
        temporary.rename(folder / name)
        return WrittenRequest(folder / name, self._directory / "answers" / name)

    def wait(self, request: WrittenRequest, cancelled: threading.Event) -> Mapping[str, Any]:
        """Return the answer of the host, and remove its file."""
        deadline = self._clock.steady() + self._seconds
        while True:
            answer = read_json_file(request.answer)
            if isinstance(answer, dict):
                with suppress(OSError):
                    request.answer.unlink()
                return answer
            if cancelled.wait(POLL_SECONDS):
                # What the host has not claimed yet is withdrawn.
                request.path.unlink(missing_ok=True)
                raise Cancelled
            if self._clock.steady() >= deadline:
                raise NoAnswer(f"{self._seconds:g} s")

    def read_tasks(self, after: int = 0) -> Any:
        """Return the tasks of the snapshot; None without one. Waits a moment for one that is not older than `after`."""
        path = self._directory / "current_tasks.json"
        deadline = self._clock.steady() + 1.5
        while self.snapshot_time() < after and self._clock.steady() < deadline:
            self._clock.sleep(POLL_SECONDS)
        return read_json_file(path)

    def snapshot_time(self) -> int:
        """Return when the snapshot of the tasks was written, in nanoseconds of the file system's clock; 0 without one."""
        try:
            return (self._directory / "current_tasks.json").stat().st_mtime_ns
        except OSError:
            return 0


def read_json_file(path: Path) -> Any:
    """Return the JSON document of a file; None if it is not there, or is no JSON."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb", closefd=True) as file:  # noqa: PTH123 - opened with flags
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            return json.loads(file.read(_MAX_ANSWER_BYTES))
        except (ValueError, RecursionError):
            return None
