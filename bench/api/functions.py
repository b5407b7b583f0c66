"""Functions of the measured worker: a tick that records its lateness, and one that does nothing."""

from __future__ import annotations

import os
from typing import Final

from horae import Context, Horae
from horae.clock import SystemClock

# Each note is one write to a file that is opened to append: the process may end in any way, and nothing is lost.
_NOTES: Final = os.open(os.environ.get("BENCH_STARTS", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
_CLOCK: Final = SystemClock()

app = Horae(os.environ.get("HORAE_STORE") or "memory://", zone="UTC")


@app.task(name="tick")
async def tick(ctx: Context) -> None:
    started = _CLOCK.now()
    os.write(_NOTES, f"{ctx.due.timestamp():.6f} {started.timestamp():.6f}\n".encode())


@app.task(name="nothing")
async def nothing() -> None: ...
