"""What a command prints, as the node hears it: line by line into the run's log, and the end of it into the result."""

from __future__ import annotations

from typing import Final

from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shortened
from ...ports.target import Invocation
from .plain_text import Veil

_TAIL: Final = 32 * 1024
_LONGEST: Final = 4 * LOG_LINE_CHARACTERS + 4


class Hearing:
    """Keeps `most` bytes of both streams together, and so many lines. What comes after that is counted and forgotten."""

    def __init__(self, invocation: Invocation, veil: Veil, most: int) -> None:
        self._invocation = invocation
        self._veil = veil
        self._bytes = most
        self._lines = LOG_LINES
        self._heard = 0
        self._kept = 0
        self.output = Stream(self, veil, min(_TAIL, most))
        self.errors = Stream(self, veil, min(_TAIL, most))

    def take(self, data: bytes) -> bytes:
        """As much of it as there is room for. Whatever it says, it is a sign of life."""
        self._invocation.heartbeat()
        kept = data[: self._bytes] if self._lines else b""
        self._bytes -= len(kept)
        self._heard += len(data)
        return kept

    def say(self, line: bytes, *, ended: bool, cut: bool) -> None:
        if not self._lines:
            return
        self._lines -= 1
        self._kept += len(line) + ended
        self._invocation.log(shortened(self._veil.line(line, cut=cut), LOG_LINE_CHARACTERS), "output")

    def finish(self) -> None:
        for stream in (self.output, self.errors):
            stream.finish()
        if self._heard > self._kept:
            self._invocation.log(f"it wrote {self._heard - self._kept:,} bytes more than are kept", "warning")


class Stream:
    """One of the two. Its tail is kept as bytes, so that a flood costs no more than copying it."""

    def __init__(self, hearing: Hearing, veil: Veil, most: int) -> None:
        self._hearing = hearing
        self._veil = veil
        self._most = most
        self._tail = bytearray()
        self._tail_cut = False
        self._line = bytearray()
        self._line_cut = False
        self._longest = _LONGEST + veil.longest

    def feed(self, data: bytes) -> None:
        self._keep_tail(data)
        kept = self._hearing.take(data)
        *whole, rest = kept.split(b"\n")
        for piece in whole:
            self._add(piece)
            self._end(ended=True)
        self._add(rest)
        self._line_cut |= len(kept) < len(data)

    def finish(self) -> None:
        if self._line:
            self._end(ended=False)

    def tail(self) -> str:
        """The last of it, whole lines where there are any: a line without its beginning might begin inside a secret."""
        raw = bytes(self._tail)
        torn = self._tail_cut
        if torn and b"\n" in raw:
            raw, torn = raw.partition(b"\n")[2], False
        return self._veil.lines(raw, torn=torn).strip("\n")

    def _keep_tail(self, data: bytes) -> None:
        self._tail += data[-self._most :] if self._most else b""
        excess = len(self._tail) - self._most
        if excess > 0:
            del self._tail[:excess]
        self._tail_cut |= excess > 0 or len(data) > self._most

    def _add(self, piece: bytes) -> None:
        room = self._longest - len(self._line)
        self._line += piece[:room]
        self._line_cut |= len(piece) > room

    def _end(self, *, ended: bool) -> None:
        self._hearing.say(bytes(self._line), ended=ended, cut=self._line_cut)
        self._line.clear()
        self._line_cut = False
