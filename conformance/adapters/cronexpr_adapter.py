"""cronexpr (bindings of supertinycron), which knows UTC only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from typing import cast

from conformance.adapters.protocol import Question, UnsupportedError, serve, walk

next_fire = cast("Callable[[str, datetime], datetime]", import_module("cronexpr").next_fire)


def fires(question: Question) -> Iterator[datetime]:
    if question.zone != "UTC":
        raise UnsupportedError("no time zones")
    return walk(lambda last: next_fire(question.expression, last), question.after)


if __name__ == "__main__":
    serve("cronexpr", fires, (ValueError, RuntimeError))
