"""Precision: every field of every value comes back exactly as it went in, to the microsecond."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from ...model.change import Change
from ...model.entry import Entry, EntryKind, Stand
from ...model.event import Event, EventKind
from ...model.policy import Missed, Policies, Retry
from ...model.reason import Reason
from ...model.run import Origin, Run, RunState, Span
from ...model.task import Pause, PauseCause, Standing, Target, Task, TaskState
from ...public import parse
from ...schedule import Calendar, Cron, Every, Now, Once, Schedule
from ..decisions import saying
from ..factories import HOUR, MICROSECOND, NOON, a_new_task, a_run, a_task, an_ended_run, an_entry
from .contract import Contract, WholeStore
from .scenes import facts_of

_TEXT = "Zoë's \"plants\" – 花を\n水やり 🌱 %s ; -- \\ \t{}"
_INSTANTS = (
    NOON + MICROSECOND,
    NOON - MICROSECOND,
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1900, 1, 1, tzinfo=UTC),
    datetime(2262, 4, 12, 3, 47, 16, 854_776, tzinfo=UTC),
    datetime(9999, 12, 27, 23, 59, 59, 999_999, tzinfo=UTC),
)


def _schedules() -> list[Schedule]:
    return [
        Now(),
        Once(at=NOON),
        Once(at=datetime(2026, 3, 1, 15, 0, 0, 1), zone="Asia/Shanghai"),  # noqa: DTZ001 - wall time
        Every(interval=timedelta(seconds=90, microseconds=1), start=NOON, end=NOON + HOUR, repeat=3, counting="planned"),
        Cron(expression="*/5 9-17 * * MON-FRI", zone="Europe/Berlin", gap="skip", fold="both", jitter=timedelta(seconds=9)),
        parse("every 1h30m after end"),
        parse("last day of month at 17:00", zone="America/New_York"),
        parse("每周一早上9点", zone="Asia/Shanghai"),
        parse("RRULE:FREQ=MONTHLY;BYDAY=-1FR", zone="Europe/Berlin", now=NOON),
        Calendar(unit="day", at=(time(9),), zone="UTC", start=date(2026, 3, 1)),
    ]
