"""A weekend in virtual time: a clock change, a crash and a pause, with the real engine and without waiting.

Prints:

29 Mar 03:00 succeeded
30 Mar 02:30 lost
30 Mar 02:30 succeeded
01 Apr 02:30 skipped (paused, 2 of them)
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

from horae import Horae
from horae.testing import TimeTravel

BERLIN = ZoneInfo("Europe/Berlin")
app = Horae("memory://", zone="Europe/Berlin")


@app.task("every day at 02:30", name="backup", timeout="1h")
async def backup() -> None:
    await asyncio.sleep(600)  # noqa: TID251 - ten virtual minutes


def main() -> None:
    with TimeTravel(app, "2026-03-28 12:00") as time:
        task = time.run(app.get("backup"))
        time.travel("1d")  # on the 29th there is no 02:30
        time.travel_to(datetime(2026, 3, 30, 2, 35, tzinfo=BERLIN))
        time.crash()  # in the middle of the next one
        time.restart()
        time.travel("1h")
        time.run(task.pause("holidays"))
        time.travel("2d")
        time.run(task.resume())
        for run in time.runs(task):
            why = f" ({run.reason}, {run.span.count} of them)" if run.span else ""
            print(f"{run.planned.astimezone(BERLIN):%d %b %H:%M} {run.state}{why}")


if __name__ == "__main__":
    main()
