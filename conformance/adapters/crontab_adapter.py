"""crontab (the parser), whose format with seconds has a year at its end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from crontab import CronTab

from conformance.adapters.protocol import Question, serve, walk


def fires(question: Question) -> Iterator[datetime]:
    fields = len(question.expression.split())
    with_year = (
        f"{question.expression} *" if fields == len(("second", "minute", "hour", "day", "month", "weekday")) else None
    )
    schedule = CronTab(with_year or question.expression)

    def following(last: datetime) -> datetime | None:
        seconds = schedule.next(now=last.astimezone(question.start.tzinfo))
        return None if seconds is None else last + timedelta(seconds=seconds)

    return walk(following, question.after)


if __name__ == "__main__":
    serve("crontab", fires, (ValueError,))
