"""cronexpr (bindings of supertinycron), which knows UTC only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import cast

import cronexpr

from conformance.adapters.protocol import Question, Unsupported, serve, walk

next_fire = cast("Callable[[str, datetime], datetime]", cronexpr.next_fire)


def fires(question: Question) -> Iterator[datetime]:
    if question.zone != "UTC":
        raise Unsupported("no time zones")
    return walk(lambda last: next_fire(question.expression, last), question.after)


if __name__ == "__main__":
    serve("cronexpr", fires, (ValueError, RuntimeError))
