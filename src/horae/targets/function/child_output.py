"""Parses the output of a child process on the node's side: JSON reports from one pipe, printed lines from the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES
from ...model.outcome import Outcome
from .context import RunReporter
from .storable_text import to_storable
from .wire import MAX_LINE_BYTES, decode_outcome

_MAX_PRINTED_BYTES: Final = 4 * LOG_LINE_CHARACTERS + 4


class LineSplitter:
    """Splits a stream into lines; a line that is too long is cut, so that memory stays bounded."""

    def __init__(self, max_length: int, handler: Callable[[bytes], None]) -> None:
        self._max_length = max_length
        self._handler = handler
        self._line = bytearray()

    def feed(self, data: bytes) -> None:
        *complete, rest = data.split(b"\n")
        for part in complete:
            self._append(part)
            self._emit()
        self._append(rest)

    def finish(self) -> None:
        if self._line:
            self._emit()

    def _append(self, part: bytes) -> None:
        self._line += part[: self._max_length - len(self._line)]

    def _emit(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        self._handler(line)


class ChildOutput:
    """Applies reports to the run (log, progress, heartbeat, outcome) and logs printed lines, up to `LOG_LINES` in all."""

    def __init__(self, reporter: RunReporter) -> None:
        self.outcome: Outcome | None = None
        self.unloadable: str | None = None
        self._reporter = reporter
        self._lines_left = LOG_LINES
        self._reports = LineSplitter(MAX_LINE_BYTES, self._handle_report)
        self._printed = LineSplitter(_MAX_PRINTED_BYTES, self._log_printed)

    def report(self, data: bytes) -> None:
        self._reports.feed(data)

    def output(self, data: bytes) -> None:
        if self._lines_left:  # beyond the limit the pipe is read only so that the child does not block
            self._printed.feed(data)

    def finish(self) -> None:
        self._reports.finish()
        self._printed.finish()

    def _log_printed(self, line: bytes) -> None:
        self._log(to_storable(line.decode(errors="replace").rstrip("\r"), LOG_LINE_CHARACTERS), "output")

    def _log(self, text: str, level: str) -> None:
        if not self._lines_left:
            return
        self._lines_left -= 1
        self._reporter.log(text, level)
        if not self._lines_left:
            self._reporter.log("it printed more lines than are kept", "warning")

    def _handle_report(self, line: bytes) -> None:
        try:
            self._apply(json.loads(line))
        except (ValueError, LookupError, TypeError, RecursionError):  # foreign output on the report pipe
            self._log_printed(line)

    def _apply(self, message: dict[str, Any]) -> None:
        match message:
            case {"log": str(text), "level": str(level)}:
                self._log(text, level)
            case {"progress": float(done), "text": str(text)}:
                self._reporter.progress(done, text)
            case {"heartbeat": True}:
                self._reporter.heartbeat()
            case {"outcome": dict(outcome)}:
                self.outcome = decode_outcome(outcome)
            case {"unloadable": str(text)}:
                self.unloadable = text
            case _:
                raise ValueError(message)
