"""What is asked of the writer, and how the answers find their way back to the event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import apsw

from .connection import Link
from .errors import translated


class Share(NamedTuple):
    """What can be written with others of its kind, all of them in the statements of one.

    `prepare` makes what writes them, before there is a transaction: nobody needs to wait for that.
    """

    prepare: Callable[[Sequence[Any]], Callable[[Link], None]]
    given: Sequence[Any]

    def alone(self, link: Link) -> None:
        self.prepare(self.given)(link)


class Request(NamedTuple):
    """`glance` may answer without a transaction; `single` is one statement, which needs none around it."""

    work: Callable[[Link], Any]
    urgent: bool
    glance: Callable[[Link], Any] | None
    single: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    share: Share | None = None


class Answer(NamedTuple):
    request: Request
    value: Any = None
    error: BaseException | None = None


_Told: TypeAlias = tuple[asyncio.Future[Any], Any, BaseException | None]


def deliver(answers: list[Answer]) -> None:
    """One call for each event loop, however many of its requests were answered."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Told]] = {}
    for request, value, error in answers:
        by_loop.setdefault(request.loop, []).append((request.future, value, error))
    for loop, told in by_loop.items():
        tell(loop, told)


def tell(loop: asyncio.AbstractEventLoop, told: list[_Told]) -> None:
    try:
        loop.call_soon_threadsafe(_resolve, told)
    except RuntimeError:
        # Whoever asked has closed the loop in which the answer was awaited.
        return


def _resolve(told: list[_Told]) -> None:
    for future, value, error in told:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(_in_our_words(error))


def _in_our_words(error: BaseException) -> BaseException:
    """Each who waits gets an exception of their own: one that is shared would collect the traces of all."""
    if isinstance(error, StopIteration):
        # No future takes this one, and whoever comes after it would wait for ever.
        told: Exception = RuntimeError("a decision ran out of something to look at")
    elif isinstance(error, apsw.Error):
        told = translated(error)
    else:
        return error
    told.__cause__ = error
    return told
