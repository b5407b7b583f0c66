"""Functions that are run in child processes: a child finds them here by module and name."""
# ruff: noqa: T201 - what they print is what the tests are about

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from horae.targets.function.context import Context
from horae.targets.function.signals import Fail, Retry, Skip


@dataclass(frozen=True)
class Parcel:
    label: str
    sent: datetime
    weights: list[float]


def ship(parcel: Parcel, context: Context, wait: timedelta = timedelta(0)) -> dict[str, object]:
    context.log.info("%s, %d pieces", parcel.label, len(parcel.weights))
    return {"sent": parcel.sent, "sum": sum(parcel.weights), "wait": wait, "attempt": context.attempt}


def speak(ctx: Context) -> str:
    print("on standard output 你好")
    print("on standard error", file=sys.stderr)
    subprocess.run(["echo", "from a grandchild"], check=True)
    ctx.log.warning("a warning")
    ctx.progress(0.25, "a quarter")
    return sys.stdin.read()


def facts(ctx: Context) -> list[object]:
    return [ctx.key, ctx.run_id, ctx.task_id, ctx.name, ctx.owner, ctx.planned, ctx.lateness, ctx.count, ctx.trace]


def surroundings(secret: str) -> list[str]:
    here = Path("/proc/self")
    return [str(len(secret)), here.joinpath("cmdline").read_text(), here.joinpath("environ").read_text()]


def refuse(how: str) -> None:
    match how:
        case "retry":
            raise Retry("90s", "later")
        case "skip":
            raise Skip("nothing new")
        case "fail":
            raise Fail("never")
        case "exit":
            sys.exit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "recursion":
            refuse(how)
        case _:
            raise ValueError(how)


def leave(code: int) -> None:
    os._exit(code)


def abort() -> None:
    os.abort()


def wait_for_ever(ctx: Context) -> None:
    try:
        ctx.log.info("pid %d", os.getpid())
        signal.pause()
    finally:
        ctx.log.info("cleaned up")


async def await_for_ever(ctx: Context) -> None:
    try:
        ctx.log.info("pid %d", os.getpid())
        await asyncio.Event().wait()
    finally:
        ctx.log.info("cleaned up")


def with_grandchild(ctx: Context) -> None:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        ctx.log.info("pids %d %d", os.getpid(), sleeper.pid)


def hold_the_lock(ctx: Context) -> None:
    """Neither polite signals nor other threads of this process get through any more."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        ctx.log.info("pids %d %d", os.getpid(), sleeper.pid)
        sum(itertools.repeat(0))


def leave_behind(ctx: Context) -> str:
    """Its answer comes; but a thread and another process would keep everything open."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    ctx.log.info("pids %d %d", os.getpid(), sleeper.pid)
    threading.Thread(target=threading.Event().wait).start()
    return "done"


def leave_a_process(ctx: Context) -> str:
    """It ends as it should, and what it started does not."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    ctx.log.info("pids %d", sleeper.pid)
    return "done"


def flood(ctx: Context) -> int:
    print("\n".join(f"{number} {'x' * 90}" for number in range(110_000)))
    print("y" * 1_000_000)
    for _ in range(5_000):
        ctx.log.info("more")
    return 7


def until_asked_to_yield(ctx: Context) -> datetime:
    ctx.log.info("started")
    while not ctx.yield_requested:
        ctx.heartbeat()
    return ctx.deadline


def idle_until_asked_to_yield(ctx: Context) -> str:
    ctx.idle()
    ctx.log.info("idle")
    while not ctx.yield_requested:
        ctx.heartbeat()
    ctx.idle(False)  # noqa: FBT003 - the argument is the state
    return str(ctx.yield_reason)


def wait_for_children() -> str:
    try:
        os.wait()
    except ChildProcessError:
        return "none"
    return "some"


async def concurrently() -> int:
    return sum(await asyncio.gather(*(asyncio.to_thread(abs, each) for each in (-1, -2))))


def one_long_line() -> None:
    print("y" * 5_000_000)
    print("short")
