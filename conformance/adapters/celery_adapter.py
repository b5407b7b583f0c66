"""Celery's crontab schedule, called as its beat does: time from the last run to the next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from celery import Celery
from celery.schedules import ParseException, crontab

from conformance.adapters.protocol import Question, serve, walk


@cache
def _app(zone: str) -> Any:
    return Celery(timezone=zone)


def fires(question: Question) -> Iterator[datetime]:
    schedule = crontab.from_string(question.expression)
    schedule.app = _app(question.zone)

    def following(last: datetime) -> datetime:
        schedule.nowfun = lambda: last
        remaining = schedule.remaining_estimate(last)
        return last.astimezone(UTC) + remaining  # type: ignore[no-any-return]

    return walk(following, question.after)


if __name__ == "__main__":
    serve("celery", fires, (ParseException, ValueError))
