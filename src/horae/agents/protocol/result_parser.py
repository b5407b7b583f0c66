"""Incremental parser of the marked results in an agent's output: any chunking, bounded memory.

A marker is a line of its own, so that a marker inside a text of the JSON document, which has no raw newline, is text.
The start marker may follow other text on its line: a program that the agent called may have left it unfinished.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from .documents import ProtocolError
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
_START_PART: Final = b"_OUTPUT_START---"
_MARKER_PART: Final = b"_OUTPUT_"
"""Lines without these are skipped in bulk: a flood of short lines costs no more than a search."""
_MAX_MARKER_LINE: Final = 256
"""Bytes of a line with a marker and white space around it, or of the end of a line that ends with a start marker."""
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
        self._line = b""
        """Beginning of a line that may become a marker; outside of a result, its end so far."""
        self._is_in_long_line = False
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
        data = self._line + data
        self._line = b""
        position: int | None = 0
        while position is not None:
            if self._body is None:
                position = self._scan_outside(data, position)
            else:
                position = self._scan_inside(self._body, data, position, parsed)
        return parsed

    def finish(self) -> list[Parsed]:
        """End the output: a last line without newline counts, a result without its end marker is reported."""
        parsed = self.feed(b"\n")
        if self._body is not None:
            parsed.append(self._unfinished(self._body))
        return parsed

    def _scan_outside(self, data: bytes, position: int) -> int | None:
        """Skip to the end of the next line with a start marker; return None when all data is used."""
        found = data.find(_START_PART, position)
        end = data.find(b"\n", found) if found >= 0 else -1
        if end < 0:
            start = _line_start(data, position, len(data))
            self._line = data[max(start, len(data) - _MAX_MARKER_LINE) :]
            return None
        start = max(_line_start(data, position, end), end - _MAX_MARKER_LINE)
        word = data[start:end].strip()
        self._start_result(next((marker for marker in _ENDS if word.endswith(marker)), None))
        return end + 1

    def _scan_inside(self, body: bytearray, data: bytes, position: int, parsed: list[Parsed]) -> int | None:
        """Take lines into the body up to the next line that is a marker; return None when all data is used."""
        found = -1 if self._is_in_long_line else data.find(_MARKER_PART, position)
        end = data.find(b"\n", position if found < 0 else found)
        if self._is_in_long_line and end >= 0:
            self._is_in_long_line = False
            self._extend(body, data[position : end + 1])
            return end + 1
        if found < 0 or end < 0:
            self._keep_rest(body, data, position)
            return None
        start = _line_start(data, position, found)
        self._extend(body, data[position:start])
        word = data[start:end].strip() if end - start <= _MAX_MARKER_LINE else b""
        if word == self._end_marker:
            parsed.append(self._end_result(body))
        elif word in _ENDS:
            parsed.append(self._unfinished(body))
            self._start_result(word)
        else:
            self._extend(body, data[start : end + 1])
        return end + 1

    def _keep_rest(self, body: bytearray, data: bytes, position: int) -> None:
        """Take the complete lines; keep the rest if it may become a marker."""
        start = position if self._is_in_long_line else _line_start(data, position, len(data))
        self._is_in_long_line |= len(data) - start > _MAX_MARKER_LINE
        if self._is_in_long_line:
            start = len(data)
        self._extend(body, data[position:start])
        self._line = data[start:]

    def _start_result(self, marker: bytes | None) -> None:
        if marker is not None:
            self._body, self._body_is_cut, self._end_marker = bytearray(), False, _ENDS[marker]

    def _extend(self, body: bytearray, data: bytes) -> None:
        available = self._max_bytes + 1 - len(body)  # and the newline before the end marker
        body += data[:available]
        self._body_is_cut |= len(data) > available

    def _end_result(self, body: bytearray) -> Parsed:
        self._body = None
        if self._body_is_cut:
            return BadResult("too_long", f"a result has more than {self._max_bytes} bytes", _excerpt(body))
        try:
            return read_result(bytes(body).strip(), self._max_bytes)
        except ProtocolError as error:
            return BadResult(error.code, str(error), _excerpt(body))

    def _unfinished(self, body: bytearray) -> BadResult:
        self._body = None
        return BadResult("no_end_marker", "a result has no end marker", _excerpt(body))


def _line_start(data: bytes, position: int, end: int) -> int:
    return max(position, data.rfind(b"\n", position, end) + 1)


def _excerpt(body: bytearray) -> str:
    return body[:_EXCERPT_BYTES].decode(errors="replace").strip()
