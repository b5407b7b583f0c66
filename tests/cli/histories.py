"""Stores with a history: written in virtual time by a real engine, up to the current hour."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from horae import Horae
from horae.clock import SystemClock
from horae.testing import TimeTravel


def hour_before(hours: int) -> datetime:
    return SystemClock().now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours)


def make_app(path: Path) -> Horae:
    app = Horae(f"sqlite:///{path}", zone="UTC")

    @app.task(name="report")
    def report() -> str:
        return "all is well"

    @app.task(name="backup")
    def backup() -> None:
        raise ValueError("disk full")

    return app


def write_missed_history(path: Path, missed: str) -> datetime:
    """Run a task every ten minutes, with its node down over three instants; return the last missed one."""
    start = hour_before(3)
    app = make_app(path)
    with TimeTravel(app, start, store="own") as time:
        time.run(app.schedule("report", "0,10,20,30,40,50 * * * *", name="report", missed=missed))
        time.travel("31m")
        time.crash()
        time.travel("34m")
        time.restart()
        time.travel("10m")
    return start + timedelta(minutes=60)


def write_failure_history(path: Path) -> None:
    """Run two tasks for four hours, one of which always fails, and pause a third; nothing is due soon."""
    app = make_app(path)
    start = hour_before(4)
    hours = ",".join(str((start + timedelta(hours=each)).hour) for each in range(4))
    with TimeTravel(app, start, store="own") as time:
        time.run(app.schedule("report", f"5 {hours} * * *", name="report"))
        time.run(app.schedule("backup", f"10 {hours} * * *", name="nightly-backup", retries=0))
        digest = time.run(app.schedule("report", "30 * * * *", name="weekly-digest"))
        time.travel("45m")
        time.run(digest.pause("on holiday"))
        time.travel("2h30m")


class FixedClock:
    """Clock with a fixed time; sleeping raises NotImplementedError."""

    def __init__(self, instant: datetime) -> None:
        self._instant = instant

    def now(self) -> datetime:
        return self._instant

    def steady(self) -> float:
        return self._instant.timestamp()

    def sleep(self, seconds: float) -> None:
        raise NotImplementedError(seconds)

    async def pause(self, seconds: float) -> None:
        raise NotImplementedError(seconds)


async def record_outage(url: str, since: datetime, until: datetime) -> None:
    """Record an outage as a node does at its clean stop and at the next start."""
    async with Horae(url, engine=False, clock=FixedClock(since)) as app:
        await app.service.outages.record_stop()
    async with Horae(url, engine=False, clock=FixedClock(until)) as app:
        await app.service.outages.record_start()
