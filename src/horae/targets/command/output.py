"""Collects a command's output as plain text: lines go to the run's log up to a limit, the tail of each stream to the result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shorten
from ...model.text.plain_text import strip_control_characters
from ...ports.secret_masks import Masks
from ...ports.target import Invocation

_MIN_LENGTH: Final = 4
"""As in `Masks`: shorter fragments reveal nothing."""

_SPLIT_CHARACTER: Final = re.compile(r"\A\ufffd{1,3}")
"""Replacement characters left by a multi-byte character that was cut in two."""


class OutputMask:
    """Masks the secrets of one run in its output, also multi-line ones and those quoted as JSON."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _MIN_LENGTH}
        self._masks = Masks(self._forms)
        self.max_length = max((len(form.encode(errors="replace")) for form in self._forms), default=0)

    def line(self, raw: bytes, *, torn: bool = False, cut: bool = False) -> str:
        """Return the line as masked plain text.

        `torn` means that the start of the line is missing, `cut` that its end is: either cut may be inside a secret, so
        the fragment of one is removed.
        """
        text = strip_control_characters(raw.decode(errors="replace"))
        if torn:
            text = self._strip_secret_suffix(text)
        text = self._masks.mask(text)
        return self._strip_secret_prefix(text) if cut else text

    def lines(self, raw: bytes, *, torn: bool = False) -> str:
        first, *rest = raw.split(b"\n")
        return "\n".join((self.line(first, torn=torn), *(self.line(line) for line in rest)))

    def _strip_secret_suffix(self, text: str) -> str:
        text = _SPLIT_CHARACTER.sub("", text)
        return text[max((_overlap(form, text) for form in self._forms), default=0) :]

    def _strip_secret_prefix(self, text: str) -> str:
        text = text.removesuffix("\N{REPLACEMENT CHARACTER}")
        return text[: len(text) - max((_overlap(text, form) for form in self._forms), default=0)]


def _overlap(left: str, right: str) -> int:
    """Return the length of the longest suffix of `left` that is a prefix of `right`."""
    most = min(len(left), len(right))
    return next((size for size in range(most, 0, -1) if left.endswith(right[:size])), 0)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    for line in (strip_control_characters(each) for each in secret.split("\n")):
        yield line
        yield json.dumps(line)[1:-1]
        yield json.dumps(line, ensure_ascii=False)[1:-1]
    yield json.dumps(secret)[1:-1]


_TAIL_BYTES: Final = 32 * 1024
_MAX_LINE_BYTES: Final = 4 * LOG_LINE_CHARACTERS + 4


class OutputCollector:
    """Logs at most `max_bytes` bytes and `LOG_LINES` lines of both streams together; the rest is counted and dropped."""

    def __init__(self, invocation: Invocation, mask: OutputMask, max_bytes: int) -> None:
        self._invocation = invocation
        self._mask = mask
        self._bytes_left = max_bytes
        self._lines_left = LOG_LINES
        self._bytes_read = 0
        self._bytes_logged = 0
        self.output = OutputStream(self, mask, min(_TAIL_BYTES, max_bytes))
        self.errors = OutputStream(self, mask, min(_TAIL_BYTES, max_bytes))

    def accept(self, data: bytes) -> bytes:
        """Count the data, send a heartbeat, and return the part that still fits the limits."""
        self._invocation.heartbeat()
        accepted = data[: self._bytes_left] if self._lines_left else b""
        self._bytes_left -= len(accepted)
        self._bytes_read += len(data)
        return accepted

    def log_line(self, line: bytes, *, ended: bool, cut: bool) -> None:
        """Write one line to the run's log, unless the limit of lines is reached."""
        if not self._lines_left:
            return
        self._lines_left -= 1
        self._bytes_logged += len(line) + ended
        self._invocation.log(shorten(self._mask.line(line, cut=cut), LOG_LINE_CHARACTERS), "output")

    def finish(self) -> None:
        for stream in (self.output, self.errors):
            stream.finish()
        if self._bytes_read > self._bytes_logged:
            dropped = self._bytes_read - self._bytes_logged
            self._invocation.log(f"it wrote {dropped:,} bytes more than are kept", "warning")


class OutputStream:
    """Standard output or standard error. Its tail is kept as bytes, so that a flood costs no more than copying it."""

    def __init__(self, collector: OutputCollector, mask: OutputMask, max_tail: int) -> None:
        self._collector = collector
        self._mask = mask
        self._max_tail = max_tail
        self._tail = bytearray()
        self._tail_cut = False
        self._line = bytearray()
        self._line_cut = False
        self._max_line = _MAX_LINE_BYTES + mask.max_length

    def feed(self, data: bytes) -> None:
        self._keep_tail(data)
        accepted = self._collector.accept(data)
        *complete, rest = accepted.split(b"\n")
        for part in complete:
            self._append(part)
            self._log_line(ended=True)
        self._append(rest)
        self._line_cut |= len(accepted) < len(data)

    def finish(self) -> None:
        if self._line:
            self._log_line(ended=False)

    def tail(self) -> str:
        """Return the end of the output in whole lines where possible: a line cut at its start might start in a secret."""
        raw = bytes(self._tail)
        torn = self._tail_cut
        if torn and b"\n" in raw:
            raw, torn = raw.partition(b"\n")[2], False
        return self._mask.lines(raw, torn=torn).strip("\n")

    def _keep_tail(self, data: bytes) -> None:
        self._tail += data[-self._max_tail :] if self._max_tail else b""
        excess = len(self._tail) - self._max_tail
        if excess > 0:
            del self._tail[:excess]
        self._tail_cut |= excess > 0 or len(data) > self._max_tail

    def _append(self, part: bytes) -> None:
        available = self._max_line - len(self._line)
        self._line += part[:available]
        self._line_cut |= len(part) > available

    def _log_line(self, *, ended: bool) -> None:
        self._collector.log_line(bytes(self._line), ended=ended, cut=self._line_cut)
        self._line.clear()
        self._line_cut = False
