"""cron-converter, through its schedule iterator; it refuses with bare exceptions, so each one is taken as a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cron_converter import Cron

from conformance.adapters.protocol import Question, serve


def fires(question: Question) -> Iterator[datetime]:
    return iter(Cron(question.expression).schedule(question.start))


if __name__ == "__main__":
    serve("cron-converter", fires, (Exception,))
