"""Task functions of the workers: each writes a mark to the ledger for every phase, by the clock of its process."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path
from typing import Final

from horae import Context, Horae
from horae.clock import Clock, SystemClock
from tests.faults.ledger import Ledger, LinkLines, LinkMark, Mark, Phase
from tests.faults.offset_clock import OffsetClock
from tests.faults.testbed import POLL_SECONDS, Testbed

FOLDER: Final = "HORAE_FAULTS_FOLDER"
"""Environment variable that names the folder of the ledger, for a worker and its child processes."""


def clock_of(testbed: Testbed) -> Clock:
    return OffsetClock(testbed.offsets) if testbed.offsets.exists() else SystemClock()


@cache
def _process_state() -> tuple[Testbed, Clock, Ledger]:
    """Cached per process, so that many runs cost little more than their ledger lines."""
    folder = Path(os.environ[FOLDER])
    testbed = Testbed.on_file(folder)
    return testbed, clock_of(testbed), Ledger(testbed.ledger)


def _is_open(gate: str) -> bool:
    return _process_state()[0].gate(gate).exists()


def _write(ctx: Context, phase: Phase, *, durably: bool = True) -> None:
    _, clock, ledger = _process_state()
    mark = Mark(ctx.task_id, ctx.key, ctx.planned, ctx.attempt, ctx.run_id, os.getpid(), clock.now(), phase)
    ledger.write(mark, durably=durably)


async def note(ctx: Context) -> None:
    """Start, have an effect, and end."""
    for phase in ("start", "effect", "end"):
        _write(ctx, phase)


async def link(ctx: Context) -> str:
    """Write to the file of this task which root it works for and what it was given; the result hands the root on."""
    previous = ctx.previous
    root = str(previous[0]["result"]) if previous else ctx.planned.isoformat()
    clock, lines = SystemClock(), LinkLines(_process_state()[0].links(ctx.task_id))
    mark = LinkMark(root, ctx.key, ctx.run_id, [(each["name"], each["run"]) for each in previous])
    lines.write(mark)
    await clock.pause(0.05)
    lines.write(mark._replace(phase="end"))
    return root


async def handle(ctx: Context, stream: str) -> None:
    """Write a line for each message that this run handles, answer it, and acknowledge it."""
    lines = LinkLines(_process_state()[0].links(ctx.task_id))
    page = await ctx.messages.read(stream)
    for message in page.messages:
        lines.write(LinkMark(str(message.number), ctx.key, ctx.run_id, []))
        ctx.messages.send(f"{stream}:answers", f"re: {message.number}")
        ctx.acknowledge(stream, message.number)


async def occupy(ctx: Context) -> None:
    """Hold the slots of its lanes for a moment."""
    _write(ctx, "start")
    await SystemClock().pause(0.03)
    _write(ctx, "end")


async def listen(ctx: Context) -> None:
    """Hold the slots of its lanes, idle, until it is asked to yield, which is its effect; at most a few seconds."""
    _write(ctx, "start")
    ctx.idle()
    clock = SystemClock()
    until = clock.steady() + 3
    while not ctx.yield_requested and clock.steady() < until:
        await clock.pause(0.01)
    if ctx.yield_requested:
        _write(ctx, "effect")
    _write(ctx, "end")


async def check(ctx: Context, state: int | None = None) -> dict[str, object]:
    """Gate that writes a line when it is asked and one when it opens; in between it waits for the file `check`."""
    lines, clock = LinkLines(_process_state()[0].links(ctx.task_id)), SystemClock()
    mark = LinkMark(str(state), ctx.key, ctx.run_id, [])
    lines.write(mark)
    while not _is_open("check"):
        await clock.pause(POLL_SECONDS)
    lines.write(mark._replace(phase="end"))
    return {"run": True, "data": ctx.run_id, "state": (state or 0) + 1}


async def paced(ctx: Context, file: str) -> None:
    """Write the instant at which the run was claimed, as its invocation says, to a file that many tasks share."""
    started = ctx.due + ctx.lateness
    lines = LinkLines(_process_state()[0].links(file))
    lines.write(LinkMark(started.isoformat(), ctx.key, ctx.run_id, []))
    await SystemClock().pause(0.05)
    lines.write(LinkMark(started.isoformat(), ctx.key, ctx.run_id, [], "end"))


async def light(ctx: Context) -> None:
    """Write one effect line without fsync: cheap enough for a hundred thousand runs."""
    _write(ctx, "effect", durably=False)


async def awaited(ctx: Context, gate: str) -> None:
    """Wait on the node's event loop until the gate opens."""
    _write(ctx, "start")
    clock = SystemClock()
    try:
        while not _is_open(gate):
            await clock.pause(POLL_SECONDS)
    except BaseException:
        _write(ctx, "cancelled")
        raise
    _write(ctx, "effect")
    _write(ctx, "end")


def held(ctx: Context, gate: str) -> None:
    """Wait in a thread or an isolated process until the gate opens."""
    _write(ctx, "start")
    clock = SystemClock()
    while not _is_open(gate):
        if ctx.cancelled:
            _write(ctx, "cancelled")
            return
        clock.sleep(POLL_SECONDS)
    _write(ctx, "effect")
    _write(ctx, "end")


async def slow(ctx: Context) -> None:
    """Pause before and after the effect, so that a kill falls on either side of it."""
    clock = SystemClock()
    _write(ctx, "start")
    await clock.pause(0.1)
    _write(ctx, "effect")
    await clock.pause(0.1)
    _write(ctx, "end")


async def lasting(ctx: Context, seconds: float) -> None:
    """Run for `seconds`, so that a fault of a node hits some of these runs."""
    _write(ctx, "start")
    try:
        await SystemClock().pause(seconds)
    except BaseException:
        _write(ctx, "cancelled")
        raise
    _write(ctx, "effect")
    _write(ctx, "end")


def deadly(ctx: Context) -> None:
    """Kill the process that executes the run."""
    _write(ctx, "start")
    os.kill(os.getpid(), signal.SIGKILL)


def register(app: Horae) -> None:
    app.task(name="note")(note)
    app.task(name="light")(light)
    app.task(name="check")(check)
    app.task(name="link")(link)
    app.task(name="handle")(handle)
    app.task(name="occupy")(occupy)
    app.task(name="listen")(listen)
    app.task(name="paced")(paced)
    app.task(name="awaited")(awaited)
    app.task(name="held")(held)
    app.task(name="apart", isolate="process")(held)
    app.task(name="slow")(slow)
    app.task(name="lasting")(lasting)
    app.task(name="deadly")(deadly)
