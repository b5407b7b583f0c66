"""Output that outlives its reader: an engine goes on when whoever read its lines has left."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


class LenientStream:
    """A stream like the one that it stands for, until nobody reads that any more; from then on it is silent."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except (BrokenPipeError, ValueError):
            self._fall_silent()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (BrokenPipeError, ValueError):
            self._fall_silent()

    def _fall_silent(self) -> None:
        self._stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare_streams() -> None:
    """A line is seen when it is written, also in a pipe or a log file."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace", line_buffering=True)
    sys.stdout, sys.stderr = LenientStream(sys.stdout), LenientStream(sys.stderr)
