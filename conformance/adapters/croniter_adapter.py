"""croniter, with seconds first and day fields treated as cron does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from croniter import CroniterError, croniter

from conformance.adapters.protocol import Question, serve


def fires(question: Question) -> Iterator[datetime]:
    steps = croniter(question.expression, question.start, second_at_beginning=True, implement_cron_bug=True)
    while True:
        yield steps.get_next(datetime)


if __name__ == "__main__":
    serve("croniter", fires, (CroniterError,))
