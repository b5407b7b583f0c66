"""APScheduler 3, through the cron trigger that it makes from a crontab line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

from conformance.adapters.protocol import Question, serve, walk


def fires(question: Question) -> Iterator[datetime]:
    trigger = CronTrigger.from_crontab(question.expression, timezone=ZoneInfo(question.zone))
    return walk(lambda previous: trigger.get_next_fire_time(previous, previous), question.start)


if __name__ == "__main__":
    serve("APScheduler", fires, (ValueError,))
