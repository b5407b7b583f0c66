"""Log of one agent: a file of the group's directory of logs, and lines of the run's log; both are bounded."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, Self, TextIO

from ..protocol import read_tool_call

_KEPT_FILES: Final = 200
"""Log files of a group."""
_FILE_CHARACTERS: Final = 4 * 1024 * 1024
_STDERR_CHARACTERS: Final = 16 * 1024
_SHOWN_LINES: Final = 20
_MAX_TOOL_CALLS: Final = 500


class LineLog(Protocol):
    def log(self, text: str, level: str = "info") -> None: ...


class AgentLog:
    """Use it as a context. `lines` is the run's log; `mask` hides the secrets of the agent in what it writes to stderr."""

    def __init__(
        self, directory: Path, name: str, lines: LineLog, mask: Callable[[str], str] = lambda text: text
    ) -> None:
        self._directory = directory
        self._path = directory / f"{name}.log"
        self._lines = lines
        self._mask = mask
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._file: TextIO | None = None
        self._left = _FILE_CHARACTERS
        self._stderr = ""
        self._unfinished = ""
        self._tool_calls = 0

    @property
    def stderr(self) -> str:
        """The end of what the agent wrote to stderr."""
        return (self._stderr + self._mask(self._unfinished))[-_STDERR_CHARACTERS:]

    def __enter__(self) -> Self:
        self._remove_old()
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._file = os.fdopen(descriptor, "a", encoding="utf-8", errors="replace")
        return self

    def __exit__(self, *_: object) -> None:
        self._write(self._mask(self._unfinished))
        if self._file is not None:
            self._file.close()

    def event(self, at: datetime, text: str) -> None:
        """Write a line to the file."""
        self._write(f"{at.isoformat()} {text}\n")

    def line(self, at: datetime, text: str, level: str = "info") -> None:
        """Write a line to the file and to the run's log."""
        self.event(at, f"{level}: {text}")
        self._lines.log(text, level)

    def add_stderr(self, data: bytes) -> None:
        """Take a part of stderr: whole lines, because a secret may be in two parts."""
        *lines, self._unfinished = (self._unfinished + self._decoder.decode(data)).split("\n")
        for line in lines:
            masked = self._mask(line)
            self._keep(f"{masked}\n")
            self._show_tool_call(masked)
        if len(self._unfinished) > _STDERR_CHARACTERS:
            self._keep(self._mask(self._unfinished))
            self._unfinished = ""

    def _keep(self, text: str) -> None:
        self._stderr = (self._stderr + text)[-_STDERR_CHARACTERS:]
        self._write(text)

    def show_stderr(self) -> None:
        """Write the last lines of stderr to the run's log."""
        for line in self.stderr.splitlines()[-_SHOWN_LINES:]:
            if line.strip() and read_tool_call(line) is None:
                self._lines.log(line, "output")

    def _show_tool_call(self, line: str) -> None:
        call = read_tool_call(line)
        if call is not None and self._tool_calls < _MAX_TOOL_CALLS:
            self._tool_calls += 1
            self._lines.log(call, "tool")

    def _write(self, text: str) -> None:
        if self._file is None or self._left <= 0:
            return
        self._left -= len(text)
        try:
            self._file.write(text)
            self._file.flush()
        except OSError:  # a full disk must not end the run
            self._left = 0

    def _remove_old(self) -> None:
        """Remove the oldest files beyond the number that is kept; their names ascend with time."""
        with suppress(OSError):
            for path in sorted(self._directory.iterdir())[: 1 - _KEPT_FILES]:
                path.unlink()
