"""What a child process says, as the node hears it: reports, and everything that it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES
from ...model.outcome import Outcome
from .context import Voice
from .storable_text import kept
from .wire import LONGEST_LINE, read_outcome

_LONGEST_PRINTED: Final = 4 * LOG_LINE_CHARACTERS + 4


class Lines:
    """Cuts a stream into lines. Of a line that is too long the beginning is kept, so that memory stays bounded."""

    def __init__(self, most: int, heard: Callable[[bytes], None]) -> None:
        self._most = most
        self._heard = heard
        self._line = bytearray()

    def feed(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            self._end()
        self._add(rest)

    def finish(self) -> None:
        if self._line:
            self._end()

    def _add(self, piece: bytes) -> None:
        self._line += piece[: self._most - len(self._line)]

    def _end(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        self._heard(line)


class Hearing:
    def __init__(self, voice: Voice) -> None:
        self.outcome: Outcome | None = None
        self.unloadable: str | None = None
        self._voice = voice
        self._room = LOG_LINES
        self._reports = Lines(LONGEST_LINE, self._report)
        self._prints = Lines(_LONGEST_PRINTED, self._print)

    def report(self, data: bytes) -> None:
        self._reports.feed(data)

    def output(self, data: bytes) -> None:
        if self._room:  # otherwise it is read only so that the child does not block
            self._prints.feed(data)

    def finish(self) -> None:
        self._reports.finish()
        self._prints.finish()

    def _print(self, line: bytes) -> None:
        self._log(kept(line.decode(errors="replace").rstrip("\r"), LOG_LINE_CHARACTERS), "output")

    def _log(self, text: str, level: str) -> None:
        if not self._room:
            return
        self._room -= 1
        self._voice.log(text, level)
        if not self._room:
            self._voice.log("it said more than is kept", "warning")

    def _report(self, line: bytes) -> None:
        try:
            self._act(json.loads(line))
        except (ValueError, LookupError, TypeError, RecursionError):  # something else got hold of the pipe
            self._print(line)

    def _act(self, message: dict[str, Any]) -> None:
        match message:
            case {"log": str(text), "level": str(level)}:
                self._log(text, level)
            case {"progress": float(done), "text": str(text)}:
                self._voice.progress(done, text)
            case {"heartbeat": True}:
                self._voice.heartbeat()
            case {"outcome": dict(told)}:
                self.outcome = read_outcome(told)
            case {"unloadable": str(text)}:
                self.unloadable = text
            case _:
                raise ValueError(message)
