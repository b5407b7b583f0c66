"""What the workers run. Each function writes down for itself what it did, and when, by the clock of its process."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path
from typing import Final

from horae import Context, Horae
from horae.clock import Clock, SystemClock
from tests.faults.ledger import Ledger, Mark, Phase
from tests.faults.place import LOOK_SECONDS, Place
from tests.faults.shifted import ShiftedClock

FOLDER: Final = "HORAE_FAULTS_FOLDER"
"""The variable that tells a process, and the children that it starts, where the ledger is."""


def clock_of(place: Place) -> Clock:
    return ShiftedClock(place.offsets) if place.offsets.exists() else SystemClock()


@cache
def _surroundings() -> tuple[Place, Clock, Ledger]:
    """Once for each process, so that a crowd of runs costs little more than its lines."""
    folder = Path(os.environ[FOLDER])
    place = Place.on_file(folder)
    return place, clock_of(place), Ledger(place.ledger)


def _is_open(gate: str) -> bool:
    return _surroundings()[0].gate(gate).exists()


def _write(ctx: Context, phase: Phase, *, durably: bool = True) -> None:
    _, clock, ledger = _surroundings()
    mark = Mark(ctx.task_id, ctx.key, ctx.planned, ctx.attempt, ctx.run_id, os.getpid(), clock.now(), phase)
    ledger.write(mark, durably=durably)


async def note(ctx: Context) -> None:
    """The plainest thing: it happens."""
    for phase in ("start", "effect", "end"):
        _write(ctx, phase)


async def light(ctx: Context) -> None:
    """For a hundred thousand of them: one line, which nobody waits for."""
    _write(ctx, "effect", durably=False)


async def awaited(ctx: Context, gate: str) -> None:
    """Goes on when its gate is open, on the event loop of its node."""
    _write(ctx, "start")
    clock = SystemClock()
    try:
        while not _is_open(gate):
            await clock.pause(LOOK_SECONDS)
    except BaseException:
        _write(ctx, "cancelled")
        raise
    _write(ctx, "effect")
    _write(ctx, "end")


def held(ctx: Context, gate: str) -> None:
    """Goes on when its gate is open, in a thread or in a process of its own."""
    _write(ctx, "start")
    clock = SystemClock()
    while not _is_open(gate):
        if ctx.cancelled:
            _write(ctx, "cancelled")
            return
        clock.sleep(LOOK_SECONDS)
    _write(ctx, "effect")
    _write(ctx, "end")


async def slow(ctx: Context) -> None:
    """Takes a while before and after its effect, so that a death falls on either side of it."""
    clock = SystemClock()
    _write(ctx, "start")
    await clock.pause(0.1)
    _write(ctx, "effect")
    await clock.pause(0.1)
    _write(ctx, "end")


async def lasting(ctx: Context, seconds: float) -> None:
    """Is going for a while, so that whatever happens to a node happens to some of these."""
    _write(ctx, "start")
    try:
        await SystemClock().pause(seconds)
    except BaseException:
        _write(ctx, "cancelled")
        raise
    _write(ctx, "effect")
    _write(ctx, "end")


def deadly(ctx: Context) -> None:
    """Takes the process that it runs in with it."""
    _write(ctx, "start")
    os.kill(os.getpid(), signal.SIGKILL)


def register(app: Horae) -> None:
    app.task(name="note")(note)
    app.task(name="light")(light)
    app.task(name="awaited")(awaited)
    app.task(name="held")(held)
    app.task(name="apart", isolate="process")(held)
    app.task(name="slow")(slow)
    app.task(name="lasting")(lasting)
    app.task(name="deadly")(deadly)
