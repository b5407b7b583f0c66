"""Arguments and environments of the processes of this machine, as `ps` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def processes() -> Iterator[tuple[str, bytes]]:
    """Arguments and environment of every process of this machine that can be read."""
    for process in Path("/proc").iterdir():
        for part in ("cmdline", "environ") if process.name.isdecimal() else ():
            with suppress(OSError):
                yield process.name, (process / part).read_bytes()
