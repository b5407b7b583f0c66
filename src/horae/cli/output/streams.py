"""Wraps stdout and stderr of a node, so that a closed pipe discards output instead of ending the process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


class LenientStream:
    """Passes everything to a stream, and to /dev/null after a write has failed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except (BrokenPipeError, ValueError):
            self._discard()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (BrokenPipeError, ValueError):
            self._discard()

    def _discard(self) -> None:
        self._stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare_streams() -> None:
    """Make stdout and stderr line-buffered, and tolerant of closed pipes and of characters that cannot be encoded."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace", line_buffering=True)
    sys.stdout, sys.stderr = LenientStream(sys.stdout), LenientStream(sys.stderr)
