"""Requests to the writer thread, and the delivery of results to the futures of the callers' event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import apsw

from .connection import SqliteConnection, translate_error


class BatchableWrite(NamedTuple):
    """A write that can be merged with others of its kind into the same multi-row statements.

    `prepare` returns the function that writes the items; it runs before a transaction is open, so nothing waits for it.
    """

    prepare: Callable[[Sequence[Any]], Callable[[SqliteConnection], None]]
    items: Sequence[Any]

    def write_alone(self, connection: SqliteConnection) -> None:
        self.prepare(self.items)(connection)


class WriteRequest(NamedTuple):
    """A request to the writer.

    `peek` may return the result without a transaction; `autocommit` marks work of one statement, which commits itself.
    """

    work: Callable[[SqliteConnection], Any]
    urgent: bool
    peek: Callable[[SqliteConnection], Any] | None
    autocommit: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    batchable: BatchableWrite | None = None


class WriteResult(NamedTuple):
    request: WriteRequest
    value: Any = None
    error: BaseException | None = None


_Outcome: TypeAlias = tuple[asyncio.Future[Any], Any, BaseException | None]


def deliver_results(results: list[WriteResult]) -> None:
    """Deliver results with one call per event loop, however many of its requests were executed."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for request, value, error in results:
        by_loop.setdefault(request.loop, []).append((request.future, value, error))
    for loop, outcomes in by_loop.items():
        resolve_futures(loop, outcomes)


def resolve_futures(loop: asyncio.AbstractEventLoop, outcomes: list[_Outcome]) -> None:
    """Resolve futures on their event loop, from any thread."""
    try:
        loop.call_soon_threadsafe(_set_outcomes, outcomes)
    except RuntimeError:
        # The caller has closed its event loop.
        return


def _set_outcomes(outcomes: list[_Outcome]) -> None:
    for future, value, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(_translate(error))


def _translate(error: BaseException) -> BaseException:
    """Return the exception for a caller; each caller gets its own, because a shared one would collect all tracebacks."""
    if isinstance(error, StopIteration):
        # A future refuses StopIteration, and the requests after this one would never be resolved.
        translation: Exception = RuntimeError("a decision raised StopIteration")
    elif isinstance(error, apsw.Error):
        translation = translate_error(error)
    else:
        return error
    translation.__cause__ = error
    return translation
