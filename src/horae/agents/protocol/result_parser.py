"""Incremental parser of the marked results in an agent's output: any chunking, bounded memory.

A marker is a line of its own, so that a marker inside a text of the JSON document, which has no raw newline, is text.
The start marker may follow other text on its line: a program that the agent called may have left it unfinished.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from .errors import ProtocolError
from .result import (
    END_MARKER,
    MAX_RESULT_BYTES,
    NANOCLAW_END_MARKER,
    NANOCLAW_START_MARKER,
    START_MARKER,
    AgentResult,
    read_result,
)

_ENDS: Final = {START_MARKER: END_MARKER, NANOCLAW_START_MARKER: NANOCLAW_END_MARKER}
_KEPT_LINE_BYTES: Final = 256
"""Of a line outside of a result: a marker and white space around it."""
_EXCERPT_BYTES: Final = 200


class BadResult(NamedTuple):
    """A marked part of the output that is no result: `code` is stable, `excerpt` its beginning."""

    code: str
    message: str
    excerpt: str


Parsed: TypeAlias = AgentResult | BadResult


class ResultParser:
    """Give it the chunks of stdout by `feed`, then `finish`; both return what became complete."""

    def __init__(self, max_result_bytes: int = MAX_RESULT_BYTES) -> None:
        self._max_bytes = max_result_bytes
        self._line = bytearray()
        self._line_is_cut = False
        self._body: bytearray | None = None
        self._body_is_cut = False
        self._end_marker = b""

    @property
    def is_inside(self) -> bool:
        """Whether a start marker was read, and not yet its end."""
        return self._body is not None

    @property
    def buffered_bytes(self) -> int:
        return len(self._line) + len(self._body or b"")

    def feed(self, data: bytes) -> list[Parsed]:
        parsed: list[Parsed] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._extend_line(memoryview(data)[start:end])
            parsed += self._end_line()
            start = end + 1
        self._extend_line(memoryview(data)[start:])
        return parsed

    def finish(self) -> list[Parsed]:
        """End the output: a last line without newline counts, a result without its end marker is reported."""
        parsed = self._end_line() if self._line else []
        if self._body is not None:
            parsed.append(self._unfinished())
        return parsed

    def _extend_line(self, part: memoryview) -> None:
        if self._body is None:
            # Only the end of the line can be a marker.
            self._line += part[-_KEPT_LINE_BYTES:]
            excess = len(self._line) - _KEPT_LINE_BYTES
            if excess > 0:
                del self._line[:excess]
            return
        available = max(self._max_bytes, _KEPT_LINE_BYTES) - len(self._line)
        self._line += part[:available]
        self._line_is_cut |= len(part) > available

    def _end_line(self) -> list[Parsed]:
        line, is_cut = bytes(self._line), self._line_is_cut
        self._line.clear()
        self._line_is_cut = False
        word = line.strip()
        if self._body is None:
            self._start_result(next((marker for marker in _ENDS if word.endswith(marker)), None))
            return []
        if not is_cut and word == self._end_marker:
            return [self._end_result()]
        if not is_cut and word in _ENDS:
            unfinished = self._unfinished()
            self._start_result(word)
            return [unfinished]
        self._extend_body(line, is_cut=is_cut)
        return []

    def _start_result(self, marker: bytes | None) -> None:
        if marker is not None:
            self._body, self._body_is_cut, self._end_marker = bytearray(), False, _ENDS[marker]

    def _extend_body(self, line: bytes, *, is_cut: bool) -> None:
        if self._body is None:
            return
        available = max(self._max_bytes - len(self._body), 0)
        self._body += (line + b"\n")[:available]
        self._body_is_cut |= is_cut or len(line) > available

    def _end_result(self) -> Parsed:
        body, is_cut = bytes(self._body or b""), self._body_is_cut
        self._body = None
        if is_cut:
            return BadResult("too_long", f"a result has more than {self._max_bytes} bytes", _excerpt(body))
        try:
            return read_result(body.strip(), self._max_bytes)
        except ProtocolError as error:
            return BadResult(error.code, str(error), _excerpt(body))

    def _unfinished(self) -> BadResult:
        body = bytes(self._body or b"")
        self._body = None
        return BadResult("no_end_marker", "a result has no end marker", _excerpt(body))


def _excerpt(body: bytes) -> str:
    return body[:_EXCERPT_BYTES].decode(errors="replace").strip()
